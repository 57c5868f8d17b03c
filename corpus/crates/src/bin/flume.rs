//! Results come through the channel.


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
    let sum: i32 = receiver.iter().sum();
    assert_eq!(sum, 3);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
