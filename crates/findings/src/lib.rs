//! Findings: predicted bugs, as programs read them. The contract is docs/json.md.
//!
//! Searches count ([`Funnel`]), the pipeline makes findings, and reports show them: this is what they share.
//!
#![doc = include_str!("../README.md")]

mod baseline;
mod cause;
mod predictions;
mod suite;

use check::WrittenQuestion;
use serde::{Deserialize, Serialize};
use trace::EventId;

pub use baseline::{Baseline, Comparison, FixedFinding};
pub use cause::{Cause, FurtherPlaces, MOST_ELEMENTS, family, group_by_cause, number_by_rank, without_lines};
pub use predictions::{Coverage, FirstFailure, Funnel, HuntEnd, Predictions, Size, Stopped, StoppedBy};
pub use suite::{Suite, SuiteTest, TestOutcome, TestStatus};

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
    Failure,
    Misuse,
}

impl FindingKind {
    /// Whether it is about the order of threads: failures and misuse happened in the run itself.
    pub fn depends_on_order(self) -> bool {
        match self {
            FindingKind::Race
            | FindingKind::Deadlock
            | FindingKind::Atomicity
            | FindingKind::Nondeterminism
            | FindingKind::Order
            | FindingKind::Predicate => true,
            FindingKind::Failure | FindingKind::Misuse => false,
        }
    }

    /// Whether two elements of one array are listed each, if they are accessed at the same places.
    pub fn tells_elements_apart(self) -> bool {
        match self {
            FindingKind::Race | FindingKind::Atomicity => true,
            FindingKind::Deadlock
            | FindingKind::Nondeterminism
            | FindingKind::Order
            | FindingKind::Predicate
            | FindingKind::Failure
            | FindingKind::Misuse => false,
        }
    }

    /// Those that a trace is searched for, in this order (failures are met, not searched for): which reads race is known before what else they could see.
    pub const ALL: &[FindingKind] = &[
        FindingKind::Race,
        FindingKind::Deadlock,
        FindingKind::Misuse,
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
            FindingKind::Failure => "failure",
            FindingKind::Misuse => "misuse",
        }
    }

    /// Many of them, in words.
    pub fn title_of_many(self) -> String {
        match self {
            FindingKind::Misuse => "misuses".to_owned(),
            kind => format!("{}s", kind.title()),
        }
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
            FindingKind::Failure => "failure",
            FindingKind::Misuse => "misuse",
        }
    }
}

/// How far a finding has climbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Feasible if reads may see anything.
    Possible,
    /// Feasible if reads may see anything that no branch depends on.
    Likely,
    /// Feasible, but a replay of the program could not follow the schedule.
    Diverged,
    /// Feasible with every read seeing what it saw: whatever the program is, it can happen.
    Predicted,
    /// Seen happening in a replay of the program.
    Confirmed,
}

impl Rung {
    /// All of them, the highest first.
    pub const ALL: [Rung; 5] =
        [Rung::Confirmed, Rung::Predicted, Rung::Diverged, Rung::Likely, Rung::Possible];

    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Possible => "possible",
            Rung::Likely => "likely",
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
    /// What the program did when it happened; none: it was not seen happening.
    #[serde(default)]
    pub harm: Option<Harm>,
    /// Of harm to the output: how it differs from that of ordinary runs, a few lines that start with `+` or `-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<String>,
    /// Whether a hunt shows it unless everything is asked for; none: it was not hunted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<bool>,
    /// Whether the program is certain to follow the schedule.
    pub guaranteed: bool,
    /// The events that make it up; -1 is the initial value.
    pub events: Vec<i64>,
    /// What it is about.
    pub object: String,
    /// Where the events are in the source.
    pub locations: Vec<String>,
    /// The functions that these locations are in; an empty name where it is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// How many sets of events it stands for.
    pub count: u64,
    /// Further locations at which the same cause shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<FurtherPlaces>,
    /// Of an atomicity violation: what its accesses do, `R` and `W`, such as `RWW`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Of a nondeterministic read: whether it also races.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racy: Option<bool>,
    /// Of an atomicity violation: its events come in this order in every run, by forks, joins and the like, so that it
    /// is rather how the program is meant to be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherent: bool,
    /// Of a race that is one because of memory orders: which operations would have to have another, verified to make it infeasible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_orders: Vec<OrderChange>,
    /// These orders are verified for the finding's own locations only, not for its further places.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial_orders: bool,
    /// Of a race or an atomicity violation: a lock to hold, verified to make it infeasible without a new deadlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<LockFix>,
    /// Why no such lock was looked for, although there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_fix: Option<NoFix>,
    /// Of a misuse: what is wrong, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misuse: Option<String>,
    /// Of a misuse: what its call does, in a few words, as in `unlocks m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// All its accesses are in code that is not the user's own: a dependency's or the standard library's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub third_party: bool,
    /// The events in the order that shows it.
    pub schedule: Vec<EventId>,
    /// The question it answers.
    pub question: WrittenQuestion,
    /// The file of the recording it is of, in the directory of the findings, if that is another than the trace they are of: a replay that went a way of
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// The tests that show it, of a whole test command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Of a failure, and of a deadlock that a run ended in: how the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The result of replaying it, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replayed>,
}

