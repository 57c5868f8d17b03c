// Correct: both workers have written their half before either passes the barrier and adds them up.
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static HALVES: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

fn work(me: usize, barrier: &Barrier) -> u32 {
    HALVES[me].store(10 * (me as u32 + 1), Ordering::Relaxed);
    barrier.wait();
    HALVES.iter().map(|half| half.load(Ordering::Relaxed)).sum()
}

fn main() {
    let barrier = &Barrier::new(2);
    let sums = thread::scope(|scope| {
        let workers = [0, 1].map(|me| scope.spawn(move || work(me, barrier)));
        workers.map(|worker| worker.join().unwrap())
    });
    assert_eq!(sums, [30, 30], "a half was missing");
    println!("sums {sums:?}");
}
