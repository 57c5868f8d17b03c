//! Each thread counts for itself, and the counts are added at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use thread_local::ThreadLocal;

type Counts = ThreadLocal<AtomicU32>;

fn count(counts: &Counts) {
    counts.get_or_default().fetch_add(1, Ordering::Relaxed);
}

fn sum(counts: &Counts) -> u32 {
    counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
}

fn main() {
    let counts = Arc::new(Counts::new());
    let shared = Arc::clone(&counts);
    let other = thread::spawn(move || count(&shared));
    count(&counts);
    other.join().unwrap();
    assert_eq!(sum(&counts), 2);
}
