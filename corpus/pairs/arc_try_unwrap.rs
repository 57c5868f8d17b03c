// Correct: the worker has been joined, and its reference dropped, before main takes the list out of the Arc.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let list = Arc::new(Mutex::new(Vec::new()));
    let worker = {
        let list = Arc::clone(&list);
        thread::spawn(move || list.lock().unwrap().push(5))
    };
    worker.join().unwrap();
    let list = Arc::try_unwrap(list).expect("the list is still shared").into_inner().unwrap();
    assert_eq!(list, [5]);
    println!("list {list:?}");
}
