// Correct: the gate is opened under the lock, and the visitor looks at it before each wait.
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

fn enter(gate: &Gate) {
    let mut open = gate.open.lock().unwrap();
    while !*open {
        open = gate.opened.wait(open).unwrap();
    }
}

fn open(gate: &Gate) {
    *gate.open.lock().unwrap() = true;
    gate.opened.notify_all();
}

fn main() {
    let gate = Arc::new(Gate { open: Mutex::new(false), opened: Condvar::new() });
    let visitor = {
        let gate = Arc::clone(&gate);
        thread::spawn(move || enter(&gate))
    };
    open(&gate);
    visitor.join().unwrap();
    println!("the visitor is in");
}
