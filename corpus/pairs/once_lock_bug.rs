// Wrong: main takes the configuration for loaded, but the thread that loads it may not have come that far.
use std::sync::OnceLock;
use std::thread;

struct Config {
    workers: u32,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

fn load() -> &'static Config {
    CONFIG.get_or_init(|| Config { workers: 4 })
}

fn config() -> &'static Config {
    CONFIG.get().expect("the configuration is not loaded")
}

fn main() {
    let loader = thread::spawn(|| load().workers);
    let workers = config().workers;
    assert_eq!(loader.join().unwrap(), workers);
    println!("{workers} workers");
}
