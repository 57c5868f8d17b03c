//! Adds 1 twice, each time in two critical sections: an update can get lost, and then the assertion fails.
use std::sync::Mutex;
use std::thread;

static TOTAL: Mutex<u64> = Mutex::new(0);

fn add() {
    let before = *TOTAL.lock().unwrap();
    *TOTAL.lock().unwrap() = before + 1;
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    assert_eq!(*TOTAL.lock().unwrap(), 2);
}
