//! Items grouped by a dense key: all groups in one allocation.

use std::ops::Range;

use bounds::Bounds;
use trace::{EventId, Op, ThreadEvents, ThreadId, Trace};

/// Items by group, each group in the order of the trace.
#[derive(Debug)]
pub(crate) struct Groups<T> {
    /// Where each group starts; one more at the end.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Groups<T> {
    /// Groups what the iterator yields; it is run twice, or not at all if there are no groups. It may end where the bounds are reached:
    /// then all groups are empty.
    pub(crate) fn new<I: Iterator<Item = (usize, T)>>(
        groups: usize,
        bounds: Bounds,
        items: impl Fn() -> I,
    ) -> Self {
        if groups == 0 {
            return Groups { starts: vec![0], items: Vec::new() };
        }
        let starts = starts(groups, items().map(|(group, _)| group));
        let mut next = starts.clone();
        let mut placed: Vec<Option<T>> = vec![None; starts[groups] as usize];
        items().for_each(|(group, item)| {
            placed[next[group] as usize] = Some(item);
            next[group] += 1;
        });
        if bounds.are_final() {
            return Groups { starts: vec![0; groups + 1], items: Vec::new() };
        }
        Groups { starts, items: placed.into_iter().flatten().collect() }
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the items of a group are in [`Groups::items`].
    #[inline]
    pub(crate) fn range(&self, group: usize) -> Range<usize> {
        self.starts[group] as usize..self.starts[group + 1] as usize
    }

    /// The items of all groups.
    #[inline]
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// The items of a group.
    #[inline]
    pub(crate) fn group(&self, group: usize) -> &[T] {
        &self.items[self.range(group)]
    }
}

/// How many events are looked at before the bounds are: most loops do little for each.
const AT_ONCE: usize = 256;

/// The events of a trace, up to where the bounds are reached for good. Best gone through with `for_each`.
pub(crate) fn events_in_time(
    trace: &Trace,
    bounds: Bounds,
) -> impl Iterator<Item = (EventId, ThreadId, Op)> + '_ {
    let starts = (0..trace.len()).step_by(AT_ONCE).take_while(move |_| !bounds.are_final());
    starts.flat_map(move |start| trace.events_within(start..(start + AT_ONCE).min(trace.len())))
}

/// Where each group starts if its items are placed one after the other; one more at the end.
fn starts(groups: usize, members: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = vec![0u32; groups + 1];
    members.for_each(|group| starts[group + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    starts
}

/// What threads do with objects: items by object, then by thread, in program order.
///
/// What a question needs of a thread is a stretch of its events, so what it needs of an object is a stretch of each of these
/// lists, found by binary search; nothing is collected again for each question.
#[derive(Debug)]
pub struct ByThread<T> {
    /// Where the users of each object start; one more at the end.
    starts: Vec<u32>,
    users: Vec<User>,
    items: Vec<T>,
}

/// A thread that uses an object, and where its items are.
#[derive(Clone, Copy, Debug)]
struct User {
    thread: ThreadId,
    start: u32,
    end: u32,
}

impl<T: Copy> ByThread<T> {
    /// `item` says of an event, its operation and its place in its thread which object it uses, and how. Where the bounds are reached, no
    /// object is used.
    pub(crate) fn new(
        objects: usize,
        trace: &Trace,
        threads: &ThreadEvents,
        bounds: Bounds,
        item: impl Fn(EventId, Op, u32) -> Option<(usize, T)>,
    ) -> Self {
        if objects == 0 {
            return ByThread { starts: vec![0], users: Vec::new(), items: Vec::new() };
        }
        let events = events_in_time(trace, bounds);
        let used = events.filter_map(|(event, _, op)| item(event, op, 0).map(|(object, _)| object));
        let starts = starts(objects, used);
        let mut placed: Vec<Option<(ThreadId, T)>> = vec![None; starts[objects] as usize];
        let mut next = starts.clone();
        for thread in (0..threads.threads()).map(ThreadId::new) {
            let mut place = 0;
            for stretch in threads.of_thread(thread).chunks(AT_ONCE) {
                if bounds.are_final() {
                    return ByThread { starts: vec![0; objects + 1], users: Vec::new(), items: Vec::new() };
                }
                for &event in stretch {
                    if let Some((object, item)) = item(event, trace.op(event), place) {
                        placed[next[object] as usize] = Some((thread, item));
                        next[object] += 1;
                    }
                    place += 1;
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
    pub fn of(&self, object: usize) -> impl Iterator<Item = (ThreadId, &[T])> {
        self.users(object)
            .iter()
            .map(|user| (user.thread, &self.items[user.start as usize..user.end as usize]))
    }

    /// The items of an object by one thread.
    #[inline]
    pub fn by(&self, object: usize, thread: ThreadId) -> &[T] {
        let users = self.users(object);
        match users.binary_search_by_key(&thread, |user| user.thread) {
            Ok(index) => &self.items[users[index].start as usize..users[index].end as usize],
            Err(_) => &[],
        }
    }

    #[inline]
    fn users(&self, object: usize) -> &[User] {
        &self.users[self.starts[object] as usize..self.starts[object + 1] as usize]
    }

    /// The items of each object and thread, to be changed.
    pub(crate) fn lists_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let mut rest = self.items.as_mut_slice();
        self.users.iter().map(move |user| {
            let (list, others) = std::mem::take(&mut rest).split_at_mut((user.end - user.start) as usize);
            rest = others;
            list
        })
    }
}
