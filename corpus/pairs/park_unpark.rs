// Correct: main parks until both workers are done, however many wake-ups their calls of unpark add up to.
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static DONE: AtomicU32 = AtomicU32::new(0);

fn main() {
    let main_thread = thread::current();
    let workers = [(); 2].map(|()| {
        let main_thread = main_thread.clone();
        thread::spawn(move || {
            DONE.fetch_add(1, Ordering::Release);
            main_thread.unpark();
        })
    });
    while DONE.load(Ordering::Acquire) < 2 {
        thread::park();
    }
    for worker in workers {
        worker.join().unwrap();
    }
    println!("both are done");
}
