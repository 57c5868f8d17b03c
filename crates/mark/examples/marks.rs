//! Says everything there is to say. The tests run it with and without hooks.

use foretell_mark::{atomic_begin, atomic_end, mark};

fn main() {
    let change = -2i32;
    atomic_begin!("transfer");
    mark!("open", +1);
    mark!("open", change);
    mark!("size", 7u32);
    atomic_end!("transfer");
    println!("done");
}
