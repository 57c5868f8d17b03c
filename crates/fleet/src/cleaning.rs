//! Removing the directories of jobs that are done, while the next jobs run: on a busy disk that takes longer than all else that a job costs
//! besides its hunt.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The most directories that wait to be removed; the next one is removed by its job, so a slow disk slows jobs down before it is full.
const MOST_WAITING: usize = 64;

enum Order {
    Remove(PathBuf),
    End,
}

/// Removes directories in a thread of its own; with the value, all of them are gone.
#[derive(Debug)]
pub(crate) struct Cleaner {
    orders: SyncSender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// Where to hand in directories.
#[derive(Clone, Debug)]
pub(crate) struct Bin {
    orders: SyncSender<Order>,
}

impl Cleaner {
    /// One that works at once.
    pub(crate) fn start() -> Cleaner {
        let (orders, received) = sync_channel(MOST_WAITING);
        Cleaner { orders, thread: Some(std::thread::spawn(move || clean(&received))) }
    }

    /// Where to hand in directories.
    pub(crate) fn bin(&self) -> Bin {
        Bin { orders: self.orders.clone() }
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        // If it does not work any more, there is nobody to wait for.
        let _ = self.orders.send(Order::End);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Bin {
    /// Has a directory removed.
    pub(crate) fn remove(&self, directory: PathBuf) {
        if self.orders.try_send(Order::Remove(directory.clone())).is_err() {
            remove(&directory);
        }
    }
}

fn clean(received: &Receiver<Order>) {
    while let Ok(Order::Remove(directory)) = received.recv() {
        remove(&directory);
    }
}

fn remove(directory: &PathBuf) {
    // What is left goes with the directory of the worker.
    let _ = fs::remove_dir_all(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_gone_when_the_cleaner_is() {
        let place = tempfile::tempdir().unwrap();
        let cleaner = Cleaner::start();
        let bin = cleaner.bin();
        let made = |number: usize| {
            let directory = place.path().join(number.to_string());
            fs::create_dir_all(directory.join("inner")).unwrap();
            fs::write(directory.join("inner/file"), "content").unwrap();
            directory
        };
        (0..3 * MOST_WAITING).map(made).for_each(|directory| bin.remove(directory));
        drop(cleaner);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        // Late ones are removed by who brings them.
        bin.remove(made(1));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
