//! What finding bugs other than races costs, in seconds of processor time:
//!
//! - deadlocks in a million events in which every nested acquire ignores the order of the locks;
//! - atomicity violations, filtered and exact, in 3.3 million events, the size of paper 5's largest trace;
//! - what else reads could see in traces of the shapes of paper 4's table A1.
//!
//! `cargo bench -p foretell-candidates --bench bugs [-- deadlocks|atomicity|nondeterminism..]`

use std::sync::LazyLock;
use std::time::Instant;

use candidates::atomicity::{self, Intent, LIMITS, Method};
use candidates::{Report, Settings, deadlocks, nondeterminism};
use check::Model;
use decide::{Options, Setup};
use trace::Trace;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if wants("deadlocks") {
        deadlocks();
    }
    if wants("atomicity") {
        atomicity();
    }
    if wants("nondeterminism") {
        nondeterminism();
    }
}

const SETTINGS: Settings =
    Settings { model: Model::ReadsFrom, options: Options { budget: 20_000_000, reach: 256 } };

fn ignore(report: Report) {
    std::hint::black_box(report);
}

fn deadlocks() {
    for (threads, locks) in [(8, 32), (8, 8)] {
        let large = generate::Settings::large(1_000_000, threads, locks, 10_000);
        let weights = generate::Weights::large(400_000);
        let settings = generate::Settings { inversions: 1.0, weights, uninterrupted: 0.9, ..large };
        for (what, trace) in
            [("5,000 places", made(&settings)), ("a place a lock", by_lock(&made(&settings)))]
        {
            let start = clock();
            let setup = Setup::new(&trace);
            let counts = deadlocks::search(&setup, SETTINGS, &mut ignore);
            let seconds = clock() - start;
            println!(
                "deadlocks: {} events, {threads} threads, {locks} locks, {what}: {seconds:.2} s",
                trace.len()
            );
            println!("  {counts:?}");
        }
    }
}

/// The same trace, but with all acquires of a lock at one place in the source: as programs are.
fn by_lock(trace: &Trace) -> Trace {
    const FITS: &str = "as many names as the original has, and legal";
    let mut text = Vec::new();
    trace::text::write(trace, &mut text).expect("memory can be written to");
    let text = String::from_utf8(text).expect("text");
    let mut placed = String::with_capacity(text.len());
    for line in text.lines() {
        match line.rsplit_once('|') {
            Some((event, _)) if event.contains("|acq(") => {
                let lock = event.split('(').nth(1).unwrap_or_default();
                placed.push_str(&format!("{event}|{lock}\n"));
            }
            _ => {
                placed.push_str(line);
                placed.push('\n');
            }
        }
    }
    trace::text::read(placed.as_bytes()).expect(FITS)
}

fn atomicity() {
    // With 47 places there are some 4,000 candidates, with 100,000 some 290,000; the paper's largest trace has 5,202.
    for (locations, methods) in [(47, &Method::ALL[..]), (100_000, &[Method::Exact])] {
        let large = generate::Settings::large(3_300_000, 8, 32, 10_000);
        let settings = generate::Settings { disciplined: 0.999_95, skew: 0.0, locations, ..large };
        let trace = made(&settings);
        for &method in methods {
            let start = clock();
            let setup = Setup::new(&trace);
            let counts = atomicity::search_by(&setup, SETTINGS, method, &Intent::Stated, LIMITS, &mut ignore);
            let seconds = clock() - start;
            println!(
                "atomicity: {} events, {locations} places, {}: {seconds:.2} s",
                trace.len(),
                method.name()
            );
            println!("  {counts:?}");
        }
    }
}

/// A row of the paper's table A1.
struct Shape {
    name: &'static str,
    threads: u32,
    events: u64,
    lock_events: u64,
    locks: u32,
    accesses: u64,
    variables: u32,
    wait_events: u64,
}

