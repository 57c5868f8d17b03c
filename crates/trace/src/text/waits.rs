//! What `wait` means: the thread has been woken, or it begins to wait.
//!
//! A wait of ours comes after the signal that woke it: `rel(l)`, `wait(c)`, `acq(l)`. Others log it where waiting begins, so that
//! the signal comes between it and the next event of its thread. Which one a trace means is seen from where its signals are, or said by the user. A wait that begins is
//! moved to where it ends: just before the next event of its thread, which did nothing in between.
//!
//! A monitor (Java) is a lock and a condition of the same name. To wait for it gives it up however often the thread had
//! taken it, which logs do not show: the releases are put in where waiting begins, and as many acquires where it ends.

use crate::builder::TraceBuilder;
use crate::ids::{ConditionId, EventId, LockId, ThreadId};
use crate::names::Names;
use crate::op::{Kind, Op};
use crate::trace::{Columns, Trace};

/// What the waits of a trace mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitConvention {
    /// What the trace shows: as woken, unless every wait that a signal tells about begins.
    #[default]
    Detect,
    /// The thread begins to wait.
    Begins,
    /// The thread has been woken.
    Woken,
}

impl WaitConvention {
    /// Those that can be stated.
    pub const STATED: [WaitConvention; 2] = [WaitConvention::Begins, WaitConvention::Woken];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            WaitConvention::Detect => "detect",
            WaitConvention::Begins => "begins",
            WaitConvention::Woken => "woken",
        }
    }

    pub(super) fn named(name: &str) -> Option<WaitConvention> {
        WaitConvention::STATED.into_iter().find(|stated| stated.name() == name)
    }
}

/// What was seen of the waits of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Waits with a signal before them, since their thread's previous event.
    pub woken: u64,
    /// Waits with none before them, but one before their thread's next event, which takes a lock or still has the monitor.
    pub begun: u64,
    /// Waits without a signal, either way.
    pub unsignalled: u64,
    /// They were read as beginning.
    pub read_as_begun: bool,
    /// Monitors that were given up without a release.
    pub implicit_releases: u64,
}

impl WaitCounts {
    /// Whether some waits are logged where they begin, and others where they end.
    pub fn contradict_each_other(&self) -> bool {
        self.woken > 0 && self.begun > 0
    }

    /// What these waits show, read in this way.
    fn of(waits: &[Wait], held: &[u32], convention: WaitConvention) -> WaitCounts {
        let mut counts = WaitCounts::default();
        // First events of their threads, with a signal before: nothing shows since when they wait, so they decide nothing.
        let (mut first_begun, mut first_others) = (0, 0);
        for (wait, &depth) in waits.iter().zip(held) {
            let looks_begun = wait.signal_after && (wait.is_followed_by_acquire || depth > 0);
            match (wait.signal_before, wait.previous.is_some(), looks_begun) {
                (true, true, _) => counts.woken += 1,
                (true, false, true) => first_begun += 1,
                (true, false, false) => first_others += 1,
                (false, _, true) => counts.begun += 1,
                (false, _, false) => counts.unsignalled += 1,
            }
        }
        counts.read_as_begun = match convention {
            WaitConvention::Begins => true,
            WaitConvention::Woken => false,
            WaitConvention::Detect => counts.begun > 0 && counts.woken == 0,
        };
        if counts.read_as_begun {
            counts.begun += first_begun;
            counts.unsignalled += first_others;
        } else {
            counts.woken += first_begun + first_others;
        }
        if convention == WaitConvention::Woken {
            // Read so, they are ordered after nothing.
            counts.unsignalled += counts.begun;
        }
        counts
    }
}

/// A wait whose thread holds the monitor too often for all releases and acquires to be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeepMonitor {
    pub(super) wait: EventId,
    pub(super) depth: u32,
}

/// What was seen of the waits, and for each event which one of the text it was, if that changed.
type Resolved = (WaitCounts, Option<Vec<u32>>);

