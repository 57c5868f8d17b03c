//! What a thread is doing.

/// What a thread of the recorded program is doing, as the scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ThreadState {
    /// It can run, and waits for its turn.
    Ready = 0,
    /// It runs.
    Running = 1,
    /// It waits for another thread.
    Waiting = 2,
    /// It is in a call that the scheduler cannot see into.
    Outside = 3,
    /// It has performed its last event.
    Finished = 4,
}

impl ThreadState {
    /// Every state.
    pub const ALL: [ThreadState; 5] = [
        ThreadState::Ready,
        ThreadState::Running,
        ThreadState::Waiting,
        ThreadState::Outside,
        ThreadState::Finished,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ThreadState::Ready => "ready",
            ThreadState::Running => "running",
            ThreadState::Waiting => "waiting",
            ThreadState::Outside => "outside",
            ThreadState::Finished => "finished",
        }
    }

    /// The number that stands for it.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The state that a number stands for.
    pub fn from_code(code: u8) -> Option<ThreadState> {
        ThreadState::ALL.get(usize::from(code)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_there_and_back() {
        for state in ThreadState::ALL {
            assert_eq!(ThreadState::from_code(state.code()), Some(state));
        }
        assert_eq!(ThreadState::from_code(5), None);
    }
}
