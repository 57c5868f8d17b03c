//! Races by every method.

use candidates::races::poly::{self, Places};
use candidates::races::syncp::{Syncp, SyncpRace};
use candidates::races::{RacePair, lifetimes};
use candidates::{Bug, Object, PatternLimits, Remarks, Report, SearchSettings, orders};
use check::{Model, Question};
use decide::{Index, Verdict, Witness, race_order};
use order::MustOrder;
use papers::races::{Method, for_each_pair, hb};
use report::{FindingKind, Predictions, Rung};
use trace::EventId;

use super::gather::Gatherer;
use crate::error::{Error, ErrorKind};
use crate::observer::{Progress, Stage};

/// Searches for races and gathers them.
pub(super) fn search(
    method: Method,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
) -> Result<(), Error> {
    match method {
        Method::Poly => exactly(gatherer, predictions),
        Method::Syncp => sync_preserving(gatherer, predictions),
        method => reported_by(method, gatherer, predictions)?,
    }
    Ok(())
}

/// Finds which of these places race, for the sake of other kinds of bugs.
pub(super) fn note(gatherer: &mut Gatherer<'_>, places: Places) {
    let settings = SearchSettings { model: gatherer.model, options: gatherer.options };
    gatherer.observer.begin(&Stage::SearchingRacyReads);
    poly::races_at(gatherer.index, settings, limits(gatherer), places, &mut |report| match report {
        Report::Bug(found) => gatherer.note_race(&found),
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            gatherer.observer.advance(Progress::Counted { done, total: Some(total) });
        }
    });
    gatherer.observer.end(None);
}

/// How far to go: to the end if every instance is wanted.
fn limits(gatherer: &Gatherer<'_>) -> poly::RaceLimits {
    if gatherer.all { poly::RaceLimits::ALL } else { poly::RaceLimits::of(gatherer.index) }
}

fn exactly(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let settings = SearchSettings { model: gatherer.model, options: gatherer.options };
    gatherer.observer.begin(&Stage::Searching(FindingKind::Race));
    let index = gatherer.index;
    let recorded = RecordedRaces::of(index);
    let funnel = poly::races_within(index, settings, limits(gatherer), &mut |report| match report {
        Report::Bug(found) => {
            let found = recorded.prefer(gatherer, found);
            gatherer.note_race(&found);
            gatherer.take(FindingKind::Race, found);
        }
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            gatherer.observer.advance(Progress::Counted { done, total: Some(total) });
        }
    });
    let limits = if gatherer.all { PatternLimits::ALL } else { orders::LIMITS };
    let with_memory = lifetimes::search(index, settings, limits, &mut |report| {
        if let Report::Bug(found) = report {
            gatherer.take(FindingKind::Race, found);
        }
    });
    gatherer.observer.end(None);
    predictions.candidates += funnel.pairs - funnel.ordered + with_memory.tally.candidates;
    predictions.unknown += funnel.unknown + with_memory.tally.unknown;
    predictions.funnel = Some(funnel);
}

/// The races that the recorded order itself has, where the program has orders ignored. A replay cannot bring two accesses together that such an
/// order keeps apart; it can only follow the recorded order and find them unordered. So of the pairs at the same places, one of these is the
/// finding.
struct RecordedRaces(Vec<RacePair>);

impl RecordedRaces {
    fn of(index: &Index<'_>) -> Self {
        let is_wanted = index.trace().metadata().ignores_orders;
        let races = is_wanted.then(|| hb::races_within(index.trace(), index.bounds()));
        RecordedRaces(races.into_iter().flatten().collect())
    }

    /// A race of the recorded order at the places of this one, if there is one and it is feasible.
    fn prefer(&self, gatherer: &Gatherer<'_>, found: Bug) -> Bug {
        let Question::Race(first, second) = found.question else { return found };
        let trace = gatherer.index.trace();
        let place = |event: EventId| (trace.op(event), trace.location(event));
        let is_at = |a: EventId, b: EventId| place(a) == place(first) && place(b) == place(second);
        let is_there = |pair: &&RacePair| is_at(pair.first, pair.second) || is_at(pair.second, pair.first);
        let Some(&pair) = self.0.iter().find(is_there) else { return found };
        let question = Question::Race(pair.first, pair.second);
        match decide::decide(gatherer.index, &question, gatherer.model, gatherer.options) {
            Ok(Verdict::Feasible(witness)) => bug_of(gatherer, question, pair, witness),
            _ => found,
        }
    }
}

