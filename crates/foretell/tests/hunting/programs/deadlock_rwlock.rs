//! Two read-write locks: each thread reads under one and writes under the other.

use std::sync::RwLock;
use std::thread;
use std::time::Duration;
static MAP: RwLock<u32> = RwLock::new(0);
static INDEX: RwLock<u32> = RwLock::new(0);
fn main() {
    let one = thread::spawn(|| {
        let _map = MAP.read().unwrap();
        *INDEX.write().unwrap() += 1;
    });
    let other = thread::spawn(|| {
        thread::sleep(Duration::from_millis(10));
        let _index = INDEX.read().unwrap();
        *MAP.write().unwrap() += 1;
    });
    one.join().unwrap();
    other.join().unwrap();
}
