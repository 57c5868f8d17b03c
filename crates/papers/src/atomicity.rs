//! Ways to tell atomicity violations from what only looks like one: the columns of paper 5 (Zeng, Sun, Liu, He, *A Method for
//! Improving the Precision and Coverage of Atomicity Violation Predictions*), which filters what an over-approximation
//! predicts, and the exact answer for comparison.
//!
//! All of them are the search of [`candidates::atomicity`] with another model or [`Criterion`](candidates::atomicity::Criterion).
//! `over` and `under` find exactly what their definitions say; `avfilter` is `over` without what the algorithm filters, and promises
//! what the paper does.

mod avfilter;
mod range_minimum;
mod under;

use candidates::atomicity::{Counts, Exact, Intent, search_within};
use candidates::{PatternLimits, Report, SearchSettings};
use check::Model;
use decide::Index;

pub use avfilter::AvFilter;
use under::{MarkedTrace, Under};

/// A way to find atomicity violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Whatever synchronisation allows.
    Over,
    /// That, filtered by paper 5's algorithm 1. It covers three accesses to one variable, no others.
    AvFilter,
    /// Every read keeps what it saw, even those of the violation.
    Under,
    /// Feasible under the model.
    Exact,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 4] = [Method::Over, Method::AvFilter, Method::Under, Method::Exact];

    /// The name it is selected by.
    pub fn name(self) -> &'static str {
        match self {
            Method::Over => "over",
            Method::AvFilter => "avfilter",
            Method::Under => "under",
            Method::Exact => "exact",
        }
    }

    /// The model its schedules keep to, if `model` was asked for.
    pub fn model(self, model: Model) -> Model {
        match self {
            Method::Over | Method::AvFilter => Model::Sync,
            Method::Under => Model::ReadsFrom,
            Method::Exact => model,
        }
    }
}

/// Finds violations by a method, within limits.
pub fn search_by(
    method: Method,
    index: &Index<'_>,
    settings: SearchSettings,
    intent: &Intent,
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let settings = SearchSettings { model: method.model(settings.model), ..settings };
    match method {
        Method::Over | Method::Exact => search_within(index, settings, &Exact, intent, limits, report),
        Method::AvFilter => {
            let filter = AvFilter::new(index);
            search_within(index, settings, &filter, intent, limits, report)
        }
        Method::Under => {
            let marked = MarkedTrace::new(index.trace());
            search_within(index, settings, &Under::new(&marked, index.bounds()), intent, limits, report)
        }
    }
}