/// The waits of a trace, read as they are meant. `noted` are all waits, signals and broadcasts, in order.
pub(super) fn resolve(
    builder: &mut TraceBuilder,
    noted: &[EventId],
    convention: WaitConvention,
) -> Result<Resolved, DeepMonitor> {
    // Most traces have no waits, and need no closer look.
    if !noted.iter().any(|&event| builder.columns().kind(event) == Kind::Wait) {
        return Ok((WaitCounts::of(&[], &[], convention), None));
    }
    let waits = Wait::around(builder.columns(), noted)
        .unwrap_or_else(|| Wait::all(builder.columns(), builder.threads()));
    let (locks, conditions) = builder.locks_and_conditions();
    let monitors = monitors(locks, conditions);
    let mut depths = held_at_waits(builder.columns(), &waits, &monitors, true);
    let mut counts = WaitCounts::of(&waits, &depths, convention);
    if !counts.read_as_begun {
        depths = held_at_waits(builder.columns(), &waits, &monitors, false);
    }
    counts.implicit_releases = depths.iter().filter(|&&depth| depth > 0).count() as u64;
    if !counts.read_as_begun && counts.implicit_releases == 0 {
        return Ok((counts, None));
    }
    ensure_proportionate(builder.columns(), &waits, &depths)?;
    let (columns, origins) = rewritten(builder.columns(), &waits, &monitors, &depths, counts.read_as_begun);
    builder.set_columns(columns);
    Ok((counts, Some(origins)))
}

/// A thread that takes a monitor a thousand times and waits a thousand times gives it up a million times, in two thousand lines: that
/// many events are put in only if the text has about as many itself.
fn ensure_proportionate(columns: &Columns, waits: &[Wait], depths: &[u32]) -> Result<(), DeepMonitor> {
    const ALWAYS: u64 = 1 << 20;
    const FOR_EACH: u64 = 4;
    let put_in: u64 = depths.iter().map(|&depth| 2 * u64::from(depth)).sum();
    if put_in <= ALWAYS.max(FOR_EACH * columns.len() as u64) {
        return Ok(());
    }
    let deepest = waits.iter().zip(depths).rev().max_by_key(|&(_, &depth)| depth);
    deepest.map_or(Ok(()), |(wait, &depth)| Err(DeepMonitor { wait: wait.event, depth }))
}

/// Whether a reader who is not told would take the waits of this trace, which have been woken, for ones that begin.
pub(super) fn are_misread(trace: &Trace) -> bool {
    let symbols = trace.symbols();
    if symbols.conditions.is_empty() {
        return false;
    }
    let waits = Wait::all(trace.columns(), symbols.threads.len());
    if !waits.iter().any(|wait| wait.signal_after) {
        return false;
    }
    let monitors = monitors(&symbols.locks, &symbols.conditions);
    let held = held_at_waits(trace.columns(), &waits, &monitors, true);
    WaitCounts::of(&waits, &held, WaitConvention::Detect).read_as_begun
}

/// By condition: the lock of the same name, with which it is a monitor.
fn monitors(locks: &Names, conditions: &Names) -> Vec<Option<LockId>> {
    let by_name: rustc_hash::FxHashMap<&str, u32> =
        (0..locks.len()).map(|index| (locks.get(index), index as u32)).collect();
    (0..conditions.len()).map(|index| by_name.get(conditions.get(index)).map(|&lock| LockId(lock))).collect()
}

/// A wait and what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wait {
    event: EventId,
    thread: ThreadId,
    condition: ConditionId,
    previous: Option<EventId>,
    next: Option<EventId>,
    signal_before: bool,
    signal_after: bool,
    is_followed_by_acquire: bool,
}

/// The last event of a thread, and the wait that this is, if it is one. Both are counted from 1, and 0 is none: it is written for every
/// event of a trace.
#[derive(Clone, Copy, Default)]
struct LastOfThread {
    event: u32,
    wait: u32,
}

