//! `foretell record`: run a program and write what its threads did.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use load::{Options, Pattern, Sample};
use pipeline::recording::{
    KeptEnvironment, KeptRecording, RecordOptions, RecordedTrace, Recorder, Translation, file_of_run,
};
use run::drive::{Drive, Ready};
use serde::Serialize;

use super::clocks::Clocks;
use super::driving::Driving;
use wire::{Children, Policy};

use crate::arguments::{children, policy};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::output::{self, Form, OutputTarget};
use crate::quantity::{quantity, seconds};
use crate::table::{bytes, counted};

const EXAMPLES: &str = "\
Threads run one at a time, in an order that the seed and the policy choose. The
program's output and exit status are passed on (128 plus the signal's number if
a signal ended it; 2 if it could not be recorded). Ctrl-C is passed to the
program, which is killed if it does not end soon or on a second Ctrl-C; what was
recorded is kept. See docs/recording.md and docs/security.md.

Examples:
  foretell record -- ./bank                     writes foretell.ftr
  foretell record -o bank.ftr --seed 7 -- ./bank 10
  foretell record --runs 5 -- ./bank            foretell-1.ftr to foretell-5.ftr
  foretell record --only-sync -- /usr/bin/tool  not built for recording
  foretell record --duration 10s -- ./server    end it after ten seconds
  foretell record --drive ./client -- ./server  end it when the client is done";

/// Run a program and record what its threads do.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct Record {
    /// The trace to write; with several runs or processes, a number is added before the extension.
    #[arg(short, long, value_name = "T", default_value = "foretell.ftr")]
    output: OsString,
    /// Add the program's name to the trace's name, such as foretell-bank.ftr.
    #[arg(long)]
    by_program: bool,
    /// Selects the order of the threads; the same seed and input give the same order.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How the next thread is chosen.
    #[arg(long, value_name = "POLICY", default_value = Policy::Random.name(), value_parser = policy())]
    policy: Policy,
    /// How many runs to record, each with the next seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// How many events a thread runs on average before another gets its turn.
    #[arg(long, value_name = "N", value_parser = quantity)]
    quantum: Option<u64>,
    /// Warn if the program does not count branches (`foretell cc --help` says when it does).
    #[arg(long)]
    branches: bool,
    /// Record a program that is not instrumented: only its locks and threads, plus everything in instrumented
    /// libraries that it loads.
    #[arg(long)]
    only_sync: bool,
    /// Stop recording after N events; the program continues.
    #[arg(long, value_name = "N", value_parser = quantity)]
    max_events: Option<u64>,
    /// End the program after this time, such as 500ms, 10s or 2m.
    #[arg(long, visible_alias = "timeout", value_name = "D", value_parser = seconds)]
    duration: Option<Duration>,
    /// Only variables accessed by functions or files whose names contain PATTERN; atomics are always included. `*` matches
    /// anything.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Skip variables that are accessed only by functions or files whose names contain PATTERN.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Keep this share of the variables, from 0 to 1.
    #[arg(long, value_name = "R", value_parser = share)]
    sample: Option<f64>,
    /// Leave out repeated accesses; saves little and hides atomicity violations.
    #[arg(long)]
    drop_repeated: bool,
    #[command(flatten)]
    clocks: Clocks,
    /// What to do with processes that the program starts.
    #[arg(long, value_parser = children(), default_value = Children::Ignore.name())]
    children: Children,
    /// Store the values of environment variables in the trace, not only their names and lengths.
    #[arg(long, conflicts_with = "no_environment")]
    keep_environment: bool,
    /// Store nothing of the environment in the trace, not even names.
    #[arg(long)]
    no_environment: bool,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    mode: OutputMode,
    /// The program and its arguments.
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<OsString>,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    status: u8,
    seconds: f64,
    traces: Vec<Trace<'a>>,
}

#[derive(Serialize)]
struct Trace<'a> {
    file: &'a str,
    bytes: u64,
    events: u64,
    recorded: u64,
    threads: u64,
    variables: u64,
    deadlocked: bool,
}

