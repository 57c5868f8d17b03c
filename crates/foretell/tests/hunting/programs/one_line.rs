//! A read and a write of the same value in two critical sections, all on one line.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let total = Arc::new(Mutex::new(0));
    let add = |total: Arc<Mutex<i32>>| { thread::spawn(move || { let seen = *total.lock().unwrap(); *total.lock().unwrap() = seen + 1; }) };
    let workers = [add(total.clone()), add(total.clone())];
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(*total.lock().unwrap(), 2);
}
