//! `foretell replay`: run the real program into a predicted bug.

mod text;

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
use pipeline::recorded_command;
use pipeline::replay::{FindingToReplay, ReplaySummary, Replayer};
use pipeline::{Bounds, rerecording, saved};
use run::replay::{self, Ending, OnDivergence, RaceOrder, ReplayVerdict};

use super::clocks::Clocks;
use super::driving::Driving;
use super::predict::Search;
use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts;
use crate::limits::MemoryLimit;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::open::open_within;
use crate::output::{self, OutputTarget};
use crate::quantity::seconds;

const EXAMPLES: &str = "\
Runs the recorded command again, with its arguments, directory and input, and
makes its threads follow the schedule of the finding. Reports what happens: for
a race, both orders of the accesses; for a deadlock, the threads' stacks; for
other findings, what their events saw. A finding is `confirmed` only if a replay
sees it happen. See docs/replay.md.

The command is printed first. It is run only if the program is the one that was
recorded and is instrumented, and its input is unchanged; otherwise name the
command after `--`. See docs/security.md.

Examples:
  foretell replay race-1                          a finding of the last hunt
  foretell replay run.ftr race-1                  a finding of `predict run.ftr`
  foretell replay run.ftr race-1 --order ba       the second access first
  foretell replay run.ftr deadlock-1 --times 20   count how often it happens
  foretell replay run.ftr race-1 --minimize       with few thread switches
  foretell replay run.ftr race-1 --gdb            inspect the threads
  foretell replay run.ftr race-1 --tsan           compare with ThreadSanitizer
  foretell replay --schedule bug.sched -- ./bank  from `decide --schedule-out`

Exit status: 0 not confirmed, 1 confirmed, 2 usage or input error, 3 not
confirmed because of the time limit.";

/// Run the program into a predicted bug.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
// Here `--order` is that of a race.
#[command(mut_arg("orders", |orders| orders.long("forbidden-order")))]
pub struct Replay {
    /// The trace or the directory of a hunt; by default that of the last hunt.
    #[arg(value_name = "T", required_unless_present = "schedule", conflicts_with = "schedule")]
    trace: Option<OsString>,
    /// The id of the finding, such as `race-1`.
    finding: Option<String>,
    /// Follow the schedule in this file instead (see docs/schedule-format.md).
    #[arg(long, value_name = "FILE")]
    schedule: Option<OsString>,
    /// How many times to replay.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// Which of two racing accesses goes first: the first (`ab`), the second (`ba`), or `both` in turn.
    #[arg(long, value_enum, default_value_t = Orders::Both, hide_possible_values = true)]
    order: Orders,
    /// What to do if the program leaves the schedule: `stop` ends it, `continue` lets it run.
    #[arg(long, value_name = "WHAT", value_parser = one_of(&OnDivergence::ALL, OnDivergence::name))]
    #[arg(default_value = OnDivergence::Stop.name(), hide_possible_values = true)]
    on_divergence: OnDivergence,
    /// Stop after this time: no run lasts longer, and none starts later.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Run in gdb, and stop at the bug or failure.
    #[arg(long)]
    gdb: bool,
    /// Stop after this many steps of the schedule.
    #[arg(long, value_name = "STEP")]
    until: Option<usize>,
    /// Also run under the genuine ThreadSanitizer, with all synchronisation in the order of the schedule.
    #[arg(long)]
    tsan: bool,
    /// Reduce the number of switches between threads first.
    #[arg(long, conflicts_with = "schedule")]
    minimize: bool,
    /// Write a trace of the replay.
    #[arg(long, value_name = "FILE")]
    record: Option<OsString>,
    #[command(flatten)]
    clocks: Clocks,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    mode: OutputMode,
    /// The command to run instead of the recorded one.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    limits: MemoryLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Orders {
    Ab,
    Ba,
    Both,
}

