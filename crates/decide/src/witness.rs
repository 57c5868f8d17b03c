//! Turns the engine's answer into the schedule that a person is shown: the shortest prefix it contains.
//!
//! The answer of a window is 'everything recorded before it, then these events'. Most of that is not needed.
//! The slice keeps what the question needs and, for each event it keeps, everything before it in its thread,
//! what it waits for, the writes its reads must see, and the releases that let it in. Without the rest it is
//! still a schedule, in the same order.

use std::borrow::Cow;

use check::{Model, Question, Source};
use trace::{EventId, Op, ThreadId};

use crate::Index;
use crate::requirements::is_unordered;

/// A schedule, not yet written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Everything recorded before `start`, then `tail`.
    Window { start: EventId, tail: Vec<EventId> },
    /// These numbers of events of each thread, in the order of the trace, then `tail`.
    Restricted { counts: Vec<u32>, tail: Vec<EventId> },
    /// These numbers of events of each thread, in the order of the trace; none can be left out while reads see what they saw.
    Ideal { counts: Vec<u32> },
}

impl Witness {
    pub(crate) fn in_window(start: EventId, tail: Vec<EventId>) -> Self {
        Witness(Form::Window { start, tail })
    }

    /// The trace restricted to `counts` events of each thread (by thread id). That this is a schedule is for the caller to
    /// know.
    pub fn restricted(counts: Vec<u32>) -> Self {
        Witness::restricted_then(counts, Vec::new())
    }

    /// The same, if without any of these events the others could not be, or would not answer the question. That too is for the
    /// caller to know.
    pub fn ideal(counts: Vec<u32>) -> Self {
        Witness(Form::Ideal { counts })
    }

    /// The trace restricted to `counts` events of each thread, and then these events, which go on from there.
    pub fn restricted_then(counts: Vec<u32>, tail: Vec<EventId>) -> Self {
        Witness(Form::Restricted { counts, tail })
    }

    /// How many events of each thread happen in the order of the trace (by thread id), and what happens then.
    pub fn cut_and_tail(&self, index: &Index<'_>) -> (Cow<'_, [u32]>, &[EventId]) {
        match &self.0 {
            Form::Window { start, tail } => {
                let threads = index.threads();
                let before = |thread: usize| {
                    let events = threads.of_thread(ThreadId::new(thread));
                    events.partition_point(|event| event < start) as u32
                };
                ((0..threads.threads()).map(before).collect::<Vec<u32>>().into(), tail)
            }
            Form::Restricted { counts, tail } => (counts.into(), tail),
            Form::Ideal { counts } => (counts.into(), &[]),
        }
    }

    /// The schedule without what the question does not need. Linear in the recorded run up to it.
    pub fn schedule(&self, index: &Index<'_>, question: &Question, model: Model) -> Vec<EventId> {
        let whole: Vec<EventId> = match &self.0 {
            Form::Window { start, tail } => (0..start.0).map(EventId).chain(tail.iter().copied()).collect(),
            Form::Restricted { counts, tail } => {
                restricted(index, counts).chain(tail.iter().copied()).collect()
            }
            Form::Ideal { counts } => restricted(index, counts).collect(),
        };
        match self.0 {
            Form::Ideal { .. } if model != Model::Sync => whole,
            _ => Slice::new(index, question, model, &whole).cut(),
        }
    }
}

/// These numbers of events of each thread, in the order of the trace.
fn restricted<'s>(index: &'s Index<'_>, counts: &'s [u32]) -> impl Iterator<Item = EventId> + 's {
    let mut left = counts.to_vec();
    let mut missing: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let all = (0..index.trace().len()).map(EventId::new);
    let counted = all.map_while(move |event| {
        // When all have happened the rest of the trace need not be looked at.
        if missing == 0 {
            return None;
        }
        let left = &mut left[index.trace().thread(event).index()];
        let happens = *left > 0;
        *left -= u32::from(happens);
        missing -= u64::from(happens);
        Some((event, happens))
    });
    counted.filter(|(_, happens)| *happens).map(|(event, _)| event)
}

struct Slice<'a> {
    index: &'a Index<'a>,
    question: &'a Question,
    model: Model,
    whole: &'a [EventId],
    /// How many events of each thread the whole schedule has.
    has: Vec<u32>,
    /// How many events of each thread are kept.
    kept: Vec<u32>,
    changed: bool,
}

impl<'a> Slice<'a> {
    fn new(index: &'a Index<'a>, question: &'a Question, model: Model, whole: &'a [EventId]) -> Self {
        let kept = vec![0; index.threads().threads()];
        let mut has = kept.clone();
        for &event in whole {
            has[index.trace().thread(event).index()] += 1;
        }
        Slice { index, question, model, whole, has, kept, changed: false }
    }

    fn cut(mut self) -> Vec<EventId> {
        self.keep_asked();
        loop {
            self.changed = false;
            self.pass();
            if !self.changed {
                break;
            }
        }
        self.whole.iter().copied().filter(|&event| self.keeps(event)).collect()
    }

    fn keeps(&self, event: EventId) -> bool {
        (self.index.threads().place(event) as u32) < self.kept[self.index.trace().thread(event).index()]
    }

