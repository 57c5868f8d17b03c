//! `foretell recover`: write the traces of recordings that were interrupted.

use std::path::PathBuf;

use clap::Args;
use pipeline::recording::RecordedTrace;
use pipeline::recovery::{self, Recoverable};
use pipeline::{Error, ErrorKind};
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::output;
use crate::table::{bytes, counted};

const EXAMPLES: &str = "\
If `foretell record` is killed, the recording up to that point is still in the
temporary directory. This command writes it to the trace that `record` was to
write (or to another name in the same directory, if that file exists), and
cleans up.

Examples:
  foretell recover                   write every interrupted recording
  foretell recover --list            only list them
  foretell recover -o bank.ftr       write the only one to this file
  foretell recover --discard         remove them";

/// Write the traces of recordings that were interrupted.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Recover {
    /// The trace to write, if there is one interrupted recording.
    #[arg(short, long, value_name = "T")]
    output: Option<PathBuf>,
    /// List interrupted recordings and change nothing.
    #[arg(long, conflicts_with_all = ["output", "discard"])]
    list: bool,
    /// Remove interrupted recordings instead of writing them.
    #[arg(long, conflicts_with = "output")]
    discard: bool,
    #[command(flatten)]
    mode: OutputMode,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report {
    schema: u32,
    recordings: Vec<Recording>,
}

#[derive(Serialize)]
struct Recording {
    command: String,
    directory: String,
    traces: Vec<Trace>,
}

#[derive(Serialize)]
struct Trace {
    file: String,
    bytes: u64,
    events: u64,
}

impl Recover {
    /// Recovers what there is.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let all = recovery::interrupted()?;
        if all.is_empty() && !self.list {
            return Err(Error::from(ErrorKind::NothingToRecover).into());
        }
        if all.len() > 1 && self.output.is_some() {
            return Err(Diagnostic::new(format!("there are {} interrupted recordings", all.len()))
                .help("leave out `-o`: each is written to the trace that was asked for"));
        }
        let recordings = all.iter().map(|one| self.treat(one)).collect::<Result<Vec<_>, Diagnostic>>()?;
        if self.mode.json {
            output::print_json(&Report { schema: 1, recordings })?;
        }
        Ok(Exit::Nothing)
    }

    fn treat(&self, recoverable: &Recoverable) -> Result<Recording, Diagnostic> {
        let (command, directory) = (recoverable.command(), recoverable.directory().display().to_string());
        let mut traces = Vec::new();
        if self.list {
            self.say(&format!("{command} in {directory}"));
        } else if self.discard {
            recoverable.discard()?;
            self.say(&format!("removed the recording of {command}"));
        } else {
            let observer = &mut TerminalObserver::new(self.mode);
            for RecordedTrace { name, bytes: size, loaded } in
                recoverable.recover(self.output.as_deref(), observer)?
            {
                let events = counted(loaded.events, "event");
                self.say(&format!("recovered {events} of {command} to {name} ({})", bytes(size)));
                traces.push(Trace { file: name, bytes: size, events: loaded.events });
            }
        }
        Ok(Recording { command, directory, traces })
    }

    fn say(&self, line: &str) {
        if !self.mode.quiet && !self.mode.json {
            eprintln!("{line}");
        }
    }
}
