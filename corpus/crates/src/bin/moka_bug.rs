//! Both threads find the value missing and compute it.


use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use moka::sync::Cache;

fn get(cache: &Cache<u32, u32>, computed: &AtomicU32) -> u32 {
    let compute = || computed.fetch_add(1, Ordering::SeqCst) + 7;
    cache.get(&1).unwrap_or_else(|| {
        let value = compute();
        cache.insert(1, value);
        value
    })
}

fn main() {
    let cache = Cache::new(8);
    let computed = Arc::new(AtomicU32::new(0));
    let (theirs, count) = (cache.clone(), Arc::clone(&computed));
    let other = thread::spawn(move || get(&theirs, &count));
    get(&cache, &computed);
    other.join().unwrap();
    assert_eq!(computed.load(Ordering::SeqCst), 1);
}
