//! The lock that would keep a bug from happening, as a finding has it. What has one cause has one fix.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bounds::Bounds;
use candidates::fixes::{LONGEST_TRACE, suggest_lock};
use check::Question;
use decide::{Index, Options};
use report::{Finding, FindingKind, FixPlace, LockFix, NoFix, Words};

/// What a question about a changed recording may cost.
const BUDGET: u64 = 2_000_000;
/// How many bugs of one cause one fix has to solve, at most.
const MOST_QUESTIONS: usize = 32;
/// Which share of the time that is left may be spent on fixes, and how much at most: that many findings in a long trace do not take
/// forever. The first ones come first.
const SHARE: u32 = 8;
const MOST_TIME: Duration = Duration::from_secs(10);

/// The time that the fixes of one search may take, on all cores together.
#[derive(Debug)]
pub(crate) struct FixTime {
    allowed: Duration,
    bounds: Bounds,
    spent: AtomicU64,
}

impl FixTime {
    /// A share of what is left.
    pub(crate) fn within(bounds: Bounds) -> FixTime {
        let share = bounds.time_left().map_or(MOST_TIME, |left| (left / SHARE).min(MOST_TIME));
        FixTime { allowed: share, bounds, spent: AtomicU64::new(0) }
    }

    /// Whether none is left.
    pub(crate) fn is_over(&self) -> bool {
        let spent = Duration::from_micros(self.spent.load(Ordering::Relaxed));
        self.bounds.are_reached() || spent >= self.allowed
    }

    /// Does something on this time.
    pub(crate) fn spend<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.spent.fetch_add(micros, Ordering::Relaxed);
        done
    }
}

/// Gives a race or an atomicity violation its verified fix, if there is one: for all of these questions, of which the first is the finding's own,
/// or else for that one alone.
pub(crate) fn fix(index: &Index<'_>, finding: &mut Finding, questions: &[Question], time: &FixTime) {
    if !matches!(finding.kind, FindingKind::Race | FindingKind::Atomicity) {
        return;
    }
    if index.trace().len() > LONGEST_TRACE {
        finding.no_fix = Some(NoFix::Length);
        return;
    }
    if time.is_over() {
        finding.no_fix = Some(NoFix::Time);
        return;
    }
    let of_all = time.spend(|| fix_of_all(index, questions));
    finding.fix = match questions {
        [own, _, ..] if of_all.is_none() => {
            let of_own = time.spend(|| fix_of_all(index, std::slice::from_ref(own)));
            of_own.map(|fix| LockFix { partial: true, ..fix })
        }
        _ => of_all,
    };
}

/// A verified fix of all of these.
pub(crate) fn fix_of_all(index: &Index<'_>, questions: &[Question]) -> Option<LockFix> {
    if questions.len() > MOST_QUESTIONS {
        return None;
    }
    let trace = index.trace();
    let fix = suggest_lock(index, questions, Options { budget: BUDGET, ..Options::default() })?;
    let words = Words::new(trace);
    let location = |event| trace.symbols().location(trace.location(event)).to_owned();
    let places = fix.spans.iter();
    Some(LockFix {
        mistake: fix.mistake,
        lock: words.lock(fix.lock),
        instead_of: fix.instead_of.map(|lock| words.lock(lock)),
        places: places.map(|span| FixPlace { from: location(span.first), to: location(span.last) }).collect(),
        held: fix.held,
        accesses: fix.accesses,
        partial: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_WITHOUT: &str =
        "main|fork(T1)|1\nmain|fork(T2)|2\nT1|acq(m)|3\nT1|w(x)|4\nT1|rel(m)|5\nT2|w(x)|6\nT2|w(x)|7\n";

    fn race(a: u32, b: u32) -> Question {
        Question::Race(trace::EventId(a), trace::EventId(b))
    }

    fn with_fix(time: &FixTime) -> Finding {
        let trace = trace::text::read_bytes(ONE_WITHOUT.as_bytes()).unwrap();
        let mut finding =
            Finding::new(FindingKind::Race, report::Rung::Predicted, race(3, 5).written(&trace));
        fix(&Index::new(&trace), &mut finding, &[race(3, 5), race(3, 6)], time);
        finding
    }

    #[test]
    fn a_fix_that_was_not_looked_for_is_told() {
        let fixed = with_fix(&FixTime::within(Bounds::NONE));
        assert_eq!((fixed.fix.unwrap().places.len(), fixed.no_fix), (2, None));
        let time = FixTime::within(Bounds::NONE);
        time.spent.store(u64::MAX / 2, Ordering::Relaxed);
        let late = with_fix(&time);
        assert_eq!((late.fix, late.no_fix), (None, Some(NoFix::Time)));
    }

    #[test]
    fn fixes_have_a_share_of_the_time() {
        assert_eq!(FixTime::within(Bounds::NONE).allowed, MOST_TIME);
        let short = FixTime::within(Bounds::start(Some(Duration::from_secs(8)), None));
        assert!(short.allowed <= Duration::from_secs(1) && short.allowed > Duration::from_millis(900));
        assert!(!short.is_over());
        short.spend(|| std::thread::sleep(Duration::from_millis(2)));
        assert!(short.spent.load(Ordering::Relaxed) >= 2000);
    }
}
