//! Verifies schedules that begin with the trace restricted to a number of events of each thread, without walking
//! through what is restricted.
//!
//! The restriction keeps the order of the trace, which is itself a run. So every read sees what it saw if the
//! write is included, everything that an event waits for has happened if it is included, and the sections of a
//! lock do not overlap if only the last ones stay open. All of this is checked where the threads stop, so the
//! cost depends on the number of threads and locks and not on the length of the schedule. Only the permits of
//! semaphores are counted event by event.
//!
//! What comes after the restriction, the *tail*, is walked through as any schedule is, from the state that the restriction ends in.
//!
//! Promise: whatever it accepts, [`check_schedule`](crate::check_schedule) accepts as well, written out, with the same
//! certainty; and for restrictions in which every read sees what it saw, both accept the same.

mod state;

use trace::{EventId, LockId, Op, SemaphoreId, ThreadEvents, ThreadId, Trace};

use crate::memory::Memory;
use crate::question::{Model, Question};
use crate::schedule::{Certainty, ScheduleFault, Walk};
use crate::state::OpenSection;
use state::{StateFromCut, Writes};

/// A trace made ready to have restrictions of it verified.
#[derive(Debug)]
pub struct CutChecker<'t> {
    trace: &'t Trace,
    threads: ThreadEvents,
    /// For each thread what its events need of other threads.
    needs: Vec<Vec<Needs>>,
    /// The same in a question about a race, if memory orders make that different.
    race_needs: Option<Vec<Vec<Needs>>>,
    /// For each lock its sections, by thread.
    sections: Vec<Vec<Sections>>,
    /// Posts and takes of each semaphore.
    permits: Vec<Vec<EventId>>,
    writes: Writes,
}

/// What the events of one thread need of another one's.
#[derive(Debug)]
struct Needs {
    of: ThreadId,
    /// The event of this place needs that one, and all before it in its thread; ever later ones.
    needed: Vec<(u32, EventId)>,
}

/// The sections of one lock by one thread, in order. Those of one list do not overlap; a thread may share a lock that it holds alone.
#[derive(Debug)]
struct Sections {
    thread: ThreadId,
    alone: Vec<Section>,
    shared: Vec<Section>,
}

#[derive(Clone, Copy, Debug)]
struct Section {
    acquire: EventId,
    /// The place of the acquire in its thread.
    begins: u32,
    /// The place of the release, or [`NEVER`].
    ends: u32,
}

impl Sections {
    /// Those that stay open if `counts` events of each thread happen: one that is held alone, and one that is shared.
    fn open(&self, counts: &[u32]) -> impl Iterator<Item = OpenSection> + use<> {
        let (thread, count) = (self.thread, counts[self.thread.index()]);
        let open = |list: &[Section], shared| {
            let last = last_begun(list, count).filter(|section| section.ends >= count);
            last.map(|section| OpenSection { thread, acquire: section.acquire, shared })
        };
        open(&self.alone, false).into_iter().chain(open(&self.shared, true))
    }
}

/// The last section of a list that happens, if its thread has `count` events.
fn last_begun(sections: &[Section], count: u32) -> Option<Section> {
    let begun = sections.partition_point(|section| section.begins < count);
    sections[..begun].last().copied()
}

const NEVER: u32 = u32::MAX;

impl<'t> CutChecker<'t> {
    /// Linear in the trace.
    pub fn new(trace: &'t Trace) -> Self {
        let threads = ThreadEvents::of(trace);
        let symbols = trace.symbols();
        let mut checker = CutChecker {
            trace,
            writes: Writes::of(trace, &threads),
            needs: (0..threads.threads()).map(|_| Vec::new()).collect(),
            race_needs: None,
            threads,
            sections: (0..symbols.locks.len()).map(|_| Vec::new()).collect(),
            permits: vec![Vec::new(); symbols.semaphores.len()],
        };
        for (event, thread, op) in trace.events() {
            checker.add(event, thread, op);
        }
        checker.race_needs = (!trace.is_sequential()).then(|| checker.needs_by_memory_order());
        checker
    }

