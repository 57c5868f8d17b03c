//! Two mutexes, taken in one order.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;
static FIRST: Mutex<u32> = Mutex::new(0);
static SECOND: Mutex<u32> = Mutex::new(0);
fn main() {
    let one = thread::spawn(|| {
        let mut a = FIRST.lock().unwrap();
        let mut b = SECOND.lock().unwrap();
        *a += 1;
        *b += 1;
    });
    let other = thread::spawn(|| {
        thread::sleep(Duration::from_millis(10));
        let mut a = FIRST.lock().unwrap();
        let mut b = SECOND.lock().unwrap();
        *a += 1;
        *b += 1;
    });
    one.join().unwrap();
    other.join().unwrap();
}
