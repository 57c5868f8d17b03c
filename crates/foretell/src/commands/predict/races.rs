//! Races by every method.

use candidates::races::syncp::{Syncp, SyncpRace};
use candidates::races::{RacePair, poly};
use candidates::{Found, Object, Remarks, Report, Settings};
use check::{Model, Question};
use decide::{MustOrder, Setup, Verdict, Witness};
use papers::races::{Method, for_each_pair};
use report::{FindingKind, Funnel, Predictions, Rung};

use super::gather::Gatherer;
use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::progress;

/// Searches for races and gathers them.
pub(super) fn search(
    method: Method,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
    manner: Manner,
) -> Result<(), Diagnostic> {
    match method {
        Method::Poly => exactly(gatherer, predictions, manner),
        Method::Syncp => sync_preserving(gatherer, predictions, manner),
        method => reported_by(method, gatherer, predictions, manner)?,
    }
    Ok(())
}

/// Finds which events race, for the sake of other kinds of bugs.
pub(super) fn note(gatherer: &mut Gatherer<'_>, manner: Manner) {
    let settings = Settings { model: gatherer.model, options: gatherer.options };
    let bar = progress::of_unknown("searching for reads that race", manner);
    poly::races(gatherer.setup, settings, &mut |report| {
        if let Report::Found(found) = report {
            gatherer.note_race(&found);
        }
    });
    bar.finish_and_clear();
}

fn exactly(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions, manner: Manner) {
    let settings = Settings { model: gatherer.model, options: gatherer.options };
    let bar = progress::of_events("searching for races", 0, manner);
    let setup = gatherer.setup;
    let funnel = poly::races(setup, settings, &mut |report| match report {
        Report::Found(found) => {
            gatherer.note_race(&found);
            gatherer.take(FindingKind::Race, found);
        }
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            bar.set_length(total);
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    predictions.candidates += funnel.pairs - funnel.ordered;
    predictions.unknown += funnel.unknown;
    predictions.funnel = Some(Funnel {
        pairs: funnel.pairs,
        ordered: funnel.ordered,
        locked: funnel.locked,
        preserving: funnel.preserving,
        asked: funnel.asked,
    });
}

/// Races in the order of the trace's own synchronisation. Each comes with the schedule that shows it, under every model.
fn sync_preserving(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions, manner: Manner) {
    let trace = gatherer.setup.trace();
    let bar = progress::of_events("searching for races", trace.len() as u64, manner);
    for SyncpRace { pair, ideal } in Syncp::new(trace).races() {
        bar.set_position(u64::from(pair.second.0));
        predictions.candidates += 1;
        let question = Question::Race(pair.first, pair.second);
        let found = found(gatherer, question, pair, Witness::ideal(ideal.0));
        gatherer.note_race(&found);
        gatherer.take_at(FindingKind::Race, found, Rung::Predicted);
    }
    bar.finish_and_clear();
}

/// What an inexact method reports, each pair with its true rung.
fn reported_by(
    method: Method,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
    manner: Manner,
) -> Result<(), Diagnostic> {
    let setup = gatherer.setup;
    let climber = Climber::new(setup);
    let bar = progress::of_events("deciding what the method reports", setup.trace().len() as u64, manner);
    let mut take = |pair: RacePair| {
        predictions.candidates += 1;
        if predictions.candidates.is_multiple_of(256) {
            bar.set_position(bar.position().max(u64::from(pair.second.0)));
        }
        match climber.climb(gatherer, pair) {
            Climb::To(found, rung) => {
                gatherer.note_race(&found);
                gatherer.take_at(FindingKind::Race, found, rung);
            }
            Climb::Refuted => predictions.refuted += 1,
            Climb::Unknown => predictions.unknown += 1,
        }
    };
    let reported = for_each_pair(method, setup, &mut take);
    bar.finish_and_clear();
    reported.map_err(|error| {
        Diagnostic::new(error.to_string())
            .help("the default method, `poly`, finds more and has no such limit")
    })
}

enum Climb {
    To(Found, Rung),
    Refuted,
    Unknown,
}

/// Judges reported pairs. There can be millions, so what settles most of them cheaply comes before the engine.
struct Climber<'s> {
    /// What comes in one order in every schedule in which reads see what they saw.
    must: MustOrder,
    /// Schedules in the order of the trace's own synchronisation, for each of [`RUNGS`].
    preserving: [Syncp<'s>; 2],
}

/// The highest first.
const RUNGS: [(Model, Rung); 2] = [(Model::ReadsFrom, Rung::Predicted), (Model::Sync, Rung::Possible)];

impl<'s> Climber<'s> {
    fn new(setup: &'s Setup<'_>) -> Self {
        let preserving = RUNGS.map(|(model, _)| Syncp::under(setup.trace(), model));
        Climber { must: MustOrder::new(setup, Model::ReadsFrom), preserving }
    }

    /// Whether the first event must have happened before the second can be next.
    fn is_ordered(&self, setup: &Setup<'_>, pair: RacePair) -> bool {
        let needed = self.must.run_up(setup, pair.second, setup.trace().thread(pair.first));
        (setup.threads().place(pair.first) as u32) < needed
    }

    /// How far a pair climbs: `rf` first, then `sync`.
    fn climb(&self, gatherer: &Gatherer<'_>, pair: RacePair) -> Climb {
        let setup = gatherer.setup;
        let question = Question::Race(pair.first, pair.second);
        let mut unknown = false;
        for ((model, rung), preserving) in RUNGS.into_iter().zip(&self.preserving) {
            if model == Model::ReadsFrom && self.is_ordered(setup, pair) {
                continue;
            }
            let verdict = match preserving.ideal(pair) {
                Some(ideal) => Ok(Verdict::Feasible(Witness::ideal(ideal.0))),
                None => decide::decide(setup, &question, model, gatherer.options),
            };
            match verdict {
                Ok(Verdict::Feasible(witness)) => {
                    return Climb::To(found(gatherer, question, pair, witness), rung);
                }
                Ok(Verdict::Unknown { .. }) => unknown = true,
                Ok(Verdict::Infeasible(_)) | Err(_) => {}
            }
        }
        if unknown { Climb::Unknown } else { Climb::Refuted }
    }
}

fn found(gatherer: &Gatherer<'_>, question: Question, pair: RacePair, witness: Witness) -> Found {
    let variable = gatherer.setup.trace().op(pair.first).access().map(|access| access.variable);
    let object = variable.map_or(Object::Named(String::new()), Object::Variable);
    let events = vec![Some(pair.first), Some(pair.second)];
    Found { question, events, object, witness, remarks: Remarks::default() }
}