impl Record {
    /// Runs the program, writes its traces, and ends as the program did.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let options = self.options();
        if let Some(Drive { ready: Ready::Printed(_), .. }) = &options.drive {
            return Err(Diagnostic::new(
                "what the program prints is passed on, and not searched for a pattern",
            )
            .help("name the port, such as `--ready :8080`, or leave `--ready` out"));
        }
        let base = self.base()?;
        let program = self.by_program.then_some(self.command[0].as_os_str());
        let observer = &mut TerminalObserver::new(self.mode);
        let recorder = Recorder::new(&options, observer)?;
        let mut written = Vec::new();
        let (mut status, mut seconds) = (0, 0.0);
        for run in 0..self.runs {
            let number = (self.runs > 1).then_some(run + 1);
            let file = file_of_run(&base, program, number);
            let recording = recorder.record(self.seed.wrapping_add(run), &file, observer)?;
            let elapsed = recording.elapsed.as_secs_f64();
            recording.traces.iter().for_each(|trace| self.say_what_was_recorded(trace, elapsed));
            for KeptRecording { name, bytes: size } in recording.kept.iter().filter(|_| !self.mode.quiet) {
                let size = bytes(*size);
                eprintln!(
                    "recorded a long run to {name} ({size}, {elapsed:.2} s); its first reader translates it"
                );
            }
            written.extend(recording.traces);
            seconds += elapsed;
            status = if status == 0 { recording.code } else { status };
        }
        if self.mode.json {
            let traces = written.iter().map(Trace::of).collect();
            output::print_json(&Report { schema: 1, status, seconds, traces })?;
        }
        Ok(Exit::Program(status))
    }

    fn options(&self) -> RecordOptions {
        let runtime = wire::RuntimeSettings {
            policy: self.policy,
            quantum: self.quantum.and_then(NonZeroU64::new),
            max_events: self.max_events.and_then(NonZeroU64::new),
            clock: self.clocks.clock(),
            ..wire::RuntimeSettings::DEFAULT
        };
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        let load = Options {
            drop_repeated: self.drop_repeated,
            sample: self.sample.map(|share| Sample { share, seed: self.seed }),
            include: patterns(&self.include),
            exclude: patterns(&self.exclude),
            ..Options::default()
        };
        RecordOptions {
            command: self.command.clone(),
            runtime,
            duration: self.duration,
            output: None,
            drive: self.driving.drive(),
            client_output: None,
            only_sync: self.only_sync,
            children: self.children,
            environment: match (self.keep_environment, self.no_environment) {
                (true, _) => KeptEnvironment::Values,
                (_, true) => KeptEnvironment::Nothing,
                _ => KeptEnvironment::Names,
            },
            translation: self.translation(&load),
            load,
        }
    }

    /// What is in the trace has to be known now if it is to be reported.
    fn translation(&self, load: &Options) -> Translation {
        let is_reported = self.mode.json || self.branches || self.max_events.is_some();
        if is_reported { Translation::Now } else { Translation::latest(load) }
    }

    /// The file to write to, which must be of the native form.
    fn base(&self) -> Result<PathBuf, Diagnostic> {
        match OutputTarget::named(&self.output)? {
            OutputTarget::File(path, Form::Native) => Ok(path),
            _ => Err(Diagnostic::new("a recording is always in the native format")
                .help("give the output a name that ends in `.ftr`; `foretell convert` converts it to text")),
        }
    }

    fn say_what_was_recorded(&self, trace: &RecordedTrace, seconds: f64) {
        let loaded = &trace.loaded;
        if self.branches && loaded.branches == 0 {
            Diagnostic::new("no branches were counted")
                .in_file(trace.name.as_str())
                .help("build the program with `foretell cc`, and with FORETELL_BRANCHES=1 in the environment if it uses -flto or is written in Rust")
                .print_warning();
        }
        if !self.mode.quiet && !self.mode.json {
            let events = counted(loaded.events, "event");
            let threads = counted(loaded.threads, "thread");
            eprintln!(
                "recorded {events} of {threads} to {} ({}, {seconds:.2} s)",
                trace.name,
                bytes(trace.bytes)
            );
            if loaded.repeated > 0 {
                eprintln!("left out {} of spinning threads", counted(loaded.repeated, "repeated read"));
            }
        }
    }
}

impl<'a> Trace<'a> {
    fn of(written: &'a RecordedTrace) -> Trace<'a> {
        let loaded = &written.loaded;
        Trace {
            file: &written.name,
            bytes: written.bytes,
            events: loaded.events,
            recorded: loaded.recorded,
            threads: loaded.threads,
            variables: loaded.variables,
            deadlocked: loaded.stop == Some(wire::Stop::Deadlock),
        }
    }
}

/// A share from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}
