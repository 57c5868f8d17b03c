//! Options of ThreadSanitizer that turn kinds of reports off, for programs that set them in `TSAN_OPTIONS` or return them from
//! `__tsan_default_options`.

use findings::{Finding, FindingKind};
use trace::{EventId, Library, MisuseKind, Trace};

use crate::context::Context;

/// A kind of report that an option turns off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportFlag {
    /// `report_bugs`: everything.
    Bugs,
    /// `report_thread_leaks`: threads that are neither joined nor detached.
    ThreadLeaks,
    /// `report_destroy_locked`: locks that are destroyed while they are held.
    DestroyLocked,
    /// `report_mutex_bugs`: locks that are used in a wrong way.
    MutexBugs,
    /// `report_signal_unsafe`: what a signal handler must not do.
    SignalUnsafe,
    /// `report_atomic_races`: races between an atomic and a plain access.
    AtomicRaces,
    /// `detect_deadlocks`.
    Deadlocks,
    /// `ignore_noninstrumented_modules`: what happens in libraries that are not instrumented.
    UninstrumentedCode,
}

impl ReportFlag {
    /// The kind that an option turns off by this value, if it does.
    pub fn turned_off_by(name: &str, value: bool) -> Option<ReportFlag> {
        if name == "ignore_noninstrumented_modules" {
            return value.then_some(ReportFlag::UninstrumentedCode);
        }
        let flag = match name {
            "report_bugs" => ReportFlag::Bugs,
            "report_thread_leaks" => ReportFlag::ThreadLeaks,
            "report_destroy_locked" => ReportFlag::DestroyLocked,
            "report_mutex_bugs" => ReportFlag::MutexBugs,
            "report_signal_unsafe" => ReportFlag::SignalUnsafe,
            "report_atomic_races" => ReportFlag::AtomicRaces,
            "detect_deadlocks" => ReportFlag::Deadlocks,
            _ => return None,
        };
        (!value).then_some(flag)
    }

    /// Whether a finding is of this kind.
    pub fn covers(self, context: &Context<'_>, finding: &Finding) -> bool {
        let misuse = misuse_of(context.trace, finding);
        match self {
            ReportFlag::Bugs => true,
            ReportFlag::ThreadLeaks => misuse == Some(MisuseKind::NotJoined),
            ReportFlag::DestroyLocked => misuse == Some(MisuseKind::DestroyOfLocked),
            ReportFlag::MutexBugs => misuse.is_some_and(is_about_locks),
            ReportFlag::SignalUnsafe => misuse.is_some_and(|misuse| {
                matches!(misuse, MisuseKind::AllocationInHandler | MisuseKind::LockInHandler)
            }),
            ReportFlag::AtomicRaces => {
                let is_atomic =
                    |event: EventId| context.trace.op(event).access().is_some_and(|access| access.atomic);
                finding.kind == FindingKind::Race && finding.named_events().any(is_atomic)
            }
            ReportFlag::Deadlocks => {
                finding.kind == FindingKind::Deadlock || misuse == Some(MisuseKind::BothOrders)
            }
            ReportFlag::UninstrumentedCode => {
                let libraries = &context.trace.metadata().libraries;
                libraries
                    .iter()
                    .any(|library| !library.is_instrumented && has_event_in(context, finding, library))
            }
        }
    }
}

/// Whether an event of a finding lies in the code of a library.
pub(crate) fn has_event_in(context: &Context<'_>, finding: &Finding, library: &Library) -> bool {
    let trace = context.trace;
    let location = |event: EventId| trace.symbols().location(trace.location(event));
    finding.named_events().any(|event| library.locations.iter().any(|place| place == location(event)))
}

fn is_about_locks(misuse: MisuseKind) -> bool {
    match misuse {
        MisuseKind::UnlockByAnother
        | MisuseKind::UnlockOfUnlocked
        | MisuseKind::DoubleLock
        | MisuseKind::ReadUnlockOfWriteLock
        | MisuseKind::WriteUnlockOfReadLock
        | MisuseKind::DestroyOfLocked
        | MisuseKind::LockHeldHere
        | MisuseKind::UseAfterDestroy
        | MisuseKind::NotInitialised => true,
        MisuseKind::DestroyInUse
        | MisuseKind::BothOrders
        | MisuseKind::TwoMutexes
        | MisuseKind::NotJoined
        | MisuseKind::JoinedTwice
        | MisuseKind::AllocationInHandler
        | MisuseKind::LockInHandler
        | MisuseKind::ErrnoInHandler
        | MisuseKind::IgnoringAtEnd
        | MisuseKind::UseAfterFree => false,
    }
}

/// What a finding says is misused, as its trace has it.
pub(crate) fn misuse_of(trace: &Trace, finding: &Finding) -> Option<MisuseKind> {
    if finding.kind != FindingKind::Misuse {
        return None;
    }
    let is_it = |misuse: &&trace::Misuse| {
        finding.events == [i64::from(misuse.event)]
            && finding.object == misuse.object
            && finding.locations == [misuse.location.as_str()]
    };
    trace.metadata().misuses.iter().find(is_it).map(|misuse| misuse.what)
}
