//! The flag is looked at again after listening has begun.


use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use event_listener::{Event, Listener};

fn main() {
    let shared = Arc::new((AtomicBool::new(false), Event::new()));
    let theirs = Arc::clone(&shared);
    let other = thread::spawn(move || {
        theirs.0.store(true, Ordering::SeqCst);
        theirs.1.notify(1);
    });
    while !shared.0.load(Ordering::SeqCst) {
        let listener = shared.1.listen();
        if !shared.0.load(Ordering::SeqCst) {
            listener.wait();
        }
    }
    other.join().unwrap();
}
