//! What the runtime reported of a replay: the records of the outcome file, put together.

use wire::{Memory, Obstacle, OutcomeRecord, PendingAccess, ThreadState, WaitsFor};

/// What was reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) accesses: Vec<AccessReport>,
    /// The threads at the hold or where the schedule was left.
    pub(super) threads: Vec<ThreadReport>,
    /// The hold was reached.
    pub(super) held: bool,
    pub(super) diverged: Option<FailedInstruction>,
}

/// A thread that was seen before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessReport {
    pub(super) thread: u32,
    pub(super) place: u64,
    /// What it was about to do, if that is an access.
    pub(super) access: Option<PendingAccess>,
    pub(super) before: Option<Memory>,
    pub(super) after: Option<Memory>,
}

/// A thread and what it was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadReport {
    pub(super) thread: u32,
    pub(super) state: ThreadState,
    pub(super) place: u64,
    pub(super) waits_for: WaitsFor,
}

/// An instruction that could not be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FailedInstruction {
    pub(super) instruction: u64,
    pub(super) thread: u32,
    pub(super) obstacle: Obstacle,
    pub(super) place: u64,
    pub(super) waits_for: WaitsFor,
}

impl Outcome {
    /// Puts the records of an outcome file together.
    pub(super) fn read(file: &[u8]) -> Outcome {
        let mut outcome = Outcome::default();
        OutcomeRecord::read(file).for_each(|record| outcome.add(record));
        outcome
    }

    fn add(&mut self, record: OutcomeRecord) {
        match record {
            OutcomeRecord::PendingAccess { thread, place, access, memory: before } => {
                self.accesses.push(AccessReport { thread, place, access: Some(access), before, after: None });
            }
            OutcomeRecord::Nothing { thread, place } => {
                self.accesses.push(AccessReport { thread, place, access: None, before: None, after: None });
            }
            OutcomeRecord::MemoryContent { thread, memory } => {
                if let Some(last) =
                    self.accesses.iter_mut().rev().find(|access_report| access_report.thread == thread)
                {
                    last.after = memory;
                }
            }
            OutcomeRecord::Thread { thread, state, place, waits_for, .. } => {
                self.threads.push(ThreadReport { thread, state, place, waits_for });
            }
            OutcomeRecord::AllReported => self.held = true,
            OutcomeRecord::Diverged { instruction, thread, obstacle, place, waits_for } => {
                self.diverged = Some(FailedInstruction { instruction, thread, obstacle, place, waits_for });
            }
            OutcomeRecord::Freed => {}
        }
    }

    /// The thread at the hold.
    pub(super) fn thread(&self, thread: u32) -> Option<&ThreadReport> {
        self.threads.iter().find(|report| report.thread == thread)
    }

    /// The thread at this place, as it was seen last.
    pub(super) fn access_report(&self, thread: u32, place: u64) -> Option<&AccessReport> {
        self.accesses
            .iter()
            .rev()
            .find(|access_report| access_report.thread == thread && access_report.place == place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_put_together() {
        let access = PendingAccess { kind: wire::Kind::Write4, address: 0x1000, length: 4, pc: 0x2000 };
        let records = [
            OutcomeRecord::PendingAccess { thread: 1, place: 1, access, memory: Memory::new(&[0; 4]) },
            OutcomeRecord::Nothing { thread: 2, place: 4 },
            OutcomeRecord::Thread {
                thread: 1,
                state: ThreadState::Waiting,
                place: 1,
                waits_for: WaitsFor::EndOf(2),
                pc: 0,
            },
            OutcomeRecord::AllReported,
            OutcomeRecord::MemoryContent { thread: 1, memory: Memory::new(&[21, 0, 0, 0]) },
            OutcomeRecord::Diverged {
                instruction: 3,
                thread: 1,
                obstacle: Obstacle::Waits,
                place: 4,
                waits_for: WaitsFor::Address(0x7f),
            },
            OutcomeRecord::Freed,
        ];
        let mut file: Vec<u8> = records.iter().flat_map(OutcomeRecord::encode).collect();
        file.extend(b"sees");
        let outcome = Outcome::read(&file);
        assert!(outcome.held);
        let access_report = outcome.access_report(1, 1).unwrap();
        assert_eq!(access_report.access, Some(access));
        assert_eq!(access_report.after.unwrap().as_bytes(), [21, 0, 0, 0]);
        assert_eq!(outcome.access_report(2, 4).unwrap().access, None);
        assert_eq!(outcome.thread(1).unwrap().waits_for, WaitsFor::EndOf(2));
        let stuck = outcome.diverged.unwrap();
        assert_eq!((stuck.instruction, stuck.thread, stuck.waits_for), (3, 1, WaitsFor::Address(0x7f)));
    }
}
