//! What threads do with objects, once for all questions: of each object, by thread, in program order. What a question needs
//! of a thread is a stretch of it, so what it needs of an object is a stretch of each of these lists, found by binary
//! search; nothing is noted again for each question.

use trace::{EventId, Op, ThreadEvents, ThreadId, Trace};

use crate::state::NONE;

/// A section of a lock, in places of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) acquire: u32,
    /// [`NONE`]: never released.
    pub(crate) release: u32,
    /// The latest release among it and all before it in its list. Releases are in order, unless a shared section
    /// outlives an exclusive one it began in (a downgrade).
    pub(crate) latest_release: u32,
    pub(crate) shared: bool,
    /// The index in its list of the last exclusive section up to it, or [`NONE`].
    pub(crate) last_exclusive: u32,
}

/// Items of objects, by object, then by thread, in program order.
#[derive(Debug)]
pub(crate) struct ByThread<T> {
    /// Where the users of each object start; one more at the end.
    starts: Vec<u32>,
    users: Vec<User>,
    items: Vec<T>,
}

#[derive(Clone, Copy, Debug)]
struct User {
    thread: ThreadId,
    start: u32,
    end: u32,
}

impl<T: Copy> ByThread<T> {
    /// Of each event, in the order of threads and then of places, `item` says which object it uses, and how.
    fn new(
        objects: usize,
        trace: &Trace,
        threads: &ThreadEvents,
        item: impl Fn(EventId, Op, u32) -> Option<(usize, T)>,
    ) -> Self {
        let mut starts = vec![0u32; objects + 1];
        for (event, _, op) in trace.events() {
            if let Some((object, _)) = item(event, op, 0) {
                starts[object + 1] += 1;
            }
        }
        for object in 0..objects {
            starts[object + 1] += starts[object];
        }
        let mut placed: Vec<Option<(ThreadId, T)>> = vec![None; starts[objects] as usize];
        let mut next = starts.clone();
        for thread in (0..threads.threads()).map(ThreadId::new) {
            for (place, &event) in threads.of_thread(thread).iter().enumerate() {
                if let Some((object, item)) = item(event, trace.op(event), place as u32) {
                    placed[next[object] as usize] = Some((thread, item));
                    next[object] += 1;
                }
            }
        }
        let placed: Vec<(ThreadId, T)> = placed.into_iter().flatten().collect();
        let mut users = Vec::new();
        let mut user_starts = Vec::with_capacity(objects + 1);
        for object in 0..objects {
            user_starts.push(users.len() as u32);
            let mut start = starts[object];
            while start < starts[object + 1] {
                let thread = placed[start as usize].0;
                let all = &placed[start as usize..starts[object + 1] as usize];
                let end = start + all.partition_point(|&(other, _)| other == thread) as u32;
                users.push(User { thread, start, end });
                start = end;
            }
        }
        user_starts.push(users.len() as u32);
        let items = placed.into_iter().map(|(_, item)| item).collect();
        ByThread { starts: user_starts, users, items }
    }

    /// The threads that use an object, and their items.
    #[inline]
    pub(crate) fn of(&self, object: usize) -> impl Iterator<Item = (ThreadId, &[T])> {
        self.users(object)
            .iter()
            .map(|user| (user.thread, &self.items[user.start as usize..user.end as usize]))
    }

    /// The items of an object by one thread.
    #[inline]
    pub(crate) fn by(&self, object: usize, thread: ThreadId) -> &[T] {
        let users = self.users(object);
        match users.binary_search_by_key(&thread, |user| user.thread) {
            Ok(index) => &self.items[users[index].start as usize..users[index].end as usize],
            Err(_) => &[],
        }
    }

    fn users(&self, object: usize) -> &[User] {
        &self.users[self.starts[object] as usize..self.starts[object + 1] as usize]
    }
}

/// The places of the writes of each variable.
pub(crate) fn writes(trace: &Trace, threads: &ThreadEvents) -> ByThread<u32> {
    ByThread::new(trace.symbols().variables.len(), trace, threads, |_, op, place| {
        op.writes().map(|variable| (variable.index(), place))
    })
}

/// The sections of each lock.
pub(crate) fn sections(trace: &Trace, threads: &ThreadEvents) -> ByThread<Held> {
    let mut sections =
        ByThread::new(trace.symbols().locks.len(), trace, threads, |event, op, acquire| match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let release = trace.section_end(event).map_or(NONE, |release| threads.place(release) as u32);
                let shared = matches!(op, Op::AcquireShared(_));
                let held = Held { acquire, release, latest_release: release, shared, last_exclusive: NONE };
                Some((lock.index(), held))
            }
            _ => None,
        });
    for user in &sections.users {
        let (mut latest, mut exclusive) = (0, NONE);
        for (index, held) in sections.items[user.start as usize..user.end as usize].iter_mut().enumerate() {
            latest = latest.max(held.release);
            exclusive = if held.shared { exclusive } else { index as u32 };
            (held.latest_release, held.last_exclusive) = (latest, exclusive);
        }
    }
    sections
}

/// Which reads see each write, as lists threaded through the events.
#[derive(Debug)]
pub(crate) struct Readers {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Readers {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut readers = Readers { first: vec![NONE; trace.len()], next: vec![NONE; trace.len()] };
        for event in (0..trace.len()).rev().map(EventId::new) {
            if trace.op(event).reads().is_some()
                && let Some(write) = trace.reads_from(event)
            {
                readers.next[event.index()] = std::mem::replace(&mut readers.first[write.index()], event.0);
            }
        }
        readers
    }

    /// The reads that saw a write, in the order of the trace.
    #[inline]
    pub(crate) fn of_write(&self, write: EventId) -> impl Iterator<Item = EventId> + '_ {
        let event = |id: u32| (id != NONE).then_some(EventId(id));
        std::iter::successors(event(self.first[write.index()]), move |read| event(self.next[read.index()]))
    }
}

/// The places of each thread's accesses of variables that others access too and somebody writes: the
/// only ones whose order with other threads can matter.
pub(crate) fn contended(trace: &Trace, threads: &ThreadEvents) -> Vec<Vec<u32>> {
    const NOBODY: u32 = NONE;
    const SEVERAL: u32 = NONE - 1;
    let mut users = vec![(NOBODY, false); trace.symbols().variables.len()];
    for (_, thread, op) in trace.events() {
        if let Some(access) = op.access() {
            let (user, written) = &mut users[access.variable.index()];
            *user = if *user == NOBODY || *user == thread.0 { thread.0 } else { SEVERAL };
            *written |= access.writes;
        }
    }
    let mut contended = vec![Vec::new(); threads.threads()];
    for (event, thread, op) in trace.events() {
        if op.access().is_some_and(|access| users[access.variable.index()] == (SEVERAL, true)) {
            contended[thread.index()].push(threads.place(event) as u32);
        }
    }
    contended
}
