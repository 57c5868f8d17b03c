// Wrong: main parks once for each worker, but two calls of unpark before the first park leave one token, so
// it parks forever.
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
    for _ in 0..2 {
        thread::park();
    }
    assert_eq!(DONE.load(Ordering::Acquire), 2);
    for worker in workers {
        worker.join().unwrap();
    }
    println!("both are done");
}
