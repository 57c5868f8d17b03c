//! What is in a trace: counts by thread, kind, variable, lock and nesting depth.
//!
//! Two passes over the events and tables no larger than the names: the first counts, the second
//! finds out which threads touch the few hottest objects. Nothing is kept per event.

mod figures;

use serde::Serialize;
use trace::{Access, EventId, Kind, LockId, Op, ThreadId, Trace, VariableId};

pub use figures::TraceFigures;

/// What is in a trace.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Each thread, in the order of first mention.
    pub threads: Vec<ThreadFigures>,
    /// How many events there are of each kind, by the kind's code.
    pub kinds: Vec<u64>,
    /// How the variables are used.
    pub sharing: Sharing,
    /// The variables accessed most, first the hottest.
    pub hot_variables: Vec<HotVariable>,
    /// The locks acquired most, first the hottest.
    pub hot_locks: Vec<HotLock>,
    /// How many locks were held, from each acquire on and at each access.
    pub nesting: Nesting,
    /// What the reads saw.
    pub reads: ReadFigures,
    /// Sections of locks still open at the end: how many, and the first few.
    pub open_sections: u64,
    /// The first few of the open sections, by their acquires.
    pub open_examples: Vec<EventId>,
}

/// One thread's part in the trace.
#[derive(Clone, Copy, Debug)]
pub struct ThreadFigures {
    /// The thread.
    pub thread: ThreadId,
    /// How many events it has.
    pub events: u64,
    /// Its first and last event, if it has any.
    pub span: Option<(EventId, EventId)>,
    /// The fork that created it, if recorded.
    pub fork: Option<EventId>,
    /// Its end was recorded, by itself or by a join.
    pub ended: bool,
}

/// How the variables are used. Every accessed variable is in exactly one of the three.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sharing {
    /// Variables that one thread alone accesses, and the accesses to them.
    pub local: VariableUse,
    /// Variables of several threads that nobody writes.
    pub read_only: VariableUse,
    /// Variables of several threads that somebody writes.
    pub written: VariableUse,
}

/// Some of the variables, and the accesses to them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct VariableUse {
    pub variables: u64,
    pub accesses: u64,
}

/// A variable among the hottest. An atomic update counts as a read and as a write.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct HotVariable {
    #[serde(skip)]
    pub variable: VariableId,
    pub accesses: u64,
    pub reads: u64,
    pub writes: u64,
    pub threads: u64,
}

/// A lock among the hottest. Recursive acquires have no effect and are counted apart.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HotLock {
    /// The lock.
    #[serde(skip)]
    pub lock: LockId,
    /// Sections of it, exclusive and shared.
    pub acquires: u64,
    /// Those of the acquires that share it.
    pub shared: u64,
    /// Acquires within a section of the same lock.
    pub recursive: u64,
    /// How many threads take it.
    pub threads: u64,
    /// How often it passed from one thread to another.
    pub handovers: u64,
    /// The most locks a thread held when it had just taken this one.
    #[serde(rename = "most_held")]
    pub deepest: u32,
}

/// How many locks were held, by number of locks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Nesting {
    /// Acquires by the number of locks held just after.
    pub acquires: Vec<u64>,
    /// Accesses to variables by the number of locks held meanwhile.
    pub accesses: Vec<u64>,
}

/// What the reads saw.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReadFigures {
    pub own_write: u64,
    pub other_thread: u64,
    pub initial_value: u64,
}

/// A table that hostile nesting cannot blow up: deeper sections count as this deep.
const DEEPEST: usize = 64;

impl Survey {
    /// Surveys a trace, with this number of the hottest objects.
    pub fn of(trace: &Trace, hottest: usize) -> Survey {
        let mut count = Count::new(trace);
        trace.events().for_each(|(event, thread, op)| count.step(event, thread, op));
        count.into_survey(hottest)
    }

    /// How many events there are of a kind.
    pub fn of_kind(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }
}

const NOBODY: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// The counts of a variable, or of a lock.
#[derive(Clone, Copy)]
struct VariableCount {
    reads: u32,
    writes: u32,
    /// Atomic updates, which are in both counts above.
    updates: u32,
    user: u32,
}

#[derive(Clone, Copy)]
struct LockCount {
    acquires: u32,
    shared: u32,
    recursive: u32,
    handovers: u32,
    deepest: u32,
    last_user: u32,
}

