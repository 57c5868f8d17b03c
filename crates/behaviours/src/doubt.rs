//! Why a search may have missed behaviours.

use std::fmt;

/// Something that a program or a run did for which not every behaviour is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// The run is too long to be looked at as a whole.
    TooLong,
    /// There are too many other sources of reads to try each.
    TooManyTargets,
    /// The engine gave up on a schedule.
    HardSchedule,
    /// A run did not follow its schedule: it depends on something besides the schedule.
    Nondeterministic,
    /// A wait with a time limit.
    TimedWait,
    /// A wait ended without being woken.
    UnprovokedWakeUp,
    /// Several threads waited when one was woken.
    SeveralWaiters,
    /// A barrier.
    Barrier,
    /// A handler of a signal, or a wait for one.
    Signal,
    /// Annotations for race detectors.
    Annotation,
    /// A lock whose waiting is out of sight.
    HiddenWait,
    /// Threads that the runtime did not see start.
    UnknownThread,
    /// A plain read and write of shared memory that the compiler reports as one.
    CompoundAccess,
    /// The program ended while other threads were still running.
    UnfinishedThreads,
    /// Several threads waited for something else than locks and wake-ups when a run deadlocked.
    Deadlock,
    /// The run was cut off.
    CutOff,
    /// The program may read the time.
    Time,
    /// The program may draw random numbers.
    Chance,
    /// The program may read files or other input, which its threads can change.
    Input,
    /// Code whose accesses are not recorded.
    Uninstrumented,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::TooLong => "a run is too long",
            Doubt::TooManyTargets => "there are too many targets",
            Doubt::HardSchedule => "a schedule was too hard to find",
            Doubt::Nondeterministic => "runs depend on more than the schedule",
            Doubt::TimedWait => "the program waits with a time limit",
            Doubt::UnprovokedWakeUp => "a wait ended without being woken",
            Doubt::SeveralWaiters => "several threads wait for one wake-up",
            Doubt::Barrier => "the program uses barriers",
            Doubt::Signal => "the program handles signals",
            Doubt::Annotation => "the program is annotated for race detectors",
            Doubt::HiddenWait => "the program waits for locks out of sight",
            Doubt::UnknownThread => "threads were started out of sight",
            Doubt::CompoundAccess => "a shared variable is read and written in one instruction",
            Doubt::UnfinishedThreads => "the program ends before its threads",
            Doubt::Deadlock => "a run deadlocked",
            Doubt::CutOff => "a run was cut off",
            Doubt::Time => "the program can read the time",
            Doubt::Chance => "the program can draw random numbers",
            Doubt::Input => "the program can read files or other input",
            Doubt::Uninstrumented => "a part of the program is not instrumented",
        })
    }
}
