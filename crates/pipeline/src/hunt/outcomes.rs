//! Outcomes: the exit statuses of runs that did not fail. A bug may show in nothing but another one.
//!
//! The first recording of each status that the recorded run does not have is kept, to be searched. What a run prints is no outcome: the output of
//! a correct program may well depend on the order of its threads.

use std::collections::BTreeSet;

use trace::Ending;

/// The most recordings that are kept, and the bytes that the log of one may have.
const MOST: usize = 8;
const LONGEST_LOG: usize = 16 << 20;

/// A run with a status of its own, and the file of its recording.
#[derive(Debug)]
pub(super) struct UnusualRun {
    pub(super) status: i32,
    pub(super) recording: String,
}

/// The outcomes of the runs of a hunt.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Statuses there were, that of the recorded run among them; none if others are not compared with it.
    known: Option<BTreeSet<i32>>,
    /// Runs that are still to be looked at.
    pub(super) unusual: Vec<UnusualRun>,
}

impl Outcomes {
    /// Others are compared with a run that ended like this, if it is to be compared with.
    pub(super) fn of(usual: Option<Ending>) -> Outcomes {
        let known = match usual {
            Some(Ending::Exited(status)) => Some(BTreeSet::from([status])),
            _ => None,
        };
        Outcomes { known, unusual: Vec::new() }
    }

    /// The status of a run that did not fail, if none before it had that.
    pub(super) fn new_status(&mut self, ending: Ending, log_bytes: usize) -> Option<i32> {
        let (Ending::Exited(status), Some(known)) = (ending, &mut self.known) else { return None };
        let is_kept = known.len() <= MOST && log_bytes <= LONGEST_LOG;
        (is_kept && known.insert(status)).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_new_once() {
        let mut outcomes = Outcomes::of(Some(Ending::Exited(0)));
        assert_eq!(outcomes.new_status(Ending::Exited(0), 0), None);
        assert_eq!(outcomes.new_status(Ending::Exited(7), LONGEST_LOG + 1), None);
        assert_eq!(outcomes.new_status(Ending::Exited(7), 0), Some(7));
        assert_eq!(outcomes.new_status(Ending::Exited(7), 0), None);
        assert_eq!(outcomes.new_status(Ending::TimedOut, 0), None);
        assert_eq!(Outcomes::of(None).new_status(Ending::Exited(7), 0), None);
        assert_eq!(Outcomes::of(Some(Ending::TimedOut)).new_status(Ending::Exited(7), 0), None);
    }

    #[test]
    fn only_some_statuses_are_looked_at() {
        let mut outcomes = Outcomes::of(Some(Ending::Exited(0)));
        let kept = (1..100).filter_map(|status| outcomes.new_status(Ending::Exited(status), 0)).count();
        assert_eq!(kept, MOST);
    }
}
