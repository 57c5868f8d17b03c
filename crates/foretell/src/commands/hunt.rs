//! `foretell hunt`: build, record, predict, replay, report. One command to the first bug.
//!
//! The stages are those of the other commands, one after the other; what each leaves is in the run's directory before the
//! next begins, so an interrupted hunt keeps what was found.

mod build;
mod confirm;
mod expected;
mod explore;
mod recorded;
mod rounds;
mod run_directory;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::predict::Search;
use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts;
use crate::open::{Opened, open};
use crate::progress::{self, Stage};
use crate::quantity::quantity;
use crate::reporting::{Outputs, Reporting};
use crate::stack::with_room;
use rounds::Hunting;
use run_directory::RunDirectory;

const EXAMPLES: &str = "\
A run of the program is recorded, the bugs of the runs that did not happen are foretold from it, and the program
is replayed into each of them. What was seen happening is `confirmed`. Everything is kept in `.foretell/`, the last hunt as
`.foretell/latest`: the trace, the findings, their schedules, what the program printed, and a report for the browser.

Examples:
  foretell hunt bank.c                        build it, and hunt in it
  foretell hunt bank.rs                       the same for Rust: see `foretell cargo` for projects
  foretell hunt bank.cc --flags '-O2 -lm' -- 10 accounts.txt
  foretell hunt -- ./tests/queue_test         a program built with `foretell cc` or `gcc -fsanitize=thread`
  foretell hunt bank.c --only deadlock
  foretell replay .foretell/latest race-1 --gdb

A replay that goes another way than every recording, because it left its schedule or a read saw
something else, is a recording by itself, and searched in the next of the `--rounds`.

An interrupt (Ctrl-C) while recording ends the program; after that it ends the hunt, and what was
found so far is kept (`foretell report`). A second one ends it at once.

Reads that can see other values are no bugs by themselves, so they are looked for with `--only nondeterminism` alone; nor is a
pattern of accesses that already came apart in the recorded run, which did its work all the same: `foretell predict` tells of both.

Exit status: 0 nothing found, 1 findings, 2 usage or input error, 3 nothing found, but a budget ran out.";

/// Build, record, predict, replay, report: one command to the first bug.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Hunt {
    /// A program in one file: .c, .cc, .cpp, .cxx or .rs.
    #[arg(value_name = "PROGRAM", required_unless_present = "command")]
    program: Option<PathBuf>,
    /// More flags for the compiler; it gets -O1 -g -pthread anyway, or what that is to rustc.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, requires = "program")]
    flags: Option<String>,
    /// Which order the threads run in while they are recorded.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How often each finding is replayed; 0: not at all.
    #[arg(long, value_name = "N", default_value_t = 3)]
    times: u64,
    /// How many rounds: a replay that goes another way than every recording is searched, too, in the next round.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Begin no replay after so many seconds; a run of the program may take as long, too.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Record no more than so many events of the program; it goes on.
    #[arg(long, value_name = "N", default_value = "50M", value_parser = quantity)]
    max_events: u64,
    /// Where results are kept.
    #[arg(long, value_name = "DIRECTORY", default_value = ".foretell")]
    results: PathBuf,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    manner: Manner,
    /// The arguments of the program; without PROGRAM, the command to hunt in.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Hunt {
    /// Hunts, and reports what was caught.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let ends = Instant::now() + Duration::from_secs(self.timeout);
        let directory = RunDirectory::create(&self.results)?;
        let command = self.build(&directory)?;
        interrupts::heed();
        self.record(command, &directory)?;
        directory.becomes_latest()?;
        let opened = open(directory.trace().as_os_str(), self.silent())?;
        with_room(|| {
            let mut hunting = Hunting::new(&self, &directory, &opened, ends)?;
            hunting.rounds(&opened)?;
            self.report(&opened, hunting, &directory)
        })?
    }

    /// The command to hunt in.
    fn build(&self, directory: &RunDirectory) -> Result<Vec<OsString>, Diagnostic> {
        let Some(source) = &self.program else { return Ok(self.command.clone()) };
        let stage = Stage::begin(&format!("building {}", source.display()), self.manner);
        let program = directory.program(source);
        let built = build::build(source, &program, self.flags.as_deref().unwrap_or_default());
        stage.clear();
        built?;
        stage.end(&format!("built {}", source.display()), self.manner);
        let mut command = vec![program.into_os_string()];
        command.extend(self.command.iter().cloned());
        Ok(command)
    }

    fn report(
        &self,
        opened: &Opened,
        hunting: Hunting<'_>,
        directory: &RunDirectory,
    ) -> Result<Exit, Diagnostic> {
        let mut outputs = self.outputs.clone();
        let page = outputs.html.get_or_insert_with(|| directory.report().into_os_string()).clone();
        let Hunting { predictions, mut others, .. } = hunting;
        others.retain(|other| {
            predictions.findings.iter().any(|finding| finding.recording.as_ref() == Some(&other.name))
        });
        let nothing = predictions.findings.is_empty();
        let reporting =
            Reporting { opened, others: &others, outputs: &outputs, manner: self.manner, options: &[] };
        let exit = reporting.deliver(predictions)?;
        if !self.manner.quiet && !self.manner.json {
            if nothing {
                let seed = self.seed.wrapping_add(1);
                progress::say(&format!(
                    "another order of the threads may come to other code: `--seed {seed}`"
                ));
            }
            progress::say(&format!("report: {}", page.display()));
        }
        Ok(exit)
    }

    /// How what belongs to a stage speaks: the stage speaks for it.
    fn silent(&self) -> Manner {
        Manner { quiet: true, ..self.manner }
    }

    fn tell(&self, what: &str) {
        if !self.manner.quiet {
            progress::say(what);
        }
    }
}
