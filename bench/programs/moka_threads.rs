//! Threads that share one of moka's caches, as its documentation says they may: values are made once, counted up, removed and thrown out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use moka::sync::Cache;

const THREADS: usize = 3;

fn main() {
    let thrown_out = Arc::new(AtomicUsize::new(0));
    let listener = Arc::clone(&thrown_out);
    let cache: Cache<u64, u64> = Cache::builder()
        .max_capacity(4)
        .eviction_listener(move |_, _, _| {
            listener.fetch_add(1, Ordering::SeqCst);
        })
        .build();
    let counts: Cache<&str, u64> = Cache::new(100);
    let made = Arc::new(AtomicUsize::new(0));
    let work = |number: u64| {
        let (cache, counts, made) = (cache.clone(), counts.clone(), Arc::clone(&made));
        move || {
            // One of them makes it, the others wait.
            let value = counts.get_with("once", || made.fetch_add(1, Ordering::SeqCst) as u64 + 7);
            assert_eq!(value, 7);
            counts.entry("all").and_upsert_with(|entry| entry.map_or(1, |entry| entry.into_value() + 1));
            for key in number..number + 4 {
                cache.insert(key, key * 10);
                assert!(cache.get(&key).is_none_or(|value| value == key * 10));
            }
            cache.invalidate(&number);
            cache.run_pending_tasks();
        }
    };
    let threads: Vec<_> = (0..THREADS as u64).map(|number| thread::spawn(work(number))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    cache.run_pending_tasks();
    assert_eq!(made.load(Ordering::SeqCst), 1);
    assert_eq!(counts.get("all"), Some(THREADS as u64));
    assert!(cache.entry_count() <= 4);
    println!("{} thrown out or removed", thrown_out.load(Ordering::SeqCst).min(1));
}
