//! The consumer waits without looking: if the producer comes first, it waits for good.


use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

fn main() {
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let producer = thread::spawn(move || {
        *theirs.0.lock() = Some(7);
        theirs.1.notify_one();
    });
    let mut value = shared.0.lock();
    shared.1.wait(&mut value);
    assert_eq!(*value, Some(7));
    drop(value);
    producer.join().unwrap();
}
