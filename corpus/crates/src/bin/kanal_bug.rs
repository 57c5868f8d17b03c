//! The main thread looks once and does not wait.


use std::thread;

fn main() {
    let (sender, receiver) = kanal::bounded(2);
    let other = thread::spawn(move || sender.send(7).unwrap());
    let value = receiver.try_recv().unwrap();
    assert_eq!(value, Some(7));
    other.join().unwrap();
}
