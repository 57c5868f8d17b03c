//! The race methods against naive twins, the oracle, and each other.

mod cp;
mod graph;
mod hb;
mod lockset;
mod syncp;
mod ucg;
mod yardstick;

use std::collections::BTreeSet;

use candidates::races::{RacePair, conflict};
use check::{Model, Question};
use trace::{EventId, Trace};

/// Shows tiny traces of many kinds to a check.
fn on_tiny_traces(seeds: std::ops::Range<u64>, mut check: impl FnMut(u64, &Trace)) {
    for seed in seeds {
        let trace =
            generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
        check(seed, &trace);
    }
}

/// Every two conflicting accesses.
fn conflicting_pairs(trace: &Trace) -> Vec<RacePair> {
    let events = (0..trace.len()).map(EventId::new);
    let pairs = events
        .clone()
        .flat_map(|second| events.clone().take(second.index()).map(move |first| RacePair { first, second }));
    pairs.filter(|pair| conflicts(trace, *pair)).collect()
}

fn conflicts(trace: &Trace, pair: RacePair) -> bool {
    let accesses = (trace.op(pair.first).access(), trace.op(pair.second).access());
    let different = trace.thread(pair.first) != trace.thread(pair.second);
    different && matches!(accesses, (Some(a), Some(b)) if conflict(a, b))
}

/// The pairs that can happen at the same time, by brute force.
fn feasible_pairs(trace: &Trace, model: Model) -> BTreeSet<RacePair> {
    let pairs = conflicting_pairs(trace);
    let questions: Vec<Question> = pairs.iter().map(|pair| Question::Race(pair.first, pair.second)).collect();
    let answers = oracle::answer_all(trace, model, &questions);
    pairs.into_iter().zip(answers).filter(|(_, feasible)| *feasible).map(|(pair, _)| pair).collect()
}

/// The later events of pairs.
fn later(pairs: impl IntoIterator<Item = RacePair>) -> BTreeSet<EventId> {
    pairs.into_iter().map(|pair| pair.second).collect()
}

fn shown(trace: &Trace) -> String {
    let mut text = Vec::new();
    trace::text::write(trace, &mut text).expect("memory can be written to");
    String::from_utf8(text).expect("text")
}

/// A trace written by hand, each line a location of its own.
fn read(text: &str) -> Trace {
    let lines: Vec<String> =
        text.lines().enumerate().map(|(n, line)| format!("{}|{n}", line.trim())).collect();
    trace::text::read(lines.join("\n").as_bytes()).expect("a well-formed trace")
}

fn pair(first: u32, second: u32) -> RacePair {
    RacePair { first: EventId(first), second: EventId(second) }
}
