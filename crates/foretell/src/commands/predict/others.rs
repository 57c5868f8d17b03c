//! Deadlocks, atomicity violations and nondeterministic reads.

use candidates::{Report, Settings, atomicity as atomic, deadlocks as dead, nondeterminism as nondet};
use report::{FindingKind, Predictions};

use super::gather::Gatherer;
use crate::arguments::Manner;
use crate::progress;

/// Searches for deadlocks.
pub(super) fn deadlocks(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions, manner: Manner) {
    let counts = gathered(FindingKind::Deadlock, gatherer, manner, |setup, settings, report| {
        dead::search(setup, settings, report)
    });
    predictions.candidates += counts.candidates;
    predictions.unknown += counts.unknown;
}

/// Searches for atomicity violations.
pub(super) fn atomicity(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions, manner: Manner) {
    let counts = gathered(FindingKind::Atomicity, gatherer, manner, |setup, settings, report| {
        atomic::search(setup, settings, report)
    });
    predictions.candidates += counts.candidates;
    predictions.unknown += counts.unknown;
}

/// Searches for reads that could see something else.
pub(super) fn nondeterminism(gatherer: &mut Gatherer<'_>, predictions: &mut Predictions, manner: Manner) {
    let counts = gathered(FindingKind::Nondeterminism, gatherer, manner, |setup, settings, report| {
        nondet::search(setup, settings, report)
    });
    predictions.candidates += counts.phases.decided;
    predictions.unknown += counts.phases.unknown;
}

/// Runs a search, gathering what it finds and showing how far it is.
fn gathered<C>(
    kind: FindingKind,
    gatherer: &mut Gatherer<'_>,
    manner: Manner,
    search: impl FnOnce(&decide::Setup<'_>, Settings, &mut dyn FnMut(Report)) -> C,
) -> C {
    let settings = Settings { model: gatherer.model.into(), options: gatherer.options };
    let bar = progress::of_events(&format!("looking for {}", kind.title_of_many()), 0, manner);
    let setup = gatherer.setup;
    let counts = search(setup, settings, &mut |report| match report {
        Report::Found(found) => gatherer.take(kind, found),
        Report::Unknown(_) => {}
        Report::Progress { done, total } => {
            bar.set_length(total);
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    counts
}
