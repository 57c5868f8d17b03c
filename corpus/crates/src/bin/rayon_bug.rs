//! A sum by loads and stores of an atomic: updates are lost.


use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum = AtomicU32::new(0);
    let add = |value: u32| {
        let before = sum.load(Ordering::SeqCst);
        sum.store(before + value, Ordering::SeqCst);
    };
    pool.install(|| rayon::join(|| add(1), || add(2)));
    assert_eq!(sum.load(Ordering::SeqCst), 3);
}