impl Wait {
    /// All waits of a trace, in order.
    fn all(columns: &Columns, threads: usize) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        let mut last = vec![LastOfThread::default(); threads];
        // By condition: the last signal.
        let mut signals: Vec<Option<EventId>> = Vec::new();
        columns.packed().for_each(|(event, thread, kind, target)| {
            let now = LastOfThread { event: event.0 + 1, wait: 0 };
            let before = std::mem::replace(&mut last[thread.index()], now);
            if let Some(wait) = before.wait.checked_sub(1).map(|index| &mut waits[index as usize]) {
                let signal = signals.get(wait.condition.index()).copied().flatten();
                wait.next = Some(event);
                wait.signal_after = signal > Some(wait.event);
                wait.is_followed_by_acquire = matches!(kind, Kind::Acquire | Kind::Request);
            }
            match kind {
                Kind::Signal | Kind::Broadcast => {
                    let condition = ConditionId(target);
                    if signals.len() <= condition.index() {
                        signals.resize(condition.index() + 1, None);
                    }
                    signals[condition.index()] = Some(event);
                }
                Kind::Wait => {
                    let condition = ConditionId(target);
                    let signal = signals.get(condition.index()).copied().flatten();
                    let previous = before.event.checked_sub(1).map(EventId);
                    last[thread.index()].wait = waits.len() as u32 + 1;
                    waits.push(Wait {
                        event,
                        thread,
                        condition,
                        previous,
                        next: None,
                        signal_before: signal > previous,
                        signal_after: false,
                        is_followed_by_acquire: false,
                    });
                }
                _ => {}
            }
        });
        waits
    }

    /// The same, where only what is around the waits is looked at. Nothing if that takes longer than a look at all events: where threads wait
    /// for long, or there are many waits.
    fn around(columns: &Columns, noted: &[EventId]) -> Option<Vec<Wait>> {
        let mut left = columns.len();
        let mut waits: Vec<Wait> = Vec::new();
        // By condition: the signals.
        let mut signals: Vec<Vec<EventId>> = Vec::new();
        for &event in noted {
            let (thread, condition) = (columns.thread(event), ConditionId(columns.targets()[event.index()]));
            if signals.len() <= condition.index() {
                signals.resize(condition.index() + 1, Vec::new());
            }
            if columns.kind(event) != Kind::Wait {
                signals[condition.index()].push(event);
                continue;
            }
            let mut is_of_thread = |other: &EventId| {
                left = left.saturating_sub(1);
                left == 0 || columns.thread(*other) == thread
            };
            let previous = (0..event.0).rev().map(EventId).find(&mut is_of_thread);
            let next = (event.0 + 1..columns.len() as u32).map(EventId).find(&mut is_of_thread);
            if left == 0 {
                return None;
            }
            waits.push(Wait {
                event,
                thread,
                condition,
                previous,
                next,
                signal_before: signals[condition.index()].last().copied() > previous,
                signal_after: false,
                is_followed_by_acquire: next
                    .is_some_and(|next| matches!(columns.kind(next), Kind::Acquire | Kind::Request)),
            });
        }
        for wait in &mut waits {
            let signals = &signals[wait.condition.index()];
            let first_after = signals.partition_point(|&signal| signal < wait.event);
            wait.signal_after =
                signals.get(first_after).copied().zip(wait.next).is_some_and(|(signal, next)| signal < next);
        }
        Some(waits)
    }

    /// After which event it begins: its own place, or its thread's previous event.
    fn begins_after(&self, read_as_begun: bool) -> Option<EventId> {
        if read_as_begun { Some(self.event) } else { self.previous }
    }
}

/// How often each wait's thread holds its monitor where it begins to wait.
fn held_at_waits(
    columns: &Columns,
    waits: &[Wait],
    monitors: &[Option<LockId>],
    read_as_begun: bool,
) -> Vec<u32> {
    let mut depths = vec![0; waits.len()];
    // Without monitors nothing is held.
    if monitors.iter().all(Option::is_none) {
        return depths;
    }
    let mut held: rustc_hash::FxHashMap<(LockId, ThreadId), u32> = Default::default();
    // Where a wait begins comes in the order of the waits of its thread, not in that of all.
    let mut begins: Vec<(EventId, usize)> = waits
        .iter()
        .enumerate()
        .filter_map(|(index, wait)| Some((wait.begins_after(read_as_begun)?, index)))
        .collect();
    begins.sort_unstable();
    let mut begins = begins.into_iter().peekable();
    for (event, thread, op) in columns.iter() {
        match op {
            Op::Acquire(lock) => *held.entry((lock, thread)).or_default() += 1,
            Op::Release(lock) => {
                if let Some(depth) = held.get_mut(&(lock, thread)) {
                    *depth = depth.saturating_sub(1);
                }
            }
            _ => {}
        }
        while let Some((_, index)) = begins.next_if(|&(begin, _)| begin == event) {
            let monitor = monitors.get(waits[index].condition.index()).copied().flatten();
            let depth = monitor.and_then(|lock| held.get(&(lock, waits[index].thread)));
            depths[index] = depth.copied().unwrap_or(0);
        }
    }
    depths
}

