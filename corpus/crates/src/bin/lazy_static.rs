//! A table that is made once and changed under its lock.


use std::sync::Mutex;
use std::thread;

lazy_static::lazy_static! {
    static ref TOTAL: Mutex<u32> = Mutex::new(0);
}

fn add() {
    *TOTAL.lock().unwrap() += 1;
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    assert_eq!(*TOTAL.lock().unwrap(), 2);
}
