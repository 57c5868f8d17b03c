//! The table's lock is given back between reading and writing: an update is lost.


use std::sync::Mutex;
use std::thread;

lazy_static::lazy_static! {
    static ref TOTAL: Mutex<u32> = Mutex::new(0);
}

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
