//! Waiting for the end of a process: the kernel wakes us, so nobody sleeps past it.
//!
//! The caller that waits has other things to look after (limits, cancellation, output), so a wait has a longest time and the caller looks
//! again. A hunt runs programs that take milliseconds, and thousands of them: sleeping in between would be a good part of its time.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::time::Duration;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a caller waits at most before it looks after its other things.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
/// How long to sleep where the kernel cannot wake us (before Linux 5.3, or without a free file descriptor).
const NAP: Duration = Duration::from_millis(2);

/// Wakes up when a process ends.
#[derive(Debug)]
pub(crate) struct EndWatch {
    process: Option<OwnedFd>,
}

impl EndWatch {
    /// That of a child, by the number of its process, which nobody has waited for yet.
    #[expect(unsafe_code, reason = "the standard library has no stable way to get it")]
    pub(crate) fn of(child: u32) -> EndWatch {
        // SAFETY: a system call that takes numbers.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child as libc::pid_t, 0) };
        let process = (descriptor >= 0).then(|| {
            // SAFETY: the kernel has just given it to us.
            unsafe { OwnedFd::from_raw_fd(descriptor as i32) }
        });
        EndWatch { process }
    }

    /// Waits for the end, but not longer than this (to the millisecond). A signal can end the wait early.
    pub(crate) fn wait_at_most(&self, longest: Duration) {
        let Some(process) = &self.process else { return std::thread::sleep(longest.min(NAP)) };
        let timeout =
            PollTimeout::try_from(longest.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
        let mut ends = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        // A failure is as good as a signal: the caller looks at the child anyway.
        if poll(&mut ends, timeout).is_err() {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_end_of_a_process_ends_the_wait() {
        let mut child = Command::new("sleep").arg("0.1").spawn().unwrap();
        let watch = EndWatch::of(child.id());
        assert!(watch.process.is_some());
        let started = Instant::now();
        watch.wait_at_most(Duration::from_millis(1));
        assert!(child.try_wait().unwrap().is_none() || started.elapsed() > Duration::from_millis(90));
        watch.wait_at_most(Duration::from_secs(60));
        assert!(child.try_wait().unwrap().is_some(), "it has ended");
        assert!(started.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn without_help_of_the_kernel_the_wait_is_short() {
        let started = Instant::now();
        EndWatch { process: None }.wait_at_most(Duration::from_secs(60));
        assert!(started.elapsed() < Duration::from_secs(50));
    }
}
