//! The rules of a SARIF file: one a kind of bug.

use super::shape::{Configuration, Message, Rule, RuleProperties};
use findings::FindingKind;

const KINDS: [FindingKind; 8] = [
    FindingKind::Race,
    FindingKind::Deadlock,
    FindingKind::Atomicity,
    FindingKind::Nondeterminism,
    FindingKind::Order,
    FindingKind::Predicate,
    FindingKind::Failure,
    FindingKind::Misuse,
];

/// All rules, in the order of their indices.
pub(super) fn all() -> Vec<Rule> {
    KINDS.iter().map(|&kind| rule(kind)).collect()
}

/// The index and id of a kind's rule.
pub(super) fn of(kind: FindingKind) -> (usize, &'static str) {
    let index = KINDS.iter().position(|&known| known == kind).unwrap_or_default();
    (index, id(kind))
}

fn id(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Race => "foretell/race",
        FindingKind::Deadlock => "foretell/deadlock",
        FindingKind::Atomicity => "foretell/atomicity",
        FindingKind::Nondeterminism => "foretell/nondeterminism",
        FindingKind::Order => "foretell/order",
        FindingKind::Predicate => "foretell/predicate",
        FindingKind::Failure => "foretell/failure",
        FindingKind::Misuse => "foretell/misuse",
    }
}

fn rule(kind: FindingKind) -> Rule {
    let (name, full, help) = match kind {
        FindingKind::Race => (
            "DataRace",
            "Two threads can access the same memory at the same time, and at least one of them writes.",
            "Guard both accesses with the same lock, make them atomic, or order them by a join or a signal.",
        ),
        FindingKind::Deadlock => (
            "Deadlock",
            "Threads can wait for each other in a cycle, so none of them ever continues.",
            "Take locks in the same order everywhere, or hold fewer of them while waiting.",
        ),
        FindingKind::Atomicity => (
            "AtomicityViolation",
            "Another thread can come between two accesses that belong together.",
            "Hold one lock over both accesses, not one over each.",
        ),
        FindingKind::Nondeterminism => (
            "NondeterministicRead",
            "A read can see another value than in the recorded run, depending on how threads are scheduled.",
            "Order the read after the write it is meant to see.",
        ),
        FindingKind::Order => (
            "OrderViolation",
            "Events can happen in a forbidden order.",
            "Order them by a join, a signal or a lock.",
        ),
        FindingKind::Predicate => (
            "StateAsDescribed",
            "The program can reach a state that a rule forbids.",
            "See the schedule that leads there.",
        ),
        FindingKind::Failure => (
            "Failure",
            "A run of the program crashed, aborted, failed an assertion, panicked or hung.",
            "See the schedule that leads there, and replay it.",
        ),
        FindingKind::Misuse => (
            "Misuse",
            "A lock, a condition variable, a thread or a signal handler is used in a way that its rules forbid.",
            "See the documentation of the function that is called.",
        ),
    };
    let level = if kind == FindingKind::Nondeterminism { "warning" } else { "error" };
    let text = |text: &str| Message { text: text.to_owned() };
    let mut title = kind.title().to_owned();
    title[..1].make_ascii_uppercase();
    Rule {
        id: id(kind),
        name,
        short_description: Message { text: title },
        full_description: text(full),
        help: text(help),
        default_configuration: Configuration { level },
        properties: RuleProperties { tags: ["concurrency", "correctness"], precision: "very-high" },
    }
}
