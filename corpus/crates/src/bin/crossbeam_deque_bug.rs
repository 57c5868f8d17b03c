//! The owner counts on what the thief may have taken.


use std::thread;

use crossbeam_deque::{Steal, Worker};

fn main() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    worker.push(1);
    worker.push(2);
    let thief = thread::spawn(move || {
        loop {
            match stealer.steal() {
                Steal::Success(task) => return task,
                Steal::Empty => return 0,
                Steal::Retry => {}
            }
        }
    });
    let own: i32 = worker.pop().unwrap() + worker.pop().unwrap();
    assert_eq!(own + thief.join().unwrap(), 3);
}
