// Correct: a thread that misses the cache as a reader looks again as the writer before it computes.
use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static CACHE: RwLock<Option<u32>> = RwLock::new(None);
static COMPUTED: AtomicU32 = AtomicU32::new(0);

fn compute() -> u32 {
    COMPUTED.fetch_add(1, Ordering::Relaxed);
    42
}

fn lookup() -> u32 {
    if let Some(value) = *CACHE.read().unwrap() {
        return value;
    }
    let mut cache = CACHE.write().unwrap();
    *cache.get_or_insert_with(compute)
}

fn main() {
    let threads = [(); 2].map(|()| thread::spawn(lookup));
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 42);
    }
    assert_eq!(COMPUTED.load(Ordering::Relaxed), 1, "computed twice");
    println!("computed once");
}
