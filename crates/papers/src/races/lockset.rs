//! Potential races: conflicting accesses without a common lock, as paper 1 (Wang and Hoang, *Precisely Deciding Control
//! State Reachability in Concurrent Traces with Limited Observability*) collects them in its section 3.2, with the
//! filtering of Savage et al., *Eraser* (1997), made exact.
//!
//! *Promise.* Exactly the pairs of conflicting accesses whose threads hold no lock in common, where a lock shared by both
//! is none. Every race that is feasible in any model is among them; most of them are not feasible.
//!
//! *Cost.* [`Lockset`] streams and needs memory for the objects only. It keeps of each variable the accesses
//! not covered by another: one covers another of the same thread if it holds no more locks and conflicts with as much. An access
//! like the last one to the variable, with nothing new from other threads between, is answered as that one was. Others cost a look at their own
//! thread's, and at all of them, about as many as there are threads, only if neither a lock common to all nor the last partner found
//! tells more.
//! [`pairs`] is lazy and costs what it yields, which may be quadratic; [`location_pairs`] multiplies instead.

use std::collections::BTreeMap;

use bounds::Bounds;
use candidates::races::RacePair;
use order::{AccessKind, HeldLocks, LockSetId, LockSets, slot};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, Op, ThreadId, Trace};

/// Every racy event of a trace, with an earlier partner, in order.
pub fn races(trace: &Trace) -> impl Iterator<Item = RacePair> + '_ {
    races_within(trace, Bounds::NONE)
}

/// The same, up to where the bounds are reached.
fn races_within(trace: &Trace, bounds: Bounds) -> impl Iterator<Item = RacePair> + '_ {
    let mut lockset = Lockset::new();
    trace.events().take_while(move |_| !bounds.are_reached()).filter_map(move |(event, thread, op)| {
        let first = lockset.step(event, thread, op)?;
        Some(RacePair { first, second: event })
    })
}

/// Accesses that are alike to this method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Class {
    /// The thread, and in the two lowest bits the [`AccessKind`].
    who: u32,
    locks: LockSetId,
}

/// No class: no thread has such a number.
const NO_CLASS: Class = Class { who: u32::MAX, locks: LockSetId::EMPTY };

impl Class {
    #[inline]
    fn new(thread: ThreadId, locks: LockSetId, kind: AccessKind) -> Class {
        Class { who: thread.0 << 2 | kind as u32, locks }
    }

    #[inline]
    fn is_of_thread_of(self, other: Class) -> bool {
        self.who >> 2 == other.who >> 2
    }

    #[inline]
    fn kind(self) -> AccessKind {
        AccessKind::from_bits(self.who)
    }

    #[inline]
    fn races_with(self, other: Class, sets: &LockSets) -> bool {
        self.kind().conflicts(other.kind())
            && !self.is_of_thread_of(other)
            && !sets.exclude(self.locks, other.locks)
    }

    /// Whether it races with all that the other races with.
    #[inline]
    fn covers(self, other: Class, sets: &LockSets) -> bool {
        self.is_of_thread_of(other)
            && self.kind().covers(other.kind())
            && sets.within(self.locks, other.locks)
    }
}

#[derive(Clone, Copy, Debug)]
struct SeenAccess {
    class: Class,
    event: EventId,
}

/// The last access of a kind, and what it races with. That is the answer to all of its class until another thread makes an access that none covers.
#[derive(Clone, Copy, Debug)]
struct LastAccess {
    class: Class,
    /// [`NOBODY`] if there is none.
    partner: EventId,
}

/// Stands for no event, and as an index for no access.
const NOBODY: EventId = EventId(u32::MAX);

const NO_LAST_ACCESS: LastAccess = LastAccess { class: NO_CLASS, partner: NOBODY };

impl LastAccess {
    #[inline]
    fn partner(self) -> Option<EventId> {
        (self.partner != NOBODY).then_some(self.partner)
    }
}

/// What is kept of the accesses of one variable, but for a list in one cache line: which one is not in the cache costs more than all that
/// is done with it.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Summary {
    /// The last read and the last write.
    last: [LastAccess; 2],
    /// The locks held at every access so far, and at every write: who is kept out by them need not look further.
    common: Option<LockSetId>,
    common_to_writes: Option<LockSetId>,
    /// Where in the list the last partners found are, of different threads. Where one access breaks the discipline, most others race with it.
    partners: [u32; 2],
    /// The accesses that no other covers.
    seen: Vec<SeenAccess>,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            last: [NO_LAST_ACCESS; 2],
            common: None,
            common_to_writes: None,
            partners: [NOBODY.0; 2],
            seen: Vec::new(),
        }
    }
}

