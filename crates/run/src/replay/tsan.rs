//! A second opinion: the genuine ThreadSanitizer, with the program's synchronisation in the order of the schedule.
//!
//! A program that gcc built with `-fsanitize=thread` runs under ThreadSanitizer's own library as it runs under ours. A preloaded library (crates/shim)
//! makes its threads take their locks, and whatever else synchronises, in the order of the schedule, unseen by ThreadSanitizer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trace::{Ending, Kind};
use wire::{OrderedCall, SyncCall};

use super::plan::{Plan, PlannedEvent, ThreadTable};
use super::run::{self, Command};
use crate::Cancellation;
use crate::directory::WorkDirectory;
use crate::environment::Environment;
use compile::embedded;

/// What ThreadSanitizer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Its reports, in full; empty: it reported nothing.
    pub report: String,
    /// How the program ended.
    pub ending: Ending,
}

/// Why there is no second opinion.
#[derive(Debug, thiserror::Error)]
pub enum NoOpinion {
    /// There is nobody to ask.
    #[error("gcc's own libtsan.so.2 was not found")]
    NoThreadSanitizer,
    /// The program does not run under it.
    #[error("the program cannot run under gcc's own ThreadSanitizer")]
    CannotRun {
        /// What the loader or ThreadSanitizer said.
        said: String,
    },
    /// It could not be run at all.
    #[error("{0}")]
    Run(#[from] io::Error),
}

/// gcc's own ThreadSanitizer, found.
#[derive(Clone, Debug)]
pub struct ThreadSanitizer {
    directory: PathBuf,
}

/// What ThreadSanitizer ends a program with that it has something to say of.
const STATUS: i32 = 66;
/// What the loader ends a program with that lacks a function.
const NOT_LOADED: i32 = 127;

impl ThreadSanitizer {
    /// Where gcc has it.
    pub fn find() -> Result<ThreadSanitizer, NoOpinion> {
        let asked = std::process::Command::new("gcc").arg("-print-file-name=libtsan.so.2").output();
        let said = asked.map_err(|_| NoOpinion::NoThreadSanitizer)?;
        // gcc answers with the bare name if it has none.
        let path = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
        let directory = path.parent().filter(|_| path.is_absolute() && path.exists());
        let directory = directory.map(Path::to_owned).ok_or(NoOpinion::NoThreadSanitizer)?;
        Ok(ThreadSanitizer { directory })
    }

    /// Runs the command under it, along the synchronisation of the plan.
    pub fn asked(
        &self,
        plan: &Plan,
        command: &Command,
        limit: Duration,
        cancellation: &Cancellation,
    ) -> Result<Opinion, NoOpinion> {
        let directory = WorkDirectory::create()?;
        let order = directory.path().join("order");
        std::fs::write(&order, order_of(plan))?;
        let mut environment = Environment::of(&command.environment);
        environment.prepend("LD_LIBRARY_PATH", self.directory.as_os_str());
        environment.prepend("LD_PRELOAD", embedded::unpack()?.shim.as_os_str());
        // What it lacks is to be seen at once, not when it is first called.
        environment.set("LD_BIND_NOW", "1");
        environment.set(wire::ORDER_VARIABLE, &order);
        let said = directory.path().join("report");
        environment.set("TSAN_OPTIONS", format!("exitcode={STATUS}:log_path={}", said.display()));
        let ran = run::execute(&environment, command, directory, None, limit, cancellation)?;
        let report = reports_in(ran.directory.path())?;
        if ran.ending == Ending::Exited(NOT_LOADED) && report.is_empty() {
            let output = ran.output();
            let said = String::from_utf8_lossy(&output);
            if let Some(line) = said.lines().find(|line| line.contains("symbol lookup error")) {
                return Err(NoOpinion::CannotRun { said: line.to_owned() });
            }
        }
        if let Some(line) = report.lines().find(|line| line.contains("FATAL: ThreadSanitizer")) {
            return Err(NoOpinion::CannotRun { said: line.to_owned() });
        }
        Ok(Opinion { report, ending: ran.ending })
    }
}

fn reports_in(directory: &Path) -> io::Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("report.")) {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(path)?));
        }
    }
    Ok(text)
}

/// The order file.
fn order_of(plan: &Plan) -> Vec<u8> {
    let table = ThreadTable::of(plan);
    let mut calls = Vec::new();
    let mut waiting: Vec<Option<&PlannedEvent>> = vec![None; table.len()];
    for (index, step) in plan.steps.iter().enumerate() {
        let thread = table.number(&step.thread);
        let call = match step.kind {
            Kind::Fork => SyncCall::Create,
            Kind::Join => SyncCall::Join,
            Kind::Acquire | Kind::AcquireShared => {
                // The last part of a wait for a condition variable is no call.
                if waiting[thread as usize].take().is_some_and(|wait| wait.location == step.location) {
                    continue;
                }
                SyncCall::Lock
            }
            Kind::Release | Kind::ReleaseShared => {
                let after = plan.steps[index + 1..].iter().filter(|later| later.thread == step.thread);
                let mut after = after.filter(|later| !matches!(later.kind, Kind::Branch | Kind::Request));
                match after.next() {
                    Some(next) if next.kind == Kind::Wait && next.location == step.location => {
                        waiting[thread as usize] = Some(step);
                        SyncCall::Wait
                    }
                    _ => SyncCall::Unlock,
                }
            }
            Kind::Signal | Kind::Broadcast => SyncCall::Signal,
            Kind::BarrierEnter => SyncCall::Barrier,
            Kind::Post => SyncCall::Post,
            Kind::Take => SyncCall::Take,
            _ => continue,
        };
        calls.push(OrderedCall { thread, call });
    }
    let mut bytes = Vec::new();
    wire::write_call_order(&table.origins(), &calls, &mut |part| bytes.extend_from_slice(part));
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use trace::ThreadPath;

    use super::super::plan::Goal;
    use super::*;

    #[test]
    fn a_wait_for_a_condition_variable_is_one_call() {
        let event = |thread: &[u32], kind, location: &str| PlannedEvent {
            thread: ThreadPath::new(thread),
            place: Some(0),
            kind,
            object: "l".to_owned(),
            location: location.to_owned(),
        };
        let steps = vec![
            event(&[], Kind::Fork, "a.c:1"),
            event(&[1], Kind::Acquire, "a.c:2"),
            event(&[1], Kind::Release, "a.c:3"),
            event(&[], Kind::Read, "a.c:4"),
            event(&[], Kind::Signal, "a.c:5"),
            event(&[1], Kind::Wait, "a.c:3"),
            event(&[1], Kind::Acquire, "a.c:3"),
            event(&[1], Kind::Release, "a.c:6"),
        ];
        let bytes = order_of(&Plan { steps, goal: Goal::State, names: BTreeMap::new() });
        let order = wire::CallOrder::parse(&bytes).expect("the order is well formed");
        let threads = [wire::Origin { parent: None, nth: 0 }, wire::Origin { parent: Some(0), nth: 1 }];
        assert_eq!(order.threads().collect::<Vec<_>>(), threads);
        let calls: Vec<_> =
            (0..order.len()).filter_map(|at| order.get(at)).map(|c| (c.thread, c.call)).collect();
        let expected = [
            (0, SyncCall::Create),
            (1, SyncCall::Lock),
            (1, SyncCall::Wait),
            (0, SyncCall::Signal),
            (1, SyncCall::Unlock),
        ];
        assert_eq!(calls, expected);
    }
}