/// The events in the order that they are meant in, and where each was.
fn rewritten(
    columns: &Columns,
    waits: &[Wait],
    monitors: &[Option<LockId>],
    depths: &[u32],
    read_as_begun: bool,
) -> (Columns, Vec<u32>) {
    let mut new = Columns::with_capacity(columns.len());
    let mut origins = Vec::with_capacity(columns.len());
    // What is put in after an event: releases. And before or at it: the end of a wait.
    let mut releases: rustc_hash::FxHashMap<EventId, Vec<usize>> = Default::default();
    let mut ends: rustc_hash::FxHashMap<EventId, Vec<usize>> = Default::default();
    for (index, wait) in waits.iter().enumerate() {
        if let Some(begin) = wait.begins_after(read_as_begun).filter(|_| depths[index] > 0) {
            releases.entry(begin).or_default().push(index);
        }
        if let Some(end) = if read_as_begun { wait.next } else { Some(wait.event) } {
            ends.entry(end).or_default().push(index);
        }
    }
    let monitor = |index: usize| monitors[waits[index].condition.index()];
    for (event, thread, op) in columns.iter() {
        for &index in ends.get(&event).into_iter().flatten() {
            let wait = waits[index].event;
            new.copy_from(columns, wait);
            origins.push(wait.0);
            for _ in 0..depths[index] {
                if let Some(lock) = monitor(index) {
                    new.push(thread, Op::Acquire(lock), columns.location(wait));
                    origins.push(wait.0);
                }
            }
        }
        if !matches!(op, Op::Wait(_)) {
            new.copy_from(columns, event);
            origins.push(event.0);
        }
        for &index in releases.get(&event).into_iter().flatten() {
            let wait = waits[index].event;
            for _ in 0..depths[index] {
                if let Some(lock) = monitor(index) {
                    new.push(thread, Op::Release(lock), columns.location(wait));
                    origins.push(wait.0);
                }
            }
        }
    }
    (new, origins)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{LocationId, VariableId};

    proptest! {
        /// The naive twin is the look at all events.
        #[test]
        fn looking_around_waits_sees_what_looking_at_all_events_sees(
            events in prop::collection::vec((0..4u32, 0..8u32, 0..3u32), 0..60),
        ) {
            let mut columns = Columns::with_capacity(0);
            let mut noted = Vec::new();
            for (thread, what, target) in events {
                let condition = ConditionId(target);
                let op = match what {
                    0 => Op::Wait(condition),
                    1 => Op::Signal(condition),
                    2 => Op::Broadcast(condition),
                    3 => Op::Acquire(LockId(target)),
                    4 => Op::Request(LockId(target)),
                    _ => Op::Read(VariableId(target)),
                };
                if what < 3 {
                    noted.push(EventId::new(columns.len()));
                }
                columns.push(ThreadId(thread), op, LocationId(0));
            }
            let all = Wait::all(&columns, 4);
            match Wait::around(&columns, &noted) {
                Some(around) => prop_assert_eq!(around, all),
                None => prop_assert!(!all.is_empty(), "there is nothing to look around"),
            }
        }
    }

    #[test]
    fn looking_around_a_wait_is_cheap_in_a_long_trace() {
        let mut columns = Columns::with_capacity(0);
        let access =
            |columns: &mut Columns| columns.push(ThreadId(0), Op::Read(VariableId(0)), LocationId(0));
        (0..50).for_each(|_| access(&mut columns));
        let wait = EventId::new(columns.len());
        columns.push(ThreadId(0), Op::Wait(ConditionId(0)), LocationId(0));
        (0..50).for_each(|_| access(&mut columns));
        assert_eq!(Wait::around(&columns, &[wait]), Some(Wait::all(&columns, 1)));
    }
}