impl Summary {
    /// Takes in an access that is not like the last ones.
    fn look(&mut self, new: SeenAccess, sets: &mut LockSets) -> Option<EventId> {
        let class = new.class;
        let partner = self.partner(class, sets);
        if self.add(new, sets) {
            for last in &mut self.last {
                if !last.class.is_of_thread_of(class) {
                    *last = NO_LAST_ACCESS;
                }
            }
        }
        self.last[usize::from(class.kind().writes())] =
            LastAccess { class, partner: partner.unwrap_or(NOBODY) };
        partner
    }

    /// An access that races with one of this class.
    fn partner(&mut self, class: Class, sets: &LockSets) -> Option<EventId> {
        let common = if class.kind().writes() { self.common } else { self.common_to_writes };
        if sets.exclude(common?, class.locks) {
            return None;
        }
        let mut known = self.partners.iter().filter_map(|&index| self.seen.get(index as usize));
        if let Some(known) = known.find(|known| known.class.races_with(class, sets)) {
            return Some(known.event);
        }
        let index = self.seen.iter().position(|earlier| earlier.class.races_with(class, sets))?;
        let found = self.seen[index];
        let last = self.seen.get(self.partners[0] as usize);
        if last.is_some_and(|last| !last.class.is_of_thread_of(found.class)) {
            self.partners[1] = self.partners[0];
        }
        self.partners[0] = index as u32;
        Some(found.event)
    }

    /// Whether it is one that no other covers.
    fn add(&mut self, new: SeenAccess, sets: &mut LockSets) -> bool {
        sets.meet(&mut self.common, new.class.locks);
        if new.class.kind().writes() {
            sets.meet(&mut self.common_to_writes, new.class.locks);
        }
        let mut covers_some = false;
        for earlier in &self.seen {
            if earlier.class.is_of_thread_of(new.class) {
                if earlier.class.covers(new.class, sets) {
                    return false;
                }
                covers_some |= new.class.covers(earlier.class, sets);
            }
        }
        if covers_some {
            self.seen.retain(|earlier| !new.class.covers(earlier.class, sets));
            // They may be elsewhere now.
            self.partners = [NOBODY.0; 2];
        }
        self.seen.push(new);
        true
    }
}

/// The locks held and the accesses made, up to the current event of a trace.
#[derive(Clone, Debug, Default)]
pub struct Lockset {
    held: HeldLocks,
    variables: Vec<Summary>,
}

impl Lockset {
    /// Before the first event.
    pub fn new() -> Self {
        Lockset::default()
    }

    /// Takes in the next event. If it is racy: an earlier event it races with.
    #[inline]
    pub fn step(&mut self, event: EventId, thread: ThreadId, op: Op) -> Option<EventId> {
        let Some(kind) = AccessKind::of(op) else {
            self.held.step(thread, op);
            return None;
        };
        let class = Class::new(thread, self.held.by(thread), kind);
        let summary = slot(&mut self.variables, op.target() as usize);
        let last = summary.last[usize::from(class.kind().writes())];
        if last.class == class {
            return last.partner();
        }
        summary.look(SeenAccess { class, event }, self.held.sets_mut())
    }
}

/// The accesses of one variable by class, in the order of the classes' first events.
#[derive(Debug, Default)]
struct Variable {
    classes: Vec<Class>,
    numbers: FxHashMap<Class, u32>,
    /// Every access, with the number of its class.
    accesses: Vec<(EventId, u32)>,
}

/// The accesses of every variable that has a racy event; where the bounds are reached, only some of them.
fn racy_variables(trace: &Trace, bounds: Bounds) -> (Vec<Variable>, LockSets) {
    let mut racy = vec![false; trace.symbols().variables.len()];
    for pair in races_within(trace, bounds) {
        racy[trace.op(pair.second).target() as usize] = true;
    }
    let mut variables: Vec<Variable> = racy.iter().map(|_| Variable::default()).collect();
    let mut held = HeldLocks::default();
    for (event, thread, op) in trace.events().take_while(|_| !bounds.are_reached()) {
        let Some(kind) = AccessKind::of(op) else {
            held.step(thread, op);
            continue;
        };
        let index = op.target() as usize;
        if racy[index] {
            let class = Class::new(thread, held.by(thread), kind);
            let Variable { classes, numbers, accesses } = &mut variables[index];
            let number = *numbers.entry(class).or_insert_with(|| {
                classes.push(class);
                classes.len() as u32 - 1
            });
            accesses.push((event, number));
        }
    }
    (variables, held.into_sets())
}

