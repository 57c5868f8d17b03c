//! The lock that would keep a bug from happening, as a finding has it.

use candidates::fixes::suggest_lock;
use check::Question;
use decide::{Index, Options};
use report::{Finding, FindingKind, FixPlace, LockFix, Words};

/// How many events the changed recordings of all findings of a kind may have together, so that many findings in a long
/// trace do not take forever. The first ones come first.
const MOST_EVENTS: usize = 1_000_000;
/// What a question about a changed recording may cost.
const BUDGET: u64 = 2_000_000;

/// A verified fix of a race or an atomicity violation, if there is one.
pub(super) fn fix_of(index: &Index<'_>, finding: &Finding, question: &Question) -> Option<LockFix> {
    let trace = index.trace();
    let is_fixable = matches!(finding.kind, FindingKind::Race | FindingKind::Atomicity);
    if !is_fixable || finding.number().saturating_mul(trace.len() as u64) > MOST_EVENTS as u64 {
        return None;
    }
    let fix = suggest_lock(index, question, Options { budget: BUDGET, ..Options::default() })?;
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
    })
}