    /// What events need in a question about a race: exempt reads nothing, and others what memory orders put before them.
    fn needs_by_memory_order(&mut self) -> Vec<Vec<Needs>> {
        let empty = (0..self.threads.threads()).map(|_| Vec::new()).collect();
        let needs = std::mem::replace(&mut self.needs, empty);
        let memory = Memory::of(self.trace, &self.threads);
        let mut orders: Vec<(EventId, EventId)> = Vec::new();
        for (thread, place, before) in memory.orders() {
            let event = self.threads.of_thread(thread)[place as usize];
            orders.extend(before.iter().map(|&first| (event, first)));
        }
        orders.sort_unstable();
        let mut orders = orders.into_iter().peekable();
        for (event, thread, op) in self.trace.events() {
            self.add_needs(event, thread, op, memory.exempts(event));
            while let Some((_, first)) = orders.next_if(|&(after, _)| after == event) {
                self.need(event, thread, first);
            }
        }
        std::mem::replace(&mut self.needs, needs)
    }

    /// Verifies that `counts` events of each thread (by thread id) in the order of the trace, with every read seeing what it saw,
    /// and then the events of the tail, are a schedule that answers the question under the model.
    pub fn check(
        &self,
        question: &Question,
        model: Model,
        counts: &[u32],
        tail: &[EventId],
    ) -> Result<Certainty, ScheduleFault> {
        question.validate(self.trace)?;
        self.check_size(counts)?;
        let needs = match &self.race_needs {
            Some(_) if question.is_by_memory_order(model) && !tail.is_empty() => {
                return Err(ScheduleFault::NotAnswered(
                    "memory orders are not followed in a tail".to_owned(),
                ));
            }
            Some(needs) if question.is_by_memory_order(model) => needs,
            _ => &self.needs,
        };
        for (thread, needs) in needs.iter().enumerate() {
            self.check_needs(ThreadId::new(thread), needs, counts)?;
        }
        self.sections.iter().try_for_each(|users| check_exclusion(users, counts))?;
        for semaphore in 0..self.permits.len() {
            self.check_permits(SemaphoreId::new(semaphore), counts)?;
        }
        let state = StateFromCut::new(self, counts);
        let mut walk = Walk::new(self.trace, &self.threads, counts.to_vec(), state);
        tail.iter().try_for_each(|&event| walk.step(event))?;
        walk.check_values(question, model)?;
        walk.check_answer(question, |event| match self.has(counts, event) {
            true => Some(event.index()),
            false => {
                tail.iter().position(|&scheduled| scheduled == event).map(|place| self.trace.len() + place)
            }
        })?;
        Ok(Certainty { guaranteed: walk.is_guaranteed(question) })
    }

    fn add(&mut self, event: EventId, thread: ThreadId, op: Op) {
        self.add_needs(event, thread, op, false);
        match op {
            Op::Acquire(lock) if !self.trace.is_nested(event) => self.add_section(event, thread, lock, false),
            Op::AcquireShared(lock) if !self.trace.is_nested(event) => {
                self.add_section(event, thread, lock, true);
            }
            Op::Post(semaphore) | Op::Take(semaphore) => self.permits[semaphore.index()].push(event),
            _ => {}
        }
    }

