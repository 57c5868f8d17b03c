//! Deadlocks, atomicity violations, order violations and nondeterministic reads.

use candidates::atomicity::{self, Intent};
use candidates::{
    Bug, Extent, Limits, Report, Settings, deadlocks as dead, nondeterminism as nondet, orders as ord,
};
use papers::atomicity::{Method, search_by};
use report::{FindingKind, Predictions};

use super::gather::Gatherer;
use crate::observer::{Progress, Stage};

/// Searches for deadlocks.
pub(super) fn deadlocks(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let limits = if gatherer.all { dead::Limits::ALL } else { dead::Limits::default() };
    let counts = gathered(FindingKind::Deadlock, gatherer, Gatherer::take, |index, settings, report| {
        dead::search_within(index, settings, limits, report)
    });
    predictions.candidates += counts.candidates;
    predictions.unknown += counts.unknown;
}

/// Searches for atomicity violations.
pub(super) fn atomicity(
    method: Method,
    intent: &Intent,
    gatherer: &mut Gatherer<'_>,
    predictions: &mut Predictions,
) {
    let limits = within(gatherer, Limits { extent: Extent::Causes, ..atomicity::LIMITS });
    let take = match method {
        Method::Exact => Gatherer::take,
        Method::Over | Method::AvFilter | Method::Under => Gatherer::take_climbing,
    };
    let counts = gathered(FindingKind::Atomicity, gatherer, take, |index, settings, report| {
        search_by(method, index, settings, intent, limits, report)
    });
    predictions.candidates += counts.candidates;
    predictions.unknown += counts.unknown;
}

/// Searches for orders that must not be: those stated, and misuse of memory.
pub(super) fn orders(rules: &[ord::Rule], gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let limits = within(gatherer, ord::LIMITS);
    let counts = gathered(FindingKind::Order, gatherer, Gatherer::take, |index, settings, report| {
        ord::search_for(index, settings, rules, limits, report)
    });
    predictions.candidates += counts.candidates;
    predictions.unknown += counts.unknown;
}

/// Searches for reads that could see something else.
pub(super) fn nondeterminism(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions) {
    let limits = within(gatherer, nondet::LIMITS);
    let counts =
        gathered(FindingKind::Nondeterminism, gatherer, Gatherer::take, |index, settings, report| {
            nondet::search_within(index, settings, limits, report)
        });
    predictions.candidates += counts.phases.decided;
    predictions.unknown += counts.phases.unknown;
}

/// How far to go: to the end if every instance is wanted.
fn within(gatherer: &Gatherer<'_>, limits: Limits) -> Limits {
    if gatherer.all { Limits::ALL } else { limits }
}

/// Runs a search, gathering what it finds and showing how far it is.
fn gathered<'s, C>(
    kind: FindingKind,
    gatherer: &mut Gatherer<'s>,
    take: fn(&mut Gatherer<'s>, FindingKind, Bug),
    search: impl FnOnce(&decide::Index<'_>, Settings, &mut dyn FnMut(Report)) -> C,
) -> C {
    let settings = Settings { model: gatherer.model, options: gatherer.options };
    let index = gatherer.index;
    gatherer.observer.begin(&Stage::Searching(kind));
    let counts = search(index, settings, &mut |report| match report {
        Report::Bug(found) => take(gatherer, kind, found),
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            gatherer.observer.advance(Progress::Counted { done, total: Some(total) });
        }
    });
    gatherer.observer.end(None);
    counts
}
