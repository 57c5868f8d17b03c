// Correct: both transfers lock the savings first.
use std::sync::Mutex;
use std::thread;

static SAVINGS: Mutex<i32> = Mutex::new(100);
static CHECKING: Mutex<i32> = Mutex::new(100);

fn to_checking(amount: i32) {
    let mut savings = SAVINGS.lock().unwrap();
    let mut checking = CHECKING.lock().unwrap();
    *savings -= amount;
    *checking += amount;
}

fn to_savings(amount: i32) {
    let mut savings = SAVINGS.lock().unwrap();
    let mut checking = CHECKING.lock().unwrap();
    *checking -= amount;
    *savings += amount;
}

fn main() {
    let first = thread::spawn(|| to_checking(30));
    let second = thread::spawn(|| to_savings(10));
    first.join().unwrap();
    second.join().unwrap();
    println!("savings {}, checking {}", SAVINGS.lock().unwrap(), CHECKING.lock().unwrap());
}