struct Count<'a> {
    trace: &'a Trace,
    threads: Vec<ThreadFigures>,
    /// How many locks each thread holds.
    held: Vec<u32>,
    kinds: [u64; Kind::ALL.len()],
    variables: Vec<VariableCount>,
    locks: Vec<LockCount>,
    held_at_acquires: Histogram,
    held_at_accesses: Histogram,
    reads: ReadFigures,
    open_sections: u64,
    open_examples: Vec<EventId>,
}

/// Open sections shown; the others are only counted.
const OPEN_EXAMPLES: usize = 10;

impl<'a> Count<'a> {
    fn new(trace: &'a Trace) -> Self {
        let symbols = trace.symbols();
        let threads = (0..symbols.threads.len()).map(ThreadId::new).map(|thread| ThreadFigures {
            thread,
            events: 0,
            span: None,
            fork: trace.fork_of(thread),
            ended: false,
        });
        let variable = VariableCount { reads: 0, writes: 0, updates: 0, user: NOBODY };
        let lock =
            LockCount { acquires: 0, shared: 0, recursive: 0, handovers: 0, deepest: 0, last_user: NOBODY };
        Count {
            trace,
            threads: threads.collect(),
            held: vec![0; symbols.threads.len()],
            kinds: [0; Kind::ALL.len()],
            variables: vec![variable; symbols.variables.len()],
            locks: vec![lock; symbols.locks.len()],
            held_at_acquires: [0; DEEPEST + 1],
            held_at_accesses: [0; DEEPEST + 1],
            reads: ReadFigures::default(),
            open_sections: 0,
            open_examples: Vec::new(),
        }
    }

    fn step(&mut self, event: EventId, thread: ThreadId, op: Op) {
        let figures = &mut self.threads[thread.index()];
        figures.events += 1;
        match &mut figures.span {
            Some((_, last)) => *last = event,
            none => *none = Some((event, event)),
        }
        self.kinds[op.kind() as usize] += 1;
        match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) => self.acquire(event, thread, lock, op.kind()),
            Op::Release(_) | Op::ReleaseShared(_) if !self.trace.is_nested(event) => {
                self.held[thread.index()] -= 1;
            }
            Op::End => self.threads[thread.index()].ended = true,
            Op::Join(joined) => self.threads[joined.index()].ended = true,
            op => op.access().into_iter().for_each(|access| self.access(event, thread, access)),
        }
    }

    fn access(&mut self, event: EventId, thread: ThreadId, access: Access) {
        let count = &mut self.variables[access.variable.index()];
        count.reads += u32::from(access.reads);
        count.writes += u32::from(access.writes);
        count.updates += u32::from(access.reads && access.writes);
        count.user = match count.user {
            NOBODY => thread.0,
            user if user == thread.0 => user,
            _ => SEVERAL,
        };
        bump(&mut self.held_at_accesses, self.held[thread.index()]);
        if access.reads {
            match self.trace.reads_from(event).map(|write| self.trace.thread(write)) {
                None => self.reads.initial_value += 1,
                Some(writer) if writer == thread => self.reads.own_write += 1,
                Some(_) => self.reads.other_thread += 1,
            }
        }
    }

    fn acquire(&mut self, event: EventId, thread: ThreadId, lock: LockId, kind: Kind) {
        let count = &mut self.locks[lock.index()];
        if self.trace.is_nested(event) {
            count.recursive += 1;
            return;
        }
        let held = &mut self.held[thread.index()];
        *held += 1;
        count.acquires += 1;
        count.shared += u32::from(kind == Kind::AcquireShared);
        count.deepest = count.deepest.max(*held);
        count.handovers += u32::from(count.last_user != NOBODY && count.last_user != thread.0);
        count.last_user = thread.0;
        bump(&mut self.held_at_acquires, *held);
        if self.trace.section_end(event).is_none() {
            self.open_sections += 1;
            if self.open_examples.len() < OPEN_EXAMPLES {
                self.open_examples.push(event);
            }
        }
    }

    fn into_survey(self, hottest: usize) -> Survey {
        let mut sharing = Sharing::default();
        for count in &self.variables {
            let class = match count.user {
                NOBODY => continue,
                SEVERAL if count.writes == 0 => &mut sharing.read_only,
                SEVERAL => &mut sharing.written,
                _ => &mut sharing.local,
            };
            class.variables += 1;
            class.accesses += count.accesses();
        }
        let hot_variables = top(&self.variables, hottest, VariableCount::accesses);
        let hot_locks = top(&self.locks, hottest, |count| u64::from(count.acquires + count.recursive));
        let users = Users::of(self.trace, &hot_variables, &hot_locks);
        let hot_variable = |(place, &index): (usize, &u32)| {
            let count = self.variables[index as usize];
            HotVariable {
                variable: VariableId(index),
                accesses: count.accesses(),
                reads: count.reads.into(),
                writes: count.writes.into(),
                threads: users.of_variables[place].len(),
            }
        };
        let hot_lock = |(place, &index): (usize, &u32)| {
            let count = self.locks[index as usize];
            HotLock {
                lock: LockId(index),
                acquires: count.acquires.into(),
                shared: count.shared.into(),
                recursive: count.recursive.into(),
                handovers: count.handovers.into(),
                deepest: count.deepest,
                threads: users.of_locks[place].len(),
            }
        };
        Survey {
            hot_variables: hot_variables.iter().enumerate().map(hot_variable).collect(),
            hot_locks: hot_locks.iter().enumerate().map(hot_lock).collect(),
            threads: self.threads,
            kinds: self.kinds.to_vec(),
            sharing,
            nesting: Nesting {
                acquires: counted(&self.held_at_acquires),
                accesses: counted(&self.held_at_accesses),
            },
            reads: self.reads,
            open_sections: self.open_sections,
            open_examples: self.open_examples,
        }
    }
}

