//! A queue whose taker sleeps on a condition variable.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
struct Queue {
    items: Mutex<VecDeque<Box<u32>>>,
    filled: Condvar,
}
fn main() {
    let queue = Arc::new(Queue { items: Mutex::new(VecDeque::new()), filled: Condvar::new() });
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let mut sum = 0;
            for _ in 0..4 {
                let mut items = queue.items.lock().unwrap();
                while items.is_empty() {
                    items = queue.filled.wait(items).unwrap();
                }
                sum += *items.pop_front().unwrap();
            }
            sum
        })
    };
    for n in 1..=4 {
        queue.items.lock().unwrap().push_back(Box::new(n));
        queue.filled.notify_one();
    }
    assert_eq!(taker.join().unwrap(), 10);
}
