// Wrong: main takes the first result for that of worker 0, but either can arrive first.
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let workers = [0_usize, 1].map(|number| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(number * 10).unwrap())
    });
    drop(sender);
    let mut results = [0; 2];
    for (number, result) in receiver.into_iter().enumerate() {
        results[number] = result;
    }
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(results, [0, 10], "results are mixed up");
    println!("results {results:?}");
}
