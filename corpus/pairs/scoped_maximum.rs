// Correct: scoped threads raise the maximum in one step, by fetch_max.
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

fn raise(maximum: &AtomicU32, value: u32) {
    maximum.fetch_max(value, Ordering::Relaxed);
}

fn main() {
    let maximum = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| raise(&maximum, 3));
        scope.spawn(|| raise(&maximum, 9));
    });
    let maximum = maximum.into_inner();
    assert_eq!(maximum, 9, "the greater value was overwritten");
    println!("maximum {maximum}");
}
