//! The first stage after building: a run of the program, recorded.
//!
//! A run that crashes shows a bug by itself, but ends before most of what could be foretold from it happens. So other seeds are tried, and threads
//! switched often, since that goes far from the order before; what is recorded is the first run that ends otherwise, if there is one.

use std::ffi::OsString;
use std::time::Duration;

use run::record::Ran;

use super::Hunt;
use super::run_directory::RunDirectory;
use crate::diagnostics::Diagnostic;
use crate::ending;
use crate::interrupts;
use crate::output::Target;
use crate::progress::Stage;
use crate::recording::{Recording, remark};
use crate::table::counted;

/// How many seeds are tried after one with which the program crashed.
const MORE_SEEDS: u64 = 5;
/// Events between switches then, on average.
const OFTEN: u64 = 4;

impl Hunt {
    pub(super) fn record(&self, command: Vec<OsString>, directory: &RunDirectory) -> Result<(), Diagnostic> {
        let stage = Stage::begin("recording", self.manner);
        let mut recording = Recording {
            command,
            runtime: vec![("max-events", self.max_events.to_string())],
            duration: Some(Duration::from_secs(self.timeout)),
            output: Some(directory.output()),
            ..Recording::default()
        };
        let program = recording.program()?;
        let mut seed = self.seed;
        let ran = loop {
            let ran = recording.run(&program, seed)?;
            let Some(crash) = ending::crash(ran.status) else { break ran };
            if seed == self.seed.saturating_add(MORE_SEEDS) || interrupts::came() {
                self.warn_of_crash(crash, directory);
                break ran;
            }
            stage.clear();
            self.tell(&format!("the program crashed with seed {seed}{crash}; recording another run"));
            seed += 1;
            recording.runtime =
                vec![("max-events", self.max_events.to_string()), ("quantum", OFTEN.to_string())];
        };
        let Some(process) = ran.processes.first() else {
            return Err(Diagnostic::new("nothing was recorded")
                .note("the recorder's library was not loaded into the program")
                .note(format!("the program's output is in `{}`", directory.output().display())));
        };
        let metadata = recording.metadata(&program, seed);
        let target = Target::named(directory.trace().as_os_str())?;
        let written = recording.save(process, &metadata, &target)?;
        stage.clear();
        if let Some(remark) = remark(&written.loaded) {
            Diagnostic::new(remark).in_file(written.name.as_str()).print_warning();
        }
        let events = counted(written.loaded.events, "event");
        let threads = counted(written.loaded.threads, "thread");
        stage.end(&format!("recorded {events} of {threads}; {}", self.ending(&ran)), self.manner);
        Ok(())
    }

    fn warn_of_crash(&self, crash: &str, directory: &RunDirectory) {
        Diagnostic::new(format!("the program crashed in every recorded run{crash}"))
            .note("the recording ends at the crash, so bugs that need later events are not predicted")
            .note(format!("the program's output is in `{}`", directory.output().display()))
            .print_warning();
    }

    /// How the program ended, in words.
    fn ending(&self, ran: &Ran) -> String {
        match ending::crash(ran.status) {
            Some(crash) => format!("the program crashed{crash}"),
            None if ran.elapsed >= Duration::from_secs(self.timeout) => {
                format!("the program was stopped after {} s", self.timeout)
            }
            None => format!("the program exited with status {}", ran.code()),
        }
    }
}
