//! Every way to wait for a time in Rust's std takes as long as it says by the clock.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

fn takes(seconds: u64, wait: impl FnOnce()) {
    let (begin, system) = (Instant::now(), SystemTime::now());
    wait();
    let (passed, least) = (begin.elapsed(), Duration::from_secs(seconds));
    assert!(passed >= least && passed < least + Duration::from_millis(50), "{passed:?}");
    let passed = system.elapsed().expect("time does not go back");
    assert!(passed >= least && passed < least + Duration::from_millis(50), "{passed:?}");
}

fn main() {
    takes(10, || thread::sleep(Duration::from_secs(10)));
    takes(20, || thread::park_timeout(Duration::from_secs(20)));
    let (send, receive) = mpsc::channel::<u32>();
    takes(30, || assert_eq!(receive.recv_timeout(Duration::from_secs(30)), Err(RecvTimeoutError::Timeout)));
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let sender = thread::spawn(move || {
        for number in 0..5 {
            thread::sleep(Duration::from_secs(2));
            send.send(number).expect("it is received");
            *other.0.lock().expect("nobody panics") += 1;
            other.1.notify_all();
        }
    });
    takes(4, || {
        assert_eq!(receive.recv_timeout(Duration::from_secs(3)), Ok(0));
        assert_eq!(receive.recv_timeout(Duration::from_secs(3)), Ok(1));
    });
    takes(6, || {
        let count = pair.0.lock().expect("nobody panics");
        let limit = Duration::from_secs(8);
        let (count, result) =
            pair.1.wait_timeout_while(count, limit, |count| *count < 5).expect("nobody panics");
        assert!(*count == 5 && !result.timed_out());
    });
    takes(0, || sender.join().expect("it does not panic"));
    takes(1, || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(1) {
            std::hint::spin_loop();
        }
    });
}
