//! A value comes through a oneshot channel.


use std::thread;

use futures::channel::oneshot;
use futures::executor::block_on;

fn main() {
    let (sender, receiver) = oneshot::channel();
    let other = thread::spawn(move || {
        let _ = sender.send(7);
    });
    let value = block_on(receiver).ok();
    assert_eq!(value, Some(7));
    other.join().unwrap();
}
