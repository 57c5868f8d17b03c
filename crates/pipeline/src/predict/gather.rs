//! From what searches report to findings: merged by source location and ranked.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use candidates::Bug;
use check::{CutChecker, Model, Question};
use decide::{Options, Setup, Verdict};
use report::{FindingKind, Rung};
use trace::{EventId, LocationId};

use super::Sink;
use super::prediction::{PendingSchedule, Prediction};
use crate::observer::Observer;
use crate::parallel::cores;

/// What findings are merged by: kind, and the set of locations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: FindingKind,
    locations: Vec<LocationId>,
}

struct Group {
    found: Bug,
    rung: Rung,
    count: u64,
    /// One of its reads races.
    racy: bool,
}

impl Group {
    /// What is shown first: what forks and joins leave a choice about, then the highest rung, then reads that race.
    fn rank(&self, kind: FindingKind) -> impl Ord + use<> {
        let last = last(&self.found);
        (self.found.remarks.inherent, Reverse(self.rung), kind, Reverse(self.racy), last)
    }
}

/// Collects what searches report and passes on findings: each bug as it is found if all are wanted, otherwise one for each set of
/// locations at the end.
pub(super) struct Gatherer<'s> {
    pub(super) setup: &'s Setup<'s>,
    pub(super) model: Model,
    pub(super) options: Options,
    pub(super) all: bool,
    groups: BTreeMap<Key, Group>,
    /// Events that race.
    racy: BTreeSet<EventId>,
    /// How many findings of each kind were passed on.
    numbers: BTreeMap<FindingKind, u32>,
    cuts: &'s OnceLock<CutChecker<'s>>,
    pub(super) observer: &'s mut dyn Observer,
    sink: &'s mut Sink<'s>,
    /// The sink wants no more.
    stopped: bool,
}

impl<'s> Gatherer<'s> {
    pub(super) fn new(
        setup: &'s Setup<'s>,
        model: Model,
        options: Options,
        all: bool,
        cuts: &'s OnceLock<CutChecker<'s>>,
        observer: &'s mut dyn Observer,
        sink: &'s mut Sink<'s>,
    ) -> Self {
        let (groups, racy, numbers) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let stopped = false;
        Gatherer { setup, model, options, all, groups, racy, numbers, cuts, observer, sink, stopped }
    }

    /// Takes in a bug that was found under the model asked for.
    pub(super) fn take(&mut self, kind: FindingKind, found: Bug) {
        let rung = match self.model {
            Model::ReadsFrom => Rung::Predicted,
            Model::Sync | Model::Branch => self.rung(&found.question),
        };
        self.take_at(kind, found, rung);
    }

    /// Takes in a bug that was found by a method that keeps to another model than the one asked for.
    pub(super) fn take_climbing(&mut self, kind: FindingKind, found: Bug) {
        match decide::decide(self.setup, &found.question, Model::ReadsFrom, self.options) {
            Ok(Verdict::Feasible(witness)) => self.take_at(kind, Bug { witness, ..found }, Rung::Predicted),
            _ => self.take_at(kind, found, Rung::Possible),
        }
    }

    /// Takes note of a race, so that reads that take part in one are known.
    pub(super) fn note_race(&mut self, found: &Bug) {
        self.racy.extend(found.events.iter().flatten());
    }

    /// Takes in a bug whose rung is known.
    pub(super) fn take_at(&mut self, kind: FindingKind, found: Bug, rung: Rung) {
        let racy = kind == FindingKind::Nondeterminism
            && found.events.first().copied().flatten().is_some_and(|read| self.racy.contains(&read));
        let new = Group { found, rung, count: 1, racy };
        if self.all {
            return self.pass_on(vec![(kind, new)]);
        }
        let trace = self.setup.trace();
        let mut locations: Vec<LocationId> =
            new.found.events.iter().flatten().map(|&event| trace.location(event)).collect();
        // An order and its reverse are different violations.
        if kind != FindingKind::Order {
            locations.sort_unstable();
            locations.dedup();
        }
        let key = Key { kind, locations };
        match self.groups.get_mut(&key) {
            None => {
                self.groups.insert(key, new);
            }
            Some(group) => {
                let count = group.count + 1;
                if new.rank(kind) < group.rank(kind) {
                    *group = new;
                }
                group.count = count;
            }
        }
    }

    /// How far a bug that is feasible under a weaker model climbs.
    fn rung(&self, question: &Question) -> Rung {
        match decide::decide(self.setup, question, Model::ReadsFrom, self.options) {
            Ok(Verdict::Feasible(_)) => Rung::Predicted,
            _ => Rung::Possible,
        }
    }

    /// Passes on what is left: the first of each set of locations.
    pub(super) fn finish(mut self) {
        let mut groups: Vec<(Key, Group)> = std::mem::take(&mut self.groups).into_iter().collect();
        groups.sort_by_cached_key(|(key, group)| group.rank(key.kind));
        let mut groups = groups.into_iter().map(|(key, group)| (key.kind, group)).peekable();
        while groups.peek().is_some() {
            self.pass_on(groups.by_ref().take(cores()).collect());
        }
    }

    fn pass_on(&mut self, groups: Vec<(FindingKind, Group)>) {
        if !self.stopped {
            let predictions = groups.into_iter().map(|(kind, group)| self.prediction(kind, group)).collect();
            self.stopped = (self.sink)(predictions, &mut *self.observer).is_break();
        }
    }

    fn prediction(&mut self, kind: FindingKind, group: Group) -> Prediction<'s> {
        let number = self.numbers.entry(kind).or_default();
        *number += 1;
        let id = format!("{}-{number}", kind.name());
        let Group { found, rung, count, racy } = group;
        let pending = PendingSchedule { setup: self.setup, cuts: self.cuts, model: self.model, rung, found };
        Prediction::pending(pending, kind, id, count, racy)
    }
}

/// The latest event that makes a bug up, and the others: what comes earliest is shown first.
fn last(found: &Bug) -> (Option<EventId>, Vec<Option<EventId>>) {
    (found.events.iter().copied().max().flatten(), found.events.clone())
}
