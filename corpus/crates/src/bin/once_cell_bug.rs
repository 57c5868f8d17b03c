//! Both threads find the cell empty, and one of them cannot set it.


use std::thread;

use once_cell::sync::OnceCell;

static CELL: OnceCell<u32> = OnceCell::new();

fn get() -> u32 {
    if CELL.get().is_none() {
        CELL.set(7).unwrap();
    }
    *CELL.get().unwrap()
}

fn main() {
    let other = thread::spawn(get);
    assert_eq!(get() + other.join().unwrap(), 14);
}
