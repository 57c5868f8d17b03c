// Wrong: the flag is set before the message is written, so the receiver can read it too early.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Mailbox {
    message: UnsafeCell<u32>,
    full: AtomicBool,
}

// SAFETY: wrong: `message` is written after `full` is set, when it may be read.
unsafe impl Sync for Mailbox {}

static MAILBOX: Mailbox = Mailbox { message: UnsafeCell::new(0), full: AtomicBool::new(false) };

fn send(message: u32) {
    MAILBOX.full.store(true, Ordering::Release);
    // SAFETY: wrong: the receiver may read already.
    unsafe { *MAILBOX.message.get() = message };
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