    fn add_needs(&mut self, event: EventId, thread: ThreadId, op: Op, exempt: bool) {
        let trace = self.trace;
        if self.threads.place(event) == 0
            && let Some(fork) = trace.fork_of(thread)
        {
            self.need(event, thread, fork);
        }
        if op.reads().is_some()
            && !exempt
            && let Some(write) = trace.reads_from(event)
        {
            self.need(event, thread, write);
        }
        match op {
            Op::Join(_) | Op::Wait(_) => {
                if let Some(awaited) = trace.link(event).event() {
                    self.need(event, thread, awaited);
                }
            }
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event).index();
                for &enter in &trace.matching().barrier_instances()[instance].enters {
                    self.need(event, thread, enter);
                }
            }
            _ => {}
        }
    }

    fn need(&mut self, event: EventId, thread: ThreadId, needed: EventId) {
        let of = self.trace.thread(needed);
        if of == thread {
            return;
        }
        let place = self.threads.place(event) as u32;
        let needs = &mut self.needs[thread.index()];
        match needs.iter_mut().find(|needs| needs.of == of) {
            None => needs.push(Needs { of, needed: vec![(place, needed)] }),
            // Events of one thread come in the order of their numbers.
            Some(Needs { needed: known, .. }) => {
                if known.last().is_none_or(|&(_, latest)| latest < needed) {
                    known.push((place, needed));
                }
            }
        }
    }

    fn add_section(&mut self, acquire: EventId, thread: ThreadId, lock: LockId, shared: bool) {
        let place = |event: EventId| self.threads.place(event) as u32;
        let begins = place(acquire);
        let ends = self.trace.section_end(acquire).map_or(NEVER, place);
        let users = &mut self.sections[lock.index()];
        let index = users.iter().position(|user| user.thread == thread).unwrap_or_else(|| {
            users.push(Sections { thread, alone: Vec::new(), shared: Vec::new() });
            users.len() - 1
        });
        let list = if shared { &mut users[index].shared } else { &mut users[index].alone };
        list.push(Section { acquire, begins, ends });
    }

    fn has(&self, counts: &[u32], event: EventId) -> bool {
        (self.threads.place(event) as u32) < counts[self.trace.thread(event).index()]
    }

    /// No thread has more events than there are, and each thread has a count.
    fn check_size(&self, counts: &[u32]) -> Result<(), ScheduleFault> {
        let lengths =
            (0..self.threads.threads()).map(|thread| self.threads.of_thread(ThreadId::new(thread)).len());
        let fits = counts.len() == self.threads.threads()
            && counts.iter().zip(lengths).all(|(&count, length)| count as usize <= length);
        match fits {
            true => Ok(()),
            false => Err(ScheduleFault::NotAnswered("the cut is not one of this trace".to_owned())),
        }
    }

    /// What the events of a thread wait for, and what they read, happens.
    fn check_needs(&self, thread: ThreadId, needs: &[Needs], counts: &[u32]) -> Result<(), ScheduleFault> {
        for Needs { needed, .. } in needs {
            let happen = needed.partition_point(|&(place, _)| place < counts[thread.index()]);
            // The latest one needed needs to be looked at only: with it all before it in its thread happen.
            if let Some(&(place, latest)) = needed[..happen].last()
                && !self.has(counts, latest)
            {
                let event = self.threads.of_thread(thread)[place as usize];
                return Err(self.missing(event, latest));
            }
        }
        Ok(())
    }

    fn missing(&self, event: EventId, needed: EventId) -> ScheduleFault {
        match self.trace.op(event) {
            Op::Join(_) => ScheduleFault::NotEnded(event, needed),
            Op::Wait(_) => ScheduleFault::NotSignalled(event, needed),
            Op::BarrierExit(_) => ScheduleFault::NotEntered(event, needed),
            op if op.reads().is_some() && self.trace.reads_from(event) == Some(needed) => {
                ScheduleFault::WrongValue(event)
            }
            _ => ScheduleFault::NotForked(event, needed),
        }
    }

    /// How many permits a post or a take adds.
    fn permits_by(&self, event: EventId) -> i64 {
        if let Op::Post(_) = self.trace.op(event) { 1 } else { -1 }
    }

    fn check_permits(&self, semaphore: SemaphoreId, counts: &[u32]) -> Result<(), ScheduleFault> {
        let mut permits = i64::from(self.trace.initial_permits(semaphore));
        for &event in self.permits[semaphore.index()].iter().filter(|&&event| self.has(counts, event)) {
            permits += self.permits_by(event);
            if permits < 0 {
                return Err(ScheduleFault::NoPermit(event));
            }
        }
        Ok(())
    }
}

/// No section that stays open is followed by one of another thread that it keeps out.
fn check_exclusion(users: &[Sections], counts: &[u32]) -> Result<(), ScheduleFault> {
    if users.len() < 2 {
        return Ok(());
    }
    let count = |user: &Sections| counts[user.thread.index()];
    let stays_open =
        |user: &Sections, list: &[Section]| last_begun(list, count(user)).filter(|s| s.ends >= count(user));
    for holder in users {
        let alone = stays_open(holder, &holder.alone);
        let shared = stays_open(holder, &holder.shared);
        if alone.is_none() && shared.is_none() {
            continue;
        }
        for other in users.iter().filter(|other| other.thread != holder.thread) {
            let others = [last_begun(&other.alone, count(other)), last_begun(&other.shared, count(other))];
            let excluded = [(alone, others[0]), (alone, others[1]), (shared, others[0])];
            for (open, later) in excluded.into_iter().filter_map(|(open, other)| Some((open?, other?))) {
                if later.acquire > open.acquire {
                    return Err(ScheduleFault::Held(later.acquire, open.acquire));
                }
            }
        }
    }
    Ok(())
}
