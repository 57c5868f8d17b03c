//! Results come through the channel.


use std::thread;

fn main() {
    let (sender, receiver) = kanal::bounded(2);
    let other = thread::spawn(move || sender.send(7).unwrap());
    let value = receiver.recv().ok();
    assert_eq!(value, Some(7));
    other.join().unwrap();
}
