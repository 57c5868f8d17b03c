// Wrong: each worker waits at the barrier before it writes its half, so the other can add up too early.
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static HALVES: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

fn work(me: usize, barrier: &Barrier) -> u32 {
    barrier.wait();
    HALVES[me].store(10 * (me as u32 + 1), Ordering::Relaxed);
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
