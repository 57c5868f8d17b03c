//! The critical sections of a trace: by thread, by lock, by both, and those open after each event.

use bounds::Bounds;
use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace};

use crate::groups::{ByThread, Groups, events_in_time};
use crate::lock_sets::{HeldLocks, LockHold, LockSetId, LockSets};

/// No place, section or node: larger than any.
pub const NONE: u32 = u32::MAX;

/// Comes after every event.
const NEVER: EventId = EventId(u32::MAX);

/// A section of a lock: from its outermost acquire to its release. `P` is how these are named: as events, or by their places among the
/// events of the thread (`u32`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<P = EventId> {
    /// The outermost acquire.
    pub acquire: P,
    /// `None`: still open at the end of the trace.
    pub release: Option<P>,
    /// Who holds the lock.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Together with other readers.
    pub shared: bool,
}

impl<P> Section<P> {
    /// The lock, as it is held in this section.
    pub fn hold(&self) -> LockHold {
        LockHold { lock: self.lock, exclusive: !self.shared }
    }

    /// Whether the two cannot be open at the same time.
    pub fn excludes(&self, other: &Section<P>) -> bool {
        self.lock == other.lock && self.thread != other.thread && !(self.shared && other.shared)
    }
}

impl Section<u32> {
    /// Whether the section is open when `place` events of its thread have happened.
    pub fn is_open_at(&self, place: u32) -> bool {
        self.acquire < place && self.release.is_none_or(|release| release >= place)
    }
}

impl Section {
    fn ends_at(&self) -> EventId {
        self.release.unwrap_or(NEVER)
    }
}

/// A section in places of its thread, as an entry of the list of its lock and thread.
#[derive(Clone, Copy, Debug)]
pub struct LockUse {
    /// The place of the acquire.
    pub acquire: u32,
    /// The place of the release. [`NONE`]: never released.
    pub release: u32,
    /// The latest release among it and all before it in its list. Releases are in order, unless a shared section
    /// outlives an exclusive one it began in (a downgrade).
    pub latest_release: u32,
    /// Together with other readers.
    pub shared: bool,
    /// The index in its list of the last exclusive section up to it, or [`NONE`].
    pub last_exclusive: u32,
}

/// The sections of a trace.
#[derive(Debug)]
pub(crate) struct Sections {
    /// By thread, in the order of their acquires.
    by_thread: Groups<Section>,
    /// By lock, in the order of their acquires, as indices into the items of `by_thread`.
    by_lock: Groups<u32>,
    /// For each section of `by_lock`, the latest release among it and all before it of its lock.
    latest_release: Vec<EventId>,
    pub(crate) uses: ByThread<LockUse>,
}

impl Sections {
    pub(crate) fn of(trace: &Trace, threads: &ThreadEvents, bounds: Bounds) -> Self {
        let symbols = trace.symbols();
        let section = |(event, thread, op): (EventId, ThreadId, Op)| match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let (release, shared) = (trace.section_end(event), matches!(op, Op::AcquireShared(_)));
                Some(Section { acquire: event, release, thread, lock, shared })
            }
            _ => None,
        };
        let all = || events_in_time(trace, bounds).filter_map(section);
        let by_thread = Groups::new(symbols.threads.len(), bounds, || all().map(|s| (s.thread.index(), s)));
        let by_lock = Groups::new(symbols.locks.len(), bounds, || {
            let mut next: Vec<u32> =
                (0..by_thread.len()).map(|thread| by_thread.range(thread).start as u32).collect();
            all().map(move |section| {
                let next = &mut next[section.thread.index()];
                *next += 1;
                (section.lock.index(), *next - 1)
            })
        });
        let latest_release = latest_releases(&by_thread, &by_lock);
        Sections { by_thread, by_lock, latest_release, uses: uses(trace, threads, bounds) }
    }

    /// The sections of a thread.
    #[inline]
    pub(crate) fn of_thread(&self, thread: ThreadId) -> &[Section] {
        self.by_thread.group(thread.index())
    }

    /// All sections, by thread.
    pub(crate) fn all(&self) -> &[Section] {
        self.by_thread.items()
    }

    /// The sections of a lock that are open right before an event of the trace, latest first.
    pub(crate) fn open_at(&self, lock: LockId, at: EventId) -> impl Iterator<Item = Section> + '_ {
        let start = self.by_lock.range(lock.index()).start;
        let section = |index: u32| self.by_thread.items()[index as usize];
        let before = self.by_lock.group(lock.index()).partition_point(|&index| section(index).acquire < at);
        (start..start + before)
            .rev()
            .take_while(move |&index| self.latest_release[index] >= at)
            .map(move |index| section(self.by_lock.items()[index]))
            .filter(move |section| section.ends_at() >= at)
    }
}

