//! A deadlock after a thread has come and gone: what counts references to it is freed where it is joined.

use std::sync::{Arc, Mutex};
use std::thread;

struct Account {
    balance: Mutex<i64>,
}

fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut a = from.balance.lock().unwrap();
    let mut b = to.balance.lock().unwrap();
    *a -= amount;
    *b += amount;
}

fn main() {
    let accounts: Arc<Vec<Account>> =
        Arc::new((0..2).map(|_| Account { balance: Mutex::new(100) }).collect());
    let first = accounts.clone();
    thread::spawn(move || transfer(&first[0], &first[1], 10)).join().unwrap();
    let [second, third] = [accounts.clone(), accounts.clone()];
    let there = thread::spawn(move || transfer(&second[0], &second[1], 5));
    let back = thread::spawn(move || transfer(&third[1], &third[0], 7));
    there.join().unwrap();
    back.join().unwrap();
    println!("{}", accounts.iter().map(|account| *account.balance.lock().unwrap()).sum::<i64>());
}
