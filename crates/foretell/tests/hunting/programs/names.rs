use std::sync::{Arc, Mutex};
use std::thread;
struct Account { id: u32, balance: i64 }
static mut TOTAL: i64 = 0;
fn main() {
    let a = Arc::new(Mutex::new(Account { id: 1, balance: 5 }));
    let b = Arc::new(Mutex::new(0i32));
    let (a2, b2) = (a.clone(), b.clone());
    let t = thread::spawn(move || {
        let _g = a2.lock().unwrap();
        let mut h = b2.lock().unwrap();
        *h += 1;
        unsafe { TOTAL += 1 };
    });
    {
        let h = b.lock().unwrap();
        let mut g = a.lock().unwrap();
        g.balance += *h as i64;
        unsafe { TOTAL += 1 };
    }
    t.join().unwrap();
    let mut local = 0;
    let p = &raw mut local as usize;
    thread::scope(|s| {
        s.spawn(move || unsafe { *(p as *mut i32) += 1 });
        s.spawn(move || unsafe { *(p as *mut i32) += 1 });
    });
    println!("{} {}", local, a.lock().unwrap().id);
}
