// expect: none
// The seller locks once.
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

fn sell(stock: &Mutex<i32>) {
    *stock.lock().unwrap() -= 1;
}

fn fill_up(stock: &Mutex<i32>) {
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