    fn keep(&mut self, event: EventId) {
        let count = self.index.threads().place(event) as u32 + 1;
        self.keep_count(self.index.trace().thread(event), count);
    }

    fn keep_count(&mut self, thread: ThreadId, count: u32) {
        let kept = &mut self.kept[thread.index()];
        if *kept < count {
            *kept = count;
            self.changed = true;
        }
    }

    fn keep_asked(&mut self) {
        match self.question {
            Question::Race(a, b) => {
                self.keep_up_to(*a);
                self.keep_up_to(*b);
            }
            Question::Deadlock(blocked) => {
                for &event in blocked {
                    self.keep_up_to(event);
                    if let Op::Take(semaphore) = self.index.trace().op(event) {
                        self.keep_permits(Op::Post(semaphore), Op::Take(semaphore));
                    }
                }
            }
            Question::Order(events) => events.iter().for_each(|&event| self.keep(event)),
            Question::Reads(read, _) => self.keep(*read),
            Question::Cut(counts) => {
                for (thread, &count) in counts.iter().enumerate() {
                    self.keep_count(ThreadId::new(thread), count);
                }
            }
        }
    }

    /// Keeps everything before an event that is to be next in its thread.
    fn keep_up_to(&mut self, event: EventId) {
        let thread = self.index.trace().thread(event);
        self.keep_count(thread, self.index.threads().place(event) as u32);
        if let Some(fork) = self.index.trace().fork_of(thread) {
            self.keep(fork);
        }
    }

    /// How many permits are left at the end is part of the question.
    fn keep_permits(&mut self, post: Op, take: Op) {
        for &event in self.whole {
            let op = self.index.trace().op(event);
            if op == post || op == take {
                self.keep(event);
            }
        }
    }

    /// Keeps what kept events depend on, in one walk from the end.
    fn pass(&mut self) {
        let trace = self.index.trace();
        let symbols = trace.symbols();
        // What a kept event later in the schedule asks of the events before it.
        let mut acquired = vec![false; symbols.locks.len()];
        let mut acquired_alone = vec![false; symbols.locks.len()];
        let mut taken = vec![false; symbols.semaphores.len()];
        let mut awaited: Vec<bool> = vec![false; symbols.variables.len()];
        for index in (0..self.whole.len()).rev() {
            let event = self.whole[index];
            let op = trace.op(event);
            match op {
                Op::Post(semaphore) if taken[semaphore.index()] => self.keep(event),
                // A section that began before a kept one of its lock must have ended, if it is kept.
                Op::Acquire(lock) if !trace.is_nested(event) && self.keeps(event) => {
                    self.end_section(event, acquired[lock.index()]);
                    acquired[lock.index()] = true;
                    acquired_alone[lock.index()] = true;
                }
                Op::AcquireShared(lock) if !trace.is_nested(event) && self.keeps(event) => {
                    self.end_section(event, acquired_alone[lock.index()]);
                    acquired[lock.index()] = true;
                }
                _ => {}
            }
            if op.writes().is_some_and(|variable| std::mem::take(&mut awaited[variable.index()])) {
                self.keep(event);
            }
            if !self.keeps(event) {
                continue;
            }
            if let Some(variable) = op.reads() {
                awaited[variable.index()] |= self.keeps_value(event);
            }
            if let Op::Take(semaphore) = op {
                taken[semaphore.index()] = true;
            }
            self.keep_awaited(event, op);
        }
    }

    fn end_section(&mut self, acquire: EventId, others_follow: bool) {
        let release = self.index.trace().section_end(acquire).filter(|_| others_follow);
        // Without its release in the schedule, those that follow are of the same thread.
        let happens = |release: &EventId| {
            (self.index.threads().place(*release) as u32)
                < self.has[self.index.trace().thread(*release).index()]
        };
        if let Some(release) = release.filter(happens) {
            self.keep(release);
        }
    }

    /// Whether a read must go on seeing what it sees.
    fn keeps_value(&self, read: EventId) -> bool {
        match self.question {
            Question::Reads(named, source) if *named == read => *source != Some(Source::Initial),
            question => {
                self.model != Model::Sync
                    && !question.exempts(read)
                    && !(self.is_by_memory_order() && is_unordered(self.index, read))
            }
        }
    }

    fn is_by_memory_order(&self) -> bool {
        self.question.is_by_memory_order(self.model)
    }

    fn keep_awaited(&mut self, event: EventId, op: Op) {
        let trace = self.index.trace();
        if self.index.threads().place(event) == 0
            && let Some(fork) = trace.fork_of(trace.thread(event))
        {
            self.keep(fork);
        }
        if self.is_by_memory_order()
            && let Some(weak) = self.index.synchronisation()
        {
            for &(_, first) in weak.before(self.index.threads(), trace.thread(event), event) {
                self.keep(first);
            }
        }
        match op {
            Op::Join(_) | Op::Wait(_) => {
                if let Some(awaited) = trace.link(event).event() {
                    self.keep(awaited);
                }
            }
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event);
                for &enter in &trace.matching().barrier_instances()[instance.index()].enters {
                    self.keep(enter);
                }
            }
            _ => {}
        }
    }
}
