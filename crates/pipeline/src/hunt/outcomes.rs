//! Outcomes: how runs that did not fail ended, and what they printed. A bug may show in nothing but another exit status or another line of output.
//!
//! The first recording of each outcome that the recorded run does not have is kept. Whether it comes from the schedule is asked later:
//! most programs have one outcome only, and some print the time.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use trace::Ending;

use super::harm::{Lines, SeenRun, Varying, different_endings, without_numbers};

/// The most recordings that are kept, and the bytes that the log of one may have.
const MOST: usize = 16;
const LONGEST_LOG: usize = 16 << 20;

/// A run with an outcome of its own, and the file of its recording.
#[derive(Debug)]
pub(super) struct UnusualRun {
    pub(super) run: SeenRun,
    pub(super) recording: String,
}

/// The outcomes of the runs of a hunt.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// The recorded run; none if it failed, or is no run that others compare with.
    usual: Option<SeenRun>,
    /// Outcomes there were, by what does not depend on the order of lines.
    known: BTreeSet<u64>,
    /// Runs that are still to be looked at.
    pub(super) unusual: Vec<UnusualRun>,
}

impl Outcomes {
    /// Others are compared with this run.
    pub(super) fn of(usual: Option<SeenRun>) -> Outcomes {
        let known = usual.iter().map(checksum).collect();
        Outcomes { usual, known, unusual: Vec::new() }
    }

    /// What others are compared with.
    pub(super) fn usual(&self) -> Option<&SeenRun> {
        self.usual.as_ref()
    }

    /// Whether a run ended in a way, or printed something, that none before did.
    pub(super) fn is_new(&mut self, run: &SeenRun, log_bytes: usize) -> bool {
        let is_comparable = self.usual.is_some() && run.failure.is_none();
        let is_kept = self.unusual.len() < MOST && log_bytes <= LONGEST_LOG;
        is_comparable
            && is_kept
            && self.known.len() <= 4 * MOST
            && matches!(run.ending, Ending::Exited(_))
            && self.known.insert(checksum(run))
    }
}

/// How a run differs from another one with the same input, besides what varies.
pub(super) fn difference(run: &SeenRun, usual: &SeenRun, varying: &Varying) -> Vec<String> {
    let lines = Lines::of(&run.output).differences(&Lines::of(&usual.output), varying);
    [different_endings(usual.ending, run.ending), lines].concat()
}

/// A difference without the numbers of printed lines: what is the same for a total that is 17 in one run and 18 in another.
pub(super) fn class_of(difference: &[String]) -> Vec<String> {
    let is_ending = |line: &String| line[1..].starts_with(" ends ");
    let mut class: Vec<String> = difference
        .iter()
        .map(|line| if is_ending(line) { line.clone() } else { without_numbers(line).0 })
        .collect();
    class.sort_unstable();
    class.dedup();
    class
}

fn checksum(run: &SeenRun) -> u64 {
    let mut hasher = DefaultHasher::new();
    run.ending.status().hash(&mut hasher);
    Lines::of(&run.output).sorted().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(status: i32, output: &str) -> SeenRun {
        SeenRun { ending: Ending::Exited(status), output: output.into(), failure: None }
    }

    #[test]
    fn each_outcome_is_new_once() {
        let mut outcomes = Outcomes::of(Some(run(0, "a\nb 1 in 3 ms\n")));
        assert!(!outcomes.is_new(&run(0, "b 1 in 4 ms\na\n"), 0));
        assert!(outcomes.is_new(&run(7, "a\nb 1 in 3 ms\n"), 0));
        assert!(outcomes.is_new(&run(0, "a\nb 2 in 3 ms\n"), 0));
        assert!(!outcomes.is_new(&run(0, "a\nb 2 in 5 ms\n"), 0));
        assert!(!outcomes.is_new(&SeenRun { ending: Ending::TimedOut, ..run(0, "c") }, 0));
        assert!(!Outcomes::of(None).is_new(&run(7, ""), 0));
    }

    #[test]
    fn totals_are_one_class_and_statuses_are_not() {
        let usual = run(0, "total 20\n");
        let class = |status, output| class_of(&difference(&run(status, output), &usual, &Varying::default()));
        assert_eq!(class(0, "total 18\n"), class(0, "total 17\n"));
        assert_ne!(class(1, "total 18\n"), class(2, "total 18\n"));
        assert!(class(0, "total 20\n").is_empty());
    }
}
