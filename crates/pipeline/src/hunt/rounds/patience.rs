//! How long a hunt that has found something goes on.

use std::time::{Duration, Instant};

use report::{Finding, FindingKind, Harm};

/// A hunt that has found a failure continues for a multiple of the time that took, and at least for a minimum.
const AFTER_A_FAILURE: (u32, Duration) = (3, Duration::from_secs(2));
/// The same for a hunt that has found something else: a race may have worse to follow.
const AFTER_A_FINDING: (u32, Duration) = (10, Duration::from_secs(10));

/// When something was last found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    started: Instant,
    /// How many findings there were then.
    found: usize,
    /// How long after the start, and when that was.
    last: Option<(Duration, Instant)>,
}

impl Patience {
    /// Nothing was found yet.
    pub(super) fn new() -> Patience {
        Patience { started: Instant::now(), found: 0, last: None }
    }

    /// How long the hunt has been under way.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes note of what was found so far.
    pub(super) fn note(&mut self, findings: &[Finding]) {
        let found = findings.iter().filter(|finding| is_reason_to_end(finding)).count();
        if found > self.found {
            self.found = found;
            self.last = Some((self.elapsed(), Instant::now()));
        }
    }

    /// Whether something was found, and nothing more for a while.
    pub(super) fn is_over(&self, has_failure: bool) -> bool {
        let Some((found_after, found_at)) = self.last else { return false };
        let (times, least) = if has_failure { AFTER_A_FAILURE } else { AFTER_A_FINDING };
        found_at.elapsed() > (found_after * times).max(least)
    }
}

/// Whether it is something to end with. A misuse, such as a thread that nobody joins, is there in every run, and says nothing about whether the
/// program can fail, unless that was seen.
fn is_reason_to_end(finding: &Finding) -> bool {
    let does_harm = finding.failure.is_some() || finding.harm.is_some_and(Harm::is_visible);
    finding.shown == Some(true) && (finding.kind != FindingKind::Misuse || does_harm)
}

#[cfg(test)]
mod tests {
    use check::WrittenQuestion;
    use report::Rung;
    use trace::EventId;

    use super::*;

    fn shown(kind: FindingKind, harm: Harm) -> Finding {
        let question = WrittenQuestion::Race(EventId(0), EventId(1));
        let finding = Finding::new(kind, Rung::Confirmed, question);
        Finding { harm: Some(harm), shown: Some(true), ..finding }
    }

    /// Something was found early, and this long ago.
    fn found_before(long_ago: Duration) -> Patience {
        let last = Instant::now().checked_sub(long_ago).map(|at| (Duration::from_millis(100), at));
        Patience { last, found: 1, ..Patience::new() }
    }

    #[test]
    fn a_failure_ends_a_hunt_sooner_than_a_race() {
        assert!(!Patience::new().is_over(true), "nothing was found");
        let patience = found_before(Duration::from_secs(5));
        assert!(patience.is_over(true) && !patience.is_over(false));
        assert!(found_before(Duration::from_secs(11)).is_over(false));
    }

    #[test]
    fn a_misuse_without_harm_ends_no_hunt() {
        let noted = |findings: &[Finding]| {
            let mut patience = Patience::new();
            patience.note(findings);
            patience.last.is_some()
        };
        assert!(!noted(&[shown(FindingKind::Misuse, Harm::None)]));
        assert!(!noted(&[Finding { shown: None, ..shown(FindingKind::Race, Harm::None) }]));
        assert!(noted(&[shown(FindingKind::Misuse, Harm::Hang)]));
        assert!(noted(&[shown(FindingKind::Misuse, Harm::None), shown(FindingKind::Race, Harm::None)]));
    }

    #[test]
    fn only_more_findings_renew_it() {
        let mut patience = found_before(Duration::from_secs(11));
        let race = shown(FindingKind::Race, Harm::None);
        patience.note(&[race.clone(), shown(FindingKind::Misuse, Harm::None)]);
        assert!(patience.is_over(false));
        patience.note(&[race.clone(), race]);
        assert!(!patience.is_over(false));
    }
}
