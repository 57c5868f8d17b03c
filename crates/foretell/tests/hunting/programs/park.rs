//! A thread parks until a flag is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
static READY: AtomicBool = AtomicBool::new(false);
static mut DATA: u32 = 0;
fn main() {
    let sleeper = thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            thread::park();
        }
        unsafe { DATA }
    });
    unsafe { DATA = 3 };
    READY.store(true, Ordering::Release);
    sleeper.thread().unpark();
    assert_eq!(sleeper.join().unwrap(), 3);
}
