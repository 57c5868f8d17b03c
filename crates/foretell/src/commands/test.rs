//! `foretell test`: hunt in every test of a test command, and report them together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use pipeline::Bounds;
use pipeline::suite::{Hunter, Selection, Shard, SuiteOptions, SuiteOutcome, suite};
use report::TestOutcome;
use wire::Children;

use crate::arguments::children;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts;
use crate::limits::presenting;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::progress;
use crate::quantity::seconds;
use crate::reporting::{Outputs, Reporting};

const EXAMPLES: &str = "\
Runs the test command once, unchanged. Every program that it starts is a test if
it is built for recording (`foretell cc`, `foretell c++`, `foretell cargo` or
-fsanitize=thread) and creates threads. Then there is a separate hunt for each
test: see `foretell hunt --help`. After `--`, `cargo` means `foretell cargo`,
which builds for recording.

A finding that several tests show is reported once, with their names. Each test
has its own directory in `.foretell/latest/tests`, with its trace and report.

Examples:
  foretell test -- ctest --test-dir build
  foretell test -- make check
  foretell test --split -- ./build/all_tests  each case of GoogleTest, Catch2 ..
  foretell test --timeout 600 -- cargo test
  foretell test --shard 2/8 -- ctest          then `foretell merge`
  foretell test --resume                      continue after Ctrl-C
  foretell replay .foretell/latest race-1     see a finding happen

Exit status: 0 nothing to report, 1 findings, or the test command failed
(--exit-code sets another status for both), 2 usage or input error, or there was
nothing to hunt in, 3 nothing found, but the time was up before all tests were
done.";

/// How to hunt in the tests of a test command.
#[derive(Debug, Args)]
pub(super) struct SuiteArguments {
    /// Stop hunting after this time, and report what was found; each test gets an equal share.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    timeout: Duration,
    /// How many tests to hunt in at the same time [default: the number of cores].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Hunt in each case of a GoogleTest, Catch2, libtest or Criterion program separately.
    #[arg(long)]
    split: bool,
    /// Hunt in each test with N seeds: make N different recordings, and search only these.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Hunt in part I of N parts of the tests, chosen by their names and seeds.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Whether to record the processes that a test starts as well: `ignore` or `follow`. Each is also a separate test.
    #[arg(long, value_parser = children(), default_value = Children::Ignore.name(), hide_possible_values = true)]
    children: Children,
    /// Let the programs read the machine's clocks and sleep as long as they say: see `foretell hunt --help`.
    #[arg(long)]
    real_time: bool,
    /// Continue the last suite with its options: run its command again, and hunt in the tests that are not done. A suite that
    /// was started elsewhere or by another user needs its command.
    #[arg(long, conflicts_with_all = ["split", "shard", "seeds", "children", "real_time"])]
    resume: bool,
    /// More options for each hunt, such as '--only deadlock --policy pct'.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    hunt: String,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    outputs: Outputs,
}

/// Hunt in every test of a test command: ctest, make check, cargo test, any script.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Test {
    #[command(flatten)]
    suite: SuiteArguments,
    /// Where to keep the results.
    #[arg(long, value_name = "DIRECTORY", default_value = ".foretell")]
    results: PathBuf,
    /// The test command.
    #[arg(last = true, value_name = "CMD", required_unless_present = "resume")]
    command: Vec<OsString>,
}

impl Test {
    /// Runs the tests, hunts in each, and reports what was caught.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let this = this_program()?;
        self.suite.run(for_recording(&self.command, &this), self.results)
    }
}

impl SuiteArguments {
    /// Runs a test command whose programs are built for recording, hunts in each, and reports what was caught.
    pub(super) fn run(&self, command: Vec<OsString>, results: PathBuf) -> Result<Exit, Diagnostic> {
        let options = self.options(command, results, this_program()?);
        let outcome = suite(&options, &mut TerminalObserver::new(self.mode))?;
        // What the page shows besides the findings is searched for in one of the traces, which may be odd.
        report(outcome, &self.outputs, presenting(self.timeout), self.mode)
    }

    fn options(&self, command: Vec<OsString>, results: PathBuf, this: PathBuf) -> SuiteOptions {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        // A client in foretell.toml is for the server, not for its tests.
        let arguments = ["hunt", "--quiet", "--drive="].map(OsString::from).to_vec();
        let children = (self.children == Children::Follow).then_some("--children=follow");
        let real_time = self.real_time.then_some("--real-time");
        let chosen = children
            .into_iter()
            .chain(real_time)
            .chain(self.hunt.split_whitespace())
            .map(OsString::from)
            .collect();
        interrupts::heed();
        SuiteOptions {
            command,
            results,
            hunter: Hunter { program: this, arguments, chosen },
            timeout: self.timeout,
            workers: self.jobs.map_or_else(cores, usize::from),
            selection: Selection {
                seeds: self.seeds,
                split: self.split,
                shard: self.shard.unwrap_or(Shard::WHOLE),
            },
            resume: self.resume,
            cancellation: interrupts::cancellation(),
        }
    }
}

/// The program that we are.
pub(super) fn this_program() -> Result<PathBuf, Diagnostic> {
    std::env::current_exe().map_err(|error| Diagnostic::from_io("find", "this program", &error))
}

/// Cargo has to build the tests for recording: `foretell cargo` does, and runs them without recording each.
fn for_recording(command: &[OsString], this: &Path) -> Vec<OsString> {
    let is_cargo = command.first().map(Path::new).and_then(Path::file_name) == Some("cargo".as_ref());
    if !is_cargo {
        return command.to_vec();
    }
    let first = [this.as_os_str().to_owned(), "cargo".into(), "--no-record".into()];
    first.into_iter().chain(command[1..].iter().cloned()).collect()
}

/// Reports what was found in all tests.
pub(super) fn report(
    outcome: SuiteOutcome,
    outputs: &Outputs,
    bounds: Bounds,
    mode: OutputMode,
) -> Result<Exit, Diagnostic> {
    let SuiteOutcome { directory, file, recordings, predictions } = outcome;
    let mut outputs = outputs.clone();
    let page = directory.join("report.html");
    let page = outputs.html.get_or_insert_with(|| page.into_os_string()).clone();
    let suite = predictions.suite.clone().unwrap_or_default();
    let suite_directory = Some(directory.as_path());
    let reporting = Reporting {
        file: &file,
        others: &recordings,
        outputs: &outputs,
        mode,
        options: &[],
        roots: &[],
        suite: suite_directory,
        bounds,
    };
    let exit = reporting.deliver(predictions)?;
    if !mode.quiet && !mode.json {
        progress::say(&format!("report: {}", Path::new(&page).display()));
    }
    if suite.status != 0 {
        progress::say(&format!("the test command itself ended with status {}", suite.status));
    }
    Ok(match exit {
        // A failing test is what shards collect as well: the job that merges them says so.
        Exit::Nothing if suite.status != 0 => outputs.exit_code.map_or(Exit::Findings, Exit::Chosen),
        Exit::Nothing if suite.count(TestOutcome::Error) > 0 => Exit::Mistake,
        Exit::Nothing if suite.count(TestOutcome::NotReached) > 0 => Exit::Budget,
        exit => exit,
    })
}
