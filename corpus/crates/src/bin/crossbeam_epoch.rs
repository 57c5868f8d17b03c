//! A value is replaced, and the old one is freed when no reader can have it.


use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use crossbeam_epoch::{self as epoch, Atomic, Owned};

fn main() {
    let value = Arc::new(Atomic::new(1u64));
    let shared = Arc::clone(&value);
    let reader = thread::spawn(move || {
        let guard = epoch::pin();
        let seen = shared.load(Ordering::Acquire, &guard);
        // SAFETY: what is pinned is not freed.
        assert_ne!(unsafe { *seen.deref() }, 0);
    });
    {
        let guard = epoch::pin();
        let old = value.swap(Owned::new(2), Ordering::AcqRel, &guard);
        // SAFETY: nobody can load it any more.
        unsafe { guard.defer_destroy(old) };
    }
    reader.join().unwrap();
}
