//! Whoever drops the last reference frees what all of them read.

use std::sync::{Arc, Weak};
use std::thread;
struct Node {
    value: u32,
}
impl Drop for Node {
    fn drop(&mut self) {
        self.value = 0;
    }
}
fn main() {
    let node = Arc::new(Node { value: 5 });
    let weak: Weak<Node> = Arc::downgrade(&node);
    let all: Vec<_> = (0..2)
        .map(|_| {
            let node = Arc::clone(&node);
            thread::spawn(move || node.value)
        })
        .collect();
    let other = thread::spawn(move || weak.upgrade().map_or(5, |node| node.value));
    drop(node);
    for one in all {
        assert_eq!(one.join().unwrap(), 5);
    }
    assert_eq!(other.join().unwrap(), 5);
}
