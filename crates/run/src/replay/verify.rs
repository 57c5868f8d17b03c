//! Whether a replay was the run that the schedule describes: seen from its log.

use rustc_hash::FxHashMap;
use trace::{Kind, ObjectKind, ThreadPath};
use wire::{Instruction, Obstacle, ThreadState, WaitsFor};

use super::outcome::{FailedInstruction, Outcome};
use super::plan::{Control, Goal, Plan, PlannedEvent};
use super::result::Divergence;
use load::inspect::{Bytes, InspectedEvent, Inspection};

/// Compares what happened with what was to happen; the first difference.
pub(super) struct Verifying<'a> {
    pub(super) plan: &'a Plan,
    pub(super) control: &'a Control,
    pub(super) outcome: &'a Outcome,
    pub(super) inspection: &'a Inspection,
}

/// Where objects were seen.
#[derive(Default)]
struct Objects<'a> {
    /// The bytes that an object was seen at, by its name and what it is.
    seen: FxHashMap<(&'static str, &'a str), (u64, u64)>,
    /// The bytes of the blocks that this run has allocated, by their names.
    allocated: FxHashMap<&'a str, (u64, u64)>,
}

impl Objects<'_> {
    /// Whether bytes are part of the block that a variable of this name lies in, if this run has allocated that.
    fn are_in_block(&self, variable: &str, start: u64, end: u64) -> bool {
        if self.allocated.is_empty() {
            return true;
        }
        let ends = variable.rmatch_indices(['-', '.', '[', '+']).map(|(end, _)| end);
        let block =
            std::iter::once(variable.len()).chain(ends).find_map(|end| self.allocated.get(&variable[..end]));
        block.is_none_or(|&(first, after)| first <= start && end <= after)
    }
}

impl<'a> Verifying<'a> {
    /// Where the program left the schedule, if it did.
    pub(super) fn divergence(&self) -> Option<Divergence> {
        let mut objects = Objects::default();
        let mut last = 0;
        for (index, step) in self.plan.steps.iter().enumerate() {
            let Some(found) = self.inspection.events[index].as_ref() else { continue };
            if self.is_next_place(step) {
                continue;
            }
            let came = self.difference(step, found, &mut objects).or_else(|| {
                (found.order < last).then(|| format!("{} earlier than the schedule has it", in_words(step)))
            });
            if let Some(came) = came {
                return Some(self.at(index, step, came));
            }
            last = found.order;
        }
        if let Some(stuck) = &self.outcome.diverged {
            return Some(self.stuck(stuck));
        }
        if !self.outcome.held {
            return None;
        }
        self.missing()
            .map(|index| self.at(index, &self.plan.steps[index], "nothing of the kind".to_owned()))
            .or_else(|| self.named_differ(&mut objects))
    }

    /// The first step that did not happen.
    pub(super) fn missing(&self) -> Option<usize> {
        self.plan
            .steps
            .iter()
            .zip(&self.inspection.events)
            .position(|(step, found)| step.place.is_some() && found.is_none() && !self.is_next_place(step))
    }

    /// Whether what the steps are about has happened, though the program ended before it could be held: all of them, or, where one event must
    /// not come before another, the one.
    pub(super) fn has_happened(&self) -> bool {
        let Some(missing) = self.missing() else {
            return matches!(self.plan.goal, Goal::Order(_) | Goal::Reads(..));
        };
        match &self.plan.goal {
            Goal::Order(events) if events.len() == 2 => {
                let mut steps = self.plan.steps[..missing].iter();
                steps.any(|step| step.thread == events[0].thread && step.place == events[0].place)
            }
            _ => false,
        }
    }

    /// Whether a step happens together with what is to be next.
    fn is_next_place(&self, step: &PlannedEvent) -> bool {
        matches!(self.plan.goal, Goal::Race(..) | Goal::Deadlock(_))
            && self
                .plan
                .goal
                .named()
                .iter()
                .any(|next| next.thread == step.thread && next.place <= step.place)
    }

    /// How what was found differs from what should have been, if it does. Where a thread begins and ends is not where an event was, but a
    /// name for the thread's code.
    fn difference(
        &self,
        step: &'a PlannedEvent,
        found: &InspectedEvent,
        objects: &mut Objects<'a>,
    ) -> Option<String> {
        let expected = found.actions.iter().find(|(kind, _)| is_same(step.kind, *kind));
        let action = expected.or_else(|| self.changed_read(step, found));
        let is_elsewhere = !matches!(step.kind, Kind::Begin | Kind::End) && found.location != step.location;
        let Some((_, bytes)) = action.filter(|_| !is_elsewhere) else {
            let kind =
                found.actions.first().map_or("something else", |&(kind, _)| trace::text::op_name(kind));
            return Some(format!("{kind} at {}", found.location));
        };
        let (Some(class), Some((start, length))) = (class(step.kind), *bytes) else { return None };
        let end = start.saturating_add(length);
        if step.kind == Kind::Allocate {
            objects.allocated.insert(&step.object, (start, end));
        }
        // What lies there may be another block than the one that the variable is part of.
        if class == VARIABLE && !objects.are_in_block(&step.object, start, end) {
            return Some(format!("the same of memory outside of the block of `{}`", step.object));
        }
        let known = objects.seen.entry((class, step.object.as_str())).or_insert((start, end));
        let both = (known.0.max(start), known.1.min(end));
        if both.0 >= both.1 {
            return Some(format!("the same of another object than `{}` was before", step.object));
        }
        *known = both;
        None
    }

