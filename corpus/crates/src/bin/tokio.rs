//! Two tasks add under an asynchronous mutex.


use std::sync::Arc;

use tokio::runtime::Builder;
use tokio::sync::Mutex;

async fn add(counter: Arc<Mutex<u32>>) {
    *counter.lock().await += 1;
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let counter = Arc::new(Mutex::new(0));
    runtime.block_on(async {
        let first = tokio::spawn(add(Arc::clone(&counter)));
        let second = tokio::spawn(add(Arc::clone(&counter)));
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(*counter.lock().await, 2);
    });
}
