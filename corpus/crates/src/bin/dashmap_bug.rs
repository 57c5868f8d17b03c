//! An entry is read and written back later: an update is lost.


use std::sync::Arc;
use std::thread;

use dashmap::DashMap;

fn add(map: &DashMap<&str, u32>) {
    let before = *map.get("a").unwrap();
    map.insert("a", before + 1);
}

fn main() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    map.insert("a", 0);
    let shared = Arc::clone(&map);
    let other = thread::spawn(move || add(&shared));
    add(&map);
    other.join().unwrap();
    assert_eq!(*map.get("a").unwrap(), 2);
}
