//! Findings: predicted bugs, as programs read them. The contract is docs/json.md.
//!
//! Searches count ([`Funnel`]), the pipeline makes findings, and reports show them: this is what they share.

use check::{Model, WrittenQuestion};
use serde::{Deserialize, Serialize};
use trace::{EventId, Trace};

/// What kind of bug a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// All of them, in the order in which they are searched for: which reads race is known before what else they could see.
    pub const ALL: &[FindingKind] = &[
        FindingKind::Race,
        FindingKind::Deadlock,
        FindingKind::Atomicity,
        FindingKind::Order,
        FindingKind::Nondeterminism,
        FindingKind::Predicate,
    ];

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
        format!("{}s", self.title())
    }

    /// As a heading has it.
    pub fn title(self) -> &'static str {
        match self {
            FindingKind::Race => "data race",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Atomicity => "atomicity violation",
            FindingKind::Nondeterminism => "nondeterministic read",
            FindingKind::Order => "order violation",
            FindingKind::Predicate => "predicate violation",
        }
    }
}

/// How far a finding has climbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Feasible if reads may see anything.
    Possible,
    /// Feasible, but a replay of the program could not follow the schedule.
    Diverged,
    /// Feasible with every read seeing what it saw: whatever the program is, it can happen.
    Predicted,
    /// Seen happening in a replay of the program.
    Confirmed,
}

impl Rung {
    /// All of them, the highest first.
    pub const ALL: [Rung; 4] = [Rung::Confirmed, Rung::Predicted, Rung::Diverged, Rung::Possible];

    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Possible => "possible",
            Rung::Diverged => "diverged",
            Rung::Predicted => "predicted",
            Rung::Confirmed => "confirmed",
        }
    }
}

/// One finding, as `predict --json` has it. Its schedule has been verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Of a nondeterministic read: whether it also races.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racy: Option<bool>,
    /// Of an atomicity violation: its events come in this order in every run, by forks, joins and the like, so that it
    /// is rather how the program is meant to be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherent: bool,
    /// The events in the order that shows it.
    pub schedule: Vec<EventId>,
    /// The question it answers.
    pub question: WrittenQuestion,
    /// The file of the recording it is of, beside the findings, if that is another than the trace they are of: a replay that went a way of
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// What came of replaying it, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replayed>,
}

impl Finding {
    /// The events that make it up, without the initial value.
    pub fn named_events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.events.iter().filter_map(|&event| u32::try_from(event).ok()).map(EventId)
    }

    /// Whether it is what another finding is, as far as the source tells: the same kind at the same places.
    pub fn is_like(&self, other: &Finding) -> bool {
        let places = |finding: &Finding| {
            let mut places = finding.locations.clone();
            // An order and its reverse are different violations.
            if finding.kind != FindingKind::Order {
                places.sort_unstable();
                places.dedup();
            }
            places
        };
        self.kind == other.kind && places(self) == places(other)
    }

    /// All events it speaks of, with where it does so.
    pub fn ids(&self) -> impl Iterator<Item = (EventId, String)> + '_ {
        let events = self.named_events().map(|event| (event, "events".to_owned()));
        let steps =
            self.schedule.iter().enumerate().map(|(index, &event)| (event, format!("schedule[{index}]")));
        events.chain(steps)
    }
}

/// What came of replaying a finding: as in `replay --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// How often it was tried.
    pub times: u64,
    /// How often it was seen happening.
    pub confirmed: u64,
    /// Where a replay left the schedule, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
}

/// All findings about a trace, as `predict --json` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// The version of this shape.
    pub schema: u32,
    /// The size of the trace.
    pub trace: Size,
    /// The model asked under.
    pub model: Model,
    /// How candidates were found.
    pub method: String,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Questions left open by the budget.
    pub unknown: u64,
    /// Candidates looked at.
    pub candidates: u64,
    /// Candidates of an inexact method that are infeasible even under `sync`.
    #[serde(default)]
    pub refuted: u64,
    /// Findings left out because the user does not want to be told of them.
    #[serde(default)]
    pub suppressed: u64,
    /// How many pairs of conflicting accesses each stage of the search for races settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funnel: Option<Funnel>,
}

/// The size of a trace, and where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the number of what it is called")]
pub struct Size {
    pub events: usize,
    pub threads: usize,
    pub locks: usize,
    pub variables: usize,
    /// The file, as it was named; `None`: it came through a pipe.
    #[serde(default)]
    pub path: Option<String>,
}

impl Size {
    /// Of this trace.
    pub fn of(trace: &Trace, path: Option<String>) -> Self {
        let symbols = trace.symbols();
        Size {
            events: trace.len(),
            threads: symbols.threads.len(),
            locks: symbols.locks.len(),
            variables: symbols.variables.len(),
            path,
        }
    }
}

/// How many pairs of conflicting accesses each stage of the search for races settled. JSON has the stages only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// Accesses of variables that more than one thread touches and someone writes.
    #[serde(skip)]
    pub accesses: u64,
    /// Conflicting pairs of them.
    pub pairs: u64,
    /// Of those: ordered in every schedule.
    pub ordered: u64,
    /// Kept apart by a common lock.
    pub locked: u64,
    /// Races in the order of the trace's own synchronisation.
    pub preserving: u64,
    /// Asked of the engine.
    pub asked: u64,
    /// Races.
    #[serde(skip)]
    pub feasible: u64,
    /// Left open by the budget.
    #[serde(skip)]
    pub unknown: u64,
}
