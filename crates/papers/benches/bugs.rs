//! What finding bugs other than races costs, in seconds of processor time:
//!
//! - deadlocks in a million events in which every nested acquire ignores the order of the locks;
//! - atomicity violations, filtered and exact, in 3.3 million events, the size of paper 5's largest trace;
//! - what else reads could see in traces of the shapes of paper 4's table A1.
//!
//! - if asked for: atomicity violations in traces as large as those of paper 5's table 2.
//!
//! `cargo bench -p foretell-papers --bench bugs [-- deadlocks|atomicity|nondeterminism|table2..]`

use std::sync::LazyLock;
use std::time::Instant;

use candidates::atomicity::{Intent, LIMITS};
use candidates::{Report, SearchSettings, deadlocks, nondeterminism};
use check::Model;
use decide::{Index, Options};
use papers::atomicity::{Method, search_by};
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
    if wanted.iter().any(|wanted| wanted == "table2") {
        paper_5_table_2();
    }
}

const SETTINGS: SearchSettings =
    SearchSettings { model: Model::ReadsFrom, options: Options { budget: 20_000_000, reach: 256 } };

fn ignore(report: Report) {
    std::hint::black_box(report);
}

fn deadlocks() {
    for (threads, locks) in [(8, 32), (8, 8)] {
        let large = generate::TraceSettings::large(1_000_000, threads, locks, 10_000);
        let weights = generate::Weights::large(400_000);
        let settings = generate::TraceSettings { inversions: 1.0, weights, uninterrupted: 0.9, ..large };
        for (what, trace) in
            [("5,000 places", made(&settings)), ("a place a lock", by_lock(&made(&settings)))]
        {
            let start = clock();
            let index = Index::new(&trace);
            let counts = deadlocks::search(&index, SETTINGS, &mut ignore);
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
    for (locations, methods) in [(47, &Method::ALL[..]), (100_000, &[Method::AvFilter, Method::Exact])] {
        violations(3_300_000, 0.999_95, locations, methods);
    }
}

/// Of the paper's traces nothing but the number of events is known.
fn paper_5_table_2() {
    for (events, disciplined) in [(140_532, 0.999), (550_352, 0.999_9), (3_273_281, 0.999_95)] {
        violations(events, disciplined, 47, &Method::ALL);
    }
}

/// In a trace with so many events, the given share of its accesses with their lock, and so many places in the source.
fn violations(events: u64, disciplined: f64, locations: u32, methods: &[Method]) {
    let large = generate::TraceSettings::large(events, 8, 32, 10_000);
    let trace = made(&generate::TraceSettings { disciplined, skew: 0.0, locations, ..large });
    for &method in methods {
        let start = clock();
        let index = Index::new(&trace);
        let counts = search_by(method, &index, SETTINGS, &Intent::Stated, LIMITS, &mut ignore);
        let seconds = clock() - start;
        println!("atomicity: {} events, {locations} places, {}: {seconds:.2} s", trace.len(), method.name());
        println!("  {counts:?}");
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
    /// Columns 2, 4, 5, 9 and 8. The paper looks at three orders of a read, its write and another write, and counts each: all of its numbers of
    /// witnesses are divisible by three.
    witnesses: u64,
    without_choices: u64,
    with_choices: u64,
    feasible: u64,
    seconds: f64,
}

#[rustfmt::skip]
const SHAPES: &[Shape] = &[
    Shape { name: "conpool", threads: 4, events: 97, lock_events: 16, locks: 1, accesses: 53, variables: 5, wait_events: 3, witnesses: 252, without_choices: 31, with_choices: 0, feasible: 31, seconds: 0.007 },
    Shape { name: "liveness", threads: 7, events: 283, lock_events: 44, locks: 9, accesses: 163, variables: 12, wait_events: 6, witnesses: 855, without_choices: 146, with_choices: 0, feasible: 146, seconds: 0.064 },
    Shape { name: "SynchBench", threads: 16, events: 1510, lock_events: 306, locks: 2, accesses: 533, variables: 15, wait_events: 0, witnesses: 47526, without_choices: 8052, with_choices: 0, feasible: 8052, seconds: 8.85 },
    Shape { name: "Barrier1", threads: 10, events: 653, lock_events: 108, locks: 2, accesses: 262, variables: 12, wait_events: 7, witnesses: 3975, without_choices: 744, with_choices: 0, feasible: 744, seconds: 0.62 },
    Shape { name: "Barrier2", threads: 13, events: 805, lock_events: 136, locks: 2, accesses: 340, variables: 16, wait_events: 7, witnesses: 6516, without_choices: 1211, with_choices: 0, feasible: 1211, seconds: 1.17 },
    Shape { name: "account1", threads: 11, events: 902, lock_events: 146, locks: 21, accesses: 430, variables: 42, wait_events: 10, witnesses: 1416, without_choices: 326, with_choices: 48, feasible: 374, seconds: 1.352 },
    Shape { name: "account2", threads: 21, events: 1747, lock_events: 282, locks: 41, accesses: 850, variables: 82, wait_events: 20, witnesses: 2796, without_choices: 647, with_choices: 86, feasible: 733, seconds: 3.819 },
    Shape { name: "DaisyTest1", threads: 3, events: 2998, lock_events: 422, locks: 10, accesses: 2003, variables: 45, wait_events: 15, witnesses: 383007, without_choices: 61852, with_choices: 15520, feasible: 77372, seconds: 244.0 },
    Shape { name: "DaisyTest2", threads: 3, events: 4998, lock_events: 699, locks: 14, accesses: 3330, variables: 64, wait_events: 25, witnesses: 1100814, without_choices: 183794, with_choices: 45085, feasible: 228879, seconds: 1130.0 },
    Shape { name: "DaisyTest3", threads: 3, events: 7999, lock_events: 1096, locks: 18, accesses: 5341, variables: 81, wait_events: 36, witnesses: 3025419, without_choices: 516746, with_choices: 122041, feasible: 638787, seconds: 6393.0 },
    Shape { name: "Elevator1", threads: 4, events: 3004, lock_events: 370, locks: 11, accesses: 1795, variables: 70, wait_events: 0, witnesses: 3249, without_choices: 578, with_choices: 0, feasible: 578, seconds: 0.8 },
    Shape { name: "Elevator2", threads: 4, events: 5001, lock_events: 610, locks: 11, accesses: 3668, variables: 117, wait_events: 0, witnesses: 12285, without_choices: 2286, with_choices: 0, feasible: 2286, seconds: 8.1 },
    Shape { name: "Elevator3", threads: 4, events: 8004, lock_events: 1128, locks: 11, accesses: 5601, variables: 94, wait_events: 0, witnesses: 24627, without_choices: 4566, with_choices: 0, feasible: 4566, seconds: 24.0 },
    Shape { name: "philo", threads: 6, events: 1141, lock_events: 126, locks: 6, accesses: 857, variables: 23, wait_events: 22, witnesses: 4893, without_choices: 775, with_choices: 0, feasible: 775, seconds: 0.65 },
    Shape { name: "ThriffTrace1", threads: 4, events: 2406, lock_events: 226, locks: 12, accesses: 869, variables: 62, wait_events: 53, witnesses: 618, without_choices: 96, with_choices: 161, feasible: 257, seconds: 1.6 },
    Shape { name: "ThriffTrace2", threads: 4, events: 2452, lock_events: 234, locks: 12, accesses: 873, variables: 62, wait_events: 55, witnesses: 618, without_choices: 96, with_choices: 161, feasible: 257, seconds: 1.6 },
    Shape { name: "ThriffTrace3", threads: 10, events: 4844, lock_events: 404, locks: 18, accesses: 1739, variables: 129, wait_events: 91, witnesses: 2811, without_choices: 435, with_choices: 2, feasible: 437, seconds: 1.2 },
    Shape { name: "ThriffTrace4", threads: 4, events: 6761, lock_events: 586, locks: 48, accesses: 2785, variables: 171, wait_events: 125, witnesses: 35610, without_choices: 5804, with_choices: 365, feasible: 6169, seconds: 21.5 },
    Shape { name: "ThriffTrace5", threads: 20, events: 8950, lock_events: 722, locks: 28, accesses: 3320, variables: 223, wait_events: 165, witnesses: 9615, without_choices: 1537, with_choices: 20, feasible: 1557, seconds: 5.9 },
    Shape { name: "ThriffTrace6", threads: 4, events: 11357, lock_events: 1384, locks: 48, accesses: 3184, variables: 171, wait_events: 324, witnesses: 35610, without_choices: 5804, with_choices: 365, feasible: 6169, seconds: 28.0 },
    Shape { name: "ThriffTrace7", threads: 20, events: 13561, lock_events: 1520, locks: 28, accesses: 3727, variables: 223, wait_events: 372, witnesses: 9609, without_choices: 1536, with_choices: 18, feasible: 1554, seconds: 8.1 },
    Shape { name: "ThriffTrace8", threads: 40, events: 15975, lock_events: 1239, locks: 48, accesses: 5485, variables: 429, wait_events: 259, witnesses: 35748, without_choices: 5809, with_choices: 52, feasible: 5861, seconds: 35.0 },
    Shape { name: "ThriffTrace9", threads: 10, events: 16040, lock_events: 2981, locks: 18, accesses: 1345, variables: 107, wait_events: 1408, witnesses: 2577, without_choices: 382, with_choices: 1, feasible: 383, seconds: 2.9 },
    Shape { name: "ThriffTrace10", threads: 6, events: 20640, lock_events: 1724, locks: 158, accesses: 8818, variables: 519, wait_events: 349, witnesses: 479142, without_choices: 79326, with_choices: 2, feasible: 79328, seconds: 243.0 },
    Shape { name: "ThriffTrace11", threads: 6, events: 25237, lock_events: 2522, locks: 158, accesses: 9218, variables: 519, wait_events: 549, witnesses: 479142, without_choices: 79326, with_choices: 2, feasible: 79328, seconds: 477.0 },
];

impl Shape {
    /// What the events are that the paper does not name, it does not say: here marks. How the accesses spread over the variables, and
    /// how many of them write, neither: they are chosen so that there are about as many pairs of a read and another write as in the
    /// paper's trace, see [`Shape::fitted`].
    fn settings(&self, spread: Spread) -> generate::TraceSettings {
        const SCALE: f64 = 64.0;
        let other = self.events - self.lock_events - self.accesses - self.wait_events;
        let weight = |count: u64, times: f64| (count as f64 * times * SCALE) as u32;
        let weights = generate::Weights {
            read: weight(self.accesses, 1.0 - spread.writes),
            write: weight(self.accesses, spread.writes).max(1),
            acquire: weight(self.lock_events, 0.5),
            release: weight(self.lock_events, 1.5),
            wait: weight(self.wait_events, 0.17),
            signal: weight(self.wait_events, 0.33),
            mark: weight(other, 1.0),
            ..Default::default()
        };
        let large = generate::TraceSettings::large(self.events, self.threads, self.locks, self.variables);
        generate::TraceSettings { weights, disciplined: 0.5, skew: spread.skew, switch: 0.1, ..large }
    }

    /// A trace of this shape with about as many pairs as the paper's: with a third of the accesses writes, the hotter the hottest variables
    /// the more; if there are too many even if all are alike, with fewer writes.
    fn fitted(&self) -> Trace {
        let wanted = self.witnesses / 3;
        let even = Spread { skew: 0.0, writes: 1.0 / 3.0 };
        let too_many = |spread: Spread| pairs(&made(&self.settings(spread))) > wanted;
        let spread = match too_many(even) {
            false => Spread { skew: highest(0.98, |skew| !too_many(Spread { skew, ..even })), ..even },
            true => {
                Spread { writes: highest(even.writes, |writes| !too_many(Spread { writes, ..even })), ..even }
            }
        };
        made(&self.settings(spread))
    }
}

/// How accesses spread over variables and kinds.
#[derive(Clone, Copy)]
struct Spread {
    skew: f64,
    writes: f64,
}

/// About the highest number up to another one that will do.
fn highest(most: f64, will_do: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..10 {
        let middle = (low + high) / 2.0;
        *(if will_do(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Reads and other writes of the same variable.
fn pairs(trace: &Trace) -> u64 {
    let mut accesses = vec![(0, 0); trace.symbols().variables.len()];
    for (_, _, op) in trace.events() {
        if let Some(access) = op.access() {
            let (reads, writes) = &mut accesses[access.variable.index()];
            *reads += u64::from(access.reads);
            *writes += u64::from(access.writes);
        }
    }
    accesses.iter().map(|(reads, writes)| reads * writes).sum()
}

fn nondeterminism() {
    let (mut total, mut paper) = (0.0, 0.0);
    println!(
        "nondeterminism, beside a third of what the paper counts (three orders a witness): witnesses, paper | refuted by orders, paper |"
    );
    println!(
        "  feasible without choices, paper | with choices, paper | cases for one of those | feasible, paper | unknown | s, paper"
    );
    for shape in SHAPES {
        let trace = shape.fitted();
        let start = clock();
        let index = Index::new(&trace);
        let phases = nondeterminism::search(&index, SETTINGS, &mut ignore).phases;
        let seconds = clock() - start;
        total += seconds;
        paper += shape.seconds;
        let by_choices = phases.feasible_by_cases + phases.refuted_by_cases;
        let refuted = phases.witnesses - phases.feasible - phases.unknown - phases.refuted_by_cases;
        let cycles = shape.witnesses - shape.without_choices - shape.with_choices;
        let graphs = phases.cases as f64 / by_choices.max(1) as f64;
        println!(
            "  {:14} {:8} {:8} | {refuted:8} {:8} | {:7} {:7} | {by_choices:6} {:6} | {graphs:5.2} | {:7} {:7} | {:4} | {seconds:7.3} {:8.3}",
            shape.name,
            phases.witnesses,
            shape.witnesses / 3,
            cycles / 3,
            phases.feasible - phases.feasible_by_cases,
            shape.without_choices / 3,
            shape.with_choices / 3,
            phases.feasible,
            shape.feasible / 3,
            phases.unknown,
            shape.seconds
        );
    }
    println!("  in all {total:.1} s, the paper {paper:.0} s");
}

fn made(settings: &generate::TraceSettings) -> Trace {
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