    /// The read in question may be a compare-exchange that came out otherwise because of what it saw.
    fn changed_read<'f>(
        &self,
        step: &PlannedEvent,
        found: &'f InspectedEvent,
    ) -> Option<&'f (Kind, Option<Bytes>)> {
        let is_exchange = |kind: Kind| matches!(kind, Kind::AtomicRead | Kind::AtomicUpdate);
        let is_asked = matches!(self.plan.goal, Goal::Order(_) | Goal::Reads(..))
            && is_exchange(step.kind)
            && self.plan.goal.named().contains(&step);
        found.actions.iter().find(|(kind, _)| is_asked && is_exchange(*kind))
    }

    /// The events that are to be next are in the log only if they happened after the hold.
    fn named_differ(&self, objects: &mut Objects<'a>) -> Option<Divergence> {
        let named = self.plan.goal.named();
        let found = &self.inspection.events[self.plan.steps.len()..];
        for (event, found) in named.into_iter().zip(found) {
            let came = found.as_ref().and_then(|found| self.difference(event, found, objects));
            let is_goal = matches!(self.plan.goal, Goal::Race(..));
            if let (Some(came), true) = (came, is_goal) {
                return Some(self.at(self.plan.steps.len(), event, came));
            }
        }
        match &self.plan.goal {
            Goal::Race(a, b) => self.race_differs(a, b),
            Goal::Deadlock(events) => self.deadlock_differs(events),
            _ => None,
        }
    }

    /// Both stand before their accesses, which touch the same memory.
    fn race_differs(&self, a: &PlannedEvent, b: &PlannedEvent) -> Option<Divergence> {
        let end = self.plan.steps.len();
        let mut accesses = Vec::new();
        for event in [a, b] {
            let thread = self.control.table.number(&event.thread);
            let report = event.place.and_then(|place| self.outcome.access_report(thread, place));
            match report.and_then(|report| report.access) {
                Some(access) => accesses.push(access),
                None => return Some(self.at(end, event, "no access there".to_owned())),
            }
        }
        let [x, y] = accesses[..] else { return None };
        let overlap =
            x.address < y.address.saturating_add(y.length) && y.address < x.address.saturating_add(x.length);
        (!overlap).then(|| self.at(end, b, "an access to other memory than the first's".to_owned()))
    }

    /// Each waits for what the next one holds or is to do.
    fn deadlock_differs(&self, events: &[PlannedEvent]) -> Option<Divergence> {
        let end = self.plan.steps.len();
        let happened = &self.inspection.events[end..end + events.len()];
        if let Some((event, _)) = events.iter().zip(happened).find(|(_, found)| found.is_some()) {
            return Some(self.at(end, event, "the thread was woken after all, and went on".to_owned()));
        }
        for (index, event) in events.iter().enumerate() {
            let next = &events[(index + 1) % events.len()];
            let report = self.outcome.thread(self.control.table.number(&event.thread));
            let waits = report.filter(|report| report.state == ThreadState::Waiting);
            let Some(waits) = waits else {
                return Some(self.at(end, event, "it does not wait".to_owned()));
            };
            let for_next = match (event.kind, waits.waits_for) {
                (Kind::Join, WaitsFor::EndOf(thread)) => {
                    self.control.table.path(thread) == Some(&next.thread)
                }
                (
                    Kind::Acquire | Kind::AcquireShared | Kind::Request | Kind::RequestShared,
                    WaitsFor::Address(lock),
                ) => self.holders(lock).contains(&next.thread),
                // It is not recorded who will signal, post or arrive. The program ran on, so each thread that could has done so.
                (_, WaitsFor::Address(_)) => true,
                _ => false,
            };
            if !for_next {
                let came = format!("it waits, but not for {}", next.thread);
                return Some(self.at(end, event, came));
            }
        }
        None
    }

    /// Who holds the lock that is waited for at an address. A futex is its address and 1, and may be the second word of a lock.
    fn holders(&self, waited_for: u64) -> &[ThreadPath] {
        let is_futex = waited_for & 1 != 0;
        let lock = waited_for & !1;
        // A lock of one byte may be anywhere.
        let words = [Some(waited_for), Some(lock), lock.checked_sub(4).filter(|_| is_futex)];
        let held = words.into_iter().flatten().filter_map(|word| self.inspection.holders.get(&word));
        held.map(Vec::as_slice).find(|holders| !holders.is_empty()).unwrap_or_default()
    }

    /// What the runtime says of the instruction it could not perform.
    fn stuck(&self, stuck: &FailedInstruction) -> Divergence {
        let instruction = usize::try_from(stuck.instruction).ok();
        let instruction = instruction.and_then(|index| self.control.instructions.get(index));
        let path = self.control.table.path(stuck.thread).cloned().unwrap_or_default();
        let steps = self.plan.steps.iter().enumerate();
        let pending = |(_, step): &(usize, &PlannedEvent)| {
            step.thread == path && step.place.is_some_and(|place| place >= stuck.place)
        };
        let named = || self.plan.goal.named().into_iter().find(|event| event.thread == path);
        let (step, expected) = match steps.into_iter().find(pending) {
            Some((index, step)) if !matches!(instruction, Some(Instruction::Block { .. })) => {
                (index, in_words(step))
            }
            _ => (self.plan.steps.len(), named().map_or_else(String::new, in_words)),
        };
        let came = match (stuck.obstacle, stuck.waits_for) {
            (Obstacle::Ended, _) => "the thread has ended".to_owned(),
            (Obstacle::Absent, _) => "the thread has not been created".to_owned(),
            (Obstacle::Waits, WaitsFor::EndOf(other)) => {
                let other = self.control.table.path(other).map_or_else(String::new, ThreadPath::to_string);
                format!("the thread waits for the end of {other}")
            }
            (Obstacle::Waits, WaitsFor::Address(lock)) => match self.holders(lock).first() {
                Some(holder) => format!("the thread waits for a lock that {holder} holds"),
                None => "the thread waits to be woken".to_owned(),
            },
            (Obstacle::Waits, WaitsFor::Nothing) => "the thread waits".to_owned(),
            (Obstacle::GoesOn, _) => "the thread was not held up".to_owned(),
            (Obstacle::Outside, _) => "the thread is blocked in a call outside our sight".to_owned(),
            (Obstacle::NoControl, _) => "the runtime could not read the instructions".to_owned(),
        };
        Divergence { step, thread: self.plan.thread_name(&path), expected, came }
    }

    fn at(&self, step: usize, expected: &PlannedEvent, came: String) -> Divergence {
        let thread = self.plan.thread_name(&expected.thread);
        Divergence { step, thread, expected: in_words(expected), came }
    }
}

