//! What is shown is written and read under the lock.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;
static mut SHOWN: u32 = 0;
static LOG: Mutex<u32> = Mutex::new(0);
fn main() {
    let writer = thread::spawn(|| {
        let log = LOG.lock().unwrap();
        unsafe { SHOWN = 21 };
        drop(log);
    });
    let reader = thread::spawn(|| {
        thread::sleep(Duration::from_millis(10));
        let log = LOG.lock().unwrap();
        println!("{}", unsafe { SHOWN });
        drop(log);
    });
    writer.join().unwrap();
    reader.join().unwrap();
}
