//! A finding whose schedule may not be written out yet. Writing it out takes a walk through all of the run before it, and a
//! person reads few of thousands, so that is left to the code that shows it.

use std::sync::OnceLock;

use bounds::Bounds;
use candidates::Bug;
use check::{CutChecker, Model, Question, ScheduleChecker};
use decide::{Index, simplify};
use report::{Finding, FindingKind, FurtherPlaces, Rung};
use trace::{EventId, Trace};

use super::culprit::{culprits, orders_cover};
use super::fix::{FixTime, fix};
use crate::error::Error;
use crate::first_party::{FirstParty, function_of};
use crate::parallel::{cores, map_in_parallel};
use crate::verify;

/// A finding, and its schedule if that is not written out yet.
pub struct Prediction<'s> {
    finding: Finding,
    pending: Option<PendingSchedule<'s>>,
    /// What others with the same cause answer.
    absorbed: Vec<Question>,
}

/// What verifies schedules of a trace, made when it is used first.
pub(super) struct Checkers<'s> {
    fix_time: FixTime,
    /// Those that are not written out.
    cuts: OnceLock<CutChecker<'s>>,
    schedules: OnceLock<ScheduleChecker<'s>>,
}

impl Checkers<'_> {
    /// None yet.
    pub(super) fn within(bounds: Bounds) -> Self {
        Checkers { fix_time: FixTime::within(bounds), cuts: OnceLock::new(), schedules: OnceLock::new() }
    }
}

/// A bug as a search found it: enough to write its schedule out.
pub(super) struct PendingSchedule<'s> {
    /// The trace, made ready for questions.
    pub(super) index: &'s Index<'s>,
    /// What verifies schedules.
    pub(super) checkers: &'s Checkers<'s>,
    /// The model asked under.
    pub(super) model: Model,
    /// How far it climbs.
    pub(super) rung: Rung,
    /// What was found.
    pub(super) found: Bug,
}

/// All of them with their schedules ([`Prediction::with_schedule`]), on all cores.
pub fn with_schedules(predictions: Vec<Prediction<'_>>) -> Result<Vec<Finding>, Error> {
    map_in_parallel(predictions, cores(), Prediction::with_schedule)
}

impl From<Finding> for Prediction<'_> {
    /// A finding that is ready.
    fn from(finding: Finding) -> Self {
        Prediction { finding, pending: None, absorbed: Vec::new() }
    }
}

impl<'s> Prediction<'s> {
    /// A bug, as a finding that stands for a number of them. Its id is still to be given.
    pub(super) fn pending(
        pending: PendingSchedule<'s>,
        kind: FindingKind,
        count: u64,
        racy: bool,
        first_party: &FirstParty,
    ) -> Self {
        let PendingSchedule { found, rung, .. } = &pending;
        let trace = pending.index.trace();
        let function = |event: &Option<EventId>| event.and_then(|event| function_of(trace, event));
        let functions: Vec<String> =
            found.events.iter().map(|event| function(event).unwrap_or_default()).collect();
        let knows_functions = functions.iter().any(|function| !function.is_empty());
        // A trace that had to be mended is not the run that happened.
        let rung = if trace.metadata().dropped > 0 { Rung::Possible } else { *rung };
        let finding = Finding {
            events: numbers_of(found),
            object: found.object.name(trace.symbols()),
            locations: locations_of(trace, found),
            functions: if knows_functions { functions } else { Vec::new() },
            count,
            pattern: (kind == FindingKind::Atomicity).then(|| pattern(trace, &found.events)),
            racy: (kind == FindingKind::Nondeterminism).then_some(racy),
            inherent: found.remarks.inherent,
            third_party: !found.events.iter().flatten().any(|&event| first_party.has(trace, event)),
            ..Finding::new(kind, rung, found.question.written(trace))
        };
        Prediction { finding, pending: Some(pending), absorbed: Vec::new() }
    }

    /// Gives it its id.
    pub(super) fn with_id(mut self, id: String) -> Self {
        self.finding.id = id;
        self
    }

    /// Takes in one with the same cause: it is kept as further locations only.
    pub(super) fn absorb(&mut self, other: Prediction<'s>) {
        self.finding.absorb(other.finding);
        self.absorbed.extend(other.pending.map(|pending| pending.found.question));
        self.absorbed.extend(other.absorbed);
    }