impl VariableCount {
    fn accesses(&self) -> u64 {
        u64::from(self.reads) + u64::from(self.writes) - u64::from(self.updates)
    }
}

type Histogram = [u64; DEEPEST + 1];

fn bump(histogram: &mut Histogram, depth: u32) {
    histogram[(depth as usize).min(DEEPEST)] += 1;
}

/// Without the depths that never were.
fn counted(histogram: &Histogram) -> Vec<u64> {
    let length = histogram.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    histogram[..length].to_vec()
}

/// The indices of the largest, first the largest; of equals, the first. Unused ones are left out.
fn top<T>(counts: &[T], most: usize, size: impl Fn(&T) -> u64) -> Vec<u32> {
    // Bounded insertion: the tables can be as long as the trace, the answer is short.
    let mut best: Vec<(u64, u32)> = Vec::new();
    for (index, count) in counts.iter().enumerate() {
        let size = size(count);
        if size == 0 || best.len() == most && best.last().is_none_or(|&(least, _)| size <= least) {
            continue;
        }
        let place = best.partition_point(|&(other, _)| other >= size);
        best.insert(place, (size, index as u32));
        best.truncate(most);
    }
    best.into_iter().map(|(_, index)| index).collect()
}

/// Which threads use the hottest objects.
struct Users {
    of_variables: Vec<ThreadSet>,
    of_locks: Vec<ThreadSet>,
}

impl Users {
    fn of(trace: &Trace, variables: &[u32], locks: &[u32]) -> Users {
        let threads = trace.symbols().threads.len();
        let mut users = Users {
            of_variables: vec![ThreadSet::new(threads); variables.len()],
            of_locks: vec![ThreadSet::new(threads); locks.len()],
        };
        let variable_place = places(variables, trace.symbols().variables.len());
        let lock_place = places(locks, trace.symbols().locks.len());
        trace.events().for_each(|(_, thread, op)| {
            let set = match op {
                Op::Acquire(lock) | Op::AcquireShared(lock) => {
                    users.of_locks.get_mut(lock_place[lock.index()] as usize)
                }
                op => op.access().and_then(|access| {
                    users.of_variables.get_mut(variable_place[access.variable.index()] as usize)
                }),
            };
            if let Some(set) = set {
                set.insert(thread);
            }
        });
        users
    }
}

/// For each object, its place among the chosen ones, or a number past them.
fn places(chosen: &[u32], objects: usize) -> Vec<u32> {
    let mut places = vec![u32::MAX; objects];
    for (place, &index) in chosen.iter().enumerate() {
        places[index as usize] = place as u32;
    }
    places
}

#[derive(Clone)]
struct ThreadSet(Vec<u64>);

impl ThreadSet {
    fn new(threads: usize) -> Self {
        ThreadSet(vec![0; threads.div_ceil(64)])
    }

    fn insert(&mut self, thread: ThreadId) {
        self.0[thread.index() / 64] |= 1 << (thread.index() % 64);
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_is_the_head_of_a_stable_sort() {
        let mut state = 7u64;
        for most in 0..6 {
            for length in 0..40 {
                let sizes: Vec<u64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                        (state >> 33) % 7
                    })
                    .collect();
                let mut expected: Vec<u32> = (0..length).filter(|&i| sizes[i as usize] > 0).collect();
                expected.sort_by_key(|&i| std::cmp::Reverse(sizes[i as usize]));
                expected.truncate(most);
                assert_eq!(top(&sizes, most, |&size| size), expected, "{most} of {sizes:?}");
            }
        }
    }
}
