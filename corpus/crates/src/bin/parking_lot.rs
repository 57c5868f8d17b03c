//! Two accounts, locked in one order by both threads.


use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

fn main() {
    let (a, b) = (Arc::new(Mutex::new(10)), Arc::new(Mutex::new(10)));
    let (from, to) = (Arc::clone(&a), Arc::clone(&b));
    let other = thread::spawn(move || {
        let mut from = from.lock();
        let mut to = to.lock();
        *from -= 1;
        *to += 1;
    });
    {
        let mut from = a.lock();
        let mut to = b.lock();
        *to -= 2;
        *from += 2;
    }
    other.join().unwrap();
    assert_eq!(*a.lock() + *b.lock(), 20);
}
