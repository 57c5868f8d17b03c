// Correct: whoever comes first initialises the configuration, and the other one waits until it is there.
use std::sync::OnceLock;
use std::thread;

struct Config {
    workers: u32,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

fn config() -> &'static Config {
    CONFIG.get_or_init(|| Config { workers: 4 })
}

fn main() {
    let loader = thread::spawn(|| config().workers);
    let workers = config().workers;
    assert_eq!(loader.join().unwrap(), workers);
    println!("{workers} workers");
}
