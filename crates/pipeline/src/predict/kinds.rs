//! Deadlocks, atomicity violations, order violations and nondeterministic reads.

use candidates::atomicity::{self, Instances, Intent, Recorded};
use candidates::races::poly::Places;
use candidates::{
    Bug, Extent, PatternLimits, Report, SearchSettings, deadlocks as dead, nondeterminism as nondet,
    orders as ord,
};
use papers::atomicity::{Method, search_by};
use report::{FindingKind, Predictions};

use super::gather::Gatherer;
use super::races;
use crate::observer::{Progress, Stage};

/// Searches for deadlocks.
pub(super) fn deadlocks(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let limits = if gatherer.all { dead::DeadlockLimits::ALL } else { dead::DeadlockLimits::default() };
    let counts = gathered(FindingKind::Deadlock, gatherer, Gatherer::take, |index, settings, report| {
        dead::search_within(index, settings, limits, report)
    });
    predictions.candidates += counts.tally.candidates;
    predictions.unknown += counts.tally.unknown;
}

/// Searches for atomicity violations.
pub(super) fn atomicity(
    method: Method,
    instances: Instances,
    intent: &Intent,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
) {
    let limits = within(gatherer, PatternLimits { extent: Extent::Causes, ..atomicity::LIMITS });
    let take = match method {
        Method::Exact => Gatherer::take,
        Method::Over | Method::AvFilter | Method::Under => Gatherer::take_climbing,
    };
    let counts =
        gathered(FindingKind::Atomicity, gatherer, take, |index, settings, report| match instances {
            Instances::Any => search_by(method, index, settings, intent, limits, report),
            Instances::Recorded => {
                atomicity::search_within(index, settings, &Recorded, intent, limits, report)
            }
        });
    predictions.candidates += counts.tally.candidates;
    predictions.unknown += counts.tally.unknown;
}

/// Searches for orders that must not be: those stated, and misuse of memory.
pub(super) fn orders(rules: &[ord::Rule], gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let limits = within(gatherer, ord::LIMITS);
    let counts = gathered(FindingKind::Order, gatherer, Gatherer::take, |index, settings, report| {
        ord::search_for(index, settings, rules, limits, report)
    });
    predictions.candidates += counts.tally.candidates;
    predictions.unknown += counts.tally.unknown;
}

/// Whether it is known which reads race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Races {
    /// Races were searched for.
    Noted,
    /// That is still to be done.
    Wanted,
}

/// Searches for reads that could see something else.
pub(super) fn nondeterminism(known: Races, gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    const KIND: FindingKind = FindingKind::Nondeterminism;
    let limits = within(gatherer, nondet::LIMITS);
    let search = |index: &decide::Index<'_>, settings, report: &mut dyn FnMut(Report)| {
        nondet::search_within(index, settings, limits, report)
    };
    let counts = match known {
        Races::Noted => gathered(KIND, gatherer, Gatherer::take, search),
        // All of them may be too many to be kept.
        Races::Wanted if gatherer.all => {
            races::note(gatherer, Places::All);
            gathered(KIND, gatherer, Gatherer::take, search)
        }
        Races::Wanted => {
            let (counts, found) = collected(KIND, gatherer, search);
            let trace = gatherer.index.trace();
            let reads = found.iter().filter_map(|bug| bug.events.first().copied().flatten());
            races::note(gatherer, Places::One(reads.map(|read| trace.location(read)).collect()));
            found.into_iter().for_each(|bug| gatherer.take(KIND, bug));
            counts
        }
    };
    predictions.candidates += counts.phases.decided;
    predictions.unknown += counts.phases.unknown;
}

/// How far to go: to the end if every instance is wanted.
fn within(gatherer: &Gatherer<'_>, limits: PatternLimits) -> PatternLimits {
    if gatherer.all { PatternLimits::ALL } else { limits }
}

/// Runs a search, gathering what it finds and showing how far it is.
fn gathered<'s, C>(
    kind: FindingKind,
    gatherer: &mut Gatherer<'s>,
    take: fn(&mut Gatherer<'s>, FindingKind, Bug),
    search: impl FnOnce(&decide::Index<'_>, SearchSettings, &mut dyn FnMut(Report)) -> C,
) -> C {
    passed_on(kind, gatherer, |gatherer, bug| take(gatherer, kind, bug), search)
}

/// Runs a search, collecting what it finds and showing how far it is.
fn collected<C>(
    kind: FindingKind,
    gatherer: &mut Gatherer<'_>,
    search: impl FnOnce(&decide::Index<'_>, SearchSettings, &mut dyn FnMut(Report)) -> C,
) -> (C, Vec<Bug>) {
    let mut found = Vec::new();
    let counts = passed_on(kind, gatherer, |_, bug| found.push(bug), search);
    (counts, found)
}

/// Runs a search, passing on what it finds and showing how far it is.
fn passed_on<'s, C>(
    kind: FindingKind,
    gatherer: &mut Gatherer<'s>,
    mut take: impl FnMut(&mut Gatherer<'s>, Bug),
    search: impl FnOnce(&decide::Index<'_>, SearchSettings, &mut dyn FnMut(Report)) -> C,
) -> C {
    let settings = SearchSettings { model: gatherer.model, options: gatherer.options };
    let index = gatherer.index;
    gatherer.observer.begin(&Stage::Searching(kind));
    let counts = search(index, settings, &mut |report| match report {
        Report::Bug(found) => take(gatherer, found),
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            gatherer.observer.advance(Progress::Counted { done, total: Some(total) });
        }
    });
    gatherer.observer.end(None);
    counts
}
