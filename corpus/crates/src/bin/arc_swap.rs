//! A value is replaced by what follows from it, until nobody came between.


use std::sync::Arc;
use std::thread;

use arc_swap::ArcSwap;

fn add(value: &ArcSwap<u32>) {
    value.rcu(|before| **before + 1);
}

fn main() {
    let value = Arc::new(ArcSwap::from_pointee(0));
    let shared = Arc::clone(&value);
    let other = thread::spawn(move || add(&shared));
    add(&value);
    other.join().unwrap();
    assert_eq!(**value.load(), 2);
}
