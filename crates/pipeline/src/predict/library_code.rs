//! Findings inside library code: reference counts, channel queues and one-time initialisation in Rust's std. The code is generic and
//! compiled with the program, so its accesses are recorded, and they must be: they order the program's own accesses. But such code is
//! written so that one access can come between two others; that is not a bug of the program. The same holds for atomics in the crates
//! that a program is built with: thread pools, channels and locks are made of them.

use report::FindingKind;
use trace::{EventId, Trace};

/// Where the library is about threads. The allocator is where the loader puts the last change of a count that it did not see.
const PARTS: [&str; 6] = [
    "std/src/sync/",
    "std/src/thread/",
    "std/src/sys/",
    "std/src/alloc.rs",
    "alloc/src/sync.rs",
    "alloc/src/alloc.rs",
];

/// Where std has guards.
const GUARDS: [&str; 3] = ["mutex.rs", "rwlock.rs", "reentrant_lock.rs"];

/// Whether a bug is about the order of accesses inside of libraries alone. A race is never passed over.
pub(super) fn is_of_libraries(trace: &Trace, kind: FindingKind, events: &[Option<EventId>]) -> bool {
    let kind = matches!(kind, FindingKind::Atomicity | FindingKind::Nondeterminism | FindingKind::Order);
    kind && events.iter().flatten().all(|&event| {
        is_in_std(trace, event)
            || is_atomic_of_a_crate(trace, event)
            || is_in_kernel(trace, event)
            || is_count_of_owners(trace, event)
    })
}

/// Whether an event changes or reads how many `std::shared_ptr` own a thing. The library does so wherever the user copies one.
fn is_count_of_owners(trace: &Trace, event: EventId) -> bool {
    let variable = trace.op(event).access().map(|access| access.variable);
    variable.is_some_and(|variable| is_count(trace.symbols().variable(variable)))
}

/// Whether a variable of this name is such a count, as the loader names it.
fn is_count(name: &str) -> bool {
    name.starts_with("shared ") && ["->use_count", "->weak_count"].iter().any(|count| name.ends_with(count))
}

/// Whether an event uses what the kernel keeps for threads to wait for each other. What comes between two such uses is what they are for.
fn is_in_kernel(trace: &Trace, event: EventId) -> bool {
    let variable = trace.op(event).access().map(|access| access.variable);
    variable.is_some_and(|variable| trace::is_kernel_object(trace.symbols().variable(variable)))
}

/// Whether an event is an atomic access in the code of a crate that is not the user's own.
fn is_atomic_of_a_crate(trace: &Trace, event: EventId) -> bool {
    trace.op(event).access().is_some_and(|access| access.atomic)
        && file_of_code(trace, event).is_some_and(is_of_a_crate)
}

/// Whether an event happened in a function of std that is about threads, whatever the user called it for. What a guard gives access to is the
/// user's, not std's.
fn is_in_std(trace: &Trace, event: EventId) -> bool {
    let is_plain = trace.op(event).access().is_some_and(|access| !access.atomic);
    let file = file_of_code(trace, event).and_then(library_file);
    file.is_some_and(|file| is_about_threads(file) && !(is_plain && is_of_guards(file)))
}

/// Whether a file of std has the guards through which the user reads and writes what a lock protects. Its own state there is atomic.
fn is_of_guards(file: &str) -> bool {
    let Some(file) = file.strip_prefix("std/src/sync/") else { return false };
    let file = file.strip_prefix("poison/").unwrap_or(file);
    GUARDS.iter().any(|guards| file.starts_with(guards))
}

/// The file of the innermost function that is more than a way to say what is done.
fn file_of_code(trace: &Trace, event: EventId) -> Option<&str> {
    let notes = trace.notes()?;
    let stack = notes.stack(event).ok()??;
    let mut files = notes.frames_of(stack).map(|frame| frame.split('\t').nth(1).unwrap_or_default());
    files.find(|file| library_file(file).is_some())
}

/// Whether a file is where cargo puts the crates that a program is built with.
fn is_of_a_crate(file: &str) -> bool {
    file.contains("/registry/src/") || file.contains("/git/checkouts/")
}

/// The file of Rust's library, or nothing of it if it is another; none where a function is only a way to say what is done.
fn library_file(file: &str) -> Option<&str> {
    let shipped = file.starts_with("/rustc/") || file.contains("/rustlib/src/");
    match file.split_once("/library/").filter(|_| shipped) {
        Some((_, file)) if file.starts_with("core/") || file.starts_with("alloc/src/boxed.rs") => None,
        Some((_, file)) => Some(file),
        None => Some(""),
    }
}

fn is_about_threads(file: &str) -> bool {
    PARTS.iter().any(|part| file.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_owners_are_the_librarys() {
        assert!(is_count("shared mutex (a.cc:10)->use_count") && is_count("shared A (a.cc:1)#2->weak_count"));
        assert!(!is_count("cache (a.cc:10)->use_count") && !is_count("shared A (a.cc:1)->value"));
    }

    #[test]
    fn files_tell_whose_code_it_is() {
        let of_std = |file: &'static str| library_file(file).map(is_about_threads);
        assert_eq!(of_std("/rustc/5980/library/core/src/sync/atomic.rs:3891"), None);
        assert_eq!(of_std("/rustc/5980/library/std/src/sync/mpmc/list.rs:47"), Some(true));
        assert_eq!(of_std("/home/u/.rustup/lib/rustlib/src/rust/library/alloc/src/sync.rs:2"), Some(true));
        assert_eq!(of_std("/rustc/5980/library/alloc/src/vec/mod.rs:10"), Some(false));
        assert_eq!(of_std("library/std/src/sync/mine.rs:1"), Some(false));
        assert_eq!(of_std("src/main.rs:7"), Some(false));
        assert!(is_of_a_crate("/home/u/.cargo/registry/src/index-1949/rayon-core-1.13.0/src/latch.rs:33"));
        assert!(is_of_a_crate("/home/u/.cargo/git/checkouts/pool-12ab/src/lib.rs:4"));
        assert!(!is_of_a_crate("/home/u/pool/src/registry.rs:4"));
    }
}
