//! Two tasks on two threads load and store: an update is lost.


use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use smol::Executor;

fn main() {
    let executor = Arc::new(Executor::new());
    let counter = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let counter = Arc::clone(&counter);
            executor.spawn(async move {
                let before = counter.load(Ordering::SeqCst);
                counter.store(before + 1, Ordering::SeqCst);
            })
        })
        .collect();
    let mut tasks = tasks.into_iter();
    let (first, second) = (tasks.next().unwrap(), tasks.next().unwrap());
    let theirs = Arc::clone(&executor);
    let other = thread::spawn(move || smol::block_on(theirs.run(first)));
    smol::block_on(executor.run(second));
    other.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 2);
}
