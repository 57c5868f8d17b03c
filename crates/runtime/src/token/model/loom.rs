//! Loom's parts: every interleaving is run.

use std::sync::atomic::AtomicI64;

pub(super) use loom::cell::UnsafeCell;
pub(super) use loom::sync::atomic::{AtomicU32, Ordering, fence};
pub(super) use loom::sync::{Arc, Condvar, Mutex};
pub(super) use loom::thread;

/// Runs a model in every possible way, with this number of preemptions.
pub(super) fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // LOOM_MAX_PREEMPTIONS comes first: sanitizers make the models slow.
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 20_000;
    let runs = std::sync::Arc::new(AtomicI64::new(0));
    let counted = std::sync::Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    assert!(runs > 3, "a model with {runs} runs is none");
    println!("{runs} runs");
}
