//! What finding races costs: million events a second of processor time, on traces as recorded from long runs (9 % of
//! the events synchronisation) by 8 threads with 32 locks and by 64 threads, from memory and with
//! the reading of the trace.
//!
//! Larger traces than can be held are made up and passed on event by event; their making is measured alone as well.
//!
//! `cargo bench -p foretell-papers --bench races [-- EVENTS..]`

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use candidates::races::syncp::Syncp;
use generate::{Generator, TraceSettings};
use order::Index;
use papers::races::hb::{self, Hb};
use papers::races::lockset::{self, Lockset};
use trace::{EventId, MemoryOrder, Trace};

/// Ideals take memory and time for each thread, so `syncp` is measured up to here.
const MOST_FOR_SYNCP: usize = 1_000_000;
/// Larger traces are not held in memory.
const MOST_HELD: u64 = 20_000_000;

fn main() {
    let mut sizes: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000_000, 10_000_000];
    }
    for events in sizes {
        for threads in [8, 64] {
            let settings = TraceSettings::large(events, threads, 32, 10_000);
            if events > MOST_HELD {
                stream(threads, &settings);
                continue;
            }
            let trace = generate::generate(&settings).expect("the settings are valid");
            measure(threads, &trace);
        }
    }
}

fn stream(threads: u32, settings: &TraceSettings) {
    let events = settings.events as usize;
    println!("{events} events, {threads} threads, not held");
    let make = || Generator::new(settings).expect("the settings are valid").enumerate();
    report("making them", events, || make().count());
    report("lockset, making them", events, || {
        let mut lockset = Lockset::new();
        make().filter(|&(index, e)| lockset.step(EventId::new(index), e.thread, e.op).is_some()).count()
    });
    report("hb, making them", events, || {
        let mut hb = Hb::new();
        make()
            .filter(|&(index, e)| hb.step(EventId::new(index), e.thread, e.op, MemoryOrder::SeqCst).is_some())
            .count()
    });
}

fn measure(threads: u32, trace: &Trace) {
    let events = trace.len();
    println!("{events} events, {threads} threads");
    report("lockset", events, || lockset::races(trace).count());
    report("hb", events, || hb::races(trace).count());
    if events <= MOST_FOR_SYNCP {
        report("syncp", events, || Syncp::new(&Index::new(trace)).races().count());
    }
    let mut native = Vec::new();
    trace::native::write(trace, &mut native).expect("memory can be written to");
    let read = || trace::native::read(&native).expect("what was written reads").0;
    report("reading native", events, || read().len());
    report("lockset, reading native", events, || lockset::races(&read()).count());
    report("hb, reading native", events, || hb::races(&read()).count());
    let mut text = Vec::new();
    trace::text::write(trace, &mut text).expect("memory can be written to");
    let read = || trace::text::read_bytes(&text).expect("what was written reads");
    report("reading text", events, || read().len());
    report("lockset, reading text", events, || lockset::races(&read()).count());
    report("hb, reading text", events, || hb::races(&read()).count());
}

fn report(what: &str, events: usize, mut run: impl FnMut() -> usize) {
    let mut found = 0;
    let rounds = if events as u64 > MOST_HELD { 1 } else { 3 };
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = clock();
            found = black_box(run());
            clock() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds[rounds / 2];
    println!("  {what:24} {:8.2} million events/s  {median:8.3} s  ({found})", events as f64 / median / 1e6);
}

/// Seconds that this thread has been on a processor, so that other work on the machine does not
/// count; where the system does not tell, seconds that have passed.
fn clock() -> f64 {
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
