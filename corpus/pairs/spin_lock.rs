// Correct: a spin lock taken by swap with Acquire and freed with Release.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Spin {
    taken: AtomicBool,
    count: UnsafeCell<u32>,
}

// SAFETY: `count` is only touched by the thread that took the lock.
unsafe impl Sync for Spin {}

static SPIN: Spin = Spin { taken: AtomicBool::new(false), count: UnsafeCell::new(0) };

fn lock() {
    while SPIN.taken.swap(true, Ordering::Acquire) {
        thread::yield_now();
    }
}

fn unlock() {
    SPIN.taken.store(false, Ordering::Release);
}

fn add() {
    lock();
    // SAFETY: this thread holds the lock.
    unsafe { *SPIN.count.get() += 1 };
    unlock();
}

fn main() {
    let threads = [(); 2].map(|()| thread::spawn(add));
    for thread in threads {
        thread.join().unwrap();
    }
    // SAFETY: both threads have been joined.
    let count = unsafe { *SPIN.count.get() };
    assert_eq!(count, 2, "an addition was lost");
    println!("count {count}");
}
