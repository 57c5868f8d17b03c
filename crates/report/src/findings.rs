//! Findings: bugs foretold, for people and for programs.

use check::Question;
use serde::Serialize;
use trace::{EventId, Trace};

use crate::evidence::ModelName;
use crate::interleaving::{Steps, interleaving};
use crate::words::Words;
use crate::wrap::wrapped;

/// What kind of bug a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is what it is called")]
pub enum FindingKind {
    Race,
    Deadlock,
    Atomicity,
    Nondeterminism,
    Order,
    Predicate,
}

impl FindingKind {
    /// As it is called in ids and JSON.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Race => "race",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Atomicity => "atomicity",
            FindingKind::Nondeterminism => "nondeterminism",
            FindingKind::Order => "order",
            FindingKind::Predicate => "predicate",
        }
    }

    /// Many of them, in words.
    pub fn title_of_many(self) -> String {
        match self {
            FindingKind::Predicate => "states as described".to_owned(),
            kind => format!("{}s", kind.title()),
        }
    }

    /// As a heading has it.
    fn title(self) -> &'static str {
        match self {
            FindingKind::Race => "data race",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Atomicity => "atomicity violation",
            FindingKind::Nondeterminism => "nondeterministic read",
            FindingKind::Order => "order violation",
            FindingKind::Predicate => "state as described",
        }
    }
}

/// How far a finding has climbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Feasible if reads may see anything.
    Possible,
    /// Feasible with every read seeing what it saw: whatever the program is, it can happen.
    Predicted,
}

impl Rung {
    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Possible => "possible",
            Rung::Predicted => "predicted",
        }
    }
}

/// One finding, as `predict --json` has it. Its schedule has been verified.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its kind and number: `race-1`.
    pub id: String,
    /// What kind of bug it is.
    pub kind: FindingKind,
    /// How far it has climbed.
    pub rung: Rung,
    /// Whether the program is certain to follow the schedule.
    pub guaranteed: bool,
    /// The events that make it up; -1 is the initial value.
    pub events: Vec<i64>,
    /// What it is about.
    pub object: String,
    /// Where the events are in the source.
    pub locations: Vec<String>,
    /// How many sets of events it stands for.
    pub count: u64,
    /// The events in the order that shows it.
    pub schedule: Vec<EventId>,
    /// The question it answers.
    #[serde(skip)]
    pub question: Question,
}

/// All findings about a trace, as `predict --json` has them.
#[derive(Clone, Debug, Serialize)]
pub struct Predictions {
    /// The version of this shape.
    pub schema: u32,
    /// The size of the trace.
    pub trace: Size,
    /// The model asked under.
    pub model: ModelName,
    /// How candidates were found.
    pub method: &'static str,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Questions left open by the budget.
    pub unknown: u64,
    /// Candidates looked at.
    pub candidates: u64,
    /// Candidates of an inexact method that are infeasible even under `sync`.
    pub refuted: u64,
    /// How many pairs of conflicting accesses each stage of the search for races settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub funnel: Option<Funnel>,
}

/// The size of a trace.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "each is the number of what it is called")]
pub struct Size {
    pub events: usize,
    pub threads: usize,
    pub locks: usize,
    pub variables: usize,
}

impl Size {
    /// Of this trace.
    pub fn of(trace: &Trace) -> Self {
        let symbols = trace.symbols();
        Size {
            events: trace.len(),
            threads: symbols.threads.len(),
            locks: symbols.locks.len(),
            variables: symbols.variables.len(),
        }
    }
}

/// How many pairs each stage of the search for races settled.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Funnel {
    /// Conflicting pairs of accesses of shared variables.
    pub pairs: u64,
    /// Ordered in every schedule.
    pub ordered: u64,
    /// Kept apart by a common lock.
    pub locked: u64,
    /// Races in the order of the trace's own synchronisation.
    pub preserving: u64,
    /// Asked of the engine.
    pub asked: u64,
}

/// A finding for a person: what it is, where, and the interleaving that shows it.
pub fn finding_in_words(trace: &Trace, finding: &Finding, steps: Steps) -> String {
    let words = Words::new(trace);
    let times = match finding.count {
        1 => String::new(),
        count => format!(" ({count} pairs of events at these places)"),
    };
    let times = if finding.kind == FindingKind::Race { times } else { times.replace("pairs", "sets") };
    let headline = format!(
        "{}: {} on {}, {}{times}\n",
        finding.id,
        finding.kind.title(),
        finding.object,
        finding.rung.name(),
    );
    let what = wrapped(&format!("{}.", words.possible(&finding.question)), 2, 2);
    let table = interleaving(trace, &finding.question, &finding.schedule, steps);
    let table: String = table.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    let certain = match finding.guaranteed {
        true => "",
        false => {
            "  Not guaranteed: a thread goes on after a read that sees something else; the program might turn elsewhere.\n"
        }
    };
    format!("{headline}{what}\n{table}{certain}")
}
