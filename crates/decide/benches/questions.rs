//! What a question costs. Prints tables; `cargo xtask bench decide` keeps them in bench/RESULTS.md.
//!
//! 1. Races on traces of the size of paper 1's largest (1,294 events, 3 threads).
//! 2. Races between events 1,000 apart, in traces from 10^4 to 10^7 events.
//! 3. All witnesses of nondeterminism of traces of the shape of paper 4's DaisyTest3.

use std::time::{Duration, Instant};

use check::{Model, Question};
use decide::{Index, Options, Verdict, Witnesses, decide};
use generate::{TraceSettings, generate};
use trace::{EventId, Op, Trace};

fn main() {
    let only: Option<String> = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("paper") {
        paper_sized();
    }
    if wanted("distance") {
        by_distance();
    }
    if wanted("witnesses") {
        witnesses();
    }
    if let Some(peak) = peak_memory() {
        println!("\nPeak memory of all this in one process: {peak}.");
    }
}

/// The largest resident set so far, as the kernel states it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_once(':').map(|(_, peak)| peak.trim().to_owned())
}

/// What came of a batch of questions.
#[derive(Default)]
struct Tally {
    times: Vec<Duration>,
    feasible: usize,
    unknown: usize,
}

impl Tally {
    fn ask(&mut self, index: &Index<'_>, question: &Question, model: Model) {
        let start = Instant::now();
        let verdict = decide(index, question, model, Options::default()).expect("the question is valid");
        self.times.push(start.elapsed());
        self.feasible += usize::from(matches!(verdict, Verdict::Feasible(_)));
        self.unknown += usize::from(matches!(verdict, Verdict::Unknown { .. }));
    }

    fn row(&mut self, name: &str) {
        self.times.sort_unstable();
        let at = |share: f64| {
            let index = ((self.times.len() as f64 - 1.0) * share) as usize;
            self.times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        println!(
            "| {name} | {} | {} | {} | {:.1} | {:.1} | {:.1} |",
            self.times.len(),
            self.feasible,
            self.unknown,
            at(0.5),
            at(0.95),
            at(1.0)
        );
    }
}

const HEADER: &str = "| trace | questions | feasible | unknown | median us | 95 % us | worst us |\n|---|---|---|---|---|---|---|";

/// For each event the locks its thread holds, as bits: pairs that share one are no question for an engine.
fn held(trace: &Trace) -> Vec<u64> {
    let mut by_thread = vec![0u64; trace.symbols().threads.len()];
    let step = |(event, thread, op): (EventId, trace::ThreadId, Op)| {
        let held = &mut by_thread[thread.index()];
        match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) => *held |= 1 << (lock.0 % 64),
            Op::Release(lock) | Op::ReleaseShared(lock) if !trace.is_nested(event) => {
                *held &= !(1 << (lock.0 % 64))
            }
            _ => {}
        }
        *held
    };
    trace.events().map(step).collect()
}

/// Half of the accesses keep no lock discipline, so that there is something to ask.
fn undisciplined(settings: TraceSettings) -> TraceSettings {
    TraceSettings { disciplined: 0.5, ..settings }
}

/// Pairs of accesses without a common lock, at most so many, spread over the trace.
fn candidates(trace: &Trace, limit: usize) -> Vec<Question> {
    let mut by_variable: Vec<Vec<EventId>> = vec![Vec::new(); trace.symbols().variables.len()];
    for (event, _, op) in trace.events() {
        if let Some(access) = op.access() {
            by_variable[access.variable.index()].push(event);
        }
    }
    let held = held(trace);
    let mut all = Vec::new();
    for events in &by_variable {
        for (index, &a) in events.iter().enumerate() {
            for &b in &events[index + 1..] {
                let question = Question::Race(a, b);
                if held[a.index()] & held[b.index()] == 0 && question.validate(trace).is_ok() {
                    all.push(question);
                }
            }
        }
    }
    let stride = (all.len() / limit).max(1);
    all.into_iter().step_by(stride).take(limit).collect()
}