/// An operation and the memory order that it would have to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderChange {
    /// The operation in the trace.
    pub event: EventId,
    /// What it does: `atomic write of flag`.
    pub operation: String,
    /// Where it is in the source.
    pub location: String,
    /// Its memory order.
    pub from: String,
    /// The one that makes the race infeasible.
    pub to: String,
}

/// A lock to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockFix {
    /// What is wrong.
    pub mistake: LockMistake,
    /// The lock.
    pub lock: String,
    /// The lock that is held instead, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Where to hold it.
    pub places: Vec<FixPlace>,
    /// At how many other accesses of the same variable it is held.
    pub held: u64,
    /// How many other accesses there are.
    pub accesses: u64,
    /// It is verified for the finding's own locations only, not for its further places.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// Why no fix was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoFix {
    /// The time for it ran out.
    Time,
    /// The recording is too long for it.
    Length,
}

impl NoFix {
    /// The reason in words.
    pub fn in_words(self) -> &'static str {
        match self {
            NoFix::Time => "the time for it ran out",
            NoFix::Length => "the recording is too long for it",
        }
    }
}

/// What is wrong with the locks that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockMistake {
    /// None is held.
    Missing,
    /// Another one is held.
    Other,
    /// It is held for reading only.
    Shared,
    /// It is released between the two accesses.
    Released,
}

/// Where to hold a lock: from one place in the source to another, or at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixPlace {
    /// The first place.
    pub from: String,
    /// The last; the same if it is one.
    pub to: String,
}

/// What a program did when a bug happened in it, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// It crashed, aborted, failed an assertion or panicked.
    Failure,
    /// It could not go on.
    Hang,
    /// It ended with a status that ordinary runs do not end with.
    Status,
    /// It printed what ordinary runs do not print.
    Output,
    /// Nothing that could be seen from outside.
    None,
}

impl Harm {
    /// As it is called in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Harm::Failure => "failure",
            Harm::Hang => "hang",
            Harm::Status => "status",
            Harm::Output => "output",
            Harm::None => "none",
        }
    }

    /// What the program did, after its name.
    pub fn in_words(self) -> &'static str {
        match self {
            Harm::Failure => "the program fails",
            Harm::Hang => "the program hangs",
            Harm::Status => "the program ends with another exit status",
            Harm::Output => "the program prints something else",
            Harm::None => "no visible effect",
        }
    }

    /// Whether it can be seen from outside.
    pub fn is_visible(self) -> bool {
        self != Harm::None
    }
}

/// How a run failed, as JSON has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What failed: the assertion's text, the panic's, the signal and the address.
    pub message: String,
    /// What makes it the same failure in another run.
    pub identity: String,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// The status that the program exited with.
    pub status: Option<i32>,
    /// The thread that failed.
    pub thread: Option<String>,
    /// Its call stack, the innermost function first.
    pub stack: Vec<String>,
    /// What all threads were doing.
    pub threads: Vec<FailureThread>,
    /// How many of the hunt's runs failed so.
    pub failed_runs: u64,
    /// How many runs the hunt made that ran to an end of their own.
    pub runs: u64,
    /// Whether it happened in every schedule that was tried.
    pub every_run: bool,
    /// How often the schedule goes from one thread to another.
    #[serde(default)]
    pub switches: u64,
    /// Of a deadlock: each thread of the finding waits for a lock that the next one holds.
    #[serde(default)]
    pub is_cycle: bool,
}

/// A thread when the program failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureThread {
    /// Its name.
    pub thread: String,
    /// What it was doing.
    pub state: String,
    /// What it waited for, if the program was deadlocked: the name of an object, or of another thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Its call stack, the innermost function first.
    pub stack: Vec<String>,
}

