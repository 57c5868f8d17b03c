//! Progress where there is no terminal: a line on standard error every ten seconds, so that a log shows what the time goes into.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pipeline::observer::Progress;

use crate::mode::OutputMode;
use crate::observer::covered;
use crate::progress::say;
use crate::table::number;

/// How often it says something.
const PAUSE: Duration = Duration::from_secs(10);

/// Says every ten seconds what is being done.
#[derive(Debug)]
pub struct Heartbeat {
    /// None where nobody wants to hear it.
    beating: Option<Beating>,
}

#[derive(Debug)]
struct Beating {
    stages: Arc<Mutex<Vec<Running>>>,
    /// Dropped to end the thread. Without one until there is a stage.
    thread: Option<Sender<()>>,
}

#[derive(Debug)]
struct Running {
    doing: String,
    item: Option<String>,
    progress: Option<Progress>,
    started: Instant,
}

impl Heartbeat {
    /// Beats unless a terminal shows progress already, or quiet is wanted.
    pub fn new(mode: OutputMode) -> Self {
        let wanted = !mode.quiet && !stderr().is_terminal();
        Heartbeat { beating: wanted.then(|| Beating { stages: Arc::default(), thread: None }) }
    }

    /// A stage begins.
    pub fn begin(&mut self, doing: String) {
        if let Some(beating) = &mut self.beating {
            let running = Running { doing, item: None, progress: None, started: Instant::now() };
            beating.stages.lock().unwrap_or_else(PoisonError::into_inner).push(running);
            beating.start();
        }
    }

    /// The innermost stage turns to the next of its items.
    pub fn item(&mut self, name: &str) {
        self.innermost(|running| running.item = Some(name.to_owned()));
    }

    /// The innermost stage has come so far.
    pub fn advance(&mut self, progress: Progress) {
        self.innermost(|running| running.progress = Some(progress));
    }

    /// The innermost stage is over.
    pub fn end(&mut self) {
        if let Some(beating) = &self.beating {
            beating.stages.lock().unwrap_or_else(PoisonError::into_inner).pop();
        }
    }

    /// Everything is over.
    pub fn stop(&mut self) {
        self.beating = None;
    }

    fn innermost(&mut self, change: impl FnOnce(&mut Running)) {
        if let Some(beating) = &self.beating
            && let Some(running) = beating.stages.lock().unwrap_or_else(PoisonError::into_inner).last_mut()
        {
            change(running);
        }
    }
}

impl Beating {
    fn start(&mut self) {
        if self.thread.is_some() {
            return;
        }
        let (sender, receiver) = channel::<()>();
        let stages = Arc::clone(&self.stages);
        let beat = move || {
            while receiver.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let stages = stages.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(running) = stages.last() {
                    say(&running.in_words(running.started.elapsed()));
                }
            }
        };
        if thread::Builder::new().name("heartbeat".into()).spawn(beat).is_ok() {
            self.thread = Some(sender);
        }
    }
}

impl Running {
    /// How long the rest takes if it goes on like this.
    fn left(&self, elapsed: Duration) -> String {
        match self.progress {
            Some(Progress::Counted { done, total: Some(total) }) if 0 < done && done < total => {
                let left = elapsed.as_secs_f64() / done as f64 * (total - done) as f64;
                format!(", about {left:.0} s left")
            }
            _ => String::new(),
        }
    }

    /// `searching for data races: 5,000 of 20,000 (25 %), 10 s, about 30 s left`.
    fn in_words(&self, elapsed: Duration) -> String {
        let item = self.item.as_ref().map(|item| format!(" {item}")).unwrap_or_default();
        let so_far = match &self.progress {
            &Some(Progress::Counted { done, total: Some(total) }) if total > 0 => {
                let percent = done.min(total) * 100 / total;
                format!(": {} of {} ({percent} %)", number(done), number(total))
            }
            &Some(Progress::Counted { done, .. } | Progress::Estimated { done, .. }) => {
                format!(": {}", number(done))
            }
            Some(Progress::Covered(coverage)) => format!(": {}", covered(coverage)),
            None => String::new(),
        };
        format!("{}{item}{so_far}, {} s{}", self.doing, elapsed.as_secs(), self.left(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_being_done_and_how_far_it_is() {
        let mut running =
            Running { doing: "replaying".into(), item: None, progress: None, started: Instant::now() };
        let words = |running: &Running| running.in_words(Duration::from_secs(20));
        assert_eq!(words(&running), "replaying, 20 s");
        running.item = Some("race-1".into());
        running.progress = Some(Progress::Counted { done: 2, total: Some(8) });
        assert_eq!(words(&running), "replaying race-1: 2 of 8 (25 %), 20 s, about 60 s left");
        running.progress = Some(Progress::Estimated { done: 12_000, share: None });
        assert_eq!(words(&running), "replaying race-1: 12,000, 20 s");
    }
}
