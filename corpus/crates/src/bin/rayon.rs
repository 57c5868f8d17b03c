//! A sum by a reduction.


use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum = AtomicU32::new(0);
    let add = |value: u32| {
        sum.fetch_add(value, Ordering::SeqCst);
    };
    pool.install(|| rayon::join(|| add(1), || add(2)));
    assert_eq!(sum.load(Ordering::SeqCst), 3);
}
