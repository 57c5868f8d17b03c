//! A clerk sleeps until the bell rings, which nobody remembers if the clerk does not sleep yet.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;
static ROOM: Mutex<()> = Mutex::new(());
static BELL: Condvar = Condvar::new();
fn main() {
    let clerk = thread::spawn(|| {
        let room = ROOM.lock().unwrap();
        drop(BELL.wait(room).unwrap());
    });
    thread::sleep(Duration::from_millis(20));
    BELL.notify_one();
    clerk.join().unwrap();
}
