//! Boxes go through channels of all three kinds: without a bound, with one, and from hand to hand.

use std::sync::mpsc;
use std::thread;
fn main() {
    let (sender, receiver) = mpsc::channel::<Box<u32>>();
    let senders: Vec<_> = (0..2)
        .map(|n| {
            let sender = sender.clone();
            thread::spawn(move || {
                for k in 0..3 {
                    sender.send(Box::new(n * 10 + k)).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let sum: u32 = receiver.iter().map(|n| *n).sum();
    for one in senders {
        one.join().unwrap();
    }
    assert_eq!(sum, 36);
    let (sender, receiver) = mpsc::sync_channel::<Vec<u32>>(1);
    let one = thread::spawn(move || receiver.iter().flatten().sum::<u32>());
    for n in 0..3 {
        sender.send(vec![n]).unwrap();
    }
    drop(sender);
    assert_eq!(one.join().unwrap(), 3);
    let (sender, receiver) = mpsc::sync_channel::<String>(0);
    let one = thread::spawn(move || receiver.recv().unwrap().len());
    sender.send("word".to_owned()).unwrap();
    assert_eq!(one.join().unwrap(), 4);
}