/// Races in the order of the trace's own synchronisation. Each comes with the schedule that shows it, under every model.
fn sync_preserving(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let trace = gatherer.index.trace();
    let total = Some(trace.len() as u64);
    gatherer.observer.begin(&Stage::Searching(FindingKind::Race));
    for SyncpRace { pair, ideal } in Syncp::of_races(gatherer.index, Model::ReadsFrom).races() {
        gatherer.observer.advance(Progress::Counted { done: u64::from(pair.second.0), total });
        predictions.candidates += 1;
        let question = Question::Race(pair.first, pair.second);
        let found = bug_of(gatherer, question, pair, Witness::ideal(ideal.0));
        gatherer.note_race(&found);
        gatherer.take_at(FindingKind::Race, found, Rung::Predicted);
    }
    gatherer.observer.end(None);
}

/// What an inexact method reports, each pair with its true rung.
fn reported_by(
    method: Method,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
) -> Result<(), Error> {
    let index = gatherer.index;
    let climber = Climber::new(index);
    let events = index.trace().len() as u64;
    gatherer.observer.begin(&Stage::Deciding { events });
    let mut done = 0;
    let mut take = |pair: RacePair| {
        predictions.candidates += 1;
        if predictions.candidates.is_multiple_of(256) {
            done = done.max(u64::from(pair.second.0));
            gatherer.observer.advance(Progress::Counted { done, total: Some(events) });
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
    let reported = for_each_pair(method, index, &mut take);
    gatherer.observer.end(None);
    reported.map_err(|error| {
        Error::from(ErrorKind::Method(error.to_string()))
            .help("the default method, `poly`, finds more and has no such limit")
    })
}

enum Climb {
    To(Bug, Rung),
    Refuted,
    Unknown,
}

/// Judges reported pairs. There can be millions, so what settles most of them cheaply comes before the engine.
struct Climber<'s> {
    /// What comes in one order in every schedule in which reads see what they saw.
    must: &'s MustOrder,
    /// Schedules in the order of the trace's own synchronisation, for each of [`RUNGS`].
    preserving: [Syncp<'s>; 2],
}

/// The highest first.
const RUNGS: [(Model, Rung); 2] = [(Model::ReadsFrom, Rung::Predicted), (Model::Sync, Rung::Possible)];

impl<'s> Climber<'s> {
    fn new(index: &'s Index<'s>) -> Self {
        let preserving = RUNGS.map(|(model, _)| Syncp::of_races(index, model));
        Climber { must: race_order(index, Model::ReadsFrom), preserving }
    }

    /// Whether the first event must have happened before the second can be next.
    fn is_ordered(&self, index: &Index<'_>, pair: RacePair) -> bool {
        let needed = self.must.run_up(index, pair.second, index.trace().thread(pair.first));
        (index.threads().place(pair.first) as u32) < needed
    }

    /// How far a pair climbs: `rf` first, then `sync`.
    fn climb(&self, gatherer: &Gatherer<'_>, pair: RacePair) -> Climb {
        let index = gatherer.index;
        let question = Question::Race(pair.first, pair.second);
        let mut unknown = false;
        for ((model, rung), preserving) in RUNGS.into_iter().zip(&self.preserving) {
            if model == Model::ReadsFrom && self.is_ordered(index, pair) {
                continue;
            }
            let verdict = match preserving.ideal(pair) {
                Some(ideal) => Ok(Verdict::Feasible(Witness::ideal(ideal.0))),
                None => decide::decide(index, &question, model, gatherer.options),
            };
            match verdict {
                Ok(Verdict::Feasible(witness)) => {
                    return Climb::To(bug_of(gatherer, question, pair, witness), rung);
                }
                Ok(Verdict::Unknown { .. }) => unknown = true,
                Ok(Verdict::Infeasible(_)) | Err(_) => {}
            }
        }
        if unknown { Climb::Unknown } else { Climb::Refuted }
    }
}

fn bug_of(gatherer: &Gatherer<'_>, question: Question, pair: RacePair, witness: Witness) -> Bug {
    let variable = gatherer.index.trace().op(pair.first).access().map(|access| access.variable);
    let object = variable.map_or(Object::Named(String::new()), Object::Variable);
    let events = vec![Some(pair.first), Some(pair.second)];
    Bug { question, events, object, witness, remarks: Remarks::default() }
}
