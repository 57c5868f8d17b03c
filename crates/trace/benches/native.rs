//! How fast the native form is read and written, and how small it is: medians over several rounds of
//! 10 million events by 8 threads with 32 locks and 10,000 variables, 9 % of them synchronisation.
//!
//! Times are the processor's where the system tells them, so that a busy machine does not matter much.
//!
//! `cargo bench -p foretell-trace --bench native [-- EVENTS]`

use std::time::{Duration, Instant};

use trace::{LocationId, LockId, Op, ThreadId, Trace, TraceBuilder, VariableId, native};

const EVENTS: usize = 10_000_000;
const ROUNDS: usize = 7;
const THREADS: u32 = 8;
const LOCKS: u32 = 32;
const VARIABLES: u32 = 10_000;
const LOCATIONS: u32 = 2_000;
const SYNC_PERCENT: u32 = 9;

fn main() {
    let events = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(EVENTS);
    for (what, turn) in [("threads in turns of 50 events", 50), ("another thread each event", 1)] {
        measure(what, &synthetic(events, turn));
    }
}

fn measure(what: &str, trace: &Trace) {
    let events = trace.len() as f64;
    println!("{what}: {events} events");
    let (bytes, writing) = median(|| {
        let mut bytes = Vec::new();
        native::write(trace, &mut bytes).expect("memory can be written to");
        bytes
    });
    println!("  {:.3} bytes per event on disk", bytes.len() as f64 / events);
    println!("  {:.1} bytes per event in memory", trace.memory().0 as f64 / events);
    println!("  write {:.1} million events a second", rate(events, writing));
    let (_, copying) = median(|| bytes.clone());
    println!("  (copying the file's bytes: {copying:.1?})");
    let (back, reading) = median(|| native::read(&bytes).expect("what was written reads").0);
    assert!(back == *trace, "what was read is what was written");
    println!("  read  {:.1} million events a second, matched", rate(events, reading));
}

fn rate(events: f64, time: Duration) -> f64 {
    events / time.as_secs_f64() / 1e6
}

/// The last result and the median time.
fn median<T>(mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..ROUNDS {
        // Freed before the clock starts: every round allocates afresh, as a real read does.
        drop(last.take());
        let start = Clock::now();
        last = Some(work());
        times.push(start.elapsed());
    }
    times.sort();
    (last.expect("at least one round"), times[ROUNDS / 2])
}

/// This thread's time on a processor, or else the time of day.
enum Clock {
    Processor(Duration),
    Wall(Instant),
}

impl Clock {
    fn now() -> Clock {
        Clock::processor().map_or_else(|| Clock::Wall(Instant::now()), Clock::Processor)
    }

    fn processor() -> Option<Duration> {
        let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(times.split(' ').next()?.parse().ok()?))
    }

    fn elapsed(&self) -> Duration {
        match *self {
            Clock::Processor(start) => Clock::processor().map_or(Duration::ZERO, |now| now - start),
            Clock::Wall(start) => start.elapsed(),
        }
    }
}

/// Threads that take turns of about `turn` events, reading and writing at random and now and then
/// taking a lock that is free or releasing one they hold.
fn synthetic(events: usize, turn: u32) -> Trace {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let mut builder = TraceBuilder::with_capacity(events);
    for thread in 0..THREADS {
        builder.thread(&format!("T{thread}")).expect("few names");
    }
    for lock in 0..LOCKS {
        builder.lock(&format!("L{lock}")).expect("few names");
    }
    for variable in 0..VARIABLES {
        builder.variable(&format!("V{variable}")).expect("few names");
    }
    for location in 0..LOCATIONS {
        builder.location(&format!("file{}.c:{location}", location % 17)).expect("few names");
    }
    let mut holder = [None; LOCKS as usize];
    let mut thread = ThreadId(0);
    for _ in 0..events {
        if random.below(turn) == 0 {
            thread = ThreadId(random.below(THREADS));
        }
        let op = match random.below(100) {
            0..SYNC_PERCENT => lock_op(&mut holder, thread, random.below(LOCKS)),
            _ => None,
        };
        let variable = VariableId(random.below(VARIABLES));
        let access = if random.below(4) == 0 { Op::Write(variable) } else { Op::Read(variable) };
        builder.push(thread, op.unwrap_or(access), LocationId(random.below(LOCATIONS)));
    }
    builder.finish().expect("a legal run")
}

/// Releases the first lock the thread holds from `from` on, or else takes the first that is free.
fn lock_op(holder: &mut [Option<ThreadId>], thread: ThreadId, from: u32) -> Option<Op> {
    let start = from as usize;
    let lock = (start..start + holder.len()).map(|lock| lock % holder.len());
    let mine = lock.clone().take(4).find(|&lock| holder[lock] == Some(thread));
    let (lock, op): (usize, fn(LockId) -> Op) = match mine {
        Some(lock) => (lock, Op::Release),
        None => (lock.clone().find(|&lock| holder[lock].is_none())?, Op::Acquire),
    };
    holder[lock] = if mine.is_some() { None } else { Some(thread) };
    Some(op(LockId::new(lock)))
}

/// Xorshift: the same trace on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }
}
