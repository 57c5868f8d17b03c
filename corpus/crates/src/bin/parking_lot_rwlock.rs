//! A cache whose readers and writers hold its lock for all they do.


use std::sync::Arc;
use std::thread;

use parking_lot::RwLock;

fn add(counter: &RwLock<u32>) {
    let value = counter.upgradable_read();
    let next = *value + 1;
    *parking_lot::RwLockUpgradableReadGuard::upgrade(value) = next;
}

fn main() {
    let counter = Arc::new(RwLock::new(0));
    let shared = Arc::clone(&counter);
    let other = thread::spawn(move || add(&shared));
    add(&counter);
    other.join().unwrap();
    assert_eq!(*counter.read(), 2);
}