impl Finding {
    /// One about which nothing is known yet but what it is and which question it answers.
    pub fn new(kind: FindingKind, rung: Rung, question: WrittenQuestion) -> Finding {
        Finding {
            id: String::new(),
            kind,
            rung,
            harm: None,
            difference: Vec::new(),
            shown: None,
            guaranteed: false,
            events: Vec::new(),
            object: String::new(),
            locations: Vec::new(),
            functions: Vec::new(),
            count: 1,
            more: Vec::new(),
            pattern: None,
            racy: None,
            inherent: false,
            memory_orders: Vec::new(),
            partial_orders: false,
            fix: None,
            no_fix: None,
            misuse: None,
            call: None,
            third_party: false,
            schedule: Vec::new(),
            question,
            recording: None,
            tests: Vec::new(),
            failure: None,
            replay: None,
        }
    }

    /// The events that make it up, without the initial value.
    pub fn named_events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.events.iter().filter_map(|&event| u32::try_from(event).ok()).map(EventId)
    }

    /// Whether it is what another finding is, as far as the source tells: the same kind, variable and accesses at the same places.
    pub fn is_like(&self, other: &Finding) -> bool {
        if let (Some(own), Some(others), FindingKind::Failure) = (&self.failure, &other.failure, self.kind) {
            return own.identity == others.identity;
        }
        let places = |finding: &Finding| {
            let mut places = finding.locations.clone();
            // An order and its reverse are different violations.
            if finding.kind != FindingKind::Order {
                places.sort_unstable();
                places.dedup();
            }
            places
        };
        let objects = |finding: &Finding| cause::objects(finding.kind, &finding.object);
        self.kind == other.kind
            && self.pattern == other.pattern
            && places(self) == places(other)
            // A cycle of other locks at the same places is the same mistake.
            && (self.kind == FindingKind::Deadlock || objects(self) == objects(other))
    }

    /// What it is called by where the same one may come from several places: equal for two findings if a reader of both learns nothing from the
    /// second. That is more than [`Finding::is_like`] compares: what a replay has confirmed, or seen doing harm, is news.
    pub fn fingerprint(&self) -> String {
        let mut places: Vec<Vec<String>> = std::iter::once(&self.locations)
            .chain(self.more.iter().map(|more| &more.locations))
            .cloned()
            .collect();
        if self.kind != FindingKind::Order {
            places.iter_mut().for_each(|set| set.sort_unstable());
        }
        places.sort_unstable();
        let of_failure = self.failure.as_ref().filter(|_| self.kind == FindingKind::Failure);
        let what = match of_failure {
            Some(failure) => vec![vec![failure.identity.clone()]],
            None => [vec![cause::objects(self.kind, &self.object)], places].concat(),
        };
        let harm = self.harm.map_or("unseen", Harm::name);
        let pattern = self.pattern.as_deref().unwrap_or("");
        format!("{} {} {harm} {:?} {pattern} {what:?}", self.kind.name(), self.rung.name(), self.shown)
    }

    /// Whether a run ended in it, with threads that wait for what is not a lock that another one holds. Its locations are where they wait.
    pub fn is_stuck(&self) -> bool {
        self.kind == FindingKind::Deadlock && self.failure.as_ref().is_some_and(|failure| !failure.is_cycle)
    }

    /// Whether its locations need not be those of its events: where stuck threads wait, where the program fails, and the call that is a misuse.
    pub fn is_at_calls(&self) -> bool {
        self.is_stuck() || matches!(self.kind, FindingKind::Misuse | FindingKind::Failure)
    }

    /// What is shown first: what fails, then what makes the program fail or hang, then what was seen doing other harm, then the highest rungs.
    /// What is so in every run by forks and joins comes after that, then what is not the user's own code, and last what is not shown at all, so that the ids of what is
    /// shown have no gaps.
    pub fn rank(&self) -> impl Ord + use<> {
        // A deadlock that was seen happening is a hang, whether or not it was judged.
        let is_deadlock = self.kind == FindingKind::Deadlock && self.rung == Rung::Confirmed;
        let harm = match self.harm {
            Some(Harm::Failure | Harm::Hang) => 2,
            _ if is_deadlock => 2,
            Some(Harm::Status | Harm::Output) => 1,
            Some(Harm::None) | None => 0,
        };
        let is_failure = self.kind == FindingKind::Failure;
        let matters = std::cmp::Reverse((self.rung, harm));
        let is_hidden = self.shown == Some(false);
        (is_hidden, self.third_party, self.inherent, !is_failure, matters, self.kind, self.number())
    }

    /// The number in its id.
    pub fn number(&self) -> u64 {
        self.id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Whether a hunt shows it unless everything is asked for. What replays could not follow, and what may depend on
    /// values that no run has, is not shown; nor is a pattern of accesses that did nobody any harm, unless the program says
    /// that it must be atomic. What comes in this order in every run did no harm either: it does not tell a run that fails from
    /// one that does not.
    pub fn is_shown_in_hunt(&self, has_regions: bool) -> bool {
        match self.rung {
            Rung::Diverged | Rung::Likely | Rung::Possible => false,
            Rung::Predicted | Rung::Confirmed => {
                let did_harm = !self.inherent && self.harm.is_some_and(Harm::is_visible);
                self.kind != FindingKind::Atomicity || has_regions || did_harm
            }
        }
    }

    /// All events it speaks of, with where it does so.
    pub fn ids(&self) -> impl Iterator<Item = (EventId, String)> + '_ {
        let events = self.named_events().map(|event| (event, "events".to_owned()));
        let steps =
            self.schedule.iter().enumerate().map(|(index, &event)| (event, format!("schedule[{index}]")));
        events.chain(steps)
    }
}

