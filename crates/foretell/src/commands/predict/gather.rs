//! From what searches report to findings: merged by source location, ranked, verified.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use candidates::Found;
use check::{Model, Question, check_schedule};
use decide::{Options, Setup, Verdict, simplify};
use report::{Asked, Finding, FindingKind, ModelName, Predictions, Rung};
use trace::{EventId, LocationId};

use crate::commands::decide::defect;
use crate::diagnostics::Diagnostic;

/// What findings are merged by: kind, and the set of locations. With `--all`, also by the events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: FindingKind,
    locations: Vec<LocationId>,
    events: Vec<Option<EventId>>,
}

struct Group {
    found: Found,
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

/// Collects what searches report.
pub(super) struct Gatherer<'s> {
    pub(super) setup: &'s Setup<'s>,
    pub(super) model: ModelName,
    pub(super) options: Options,
    pub(super) all: bool,
    groups: BTreeMap<Key, Group>,
    /// Events that race.
    racy: BTreeSet<EventId>,
}

impl<'s> Gatherer<'s> {
    pub(super) fn new(setup: &'s Setup<'s>, model: ModelName, options: Options, all: bool) -> Self {
        Gatherer { setup, model, options, all, groups: BTreeMap::new(), racy: BTreeSet::new() }
    }

    /// Takes in a bug that was found under the model asked for.
    pub(super) fn take(&mut self, kind: FindingKind, found: Found) {
        let rung = match self.model {
            ModelName::Rf => Rung::Predicted,
            ModelName::Sync | ModelName::Branch => self.rung(&found.question),
        };
        self.take_at(kind, found, rung);
    }

    /// Takes in a bug that was found by a method that keeps to another model than the one asked for.
    pub(super) fn take_climbing(&mut self, kind: FindingKind, found: Found) {
        match decide::decide(self.setup, &found.question, Model::ReadsFrom, self.options) {
            Ok(Verdict::Feasible(witness)) => self.take_at(kind, Found { witness, ..found }, Rung::Predicted),
            _ => self.take_at(kind, found, Rung::Possible),
        }
    }

    /// Takes note of a race, so that reads that take part in one are known.
    pub(super) fn note_race(&mut self, found: &Found) {
        self.racy.extend(found.events.iter().flatten());
    }

    /// Takes in a bug whose rung is known.
    pub(super) fn take_at(&mut self, kind: FindingKind, found: Found, rung: Rung) {
        let trace = self.setup.trace();
        let mut locations: Vec<LocationId> =
            found.events.iter().flatten().map(|&event| trace.location(event)).collect();
        // An order and its reverse are different violations.
        if kind != FindingKind::Order {
            locations.sort_unstable();
            locations.dedup();
        }
        let events = if self.all { found.events.clone() } else { Vec::new() };
        let key = Key { kind, locations, events };
        let racy = kind == FindingKind::Nondeterminism
            && found.events.first().copied().flatten().is_some_and(|read| self.racy.contains(&read));
        let new = Group { found, rung, count: 1, racy };
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

    /// Writes out the findings, each with its simplest schedule, verified.
    pub(super) fn finish(self, predictions: &mut Predictions) -> Result<(), Diagnostic> {
        let mut groups: Vec<(Key, Group)> = self.groups.into_iter().collect();
        groups.sort_by_cached_key(|(key, group)| group.rank(key.kind));
        let mut numbers: BTreeMap<FindingKind, u32> = BTreeMap::new();
        for (key, group) in groups {
            let number = numbers.entry(key.kind).or_default();
            *number += 1;
            let id = format!("{}-{number}", key.kind.name());
            predictions.findings.push(finding(self.setup, self.model, key.kind, id, group)?);
        }
        Ok(())
    }
}

/// The latest event that makes a bug up, and the others: what comes earliest is shown first.
fn last(found: &Found) -> (Option<EventId>, Vec<Option<EventId>>) {
    (found.events.iter().copied().max().flatten(), found.events.clone())
}

fn finding(
    setup: &Setup<'_>,
    model: ModelName,
    kind: FindingKind,
    id: String,
    group: Group,
) -> Result<Finding, Diagnostic> {
    let trace = setup.trace();
    let Group { found, rung, count, racy } = group;
    // A predicted finding is shown by a schedule that keeps what reads saw; one that an inexact method reports and
    // that is only possible, by one that does not.
    let shown = match (rung, model) {
        (Rung::Predicted, _) => ModelName::Rf,
        (_, ModelName::Rf) => ModelName::Sync,
        (_, weaker) => weaker,
    };
    let witness = match (rung, model) {
        (Rung::Predicted, ModelName::Sync | ModelName::Branch) => {
            match decide::decide(setup, &found.question, shown.into(), Options::default()) {
                Ok(Verdict::Feasible(witness)) => witness,
                _ => found.witness,
            }
        }
        _ => found.witness,
    };
    let schedule = witness.schedule(setup, &found.question, shown.into());
    let schedule = simplify(setup, &found.question.named(), &schedule);
    let certainty = check_schedule(trace, &found.question, shown.into(), &schedule)
        .map_err(|fault| defect(&found.question, shown, "schedule", &fault.to_string()))?;
    let location = |event: &Option<EventId>| match event {
        Some(event) => trace.symbols().location(trace.location(*event)).to_owned(),
        None => "initial".to_owned(),
    };
    Ok(Finding {
        id,
        kind,
        rung,
        guaranteed: certainty.guaranteed,
        events: found.events.iter().map(|event| event.map_or(-1, |event| i64::from(event.0))).collect(),
        object: found.object.name(trace.symbols()),
        locations: found.events.iter().map(location).collect(),
        count,
        racy: (kind == FindingKind::Nondeterminism).then_some(racy),
        inherent: found.remarks.inherent,
        schedule,
        question: Asked::of(trace, &found.question),
        replay: None,
    })
}
