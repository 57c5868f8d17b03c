//! Failures: runs that crashed, aborted, failed an assertion, panicked or deadlocked, each kind of failure once.
//!
//! Every run of a hunt is counted here, whatever it was made for. A failure is a finding whose schedule is the whole recorded order of
//! the run that failed.

use std::collections::{BTreeMap, BTreeSet};

use check::Question;
use report::{FailureThread, Finding, FindingKind, FirstFailure, Harm, Rung};
use run::failure::RunFailure;
use trace::{Ending, EventId, LastWait, LockId, Op, ThreadEvents, ThreadId, ThreadPath, Trace};

/// How the runs of a hunt ended.
#[derive(Debug, Default)]
pub(super) struct RunCounts {
    /// Runs that came to an end of their own.
    ended: u64,
    /// How often each failure was met, by its identity.
    failed: BTreeMap<String, u64>,
    /// The exit statuses of those that did not fail.
    pub(super) statuses: BTreeSet<i32>,
    /// All runs.
    pub(super) all: u64,
    /// The first that failed.
    pub(super) first_failure: Option<FirstFailure>,
}

impl RunCounts {
    /// Counts a run; whether it failed as none before.
    pub(super) fn count(&mut self, ending: Ending, failure: Option<&RunFailure>) -> bool {
        self.all += 1;
        self.ended += u64::from(ending.is_own() || failure.is_some());
        let Some(failure) = failure else {
            if let Ending::Exited(status) = ending {
                self.statuses.insert(status);
            }
            return false;
        };
        self.note_failure();
        let times = self.failed.entry(failure.identity()).or_default();
        *times += 1;
        *times == 1
    }

    /// The run that was counted last failed, or was led into a deadlock and ended there.
    pub(super) fn note_failure(&mut self) {
        self.first_failure.get_or_insert_with(|| FirstFailure {
            run: self.all,
            cpu_ms: run::processor_time().as_millis() as u64,
        });
    }

    /// Counts runs that only have a number.
    pub(super) fn count_more(&mut self, runs: u64) {
        self.all += runs;
    }

    /// Writes into the findings how often each failure was met.
    pub(super) fn settle(&self, findings: &mut [Finding]) {
        for failure in findings.iter_mut().filter_map(|finding| finding.failure.as_mut()) {
            failure.failed_runs = self.failed.get(&failure.identity).copied().unwrap_or(1);
            failure.runs = self.ended.max(failure.failed_runs);
            failure.every_run = failure.failed_runs == failure.runs;
        }
    }
}

/// The finding that a failed run is; its id is still to be given. A run in which no thread can go on is a deadlock, everything else a failure.
pub(super) fn finding(failure: &RunFailure, trace: &Trace, recording: Option<String>) -> Finding {
    let threads = ThreadEvents::of(trace);
    let by_path = |path: &ThreadPath| thread_of(trace, path);
    let cycle = if failure.is_hang() { blocked_in_a_cycle(trace, &threads) } else { Vec::new() };
    let is_cycle = !cycle.is_empty();
    let stuck = if failure.is_hang() { stuck(trace) } else { Vec::new() };
    let failing = failure.thread.as_ref().and_then(by_path);
    let last = failing.and_then(|thread| threads.of_thread(thread).last().copied());
    let last = last.or_else(|| trace.len().checked_sub(1).map(EventId::new));
    let (kind, events) = match (is_cycle, stuck.is_empty()) {
        (true, _) => (FindingKind::Deadlock, cycle),
        (false, false) => (FindingKind::Deadlock, stuck.iter().map(|wait| EventId(wait.event)).collect()),
        (false, true) => (FindingKind::Failure, last.into_iter().collect()),
    };
    let place = |&event: &EventId| trace.symbols().location(trace.location(event)).to_owned();
    let locations = match (kind, failure.place.is_empty() || failure.is_hang()) {
        (FindingKind::Failure, false) => vec![failure.place.clone()],
        (FindingKind::Deadlock, _) if !is_cycle => stuck.iter().map(|wait| wait.location.clone()).collect(),
        _ => events.iter().map(place).collect(),
    };
    let object = match kind {
        FindingKind::Deadlock if is_cycle => locks(trace, &events),
        FindingKind::Deadlock => {
            let objects: BTreeSet<&str> = stuck.iter().map(|wait| wait.object.as_str()).collect();
            objects.into_iter().collect::<Vec<_>>().join(", ")
        }
        _ => failure.message.clone(),
    };
    let counts = (0..trace.symbols().threads.len())
        .map(|thread| threads.of_thread(ThreadId::new(thread)).len() as u32)
        .collect();
    Finding {
        harm: Some(if failure.is_hang() { Harm::Hang } else { Harm::Failure }),
        guaranteed: true,
        events: events.iter().map(|event| i64::from(event.0)).collect(),
        object,
        locations,
        schedule: (0..trace.len()).map(EventId::new).collect(),
        recording,
        failure: Some(report::Failure { is_cycle, ..described(failure, trace) }),
        ..Finding::new(kind, Rung::Confirmed, Question::Cut(counts).written(trace))
    }
}