fn paper_sized() {
    println!("## Races on traces of paper 1's size\n\n{HEADER}");
    for model in [Model::ReadsFrom, Model::Sync] {
        for (threads, locks, variables) in [(3, 1, 785), (3, 4, 100), (4, 8, 40), (8, 8, 40)] {
            let mut tally = Tally::default();
            for seed in 0..10 {
                let settings = undisciplined(TraceSettings {
                    seed,
                    ..TraceSettings::large(1300, threads, locks, variables)
                });
                let trace = generate(&settings).expect("valid settings");
                let index = Index::new(&trace);
                for question in candidates(&trace, 300) {
                    tally.ask(&index, &question, model);
                }
            }
            tally.row(&format!(
                "1,300 events, {threads} threads, {locks} locks, {variables} variables, {model:?}"
            ));
        }
    }
    println!();
}

fn by_distance() {
    println!("## Races between events about 1,000 events apart\n\n{HEADER}");
    for events in [10_000, 100_000, 1_000_000, 10_000_000] {
        let settings = undisciplined(TraceSettings { seed: 1, ..TraceSettings::large(events, 8, 32, 2000) });
        let trace = generate(&settings).expect("valid settings");
        let index = Index::new(&trace);
        let mut tally = Tally::default();
        for question in apart(&index, 1000, 600) {
            tally.ask(&index, &question, Model::ReadsFrom);
        }
        tally.row(&format!("{events} events"));
    }
    println!();
}

/// Conflicting pairs about so far apart, spread over the trace.
fn apart(index: &Index<'_>, distance: u32, limit: usize) -> Vec<Question> {
    let trace = index.trace();
    let held = held(trace);
    let near = |a: EventId| {
        let access = trace.op(a).access()?;
        let writes = index.writes(access.variable);
        let from = writes.partition_point(|&write| write.0 < a.0 + distance - distance / 10);
        let near = writes[from..].iter().take_while(|&&write| write.0 < a.0 + distance + distance / 10);
        let apart = near.filter(|b| held[a.index()] & held[b.index()] == 0);
        apart.map(|&b| Question::Race(a, b)).find(|question| question.validate(trace).is_ok())
    };
    // A step that visits all of the trace in a scattered order.
    let scattered = (0..trace.len()).map(|index| EventId::new(index * 7_368_787 % trace.len()));
    scattered.filter_map(near).take(limit).collect()
}

fn witnesses() {
    println!("## All witnesses of nondeterminism (8,000 events, 3 threads, 18 locks, 81 variables)\n");
    println!(
        "| share of reads | hot variables | witnesses | screened | decided | feasible | unknown | seconds | us a witness |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (read, skew) in [(618_800, 1.0), (400_000, 1.0), (200_000, 1.0), (200_000, 0.9), (618_800, 0.3)] {
        let mut settings = TraceSettings { seed: 1, skew, ..TraceSettings::large(8000, 3, 18, 81) };
        settings.weights.write = settings.weights.write + settings.weights.read - read;
        settings.weights.read = read;
        let trace = generate(&settings).expect("valid settings");
        let start = Instant::now();
        let index = Index::new(&trace);
        let mut witnesses = Witnesses::new(&index, Model::ReadsFrom, Options::default());
        for (event, _, _) in trace.events().filter(|(_, _, op)| op.reads().is_some()) {
            witnesses.of_read(event);
        }
        let (phases, seconds) = (witnesses.phases, start.elapsed().as_secs_f64());
        println!(
            "| {} % | {skew} | {} | {} | {} | {} | {} | {seconds:.2} | {:.2} |",
            read / 8918,
            phases.witnesses,
            phases.ordered,
            phases.decided,
            phases.feasible,
            phases.unknown,
            seconds * 1e6 / phases.witnesses as f64
        );
    }
}