/// All pairs, lazily: by variable, then by the second event, then by the class of the first.
pub fn pairs(trace: &Trace) -> impl Iterator<Item = RacePair> + use<> {
    pairs_within(trace, Bounds::NONE)
}

/// The same, up to where the bounds are reached.
pub fn pairs_within(trace: &Trace, bounds: Bounds) -> impl Iterator<Item = RacePair> + use<> {
    let (variables, sets) = racy_variables(trace, bounds);
    let in_time = variables.into_iter().take_while(move |_| !bounds.are_reached());
    in_time
        .flat_map(move |variable| pairs_of(&variable, &sets, bounds))
        .take_while(move |_| !bounds.are_reached())
}

fn pairs_of(variable: &Variable, sets: &LockSets, bounds: Bounds) -> impl Iterator<Item = RacePair> + use<> {
    let classes = &variable.classes;
    let partners_of = |&a: &Class| {
        let races = |&b: &u32| !bounds.are_reached() && a.races_with(classes[b as usize], sets);
        (0..classes.len() as u32).filter(races).collect()
    };
    let partners: Vec<Vec<u32>> = classes.iter().map(partners_of).collect();
    let mut members: Vec<Vec<EventId>> = vec![Vec::new(); classes.len()];
    for &(event, class) in &variable.accesses {
        members[class as usize].push(event);
    }
    let accesses = variable.accesses.clone();
    let (partners, members) = (std::rc::Rc::new(partners), std::rc::Rc::new(members));
    accesses.into_iter().flat_map(move |(second, class)| {
        let (partners, members) = (partners.clone(), members.clone());
        (0..partners[class as usize].len()).flat_map(move |index| {
            let class = partners[class as usize][index] as usize;
            let before = members[class].partition_point(|&event| event < second);
            let members = members.clone();
            (0..before).map(move |index| RacePair { first: members[class][index], second })
        })
    })
}

/// Two source locations, in the order of their ids, that may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationPair {
    /// One of them.
    pub low: LocationId,
    /// The other.
    pub high: LocationId,
}

impl LocationPair {
    /// Of a race.
    pub fn of(trace: &Trace, pair: RacePair) -> LocationPair {
        let (a, b) = (trace.location(pair.first), trace.location(pair.second));
        LocationPair { low: a.min(b), high: a.max(b) }
    }
}

/// The potential races between two source locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationRaces {
    /// How many there are.
    pub count: u64,
    /// One of them: that with the earliest second event.
    pub earliest: RacePair,
}

/// For all pairs of source locations, how many pairs of their events race.
pub fn location_pairs(trace: &Trace) -> BTreeMap<LocationPair, LocationRaces> {
    let (variables, sets) = racy_variables(trace, Bounds::NONE);
    let mut found: BTreeMap<LocationPair, LocationRaces> = BTreeMap::new();
    for variable in &variables {
        for ((a, at_a), (b, at_b)) in racing_groups(trace, variable, &sets) {
            let earliest = RacePair { first: a.earliest.min(b.earliest), second: a.earliest.max(b.earliest) };
            let count = a.events * b.events;
            let races = found
                .entry(LocationPair { low: at_a.min(at_b), high: at_a.max(at_b) })
                .or_insert(LocationRaces { count: 0, earliest });
            races.count += count;
            if (earliest.second, earliest.first) < (races.earliest.second, races.earliest.first) {
                races.earliest = earliest;
            }
        }
    }
    found
}

/// Accesses of one class at one location.
#[derive(Clone, Copy, Debug)]
struct Group {
    events: u64,
    earliest: EventId,
}

type Located = (Group, LocationId);

/// Each two groups of accesses whose every event races with the other's, once.
fn racing_groups(trace: &Trace, variable: &Variable, sets: &LockSets) -> Vec<(Located, Located)> {
    let mut groups: Vec<BTreeMap<LocationId, Group>> = vec![BTreeMap::new(); variable.classes.len()];
    for &(event, class) in &variable.accesses {
        let group = groups[class as usize].entry(trace.location(event));
        group.or_insert(Group { events: 0, earliest: event }).events += 1;
    }
    let mut racing = Vec::new();
    for (index, &a) in variable.classes.iter().enumerate() {
        for (other, &b) in variable.classes.iter().enumerate().skip(index + 1) {
            if !a.races_with(b, sets) {
                continue;
            }
            for (&at_a, &x) in &groups[index] {
                racing.extend(groups[other].iter().map(|(&at_b, &y)| ((x, at_a), (y, at_b))));
            }
        }
    }
    racing
}
