//! Why tests may come out otherwise than ThreadSanitizer says. All tests are run; a reason is looked for where the outcome is another.

/// The beginnings of the names of tests, and the reason in a sentence.
const REASONS: &[(&str, &str)] = &[
    (
        "ignore_lib0",
        "The report that it expects without suppressions is a false alarm: the library's own atomic operations, which are not instrumented, order the accesses.",
    ),
    (
        "ignore_lib1",
        "The report that it expects without suppressions is a false alarm: the library's own atomic operations, which are not instrumented, order the accesses.",
    ),
    (
        "ignore_lib5",
        "The report that it expects without suppressions is a false alarm: the library's own atomic operations, which are not instrumented, order the accesses.",
    ),
    (
        "signal_in_mutex_lock",
        "Its handler takes a lock, which is not async-signal-safe; ThreadSanitizer looks for allocation only.",
    ),
    (
        "ignore_lib2",
        "ThreadSanitizer gives up on a suppression that matches two libraries; Foretell does not.",
    ),
    ("ignore_lib3", "ThreadSanitizer gives up if an ignored library is unloaded; Foretell does not."),
    ("force_background_thread", "It is about ThreadSanitizer's own thread."),
    ("flush_memory", "ThreadSanitizer forgets accesses when its memory is flushed; Foretell does not."),
    (
        "fork_multithreaded.cpp",
        "ThreadSanitizer refuses threads in a child process of a program with threads; Foretell does not.",
    ),
    ("Linux/mutex_robust2", "The report that it expects is a false alarm, as its own comment says."),
    (
        "race_on_barrier2",
        "POSIX allows a barrier to be destroyed as soon as nobody is blocked on it, and the C library sees to the rest.",
    ),
    ("real_deadlock_detector_stress", "It runs longer than the time given."),
    ("static_init7", "It runs longer than the time given on a busy machine."),
    ("deep_stack1", "It runs longer than the time given on a busy machine."),
    (
        "pthread_atfork_deadlock3",
        "The handler of a signal comes after the `pthread_kill` that sends it, so the accesses are ordered; ThreadSanitizer takes that for no order.",
    ),
    ("stack_sync_reuse", "Its race is real, as its own comment says; ThreadSanitizer forgets it."),
    ("signal_recursive", "Disabled by its own REQUIRES line."),
    ("must_deadlock", "Expected to fail for ThreadSanitizer by its own XFAIL line."),
    ("sunrpc", "It needs a library that is not installed."),
];

/// The reason for a test, if there is one.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| *why)
}
