//! Two read-write locks, taken in one order.

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
        let mut map = MAP.write().unwrap();
        let _index = INDEX.read().unwrap();
        *map += 1;
    });
    one.join().unwrap();
    other.join().unwrap();
}
