//! Writers and readers of a table under a read-write lock.

use std::sync::{Arc, RwLock};
use std::thread;
fn main() {
    let table = Arc::new(RwLock::new(vec![1, 2, 3]));
    let mut all = Vec::new();
    for n in 0..2 {
        let table = Arc::clone(&table);
        all.push(thread::spawn(move || {
            for _ in 0..3 {
                table.write().unwrap().push(n);
            }
        }));
    }
    for _ in 0..2 {
        let table = Arc::clone(&table);
        all.push(thread::spawn(move || {
            for _ in 0..3 {
                let sum: i32 = table.read().unwrap().iter().sum();
                assert!(sum >= 6);
            }
        }));
    }
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(Arc::try_unwrap(table).unwrap().into_inner().unwrap().len(), 9);
}
