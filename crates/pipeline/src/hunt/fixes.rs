//! Fixes of findings that a hunt put together: one fix for all their places, or for those of the first alone, which then says so.
//!
//! While a hunt goes on, each variable and set of locations is fixed by itself. What fixes one of them need not fix the next.

use std::collections::BTreeMap;

use bounds::Bounds;
use check::{Question, WrittenQuestion};
use decide::Index;
use report::{Cause, Finding, FindingKind};
use trace::{EventId, Trace};

use crate::predict::culprit::orders_cover;
use crate::predict::fix::{FixTime, fix_of_all};
use crate::trace_file::{ExploredTrace, TraceFile};

/// The recordings that findings are of.
pub(super) struct Recordings<'a> {
    pub(super) first: &'a TraceFile,
    pub(super) others: &'a [ExploredTrace],
    pub(super) bounds: Bounds,
}

impl Recordings<'_> {
    fn named(&self, name: Option<&String>) -> Option<&Trace> {
        match name {
            None => Some(&self.first.trace),
            Some(name) => Some(&self.others.iter().find(|other| other.name == *name)?.file.trace),
        }
    }
}

/// A finding before it is put together with others.
struct Member {
    recording: Option<String>,
    question: WrittenQuestion,
    /// The events of further elements at the same places.
    further: Vec<Vec<i64>>,
    has_fix: bool,
}

/// Races and atomicity violations by their cause.
pub(super) struct Causes(BTreeMap<Cause, Vec<Member>>);

impl Causes {
    /// Those of findings that are yet to be put together.
    pub(super) fn of(findings: &[Finding]) -> Causes {
        let mut causes: BTreeMap<Cause, Vec<Member>> = BTreeMap::new();
        for finding in findings {
            if !matches!(finding.kind, FindingKind::Race | FindingKind::Atomicity) {
                continue;
            }
            causes.entry(Cause::of(finding)).or_default().push(Member {
                recording: finding.recording.clone(),
                question: finding.question.clone(),
                further: finding.more.iter().map(|places| places.events.clone()).collect(),
                has_fix: finding.fix.is_some(),
            });
        }
        Causes(causes)
    }

    /// Finds one fix for all places of each finding. If there is none, or no time, the finding keeps that of its own places.
    pub(super) fn fix_as_a_whole(&self, recordings: &Recordings<'_>, findings: &mut [Finding]) {
        let time = FixTime::within(recordings.bounds);
        for finding in findings {
            if let Some(members) = self.0.get(&Cause::of(finding))
                && members.len() > 1
                && !time.is_over()
            {
                time.spend(|| fix_one(finding, members, recordings));
            }
        }
    }
}

fn fix_one(finding: &mut Finding, members: &[Member], recordings: &Recordings<'_>) {
    // What no single one has, all together do not have either.
    let has_fix = members.iter().any(|member| member.has_fix);
    let has_orders = finding.partial_orders;
    if !(has_fix || has_orders) || members.iter().any(|member| member.recording != finding.recording) {
        return;
    }
    let Some(trace) = recordings.named(finding.recording.as_ref()) else { return };
    let Some(questions) = questions_of(finding.kind, members, trace) else { return };
    if has_orders {
        finding.partial_orders = !orders_cover(trace, &finding.memory_orders, &questions);
    } else if let Some(fix) = fix_of_all(&Index::within(trace, recordings.bounds), &questions) {
        finding.fix = Some(fix);
    }
}

/// All that was asked.
fn questions_of(kind: FindingKind, members: &[Member], trace: &Trace) -> Option<Vec<Question>> {
    let mut questions = Vec::new();
    for member in members {
        questions.push(member.question.about(trace).ok()?);
        for events in &member.further {
            let events: Option<Vec<EventId>> =
                events.iter().map(|&event| u32::try_from(event).ok().map(EventId)).collect();
            questions.push(match (kind, &events?[..]) {
                (FindingKind::Race, &[a, b]) => Question::Race(a, b),
                (_, events) => Question::Order(events.to_vec()),
            });
        }
    }
    Some(questions)
}
