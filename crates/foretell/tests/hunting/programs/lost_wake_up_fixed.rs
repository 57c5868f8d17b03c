//! A clerk sleeps until the bell rings, or has rung.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;
static RUNG: Mutex<bool> = Mutex::new(false);
static BELL: Condvar = Condvar::new();
fn main() {
    let clerk = thread::spawn(|| {
        let rung = RUNG.lock().unwrap();
        drop(BELL.wait_while(rung, |rung| !*rung).unwrap());
    });
    thread::sleep(Duration::from_millis(20));
    *RUNG.lock().unwrap() = true;
    BELL.notify_one();
    clerk.join().unwrap();
}
