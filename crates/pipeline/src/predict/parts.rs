//! The parts of a search, one for each kind of bug: each has its share of the time, and the end says which were not finished.

use report::{FindingKind, Predictions, Stopped};

use super::PredictOptions;
use crate::budget::{Bound, stopped_by};

/// The parts of a search.
pub(super) struct Parts<'o> {
    options: &'o PredictOptions,
    /// Those to come.
    left: Vec<FindingKind>,
    /// What was unknown when the current one began.
    unknown: u64,
    unfinished: Vec<FindingKind>,
    left_out: u64,
}

impl<'o> Parts<'o> {
    /// Those that there is something to do for.
    pub(super) fn of(
        kinds: &[FindingKind],
        has_work: impl Fn(FindingKind) -> bool,
        options: &'o PredictOptions,
    ) -> Self {
        let left = kinds.iter().copied().filter(|&kind| has_work(kind)).collect();
        Parts { options, left, unknown: 0, unfinished: Vec::new(), left_out: 0 }
    }

    /// Whether there is something to do for a kind, and time and memory for it.
    pub(super) fn begin(&mut self, kind: FindingKind, predictions: &mut Predictions) -> bool {
        let Some(place) = self.left.iter().position(|&left| left == kind) else { return false };
        self.options.begin_share(self.left.len() as u32);
        self.left.remove(place);
        self.unknown = predictions.unknown;
        if self.options.is_over() {
            predictions.unknown += 1;
            self.unfinished.push(kind);
            return false;
        }
        true
    }

    /// A part has ended, and `left_out` findings were left out at its end.
    pub(super) fn end(&mut self, kind: FindingKind, left_out: u64, predictions: &mut Predictions) {
        self.left_out += left_out;
        if self.options.budget.bounds.are_reached() {
            self.unfinished.push(kind);
            predictions.unknown += u64::from(predictions.unknown == self.unknown);
        }
    }

    /// What was left, if anything was.
    pub(super) fn stopped(self) -> Option<Stopped> {
        if self.unfinished.is_empty() && self.left_out == 0 {
            return None;
        }
        let bounds = self.options.budget.bounds;
        let (unfinished, left_out) = (self.unfinished, self.left_out);
        let bound = match self.options.cancellation.is_cancelled() {
            true => Bound::Interrupt,
            false => bounds.reached().unwrap_or(Bound::Time),
        };
        Some(Stopped { unfinished, left_out, ..stopped_by(bounds, bound) })
    }
}
