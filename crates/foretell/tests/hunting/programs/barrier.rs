//! Two threads take turns between barriers.

use std::sync::{Arc, Barrier};
use std::thread;
static mut CELLS: [u32; 2] = [0; 2];
fn main() {
    let barrier = Arc::new(Barrier::new(2));
    let all: Vec<_> = (0..2)
        .map(|n| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                unsafe { CELLS[n] = 1 };
                barrier.wait();
                let other = unsafe { CELLS[1 - n] };
                barrier.wait();
                unsafe { CELLS[n] = 2 };
                other
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.join().unwrap(), 1);
    }
}
