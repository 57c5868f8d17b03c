//! From what searches report to findings: merged by source location, ranked, verified.

use std::collections::BTreeMap;

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
}

/// Collects what searches report.
pub(super) struct Gatherer<'s> {
    pub(super) setup: &'s Setup<'s>,
    pub(super) model: ModelName,
    pub(super) options: Options,
    all: bool,
    groups: BTreeMap<Key, Group>,
}

impl<'s> Gatherer<'s> {
    pub(super) fn new(setup: &'s Setup<'s>, model: ModelName, options: Options, all: bool) -> Self {
        Gatherer { setup, model, options, all, groups: BTreeMap::new() }
    }

    /// Takes in a bug that was found under the model asked for.
    pub(super) fn take(&mut self, kind: FindingKind, found: Found) {
        let rung = match self.model {
            ModelName::Rf => Rung::Predicted,
            ModelName::Sync | ModelName::Branch => self.rung(&found.question),
        };
        self.take_at(kind, found, rung);
    }

    /// Takes in a bug whose rung is known.
    pub(super) fn take_at(&mut self, kind: FindingKind, found: Found, rung: Rung) {
        let trace = self.setup.trace();
        let mut locations: Vec<LocationId> =
            found.events.iter().flatten().map(|&event| trace.location(event)).collect();
        locations.sort_unstable();
        locations.dedup();
        let events = if self.all { found.events.clone() } else { Vec::new() };
        let key = Key { kind, locations, events };
        match self.groups.get_mut(&key) {
            None => {
                self.groups.insert(key, Group { found, rung, count: 1 });
            }
            Some(group) => {
                group.count += 1;
                // The highest rung, then the earliest in the trace.
                let order = |rung: Rung, found: &Found| (std::cmp::Reverse(rung), last(found));
                if order(rung, &found) < order(group.rung, &group.found) {
                    (group.found, group.rung) = (found, rung);
                }
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
        groups.sort_by_key(|(key, group)| (std::cmp::Reverse(group.rung), key.kind, last(&group.found)));
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
    let Group { found, rung, count } = group;
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
        schedule,
        question: Asked::of(trace, &found.question),
        replay: None,
    })
}
