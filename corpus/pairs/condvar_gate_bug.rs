// Wrong: the gate is opened without the lock, so it can open between the visitor's look and the wait, and the
// wake-up is lost.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

struct Gate {
    open: AtomicBool,
    queue: Mutex<()>,
    opened: Condvar,
}

fn enter(gate: &Gate) {
    let mut queue = gate.queue.lock().unwrap();
    while !gate.open.load(Ordering::SeqCst) {
        queue = gate.opened.wait(queue).unwrap();
    }
}

fn open(gate: &Gate) {
    gate.open.store(true, Ordering::SeqCst);
    gate.opened.notify_all();
}

fn main() {
    let gate = Arc::new(Gate { open: AtomicBool::new(false), queue: Mutex::new(()), opened: Condvar::new() });
    let visitor = {
        let gate = Arc::clone(&gate);
        thread::spawn(move || enter(&gate))
    };
    open(&gate);
    visitor.join().unwrap();
    println!("the visitor is in");
}