/// The result of replaying a finding, as in `replay --json`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(change: impl FnOnce(&mut Finding)) -> Finding {
        let question = WrittenQuestion::Race(EventId(0), EventId(1));
        let mut finding = Finding::new(FindingKind::Race, Rung::Predicted, question);
        finding.id = "race-2".to_owned();
        change(&mut finding);
        finding
    }

    /// Each comes before the next, which differs from it in the one thing that the order looks at there.
    #[test]
    fn findings_come_in_the_order_in_which_they_matter() {
        let ordered = [
            finding(|f| (f.kind, f.rung) = (FindingKind::Failure, Rung::Predicted)),
            finding(|f| {
                (f.kind, f.rung) = (FindingKind::Deadlock, Rung::Confirmed);
                (f.harm, f.id) = (Some(Harm::Hang), "deadlock-1".to_owned());
            }),
            finding(|f| (f.rung, f.harm) = (Rung::Confirmed, Some(Harm::Output))),
            finding(|f| (f.rung, f.harm) = (Rung::Confirmed, Some(Harm::None))),
            finding(|f| f.id = "race-1".to_owned()),
            finding(|_| ()),
            finding(|f| (f.kind, f.id) = (FindingKind::Deadlock, "deadlock-1".to_owned())),
            finding(|f| f.rung = Rung::Diverged),
            finding(|f| f.rung = Rung::Likely),
            finding(|f| f.rung = Rung::Possible),
            finding(|f| f.inherent = true),
            finding(|f| f.third_party = true),
            finding(|f| f.shown = Some(false)),
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0].rank() < pair[1].rank(), "{:#?}", pair);
        }
        let shown = finding(|f| f.shown = Some(true));
        assert!(shown.rank() == finding(|_| ()).rank());
        let harmful = |harm| finding(|f| f.harm = Some(harm)).rank();
        assert!(harmful(Harm::Failure) == harmful(Harm::Hang) && harmful(Harm::Hang) < harmful(Harm::Status));
        assert!(
            harmful(Harm::Status) == harmful(Harm::Output) && harmful(Harm::Output) < harmful(Harm::None)
        );
    }

    #[test]
    fn hunts_show_patterns_that_did_harm_and_other_runs_need_not_have() {
        let pattern = |change: fn(&mut Finding)| {
            finding(|f| {
                (f.kind, f.rung, f.harm) = (FindingKind::Atomicity, Rung::Confirmed, Some(Harm::Failure));
                change(f);
            })
        };
        assert!(pattern(|_| ()).is_shown_in_hunt(false));
        assert!(!pattern(|f| f.harm = Some(Harm::None)).is_shown_in_hunt(false));
        assert!(!pattern(|f| f.inherent = true).is_shown_in_hunt(false));
        // Regions are the user's own word.
        assert!(pattern(|f| f.inherent = true).is_shown_in_hunt(true));
        assert!(!pattern(|f| f.rung = Rung::Diverged).is_shown_in_hunt(true));
    }

    #[test]
    fn what_is_shown_is_numbered_without_gaps() {
        let mut findings = [
            finding(|f| f.shown = Some(false)),
            finding(|f| (f.shown, f.third_party) = (Some(true), true)),
            finding(|f| f.shown = Some(true)),
        ];
        findings.sort_by_key(Finding::rank);
        number_by_rank(&mut findings);
        let ids: Vec<(&str, Option<bool>)> =
            findings.iter().map(|finding| (finding.id.as_str(), finding.shown)).collect();
        assert_eq!(ids, [("race-1", Some(true)), ("race-2", Some(true)), ("race-3", Some(false))]);
    }
}
