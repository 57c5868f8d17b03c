//! A race that the order of two critical sections hides.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;
static mut SHOWN: u32 = 0;
static LOG: Mutex<u32> = Mutex::new(0);
fn main() {
    let writer = thread::spawn(|| {
        unsafe { SHOWN = 21 };
        drop(LOG.lock().unwrap());
    });
    let reader = thread::spawn(|| {
        thread::sleep(Duration::from_millis(10));
        drop(LOG.lock().unwrap());
        println!("{}", unsafe { SHOWN });
    });
    writer.join().unwrap();
    reader.join().unwrap();
}
