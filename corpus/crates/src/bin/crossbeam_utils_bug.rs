//! The data is published after the thread is unparked.


use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::sync::Parker;
use crossbeam_utils::thread;

fn main() {
    let data = &AtomicU32::new(0);
    let parker = Parker::new();
    let unparker = parker.unparker().clone();
    thread::scope(|scope| {
        scope.spawn(move |_| {
            parker.park();
            assert_eq!(data.load(Ordering::Relaxed), 7);
        });
        unparker.unpark();
        data.store(7, Ordering::Relaxed);
    })
    .unwrap();
}
