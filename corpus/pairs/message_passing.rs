// Correct: the message is written before the flag is stored with Release, and read after the flag was loaded
// with Acquire.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Mailbox {
    message: UnsafeCell<u32>,
    full: AtomicBool,
}

// SAFETY: `message` is written before `full` is set, and read only after it was seen set.
unsafe impl Sync for Mailbox {}

static MAILBOX: Mailbox = Mailbox { message: UnsafeCell::new(0), full: AtomicBool::new(false) };

fn send(message: u32) {
    // SAFETY: the only sender, and nobody reads before the flag is set.
    unsafe { *MAILBOX.message.get() = message };
    MAILBOX.full.store(true, Ordering::Release);
}

fn receive() -> u32 {
    while !MAILBOX.full.load(Ordering::Acquire) {
        thread::yield_now();
    }
    // SAFETY: the flag was seen set, so the message is there and no longer written.
    unsafe { *MAILBOX.message.get() }
}

fn main() {
    let sender = thread::spawn(|| send(7));
    let received = receive();
    sender.join().unwrap();
    assert_eq!(received, 7, "read too early");
    println!("received {received}");
}
