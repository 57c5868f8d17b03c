//! A value is made once, by whoever comes first.


use std::thread;

use once_cell::sync::OnceCell;

static CELL: OnceCell<u32> = OnceCell::new();

fn get() -> u32 {
    *CELL.get_or_init(|| 7)
}

fn main() {
    let other = thread::spawn(get);
    assert_eq!(get() + other.join().unwrap(), 14);
}
