//! How fast STD text becomes a trace, matching included: the median of several
//! runs, in processor time of the one thread that does it all.
//!
//! `cargo bench -p foretell-trace --bench text [-- EVENTS RUNS]`

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

const THREADS: usize = 8;
const LOCKS: u64 = 32;
const VARIABLES: u64 = 10_000;
const LOCATIONS: u64 = 2_000;
const SYNC_PER_CENT: u64 = 9;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (events, runs) = (numbers.next().unwrap_or(5_000_000), numbers.next().unwrap_or(9));
    let text = synthetic(events);
    println!("{events} events, {:.1} bytes a line", text.len() as f64 / events as f64);

    report("read (streamed)", events, runs, || {
        black_box(trace::text::read(text.as_bytes()).expect("the text is well formed"));
    });
    report("read_bytes", events, runs, || {
        black_box(trace::text::read_bytes(text.as_bytes()).expect("the text is well formed"));
    });
    let trace = trace::text::read_bytes(text.as_bytes()).expect("the text is well formed");
    assert_eq!(trace.len(), events);
    report("write", events, runs, || {
        trace::text::write(&trace, &mut std::io::sink()).expect("a sink takes everything");
    });
}

fn report(what: &str, events: usize, runs: usize, mut run: impl FnMut()) {
    let mut seconds: Vec<f64> = (0..runs.max(1))
        .map(|_| {
            let start = clock();
            run();
            clock() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let rate = |seconds: f64| events as f64 / seconds / 1e6;
    let (median, best) = (seconds[seconds.len() / 2], seconds[0]);
    println!("{what:16} {:6.2} million events/s (median; best {:.2})", rate(median), rate(best));
}

/// Seconds that this thread has been on a processor, so that other work on the machine does not
/// count; where the system does not tell, seconds that have passed.
fn clock() -> f64 {
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A run of threads that take turns at random, with properly nested critical sections.
fn synthetic(events: usize) -> String {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(events * 24);
    let mut held: [Vec<u64>; THREADS] = Default::default();
    let mut free: Vec<u64> = (0..LOCKS).collect();
    for child in 1..THREADS.min(events + 1) {
        line(&mut text, 0, format_args!("fork(T{child})"), 0);
    }
    for _ in THREADS - 1..events {
        let (thread, location) = (random.below(THREADS as u64) as usize, random.below(LOCATIONS));
        if random.below(100) >= SYNC_PER_CENT {
            let op = if random.below(3) == 0 { 'w' } else { 'r' };
            let variable = random.below(VARIABLES);
            line(&mut text, thread, format_args!("{op}(V{variable})"), location);
        } else if let Some(lock) = held[thread].pop_if(|_| free.is_empty() || random.below(2) == 0) {
            free.push(lock);
            line(&mut text, thread, format_args!("rel(L{lock})"), location);
        } else if !free.is_empty() {
            let lock = free.swap_remove(random.below(free.len() as u64) as usize);
            held[thread].push(lock);
            line(&mut text, thread, format_args!("acq(L{lock})"), location);
        } else {
            line(&mut text, thread, format_args!("r(V0)"), location);
        }
    }
    text
}

fn line(text: &mut String, thread: usize, op: std::fmt::Arguments<'_>, location: u64) {
    writeln!(text, "T{thread}|{op}|work.c:{location}").expect("a string takes everything");
}

/// xorshift64: the same text every time, without a dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