/// For each section of a lock, the latest release among it and all before it.
fn latest_releases(sections: &Groups<Section>, by_lock: &Groups<u32>) -> Vec<EventId> {
    let mut all = Vec::with_capacity(by_lock.items().len());
    for lock in 0..by_lock.len() {
        let mut latest = EventId(0);
        all.extend(by_lock.group(lock).iter().map(|&index| {
            latest = latest.max(sections.items()[index as usize].ends_at());
            latest
        }));
    }
    all
}

/// The sections of each lock, by thread.
fn uses(trace: &Trace, threads: &ThreadEvents, bounds: Bounds) -> ByThread<LockUse> {
    let locks = trace.symbols().locks.len();
    let mut uses = ByThread::new(locks, trace, threads, bounds, |event, op, acquire| match op {
        Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
            let release = trace.section_end(event).map_or(NONE, |release| threads.place(release) as u32);
            let shared = matches!(op, Op::AcquireShared(_));
            let list_entry =
                LockUse { acquire, release, latest_release: release, shared, last_exclusive: NONE };
            Some((lock.index(), list_entry))
        }
        _ => None,
    });
    for list in uses.lists_mut() {
        let (mut latest, mut exclusive) = (0, NONE);
        for (index, entry) in list.iter_mut().enumerate() {
            latest = latest.max(entry.release);
            exclusive = if entry.shared { exclusive } else { index as u32 };
            (entry.latest_release, entry.last_exclusive) = (latest, exclusive);
        }
    }
    uses
}

/// The sections that each thread has open after each of its events, and the locks it holds then.
///
/// A list for each event, linked from the section opened last. Lists share their tails, and events that open or
/// close nothing share the whole list. A section that ends before younger ones stays in the list, which skips it from then on;
/// when a list has more such sections than open ones, it is copied without them. So a list is at most twice as long as it has
/// open sections (and [`FEW`] more), and all of them together take memory in proportion to the acquires and releases, in
/// whatever order the releases come.
#[derive(Debug)]
pub struct OpenSections {
    /// By event: the list of its thread after it.
    lists: Vec<u32>,
    heads: Vec<Head>,
    nodes: Vec<Node>,
    sets: LockSets,
}

/// How many ended sections a list may have besides as many as are open.
const FEW: u32 = 4;

/// The list of a thread between two events that open or close a section.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// The first node, or [`NONE`].
    first: u32,
    /// The locks held.
    set: LockSetId,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// An index into the sections by thread.
    section: u32,
    next: u32,
}

/// A thread's list while the lists are made.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// In `heads`.
    list: u32,
    /// Sections in it that are open, and that have ended.
    open: u32,
    ended: u32,
}

