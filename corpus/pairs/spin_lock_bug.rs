// Wrong: the lock is tested and taken in two steps, so two threads can find it free and both add.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Spin {
    taken: AtomicBool,
    count: UnsafeCell<u32>,
}

// SAFETY: wrong: two threads can take the lock.
unsafe impl Sync for Spin {}

static SPIN: Spin = Spin { taken: AtomicBool::new(false), count: UnsafeCell::new(0) };

fn lock() {
    while SPIN.taken.load(Ordering::Acquire) {
        thread::yield_now();
    }
    SPIN.taken.store(true, Ordering::Relaxed);
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
