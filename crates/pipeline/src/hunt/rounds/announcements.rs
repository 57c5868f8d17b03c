//! Findings are told as soon as a replay has seen them happen, in a line each: the report comes at the end of the hunt.

use std::collections::BTreeSet;
use std::time::Instant;

use report::{Finding, Rung};

use crate::observer::{Event, Observer};

/// What was told at once.
pub(super) struct ToldAtOnce {
    titles: BTreeSet<String>,
    started: Instant,
    has_regions: bool,
}

impl ToldAtOnce {
    pub(super) fn new(has_regions: bool) -> Self {
        ToldAtOnce { titles: BTreeSet::new(), started: Instant::now(), has_regions }
    }

    /// Tells of a finding that was replayed, if it is confirmed, shown, and the first that reads like this.
    pub(super) fn tell(&mut self, finding: &Finding, observer: &mut dyn Observer) {
        let is_wanted = finding.rung == Rung::Confirmed && finding.is_shown_in_hunt(self.has_regions);
        if is_wanted && self.titles.insert(report::title(finding)) {
            let title = report::title_and_places(finding);
            observer.event(&Event::Confirmed { title, after: self.started.elapsed() });
        }
    }
}