fn described(failure: &RunFailure, trace: &Trace) -> report::Failure {
    let name = |path: &ThreadPath| match thread_of(trace, path) {
        Some(thread) => trace.symbols().thread(thread).to_owned(),
        None => path.to_string(),
    };
    let waits_for = |thread: &str| {
        let wait = trace.metadata().waits.iter().find(|wait| wait.thread == thread)?;
        Some(if wait.is_join { format!("the end of {}", wait.object) } else { wait.object.clone() })
    };
    let threads = failure.threads.iter().map(|at_end| FailureThread {
        thread: name(&at_end.thread),
        state: at_end.state.name().to_owned(),
        waits_for: waits_for(&name(&at_end.thread)),
        stack: at_end.stack.iter().map(ToString::to_string).collect(),
    });
    let status = match failure.ending {
        Ending::Exited(status) => Some(status),
        _ => None,
    };
    report::Failure {
        message: failure.message.clone(),
        identity: failure.identity(),
        signal: failure.ending.fault(),
        status,
        thread: failure.thread.as_ref().map(name),
        stack: failure.stack.iter().map(ToString::to_string).collect(),
        threads: threads.collect(),
        switches: switches(trace),
        ..report::Failure::default()
    }
}

/// What the threads of a deadlocked run wait for, without those that only wait for the end of others.
fn stuck(trace: &Trace) -> Vec<&LastWait> {
    let waits = &trace.metadata().waits;
    let inner: Vec<&LastWait> = waits.iter().filter(|wait| !wait.is_join).collect();
    if inner.is_empty() { waits.iter().collect() } else { inner }
}

/// How often a trace goes from one thread to another.
fn switches(trace: &Trace) -> u64 {
    let threads: Vec<ThreadId> = trace.events().map(|(_, thread, _)| thread).collect();
    threads.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

/// The thread of a trace that has this path.
pub(crate) fn thread_of(trace: &Trace, path: &ThreadPath) -> Option<ThreadId> {
    let notes = trace.notes()?;
    let mut threads = (0..trace.symbols().threads.len()).map(ThreadId::new);
    threads.find(|&thread| notes.path(thread).as_ref() == Some(path))
}

/// Requests that a deadlocked trace ends with, each for a lock that the next one's thread holds and the last for one of the first's; empty
/// if there is no such circle. A thread that wants a lock it already holds is one by itself.
fn blocked_in_a_cycle(trace: &Trace, threads: &ThreadEvents) -> Vec<EventId> {
    let mut holders: BTreeMap<LockId, Vec<ThreadId>> = BTreeMap::new();
    for (_, thread, op) in trace.events() {
        match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) => holders.entry(lock).or_default().push(thread),
            Op::Release(lock) | Op::ReleaseShared(lock) => {
                let held_by = holders.entry(lock).or_default();
                if let Some(index) = held_by.iter().rposition(|&holder| holder == thread) {
                    held_by.remove(index);
                }
            }
            _ => {}
        }
    }
    // For each blocked thread: its request, and who holds what it wants.
    let blocked = |thread: ThreadId| {
        let last = *threads.of_thread(thread).last()?;
        let (Op::Request(lock) | Op::RequestShared(lock)) = trace.op(last) else { return None };
        let held_by = holders.get(&lock)?;
        let own = held_by.iter().find(|&&holder| holder == thread);
        Some((last, *own.or(held_by.first())?))
    };
    for start in (0..trace.symbols().threads.len()).map(ThreadId::new) {
        let (mut thread, mut events) = (start, Vec::new());
        while let Some((request, holder)) = blocked(thread).filter(|(request, _)| !events.contains(request)) {
            events.push(request);
            thread = holder;
        }
        if thread == start && !events.is_empty() {
            return events;
        }
    }
    Vec::new()
}

/// The names of the locks that are waited for.
fn locks(trace: &Trace, requests: &[EventId]) -> String {
    let name = |&event: &EventId| match trace.op(event) {
        Op::Request(lock) | Op::RequestShared(lock) => Some(trace.symbols().lock(lock).to_owned()),
        _ => None,
    };
    requests.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}
