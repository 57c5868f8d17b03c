//! Prints the mean of numbers that two threads count.

use tally::Tally;

fn main() {
    let tally = Tally::default();
    std::thread::scope(|scope| {
        scope.spawn(|| tally.add(10));
        scope.spawn(|| tally.add(20));
    });
    println!("mean {}", tally.mean().unwrap_or_default());
}
