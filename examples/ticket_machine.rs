//! A machine that hands out numbers to people who queue: every visitor gets the next one.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

static NEXT: AtomicU32 = AtomicU32::new(1);

fn take_number() -> u32 {
    let number = NEXT.load(Ordering::SeqCst);
    NEXT.store(number + 1, Ordering::SeqCst);
    number
}

/// Comes to the machine after so many milliseconds.
fn visitor(arrives: u64) -> u32 {
    thread::sleep(Duration::from_millis(arrives));
    take_number()
}

fn main() -> ExitCode {
    let visitors = [0, 20].map(|arrives| thread::spawn(move || visitor(arrives)));
    let [first, second] = visitors.map(|visitor| visitor.join().unwrap());

    println!("the visitors have numbers {first} and {second}");
    if first != second { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
