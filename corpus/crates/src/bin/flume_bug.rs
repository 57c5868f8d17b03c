//! The main thread takes what is there and does not wait for the rest.


use std::thread;

fn main() {
    let (sender, receiver) = flume::unbounded();
    let workers: Vec<_> = (1..=2)
        .map(|number| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(number).unwrap())
        })
        .collect();
    drop(sender);
    let sum: i32 = receiver.try_iter().sum();
    assert_eq!(sum, 3);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
