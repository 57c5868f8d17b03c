//! Values that the first thread makes and all others read: Once, OnceLock, LazyLock.

use std::sync::{LazyLock, Once, OnceLock};
use std::thread;
static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![4, 5]);
static START: Once = Once::new();
static mut PLAIN: u32 = 0;
fn table() -> &'static [u32] {
    TABLE.get_or_init(|| vec![1, 2, 3])
}
fn main() {
    let all: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(|| {
                START.call_once(|| unsafe { PLAIN = 7 });
                table().iter().sum::<u32>() + LAZY.iter().sum::<u32>() + unsafe { PLAIN }
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.join().unwrap(), 22);
    }
}
