//! The ends of a refutation's scopes: what is impossible, and why.

use check::{End, Question, Step};
use trace::{EventId, Op, ThreadId};

use super::Prose;
use crate::figures::counted;
use crate::words::listed;

impl Prose<'_> {
    /// What is impossible, in half a sentence.
    pub(super) fn impossible(&mut self, end: &End) -> String {
        match end {
            End::EveryCase => "each case is impossible".to_owned(),
            End::Cycle(events) => {
                format!(
                    "{} would each come before the next, in a circle",
                    counted(events.len() as u64, "event")
                )
            }
            End::CannotHappen(event) => self.cannot_happen(*event),
            End::NeverReleased { held, wanted, path } => {
                let never = self.never_released(*held);
                let (held, later) = (self.event(*held), self.never_released(*wanted));
                let wanted = self.event(*wanted);
                match path[..] {
                    [] => format!(
                        "{held} and {wanted} must both happen, one after the other is over, and neither ends: {never}, and {later}"
                    ),
                    _ => format!(
                        "{held} would have to be followed by its release before {wanted}, since it comes before the latter's section is over, and {never}"
                    ),
                }
            }
            End::NotBlocked(event) => self.not_blocked(*event),
            End::NoPermits(takes) => self.no_permits(takes),
            End::PermitsLeft(take) => {
                let semaphore = self.words.object(self.trace.op(*take));
                let take = self.event(*take);
                format!("{take} is not blocked: {semaphore} has a permit left whatever happens")
            }
        }
    }

    /// An event that cannot happen, and what it has to come before, without the steps to that.
    pub(super) fn out_of_reach(&mut self, steps: &[Step], event: EventId) -> String {
        let orders = steps.iter().filter_map(|step| match step {
            Step::Order { before, .. } => Some(*before),
            _ => None,
        });
        let Some((x, y)) = orders.into_iter().find(|&(x, _)| self.reaches(x, event)) else {
            return self.cannot_happen(event);
        };
        let (before, after) = (self.event(x), self.event(y));
        let thread = self.trace.thread(event);
        let stop = match self.stops_before(thread) == Some(x) {
            true => format!("{} stops right before the former", self.words.thread(thread)),
            false => self.stop(thread),
        };
        format!("{before} would have to come before {after}, but {stop}")
    }

    fn cannot_happen(&mut self, event: EventId) -> String {
        let thread = self.trace.thread(event);
        let by = self.facts.iter().find(|fact| self.reaches(fact.before.0, event)).map(|fact| fact.number);
        let forked = match self.trace.op(event) {
            Op::Fork(child) => Some(self.words.thread(child)),
            _ => None,
        };
        let why = match (by, forked) {
            (Some(number), _) => format!("is needed, by {number}"),
            (None, Some(child)) => format!("is needed, since {child} does nothing before it"),
            (None, None) => "is needed".to_owned(),
        };
        let stops_here = self.stops_before(thread) == Some(event);
        let name = self.event(event);
        let stop = match stops_here {
            true => format!("{} stops right before it", self.words.thread(thread)),
            false => self.stop(thread),
        };
        format!("{name} {why}, and {stop}")
    }

    /// Whether an event happens only if another one of its thread has happened.
    fn reaches(&self, far: EventId, event: EventId) -> bool {
        self.trace.thread(far) == self.trace.thread(event)
            && self.threads.place(far) >= self.threads.place(event)
    }

    /// The event that a thread stops right before, in the current case or as the question says.
    fn stops_before(&self, thread: ThreadId) -> Option<EventId> {
        let of_thread = |event: &EventId| self.trace.thread(*event) == thread;
        let named = match self.question {
            Question::Race(a, b) => vec![*a, *b],
            Question::Deadlock(blocked) => blocked.clone(),
            Question::Order(_) | Question::Reads(..) | Question::Cut(_) => Vec::new(),
        };
        self.absent.iter().rev().copied().chain(named).find(of_thread)
    }

    /// Where a thread is to stop: half a sentence.
    fn stop(&mut self, thread: ThreadId) -> String {
        let name = self.words.thread(thread);
        match (self.stops_before(thread), self.question) {
            (Some(event), _) => {
                self.located.insert(event);
                format!("{name} stops before its {}", self.words.own(event))
            }
            (None, Question::Cut(counts)) => {
                let count = counts.get(thread.index()).copied().unwrap_or(0);
                format!("{name} is to stop after {}", counted(u64::from(count), "event"))
            }
            (None, _) => format!("{name} does not get there"),
        }
    }

    /// Why the section of an acquire does not end: half a sentence about its thread.
    pub(super) fn never_released(&self, acquire: EventId) -> String {
        let thread = self.words.thread_of(acquire);
        let lock = self.words.object(self.trace.op(acquire));
        match self.trace.section_end(acquire) {
            Some(release) => format!("{thread} stops before it releases {lock} (event {release})"),
            None => format!("{thread} never releases {lock}"),
        }
    }

    fn not_blocked(&mut self, event: EventId) -> String {
        let Question::Deadlock(blocked) = self.question else {
            return format!("{} is not blocked", self.event(event));
        };
        let index = blocked.iter().position(|&other| other == event).unwrap_or(0);
        let blocker = blocked[(index + 1) % blocked.len()];
        let other = self.words.thread_of(blocker);
        let object = self.words.object(self.trace.op(event));
        let why = match self.trace.op(event) {
            Op::Join(_) => format!("it waits for {object}, not for {other}"),
            Op::Wait(_) => format!("its signal does not come from {other} after event {blocker}"),
            Op::BarrierExit(_) => {
                format!("it does not wait for {other}, which has no arrival at {object} to come")
            }
            Op::Take(_) => format!("{other} has no post of {object} to come"),
            _ if self.trace.is_nested(event) => format!("its thread holds {object} already"),
            Op::AcquireShared(_) | Op::RequestShared(_) => {
                format!(
                    "{other} does not hold {object} for itself alone when it stands before event {blocker}"
                )
            }
            _ => format!("{other} does not hold {object} when it stands before event {blocker}"),
        };
        format!("{} is not blocked by {other}: {why}", self.event(event))
    }

    fn no_permits(&mut self, takes: &[EventId]) -> String {
        let each: Vec<String> = takes.iter().map(|&take| self.event(take)).collect();
        let semaphore = takes.first().map(|&take| self.trace.op(take));
        let initial = match semaphore {
            Some(Op::Take(semaphore)) => self.trace.initial_permits(semaphore) as usize,
            _ => 0,
        };
        let name = semaphore.map(|op| self.words.object(op)).unwrap_or_default();
        let before = if takes.len() == 1 { "before it" } else { "before the last of them" };
        let posts = match takes.len().saturating_sub(initial + 1) {
            0 => format!("no post of it can come {before}"),
            1 => format!("at most one post of it can come {before}"),
            most => format!("at most {most} posts of it can come {before}"),
        };
        let need = if takes.len() == 1 { "needs" } else { "need" };
        let permits = counted(takes.len() as u64, "permit");
        let initially = if initial == 0 { "none".to_owned() } else { initial.to_string() };
        format!("{} {need} {permits} of {name}, which starts with {initially}, and {posts}", listed(each))
    }
}
