//! Two spin locks, taken in one order.


use std::sync::Arc;
use std::thread;

use spin::Mutex;

fn main() {
    let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let (first, second) = (Arc::clone(&a), Arc::clone(&b));
    let other = thread::spawn(move || {
        let mut first = first.lock();
        *second.lock() += 1;
        *first += 1;
    });
    {
        let mut first = a.lock();
        *b.lock() += 1;
        *first += 1;
    }
    other.join().unwrap();
    assert_eq!(*a.lock() + *b.lock(), 4);
}