    /// Takes in a bug about another element of the same array, at the same places.
    pub(super) fn absorb_element(&mut self, found: Bug, count: u64) {
        let Some(pending) = &self.pending else { return };
        let trace = pending.index.trace();
        let places = FurtherPlaces {
            locations: locations_of(trace, &found),
            object: found.object.name(trace.symbols()),
            events: numbers_of(&found),
            count,
        };
        self.finding.absorb_places(places);
        self.absorbed.push(found.question);
    }

    /// The finding, perhaps without its schedule.
    pub fn finding(&self) -> &Finding {
        &self.finding
    }

    /// Whether time or memory ran out, so that whatever need not be done is better left.
    pub fn is_late(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.index.bounds().are_final())
    }

    /// With its schedule: the one with few switches, verified.
    pub fn with_schedule(self) -> Result<Finding, Error> {
        let Prediction { mut finding, pending, absorbed } = self;
        if let Some(pending) = pending {
            let named = pending.found.question.named();
            let schedule = simplify(pending.index, &named, &pending.schedule());
            finding.guaranteed = pending.verify(&schedule)?;
            if pending.shown_under() == Model::ReadsFrom {
                finding.memory_orders = culprits(pending.index, &pending.found.question, &schedule);
            }
            finding.schedule = schedule;
            let is_order = !finding.memory_orders.is_empty();
            finding.partial_orders =
                is_order && !orders_cover(pending.index.trace(), &finding.memory_orders, &absorbed);
            if !is_order {
                let questions = [&[pending.found.question][..], &absorbed].concat();
                fix(pending.index, &mut finding, &questions, &pending.checkers.fix_time);
            }
        }
        Ok(finding)
    }

    /// Verified, but without its schedule if it had none. Most are verified without writing them out.
    pub fn verified(self) -> Result<Finding, Error> {
        let Prediction { mut finding, pending, .. } = self;
        if let Some(pending) = pending {
            finding.guaranteed = match pending.is_certain_unwritten() {
                true => true,
                false => pending.verify(&pending.schedule())?,
            };
        }
        Ok(finding)
    }
}

/// The numbers of the events that make it up.
fn numbers_of(found: &Bug) -> Vec<i64> {
    found.events.iter().map(|event| event.map_or(-1, |event| i64::from(event.0))).collect()
}

/// Where they are in the source.
fn locations_of(trace: &Trace, found: &Bug) -> Vec<String> {
    let location = |event: &Option<EventId>| match event {
        Some(event) => trace.symbols().location(trace.location(*event)).to_owned(),
        None => "initial".to_owned(),
    };
    found.events.iter().map(location).collect()
}

/// What the accesses of an atomicity violation do: `RWW`.
fn pattern(trace: &Trace, events: &[Option<EventId>]) -> String {
    let letter = |&event: &EventId| if trace.op(event).writes().is_some() { 'W' } else { 'R' };
    events.iter().flatten().map(letter).collect()
}

impl PendingSchedule<'_> {
    /// A predicted finding is shown by a schedule that keeps what reads saw; one that an inexact method reports and
    /// that is only possible, by one that does not.
    fn shown_under(&self) -> Model {
        match (self.rung, self.model) {
            (Rung::Predicted, _) => Model::ReadsFrom,
            (Rung::Likely, _) => Model::Branch,
            (_, Model::ReadsFrom) => Model::Sync,
            (_, weaker) => weaker,
        }
    }

    fn schedule(&self) -> Vec<EventId> {
        let shown = self.shown_under();
        let Bug { question, witness, .. } = &self.found;
        witness.schedule(self.index, question, shown)
    }

    /// Whether the schedule is right and the program certain to follow it, as far as that can be said without writing it out.
    fn is_certain_unwritten(&self) -> bool {
        let cuts = self.checkers.cuts.get_or_init(|| CutChecker::new(self.index.trace()));
        let Bug { question, witness, .. } = &self.found;
        let (counts, tail) = witness.cut_and_tail(self.index);
        let checked = cuts.check(question, self.shown_under(), &counts, tail);
        checked.is_ok_and(|certainty| certainty.guaranteed)
    }

    /// Whether the program is certain to follow the schedule.
    fn verify(&self, schedule: &[EventId]) -> Result<bool, Error> {
        let Bug { question, .. } = &self.found;
        let checker = self.checkers.schedules.get_or_init(|| ScheduleChecker::new(self.index.trace()));
        let certainty = verify::schedule_by(checker, question, self.shown_under(), schedule)?;
        Ok(certainty.guaranteed)
    }
}