fn in_words(event: &PlannedEvent) -> String {
    format!("{}({}) at {}", trace::text::op_name(event.kind), event.object, event.location)
}

/// Whether an event of one kind is what was planned as another: a lock that one thread takes and another gives back is a semaphore in the trace of
/// that run, and a lock in those of other runs.
fn is_same(planned: Kind, found: Kind) -> bool {
    planned == found
        || matches!(
            (planned, found),
            (Kind::Acquire, Kind::Take)
                | (Kind::Take, Kind::Acquire)
                | (Kind::Release, Kind::Post)
                | (Kind::Post, Kind::Release)
        )
}

/// What variables are called among the objects.
const VARIABLE: &str = "variable";

/// What kind of object a kind of event is about, if it is one that has an address.
fn class(kind: Kind) -> Option<&'static str> {
    match kind.object() {
        ObjectKind::Variable => Some(VARIABLE),
        ObjectKind::Lock => Some("lock"),
        ObjectKind::Condition => Some("condition"),
        ObjectKind::Barrier => Some("barrier"),
        ObjectKind::Semaphore => Some("semaphore"),
        ObjectKind::Block => Some("block"),
        ObjectKind::Nothing | ObjectKind::Thread => None,
        ObjectKind::Count | ObjectKind::Mark | ObjectKind::Region => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_belong_to_the_block_of_this_run() {
        let mut objects = Objects::default();
        assert!(objects.are_in_block("node (a.c:3)->value", 100, 104), "nothing is known of it");
        objects.allocated.insert("node (a.c:3)", (100, 116));
        objects.allocated.insert("node (a.c:3)#2", (200, 216));
        for (variable, start, end, expected) in [
            ("node (a.c:3)->value", 100, 104, true),
            ("node (a.c:3)->next", 108, 116, true),
            ("node (a.c:3)->value", 200, 204, false),
            ("node (a.c:3)->next", 112, 120, false),
            ("node (a.c:3)#2->value", 200, 204, true),
            ("node (a.c:3)#2+8", 108, 116, false),
            ("node (a.c:3)#3->value", 100, 104, true),
            ("list", 8, 16, true),
        ] {
            assert_eq!(objects.are_in_block(variable, start, end), expected, "{variable} at {start}");
        }
    }
}
