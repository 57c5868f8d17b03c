//! Which events of a finding a page holds. A trace may have millions, and a page must stay one that a browser opens gladly:
//! each finding shows a limited number of the last steps of its schedule and of the observed run, and all findings together hold
//! a bounded number.

use trace::EventId;

use crate::context::Context;
use crate::perfetto::with_next;
use findings::Finding;

/// The number of steps of an order that are shown.
const MOST: usize = 10_000;
/// The same when the page is getting full.
const FEW: usize = 300;
/// The number of steps that a page holds before it is getting full.
const FULL: usize = 300_000;
/// What is shown of the observed run after the last event of the finding.
const AFTER: usize = 20;

/// The orders of one finding, as far as they are shown.
pub(super) struct Windows {
    /// The observed run.
    pub(super) observed: Window,
    /// The schedule, then the events that are next.
    pub(super) predicted: Window,
    /// How many of the last are next, not scheduled.
    pub(super) next: usize,
}

/// The end of an order.
pub(super) struct Window {
    /// How many events come before.
    pub(super) skipped: usize,
    /// The events shown.
    pub(super) events: Vec<EventId>,
}

/// Counts what the page holds so far.
#[derive(Default)]
pub(super) struct Room {
    used: usize,
}

impl Room {
    /// The windows of a finding.
    pub(super) fn windows(&mut self, context: &Context<'_>, finding: &Finding) -> Windows {
        let most = if self.used < FULL { MOST } else { FEW };
        let order = with_next(finding);
        let next = order.len() - finding.schedule.len();
        let last = order.iter().map(|event| event.index()).max().unwrap_or(0);
        let end = context.trace.len().min(last + 1 + AFTER);
        let start = end.saturating_sub(most);
        let skipped = order.len().saturating_sub(most);
        let observed = Window { skipped: start, events: (start..end).map(EventId::new).collect() };
        let predicted = Window { skipped, events: order[skipped..].to_vec() };
        self.used += observed.events.len() + predicted.events.len();
        Windows { observed, predicted, next }
    }
}
