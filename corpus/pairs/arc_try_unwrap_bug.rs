// Wrong: main takes the list out of the Arc before it has joined the worker, which may still hold a
// reference.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let list = Arc::new(Mutex::new(Vec::new()));
    let worker = {
        let list = Arc::clone(&list);
        thread::spawn(move || list.lock().unwrap().push(5))
    };
    let list = Arc::try_unwrap(list).expect("the list is still shared").into_inner().unwrap();
    worker.join().unwrap();
    assert_eq!(list, [5]);
    println!("list {list:?}");
}
