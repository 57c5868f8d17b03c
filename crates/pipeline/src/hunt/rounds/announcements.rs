//! Confirmed findings are announced at once, in a line each: the report comes at the end of the hunt.

use std::collections::BTreeSet;
use std::time::Instant;

use report::{Finding, Rung};

use crate::observer::{Event, Observer};

/// What was announced.
pub(super) struct Announcements {
    titles: BTreeSet<String>,
    started: Instant,
    has_regions: bool,
}

impl Announcements {
    pub(super) fn new(has_regions: bool) -> Self {
        Announcements { titles: BTreeSet::new(), started: Instant::now(), has_regions }
    }

    /// Announces a finding that was replayed, if it is confirmed, shown, and the first that reads like this.
    pub(super) fn announce(&mut self, finding: &Finding, observer: &mut dyn Observer) {
        let is_wanted = finding.rung == Rung::Confirmed && finding.is_shown_in_hunt(self.has_regions);
        if is_wanted && self.titles.insert(report::title(finding)) {
            let title = report::title_and_places(finding);
            observer.event(&Event::Confirmed { title, after: self.started.elapsed() });
        }
    }
}
