// expect: atomicity stock @ "let seen = *stock.lock().unwrap();" < "*stock.lock().unwrap() = 50;" < "*stock.lock().unwrap() = seen - 1;"
// fails: exit 1
// A seller takes one item off the stock, a supplier fills it up to fifty. Nothing is unlocked, but the seller locks twice.
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn sell(stock: &Mutex<i32>) {
    let seen = *stock.lock().unwrap();
    *stock.lock().unwrap() = seen - 1;
}

fn fill_up(stock: &Mutex<i32>) {
    thread::sleep(Duration::from_millis(50));
    *stock.lock().unwrap() = 50;
}

fn main() -> ExitCode {
    let stock = Arc::new(Mutex::new(10));
    let (at_seller, at_supplier) = (Arc::clone(&stock), Arc::clone(&stock));
    let seller = thread::spawn(move || sell(&at_seller));
    let supplier = thread::spawn(move || fill_up(&at_supplier));
    seller.join().unwrap();
    supplier.join().unwrap();
    let left = *stock.lock().unwrap();
    println!("{left} left");
    if left == 50 || left == 49 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
