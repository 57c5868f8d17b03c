//! Entries are changed in place, under their shard's lock.


use std::sync::Arc;
use std::thread;

use dashmap::DashMap;

fn add(map: &DashMap<&str, u32>) {
    *map.get_mut("a").unwrap() += 1;
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
