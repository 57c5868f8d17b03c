//! How far a count or a list is: a bar on a terminal, elsewhere a line every ten seconds.

use pipeline::observer;

use crate::heartbeat::Heartbeat;
use crate::mode::OutputMode;
use crate::progress::StatesBar;

/// Shows how far it is.
pub(super) struct StatesProgress {
    bar: StatesBar,
    heartbeat: Heartbeat,
}

impl StatesProgress {
    /// Starts the clock.
    pub(super) fn new(doing: &str, mode: OutputMode) -> Self {
        let mut heartbeat = Heartbeat::new(mode);
        heartbeat.begin(doing.to_owned());
        StatesProgress { bar: StatesBar::new(doing, mode), heartbeat }
    }

    /// The number of states that were looked at one by one.
    pub(super) fn update(&mut self, at: states::WalkProgress) {
        let (done, share) = (at.looked, Some(at.share));
        self.bar.update(done, share);
        self.heartbeat.advance(observer::Progress::Estimated { done, share });
    }

    /// There is no more to show.
    pub(super) fn finish(&mut self) {
        self.bar.finish();
        self.heartbeat.stop();
    }
}
