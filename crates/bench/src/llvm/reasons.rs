//! Why tests may come out otherwise than ThreadSanitizer says. All tests are run; a reason is looked for where the outcome is another.

/// The beginnings of the names of tests, and the reason in a sentence.
const REASONS: &[(&str, &str)] = &[
    ("java_", "Java's heap is not known: objects that are moved, found or finalized are ordinary memory."),
    ("fiber_race", "Fibers of one thread are in that thread's order and do not race with each other."),
    (
        "ignore_lib0",
        "`called_from_lib:` does not match a library that has debug information; `ignore_noninstrumented_modules` is not read.",
    ),
    ("ignore_lib1", "`called_from_lib:` does not match a library that has debug information."),
    ("ignore_lib5", "`called_from_lib:` does not match a library that has debug information."),
    ("ignore_lib6", "`called_from_lib:` does not match a library that has debug information."),
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
    ("Linux/user_", "The program brings its own C library functions, which call ThreadSanitizer's by name."),
    ("race_on_barrier2", "POSIX allows a barrier to be destroyed by the thread that arrived last."),
    (
        "ignore_sync",
        "The lock whose order is ignored still keeps the accesses apart, so no replay shows the race.",
    ),
    ("mutex_cycle", "One thread takes the locks in a cycle, which cannot deadlock."),
    ("deadlock_detector_stress", "One thread takes the locks in a cycle, which cannot deadlock."),
    ("real_deadlock_detector_stress", "It runs longer than the time given."),
    ("restore_stack", "It runs longer than the time given on a busy machine."),
    ("static_init7", "It runs longer than the time given on a busy machine."),
    ("deep_stack1", "It runs longer than the time given on a busy machine."),
    ("free_race2", "The program has one thread, and uses of freed memory are looked for between threads."),
    (
        "atomic_free3",
        "Only the memory order lets `delete` race with the store; orders of uses and frees do not depend on memory orders.",
    ),
    (
        "malloc_stack",
        "Only the memory order lets `new` race with the store; allocation does not depend on memory orders.",
    ),
    (
        "ignored-interceptors-mmap",
        "Only the memory order lets `mmap` race with the store; allocation does not depend on memory orders.",
    ),
    ("custom_mutex2", "The home-made lock spins another number of times in a replay, which then diverges."),
    ("stack_sync_reuse", "Its race is real, as its own comment says; ThreadSanitizer forgets it."),
    ("signal_recursive", "Disabled by its own REQUIRES line."),
    ("must_deadlock", "Expected to fail for ThreadSanitizer by its own XFAIL line."),
    ("sunrpc", "It needs a library that is not installed."),
];

/// The reason for a test, if there is one.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| *why)
}