impl OpenSections {
    /// Those of a trace. Where the bounds are reached for good, no section is open from there on.
    pub(crate) fn of(trace: &Trace, sections: &Sections, bounds: Bounds) -> Self {
        let threads = trace.symbols().threads.len();
        let mut opens = OpenSections {
            lists: Vec::with_capacity(trace.len()),
            heads: vec![Head { first: NONE, set: LockSetId::EMPTY }],
            nodes: Vec::new(),
            sets: LockSets::default(),
        };
        let mut currents = vec![Current { list: 0, open: 0, ended: 0 }; threads];
        let mut next: Vec<u32> =
            (0..threads).map(|thread| sections.by_thread.range(thread).start as u32).collect();
        let mut held = HeldLocks::default();
        events_in_time(trace, bounds).for_each(|(event, thread, op)| {
            let current = &mut currents[thread.index()];
            let first = opens.heads[current.list as usize].first;
            let changed = match op {
                Op::Acquire(_) | Op::AcquireShared(_) => {
                    held.step(thread, op);
                    (!trace.is_nested(event)).then(|| {
                        let section = next[thread.index()];
                        next[thread.index()] += 1;
                        current.open += 1;
                        opens.push(Node { section, next: first })
                    })
                }
                Op::Release(_) | Op::ReleaseShared(_) => {
                    held.step(thread, op);
                    (!trace.is_nested(event)).then(|| opens.release(sections.all(), current, event))
                }
                _ => None,
            };
            if let Some(first) = changed {
                current.list = opens.heads.len() as u32;
                opens.heads.push(Head { first, set: held.by(thread) });
            }
            opens.lists.push(current.list);
        });
        opens.lists.resize(trace.len(), 0);
        opens.sets = held.into_sets();
        opens
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The first node of a thread's list after a release.
    fn release(&mut self, sections: &[Section], current: &mut Current, release: EventId) -> u32 {
        current.open -= 1;
        current.ended += 1;
        let mut first = self.heads[current.list as usize].first;
        while let Some(&Node { section, next }) = self.nodes.get(first as usize)
            && !is_open(&sections[section as usize], release)
        {
            current.ended -= 1;
            first = next;
        }
        if current.ended <= current.open + FEW {
            return first;
        }
        current.ended = 0;
        let open: Vec<u32> = self.list(sections, first, release).collect();
        open.into_iter().rev().fold(NONE, |next, section| self.push(Node { section, next }))
    }

    /// The locks that the thread of an event holds after it.
    #[inline]
    pub fn locks_after(&self, event: EventId) -> LockSetId {
        self.heads[self.lists[event.index()] as usize].set
    }

    /// All sets of locks that some thread held.
    pub fn sets(&self) -> &LockSets {
        &self.sets
    }

    /// The indices of the sections that the thread of an event has open after it, latest first.
    #[inline]
    pub(crate) fn after<'s>(
        &'s self,
        sections: &'s [Section],
        event: EventId,
    ) -> impl Iterator<Item = u32> + 's {
        self.list(sections, self.heads[self.lists[event.index()] as usize].first, event)
    }

    /// The sections of the list from a node on that are open after an event.
    #[inline]
    fn list<'s>(
        &'s self,
        sections: &'s [Section],
        first: u32,
        event: EventId,
    ) -> impl Iterator<Item = u32> + 's {
        let node = |index: u32| self.nodes.get(index as usize);
        std::iter::successors(node(first), move |open| node(open.next))
            .map(|open| open.section)
            .filter(move |&section| is_open(&sections[section as usize], event))
    }
}

/// Whether a section that began at this event or before is open after it.
#[inline]
fn is_open(section: &Section, event: EventId) -> bool {
    section.ends_at() > event
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Locks taken in order, and released in the same order.
    fn first_in_first_out(locks: usize) -> Trace {
        let mut text = String::new();
        for op in ["acq", "rel"] {
            (0..locks).for_each(|lock| writeln!(text, "T|{op}(l{lock})|a").expect("strings take all"));
        }
        trace::text::read(text.as_bytes()).expect("the run can have happened")
    }

    #[test]
    fn lists_are_linear_in_whatever_order_the_releases_come() {
        let trace = first_in_first_out(1_000);
        let sections = Sections::of(&trace, &ThreadEvents::of(&trace), Bounds::NONE);
        let opens = OpenSections::of(&trace, &sections, Bounds::NONE);
        assert!(opens.nodes.len() <= 3 * 1_000, "{} nodes", opens.nodes.len());
        for (event, ..) in trace.events() {
            let open: Vec<u32> = opens.after(sections.all(), event).collect();
            let expected = (0..1_000).rev().filter(|&index: &u32| {
                let section = sections.all()[index as usize];
                section.acquire <= event && section.ends_at() > event
            });
            assert_eq!(open, expected.collect::<Vec<_>>(), "{event}");
        }
    }
}
