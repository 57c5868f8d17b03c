//! A wide counter that is loaded and stored: an update is lost.


use std::thread;

use portable_atomic::{AtomicU128, Ordering};

static TOTAL: AtomicU128 = AtomicU128::new(0);

fn add() {
    let before = TOTAL.load(Ordering::SeqCst);
    TOTAL.store(before + 1, Ordering::SeqCst);
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    assert_eq!(TOTAL.load(Ordering::SeqCst), 2);
}
