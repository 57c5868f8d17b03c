//! A value comes through the channel.


use std::thread;

fn main() {
    let (sender, receiver) = async_channel::bounded(1);
    let other = thread::spawn(move || sender.send_blocking(7).is_ok());
    assert_eq!(receiver.recv_blocking().ok(), Some(7));
    assert!(other.join().unwrap());
}
