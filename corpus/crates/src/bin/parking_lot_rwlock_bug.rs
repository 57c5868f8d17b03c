//! The counter is read under the lock and written under it later: an update is lost.


use std::sync::Arc;
use std::thread;

use parking_lot::RwLock;

fn add(counter: &RwLock<u32>) {
    let next = *counter.read() + 1;
    *counter.write() = next;
}

fn main() {
    let counter = Arc::new(RwLock::new(0));
    let shared = Arc::clone(&counter);
    let other = thread::spawn(move || add(&shared));
    add(&counter);
    other.join().unwrap();
    assert_eq!(*counter.read(), 2);
}
