//! The consumer tries until something is there.


use std::sync::Arc;
use std::thread;

use concurrent_queue::ConcurrentQueue;

fn main() {
    let queue = Arc::new(ConcurrentQueue::bounded(4));
    let shared = Arc::clone(&queue);
    let producer = thread::spawn(move || shared.push(7).unwrap());
    let value = loop {
        match queue.pop() {
            Ok(value) => break value,
            Err(_) => thread::yield_now(),
        }
    };
    assert_eq!(value, 7);
    producer.join().unwrap();
}
