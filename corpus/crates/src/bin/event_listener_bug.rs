//! The flag is looked at before listening begins: the event may be missed.


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
    if !shared.0.load(Ordering::SeqCst) {
        shared.1.listen().wait();
    }
    other.join().unwrap();
}
