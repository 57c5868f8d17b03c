//! The receiver looks once and does not wait.


use std::thread;

use futures::channel::oneshot;
use futures::executor::block_on;

fn main() {
    let (sender, receiver) = oneshot::channel();
    let other = thread::spawn(move || {
        let _ = sender.send(7);
    });
    let mut receiver = receiver;
    let value = block_on(async { receiver.try_recv().ok().flatten() });
    assert_eq!(value, Some(7));
    other.join().unwrap();
}