impl Replay {
    /// Replays, and prints the result.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let target = self.record.as_deref().map(OutputTarget::named).transpose()?;
        let bounds = self.limits.start(Some(self.timeout));
        let mut replayer = match &self.schedule {
            Some(file) => Replayer::of_file(file, &self.command, bounds)?,
            None => self.of_finding(bounds)?,
        };
        self.settle(&mut replayer);
        replayer.bounds = bounds;
        replayer.cancellation = interrupts::cancellation();
        say_what_runs(&replayer);
        if self.gdb {
            let settings = replayer.settings(replayer.orders[0], true);
            return debug(&replayer, &settings);
        }
        let judge = self.tsan.then(|| replayer.second_judge()).transpose()?;
        let (mut summary, replayed) = replayer.run()?;
        if let Some(judge) = judge {
            summary.tsan = Some(replayer.second_opinion(&judge)?);
        }
        if let (Some(target), Some(replayed)) = (&target, &replayed) {
            if rerecording::is_recorded(replayed) {
                // What is not known of the recording stays so.
                let unknown = trace::Metadata::default();
                target.write(|out| {
                    rerecording::write(&replayer, replayed, &unknown, &load::Options::default(), out)
                })?;
            } else {
                Diagnostic::new(format!("the program left no log, so `{}` was not written", target.name()))
                    .print_warning();
            }
        }
        if self.mode.json {
            output::print_json(&summary)?;
        } else {
            output::print(&text::in_words(&replayer, &summary, self.mode.quiet))?;
        }
        Ok(exit(&summary, bounds))
    }

    fn settle(&self, replayer: &mut Replayer) {
        if let Some(drive) = self.driving.drive() {
            replayer.command.drive = Some(drive);
        }
        if let Some(clock) = self.clocks.clock_of_replay() {
            replayer.command.clock = clock;
        }
        replayer.times = self.times;
        replayer.limit = self.timeout;
        replayer.until = self.until;
        replayer.on_divergence = self.on_divergence;
        match self.order {
            Orders::Ab => replayer.orders = vec![RaceOrder::Ab],
            Orders::Ba => replayer.orders = vec![RaceOrder::Ba],
            Orders::Both => {}
        }
    }

    fn of_finding(&self, bounds: Bounds) -> Result<Replayer, Diagnostic> {
        let Some(first) = &self.trace else {
            return Err(Diagnostic::new("name a finding or a schedule to replay"));
        };
        let (path, id) = saved::named(first, self.finding.as_deref())?;
        let opened = open_within(&path, bounds, self.mode)?;
        let finding = FindingToReplay {
            trace: &path,
            id: &id,
            command: &self.command,
            names_client: self.driving.drive().is_some(),
            minimize: self.minimize,
        };
        let observer = &mut TerminalObserver::new(self.mode);
        Ok(Replayer::of_finding(&opened, finding, &self.search.options(bounds), observer)?)
    }
}

/// The word by which gdb has this program start the one that is debugged.
const LAUNCH: &str = "launch-for-gdb";

fn debug(replayer: &Replayer, settings: &replay::ReplaySettings) -> Result<Exit, Diagnostic> {
    let cannot = |error: &std::io::Error| Diagnostic::from_io("run", "gdb", error);
    let this = std::env::current_exe().map_err(|error| cannot(&error))?;
    let launcher = [this.into_os_string(), LAUNCH.into()];
    // They are gdb's.
    interrupts::ignore();
    replay::debug(&replayer.plan, &replayer.command, settings, &launcher).map_err(|error| cannot(&error))?;
    Ok(Exit::Nothing)
}

/// Becomes the program that gdb wants to run, if that is what this program was called for; returns why if that did not work.
pub fn intercept_launch(arguments: &[OsString]) -> Option<Diagnostic> {
    match arguments {
        [_, word, directory, ..] if word == LAUNCH => {
            Some(Diagnostic::from_io("start", "the program", &replay::launch(directory)))
        }
        _ => None,
    }
}

/// Says what is about to be run, and what it will miss.
fn say_what_runs(replayer: &Replayer) {
    eprintln!("running {}", recorded_command::in_words(&replayer.command));
    let missing = replayer.command.environment.missing();
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| report::shown(name)).collect();
        Diagnostic::new("the program ran with environment variables that are not set here")
            .note(names.join(", "))
            .note("a trace holds the names of variables, not their values")
            .print_warning();
    }
}

fn exit(summary: &ReplaySummary, bounds: Bounds) -> Exit {
    let timed_out = summary.runs.iter().any(|run| run.ending == Ending::TimedOut);
    match summary.result {
        ReplayVerdict::Confirmed => Exit::Findings,
        _ if timed_out || bounds.are_final() => Exit::Budget,
        _ => Exit::Nothing,
    }
}
