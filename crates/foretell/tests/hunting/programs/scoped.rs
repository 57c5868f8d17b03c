//! Threads of a scope change what their parent reads after it, without a join.

use std::thread;
fn main() {
    let mut numbers = vec![1, 2, 3, 4];
    let mut total = 0;
    thread::scope(|scope| {
        for half in numbers.chunks_mut(2) {
            scope.spawn(move || half.iter_mut().for_each(|n| *n *= 2));
        }
        scope.spawn(|| total += 1);
    });
    total += numbers.iter().sum::<i32>();
    assert_eq!(total, 21);
}
