// Wrong: each deposit locks twice, once to read and once to write, so a deposit in between is lost.
use std::sync::{Arc, Mutex};
use std::thread;

fn deposit(balance: &Mutex<u32>, amount: u32) {
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + amount;
}

fn main() {
    let balance = Arc::new(Mutex::new(0));
    let clerks = [10, 20].map(|amount| {
        let balance = Arc::clone(&balance);
        thread::spawn(move || deposit(&balance, amount))
    });
    for clerk in clerks {
        clerk.join().unwrap();
    }
    let total = *balance.lock().unwrap();
    assert_eq!(total, 30, "a deposit was lost");
    println!("total {total}");
}
