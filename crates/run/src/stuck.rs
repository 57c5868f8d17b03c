//! Programs that hang by themselves: every thread waits without a time limit for another thread of the same process.
//!
//! A test command that starts one would never end. What the kernel says of each thread is enough to be certain: it waits in `futex`, for as long as it
//! takes, on memory of its own process or for the end of one of its threads. Signals could still wake them, so it must have been so for a while, without
//! a thread having run in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc;

use crate::signals;

/// How long nothing may happen.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// What the threads of a process do, and how often each has run: the same again means that nothing has happened.
type Waits = Vec<(u32, String, String)>;

/// Looks after processes, and ends those that hang.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Those whose threads all wait, and since when they do.
    waiting: Vec<(u32, Waits, Instant)>,
    looked: Option<Instant>,
    /// Those that were ended.
    pub(crate) ended: Vec<u32>,
}

impl Watch {
    /// Looks at these processes, unless that was done a moment ago.
    pub(crate) fn look_at(&mut self, processes: impl FnOnce() -> Vec<u32>) {
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return;
        }
        self.looked = Some(Instant::now());
        let before = std::mem::take(&mut self.waiting);
        for process in processes() {
            let Some(waits) = waits_of(Path::new(&format!("/proc/{process}/task"))) else { continue };
            let same = before.iter().find(|(known, then, _)| *known == process && *then == waits);
            let since = same.map_or_else(Instant::now, |&(_, _, since)| since);
            if since.elapsed() >= PATIENCE {
                signals::send(process as i32, libc::SIGKILL);
                self.ended.push(process);
            } else {
                self.waiting.push((process, waits, since));
            }
        }
    }
}

/// What the threads wait for; none: one of them does something else, or there is none.
fn waits_of(tasks: &Path) -> Option<Waits> {
    let threads: Vec<(u32, PathBuf)> = fs::read_dir(tasks)
        .ok()?
        .flatten()
        .filter_map(|task| Some((task.file_name().to_str()?.parse().ok()?, task.path())))
        .collect();
    let ids: Vec<u32> = threads.iter().map(|&(id, _)| id).collect();
    let mut waits = Vec::new();
    for (id, task) in &threads {
        let call =
            fs::read_to_string(task.join("syscall")).ok().filter(|call| is_endless_wait(call, &ids))?;
        let status = fs::read_to_string(task.join("status")).ok()?;
        let turns = status.lines().filter(|line| line.contains("ctxt_switches")).collect();
        waits.push((*id, call, turns));
    }
    waits.sort();
    (!waits.is_empty()).then_some(waits)
}

/// Whether a system call, as the kernel shows it (its number, then its arguments), waits for one of these threads and nobody else.
fn is_endless_wait(call: &str, threads: &[u32]) -> bool {
    let mut words = call.split_whitespace();
    let number = words.next().and_then(|number| number.parse::<i64>().ok());
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let arguments: Vec<u64> = words.map_while(hexadecimal).collect();
    let (Some(libc::SYS_futex), [_, operation, value, 0, ..]) = (number, arguments.as_slice()) else {
        return false;
    };
    let (operation, value) = (*operation as i32, *value as u32);
    let flags = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    let waits = matches!(
        operation & !flags,
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2
    );
    // Who joins a thread waits for the kernel to clear its number, in memory that is not declared private.
    waits && (operation & libc::FUTEX_PRIVATE_FLAG != 0 || threads.contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_for_threads_of_the_process_are_endless() {
        let number = libc::SYS_futex;
        let waits =
            |arguments: &str| is_endless_wait(&format!("{number} {arguments} 0x7ffe 0x7f01\n"), &[41, 42]);
        assert!(waits("0x55aa 0x80 0x2 0x0 0x0 0x0"), "a lock");
        assert!(waits("0x55aa 0x189 0x0 0x0 0x0 0xffffffff"), "a condition variable");
        assert!(waits("0x55aa 0x109 0x2a 0x0 0x0 0xffffffff"), "the end of thread 42");
        assert!(!waits("0x55aa 0x109 0x2b 0x0 0x0 0xffffffff"), "somebody else");
        assert!(!waits("0x55aa 0x80 0x2 0x7ffc10 0x0 0x0"), "for a while");
        assert!(!waits("0x55aa 0x0 0x2 0x0 0x0 0x0"), "shared with other processes");
        assert!(!waits("0x55aa 0x81 0x1 0x0 0x0 0x0"), "wakes others");
        assert!(!is_endless_wait("running\n", &[]));
        assert!(!is_endless_wait("0 0x3 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f01\n", &[]), "read");
    }

    #[test]
    fn a_process_that_does_something_is_left_alone() {
        let mut watch = Watch::default();
        watch.look_at(|| vec![std::process::id()]);
        assert!(watch.waiting.is_empty() && watch.ended.is_empty(), "this one runs");
    }
}
