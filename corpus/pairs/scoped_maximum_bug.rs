// Wrong: the maximum is compared and stored in two steps, so the smaller value can overwrite the greater one.
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

fn raise(maximum: &AtomicU32, value: u32) {
    if maximum.load(Ordering::Relaxed) < value {
        maximum.store(value, Ordering::Relaxed);
    }
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
