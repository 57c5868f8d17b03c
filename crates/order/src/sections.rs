//! The critical sections of a trace: by thread, by lock, by both, and those open after each event.

use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace};

use crate::groups::{ByThread, Groups};
use crate::lock_sets::{HeldLocks, Hold, LockSetId, LockSets};

/// No place, section or node: larger than any.
pub const NONE: u32 = u32::MAX;

/// Comes after every event.
const NEVER: EventId = EventId(u32::MAX);

/// A section of a lock: from its outermost acquire to its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The outermost acquire.
    pub acquire: EventId,
    /// `None`: still open at the end of the trace.
    pub release: Option<EventId>,
    /// Who holds the lock.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Together with other readers.
    pub shared: bool,
}

impl Section {
    /// The lock, as it is held in this section.
    pub fn hold(&self) -> Hold {
        Hold { lock: self.lock, exclusive: !self.shared }
    }

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
    pub(crate) fn of(trace: &Trace, threads: &ThreadEvents) -> Self {
        let symbols = trace.symbols();
        let section = |(event, thread, op): (EventId, ThreadId, Op)| match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let (release, shared) = (trace.section_end(event), matches!(op, Op::AcquireShared(_)));
                Some(Section { acquire: event, release, thread, lock, shared })
            }
            _ => None,
        };
        let all = || trace.events().filter_map(section);
        let by_thread = Groups::new(symbols.threads.len(), || all().map(|s| (s.thread.index(), s)));
        let by_lock = Groups::new(symbols.locks.len(), || {
            let mut next: Vec<u32> =
                (0..by_thread.len()).map(|thread| by_thread.range(thread).start as u32).collect();
            all().map(move |section| {
                let next = &mut next[section.thread.index()];
                *next += 1;
                (section.lock.index(), *next - 1)
            })
        });
        let latest_release = latest_releases(&by_thread, &by_lock);
        Sections { by_thread, by_lock, latest_release, uses: uses(trace, threads) }
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
fn uses(trace: &Trace, threads: &ThreadEvents) -> ByThread<LockUse> {
    let locks = trace.symbols().locks.len();
    let mut uses = ByThread::new(locks, trace, threads, |event, op, acquire| match op {
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
/// close nothing share the whole list.
#[derive(Debug)]
pub struct OpenSections {
    /// By event: the first node of its list, or [`NONE`].
    heads: Vec<u32>,
    nodes: Vec<Node>,
    sets: LockSets,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// An index into the sections by thread.
    section: u32,
    next: u32,
    /// The locks of the list from here on.
    set: LockSetId,
}

impl OpenSections {
    pub(crate) fn of(trace: &Trace, sections: &Sections) -> Self {
        let threads = trace.symbols().threads.len();
        let mut opens = OpenSections {
            heads: Vec::with_capacity(trace.len()),
            nodes: Vec::new(),
            sets: LockSets::default(),
        };
        let mut heads = vec![NONE; threads];
        let mut next: Vec<u32> =
            (0..threads).map(|thread| sections.by_thread.range(thread).start as u32).collect();
        let mut held = HeldLocks::default();
        for (event, thread, op) in trace.events() {
            let head = &mut heads[thread.index()];
            match op {
                Op::Acquire(_) | Op::AcquireShared(_) => {
                    held.step(thread, op);
                    if !trace.is_nested(event) {
                        let section = next[thread.index()];
                        next[thread.index()] += 1;
                        *head = opens.push(Node { section, next: *head, set: held.by(thread) });
                    }
                }
                Op::Release(_) | Op::ReleaseShared(_) => {
                    held.step(thread, op);
                    if !trace.is_nested(event) {
                        *head = opens.without(sections.all(), *head, event, held.sets_mut());
                    }
                }
                _ => {}
            }
            opens.heads.push(*head);
        }
        opens.sets = held.into_sets();
        opens
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The list without the section that ends with this release. Lists are shared, so what comes before it is copied.
    fn without(&mut self, sections: &[Section], head: u32, release: EventId, sets: &mut LockSets) -> u32 {
        let mut kept = Vec::new();
        let mut rest = head;
        while rest != NONE {
            let Node { section, next, .. } = self.nodes[rest as usize];
            rest = next;
            if sections[section as usize].release == Some(release) {
                break;
            }
            kept.push(section);
        }
        for section in kept.into_iter().rev() {
            let holds = std::iter::once(section).chain(self.list(rest)).map(|s| sections[s as usize].hold());
            let set = sets.set_of(holds);
            rest = self.push(Node { section, next: rest, set });
        }
        rest
    }

    /// The locks that the thread of an event holds after it.
    #[inline]
    pub fn locks_after(&self, event: EventId) -> LockSetId {
        self.nodes.get(self.heads[event.index()] as usize).map_or(LockSetId::EMPTY, |node| node.set)
    }

    /// All sets of locks that some thread held.
    pub fn sets(&self) -> &LockSets {
        &self.sets
    }

    /// The indices of the sections that the thread of an event has open after it, latest first.
    #[inline]
    pub(crate) fn after(&self, event: EventId) -> impl Iterator<Item = u32> + '_ {
        self.list(self.heads[event.index()])
    }

    /// The sections of the list from a node on.
    #[inline]
    fn list(&self, head: u32) -> impl Iterator<Item = u32> + '_ {
        let node = |index: u32| self.nodes.get(index as usize);
        std::iter::successors(node(head), move |open| node(open.next)).map(|open| open.section)
    }
}