#[rustfmt::skip]
const SHAPES: &[Shape] = &[
    Shape { name: "conpool", threads: 4, events: 97, lock_events: 16, locks: 1, accesses: 53, variables: 5, wait_events: 3 },
    Shape { name: "liveness", threads: 7, events: 283, lock_events: 44, locks: 9, accesses: 163, variables: 12, wait_events: 6 },
    Shape { name: "SynchBench", threads: 16, events: 1510, lock_events: 306, locks: 2, accesses: 533, variables: 15, wait_events: 0 },
    Shape { name: "Barrier1", threads: 10, events: 653, lock_events: 108, locks: 2, accesses: 262, variables: 12, wait_events: 7 },
    Shape { name: "Barrier2", threads: 13, events: 805, lock_events: 136, locks: 2, accesses: 340, variables: 16, wait_events: 7 },
    Shape { name: "account1", threads: 11, events: 902, lock_events: 146, locks: 21, accesses: 430, variables: 42, wait_events: 10 },
    Shape { name: "account2", threads: 21, events: 1747, lock_events: 282, locks: 41, accesses: 850, variables: 82, wait_events: 20 },
    Shape { name: "DaisyTest1", threads: 3, events: 2998, lock_events: 422, locks: 10, accesses: 2003, variables: 45, wait_events: 15 },
    Shape { name: "DaisyTest2", threads: 3, events: 4998, lock_events: 699, locks: 14, accesses: 3330, variables: 64, wait_events: 25 },
    Shape { name: "DaisyTest3", threads: 3, events: 7999, lock_events: 1096, locks: 18, accesses: 5341, variables: 81, wait_events: 36 },
    Shape { name: "Elevator1", threads: 4, events: 3004, lock_events: 370, locks: 11, accesses: 1795, variables: 70, wait_events: 0 },
    Shape { name: "Elevator2", threads: 4, events: 5001, lock_events: 610, locks: 11, accesses: 3668, variables: 117, wait_events: 0 },
    Shape { name: "Elevator3", threads: 4, events: 8004, lock_events: 1128, locks: 11, accesses: 5601, variables: 94, wait_events: 0 },
    Shape { name: "philo", threads: 6, events: 1141, lock_events: 126, locks: 6, accesses: 857, variables: 23, wait_events: 22 },
    Shape { name: "ThriffTrace1", threads: 4, events: 2406, lock_events: 226, locks: 12, accesses: 869, variables: 62, wait_events: 53 },
    Shape { name: "ThriffTrace2", threads: 4, events: 2452, lock_events: 234, locks: 12, accesses: 873, variables: 62, wait_events: 55 },
    Shape { name: "ThriffTrace3", threads: 10, events: 4844, lock_events: 404, locks: 18, accesses: 1739, variables: 129, wait_events: 91 },
    Shape { name: "ThriffTrace4", threads: 4, events: 6761, lock_events: 586, locks: 48, accesses: 2785, variables: 171, wait_events: 125 },
    Shape { name: "ThriffTrace5", threads: 20, events: 8950, lock_events: 722, locks: 28, accesses: 3320, variables: 223, wait_events: 165 },
    Shape { name: "ThriffTrace6", threads: 4, events: 11357, lock_events: 1384, locks: 48, accesses: 3184, variables: 171, wait_events: 324 },
    Shape { name: "ThriffTrace7", threads: 20, events: 13561, lock_events: 1520, locks: 28, accesses: 3727, variables: 223, wait_events: 372 },
    Shape { name: "ThriffTrace8", threads: 40, events: 15975, lock_events: 1239, locks: 48, accesses: 5485, variables: 429, wait_events: 259 },
    Shape { name: "ThriffTrace9", threads: 10, events: 16040, lock_events: 2981, locks: 18, accesses: 1345, variables: 107, wait_events: 1408 },
    Shape { name: "ThriffTrace10", threads: 6, events: 20640, lock_events: 1724, locks: 158, accesses: 8818, variables: 519, wait_events: 349 },
    Shape { name: "ThriffTrace11", threads: 6, events: 25237, lock_events: 2522, locks: 158, accesses: 9218, variables: 519, wait_events: 549 },
];

impl Shape {
    /// What the events are that the paper does not name, it does not say: here marks. How the accesses spread over the
    /// variables neither: here a third goes to the hottest eighth, and so on.
    fn settings(&self) -> generate::Settings {
        let other = self.events - self.lock_events - self.accesses - self.wait_events;
        let weights = generate::Weights {
            read: self.accesses as u32 * 2,
            write: self.accesses as u32,
            acquire: self.lock_events as u32 * 3 / 2,
            release: self.lock_events as u32 * 9 / 2,
            wait: self.wait_events as u32 / 2,
            signal: self.wait_events as u32,
            mark: other as u32 * 3,
            ..Default::default()
        };
        let large = generate::Settings::large(self.events, self.threads, self.locks, self.variables);
        generate::Settings { weights, disciplined: 0.5, skew: 0.3, switch: 0.1, ..large }
    }
}

fn nondeterminism() {
    let mut total = 0.0;
    println!("nondeterminism: witnesses, cut by orders, decided, feasible, unknown, seconds");
    for shape in SHAPES {
        let trace = made(&shape.settings());
        let start = clock();
        let setup = Setup::new(&trace);
        let phases = nondeterminism::search(&setup, SETTINGS, &mut ignore).phases;
        let seconds = clock() - start;
        total += seconds;
        println!(
            "  {:14} {:8} {:8} {:8} {:8} {:4} {seconds:8.3}",
            shape.name, phases.witnesses, phases.ordered, phases.decided, phases.feasible, phases.unknown
        );
    }
    println!("  in all {total:.1} s");
}

fn made(settings: &generate::Settings) -> Trace {
    generate::generate(settings).expect("the settings are valid")
}

/// Seconds that this thread has been on a processor, so that other work on the machine does not count; where the
/// system does not tell, seconds that have passed.
fn clock() -> f64 {
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
