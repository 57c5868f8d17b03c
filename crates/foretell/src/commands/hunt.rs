//! `foretell hunt`: build, record, predict, replay, report. One command to the first bug.
//!
//! The hunt is [`pipeline::hunt`]; here are its options and its report.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use load::Pattern;
use pipeline::budget::seconds_in_words;
use pipeline::hunt::{
    ExplorationTarget, HuntOptions, HuntOutcome, HuntedProgram, SharedStep, SourceProgram, hunt,
};
use pipeline::observer::{Coverage, HuntEnd};
use pipeline::predict::PredictOptions;
use pipeline::suite::Shard;
use pipeline::{Bounds, Budget, saved};
use report::{Harm, Predictions, StoppedBy};
use wire::{Children, Policy};

use super::clocks::Clocks;
use super::driving::{Driving, ReplayedClient};
use super::predict::Search;
use crate::arguments::{Arguments, Command, children, policy};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts::{self, LastWords};
use crate::limits::MemoryLimit;
use crate::mode::OutputMode;
use crate::observer::{TerminalObserver, covered};
use crate::output;
use crate::progress;
use crate::quantity::{quantity, seconds};
use crate::reporting::{Outputs, Reporting};
use crate::table::counted;

const EXAMPLES: &str = "\
Records one run of the program, predicts the bugs of other runs, and runs the
program again to reproduce each of them. A bug that is reproduced is
`confirmed`.

Results are kept in `.foretell/`, those of the last hunt in `.foretell/latest`:
the trace, the findings, their schedules, the program's output and a report for
the browser.

Examples:
  foretell hunt bank.c                  build the program and hunt in it
  foretell hunt bank.rs                 Rust; for projects see `foretell cargo`
  foretell hunt bank.cc --flags '-O2 -lm' -- 10 accounts.txt
  foretell hunt -- ./tests/queue_test   built with `foretell cc`
  foretell hunt bank.c --only deadlock
  foretell hunt --drive './client 8080' -- ./server 8080
  foretell replay .foretell/latest race-1 --gdb

The remaining time is used to explore other behaviours. A target is a read,
lock, try or wake-up that can have another outcome than in any run so far, and
the program is run with a schedule that leads to it. Each run is checked for
failure, and searched if it shows something new. If no target is left, all
behaviours of the program for this input were run, and the hunt says so. After a
failure was found, the hunt ends when it finds nothing more for three times as
long.

While recording, Ctrl-C ends the program. Later it ends the hunt, which keeps
what was found so far (`foretell report`). A second Ctrl-C ends it at once.

A run that crashes, aborts, fails an assertion, panics or deadlocks is a finding
itself: `failure-1`, or a deadlock. For every confirmed finding, the report says
what the program did: it failed, hung, ended with another status, printed
something else, or none of these.

The report lists races, deadlocks, failures and order violations, and those
atomicity violations that do visible harm or break a region that the program
declares atomic. Findings that replays could not follow and harmless patterns
are counted in one line; `--show all` lists them. Nondeterministic reads need
not be bugs and are searched for only with `--only nondeterminism`.

Exit status: 0 nothing to report, 1 findings, 2 usage or input error, or the
program ended before it did anything, 3 nothing found, but the time or the
memory ran out before the recorded run was searched. Other behaviours are tried
until the time is up, which by itself is no reason for 3: `exhausted` in the
JSON says whether all were run.";

/// Build, record, predict, replay and report in one command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Hunt {
    /// A program in a single source file: .c, .cc, .cpp, .cxx or .rs.
    #[arg(value_name = "PROGRAM", required_unless_present = "command")]
    program: Option<PathBuf>,
    /// Extra compiler flags, in addition to -O1 -g -pthread (and -std=gnu++20 for C++) or their equivalents for rustc.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, requires = "program")]
    flags: Option<String>,
    /// Selects the order in which the threads run while they are recorded.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many runs to record and search, each with the next seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Take part I of N parts of the seeds, for several machines; `foretell merge` joins what they find.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// How the next thread is chosen while the program is recorded: `random`, `pct`, `round-robin` or `os`.
    #[arg(long, value_name = "POLICY", default_value = Policy::Random.name(), value_parser = policy(), hide_possible_values = true)]
    policy: Policy,
    /// Only variables accessed by functions or files whose names contain PATTERN; atomics are always included. `*` matches
    /// anything.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Skip variables that are accessed only by functions or files whose names contain PATTERN.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Whether to record the processes that the program starts as well: `ignore` or `follow`. Findings in them are predicted,
    /// not replayed.
    #[arg(long, value_parser = children(), default_value = Children::Ignore.name(), hide_possible_values = true)]
    children: Children,
    /// Hunt in a program that is not instrumented: records only its locks and threads, plus everything in instrumented
    /// libraries that it loads, such as extension modules of Python.
    #[arg(long)]
    only_sync: bool,
    /// How many times to replay each finding; 0 means never.
    #[arg(long, value_name = "N", default_value_t = 3)]
    times: u64,
    /// 1: search only the recorded run. 2: then explore other behaviours until the time is up, and search those as well.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Stop recording, searching and replaying after this time, and report what was found; a single run may take a third of
    /// it.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Record at most N events, and 500,000 for each second of --timeout; the program then continues unrecorded.
    #[arg(long, value_name = "N", default_value = "50M", value_parser = quantity)]
    max_events: u64,
    #[command(flatten)]
    clocks: Clocks,
    #[command(flatten)]
    driving: Driving,
    /// What a server gets in replays: `recorded`, what the client sent in the recorded run, which is kept with the results; or
    /// `live`, the client, run again.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = ReplayedClient::Recorded, hide_possible_values = true)]
    client_input: ReplayedClient,
    /// Instead of exploring, make one run and list the targets that are left: what workers of a fleet do.
    #[arg(long, hide = true)]
    step: bool,
    /// The target that the step is to go towards.
    #[arg(long, value_name = "FILE", hide = true, requires = "step")]
    towards: Option<PathBuf>,
    /// Where to keep the results.
    #[arg(long, value_name = "DIRECTORY", default_value = ".foretell")]
    results: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
    /// The program's arguments; without PROGRAM, the command to hunt in.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    limits: MemoryLimit,
}

impl Hunt {
    /// Hunts, and reports what was caught.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let step = self.step()?;
        let mut observer = TerminalObserver::new(self.mode);
        let source = self
            .program
            .as_ref()
            .map(|file| SourceProgram { file: file.clone(), flags: self.flags.clone().unwrap_or_default() });
        let program = HuntedProgram::prepare(source.as_ref(), &self.command, &self.results, &mut observer)?;
        let bounds = self.limits.start(Some(self.timeout));
        let options = self.options(step, bounds);
        interrupts::set_last_words(self.last_words(program.findings()));
        let outcome = hunt(program, &options, &mut observer)?;
        self.report(outcome, bounds)
    }

    /// Whether a worker of a fleet can use these options, which somebody else has chosen: they are options of a hunt, and have nothing run but
    /// the program that is hunted in.
    pub fn check_for_workers(options: &[OsString]) -> Result<(), Diagnostic> {
        // What a worker adds.
        let own = ["--results", "results", "--timeout", "60", "--seed", "1", "--", "program"];
        let first = ["foretell", "hunt"].map(OsString::from).into_iter();
        let words = first.chain(options.iter().cloned()).chain(own.map(OsString::from));
        let hunt = match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
            // Options that end the options would make what follows a command of their own.
            Ok(Command::Hunt(hunt)) if hunt.command == ["program"] => hunt,
            Ok(_) => return Err(Diagnostic::new("not options of `foretell hunt`")),
            Err(usage) => {
                let usage = usage.to_string();
                let first = usage.lines().next().unwrap_or_default();
                let why = first.strip_prefix("error: ").unwrap_or("it asks for help");
                return Err(Diagnostic::new(format!("not options of `foretell hunt`: {}", why)));
            }
        };
        let refused = match (&hunt.program, hunt.driving.drive()) {
            (Some(_), _) => "a source file",
            (None, Some(_)) => "`--drive`",
            (None, None) => return Ok(()),
        };
        Err(Diagnostic::new(format!(
            "workers do not take {refused}: they run nothing but the submitted program"
        )))
    }

    /// What is said of the findings that were kept, if the hunt does not come to its end by itself.
    fn last_words(&self, findings: PathBuf) -> LastWords {
        let json = self.mode.json;
        Box::new(move |stopped| {
            let Ok(mut predictions) = saved::read(&findings) else { return Exit::Budget };
            predictions.stopped = Some(stopped);
            let shows = predictions.findings.iter().any(|finding| finding.shown != Some(false));
            let printed = match json {
                true => output::print_json(&predictions),
                false => output::print(&in_brief(predictions)),
            };
            match (printed, shows) {
                (Ok(()), true) => Exit::Findings,
                _ => Exit::Budget,
            }
        })
    }

    /// The step of a shared exploration, if it is to be one.
    fn step(&self) -> Result<Option<SharedStep>, Diagnostic> {
        let Some(path) = &self.towards else { return Ok(self.step.then(SharedStep::default)) };
        let shown = path.display().to_string();
        let text = std::fs::read(path)
            .map_err(|error| Diagnostic::from_io("read", &format!("`{shown}`"), &error))?;
        let target: Option<ExplorationTarget> = serde_json::from_slice(&text).ok();
        match target.filter(ExplorationTarget::is_well_formed) {
            Some(target) => Ok(Some(SharedStep { target: Some(target) })),
            None => Err(Diagnostic::new("not a target of a hunt").in_file(shown)),
        }
    }

    fn options(&self, step: Option<SharedStep>, bounds: Bounds) -> HuntOptions {
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        HuntOptions {
            seed: self.seed.wrapping_add(shard.part - 1),
            seed_step: shard.parts,
            runs: self.runs,
            policy: self.policy,
            children: self.children,
            only_sync: self.only_sync,
            clock: self.clocks.clock(),
            drive: self.driving.drive(),
            client_input: self.client_input.into(),
            load: load::Options {
                include: self.include.iter().map(|text| Pattern::new(text)).collect(),
                exclude: self.exclude.iter().map(|text| Pattern::new(text)).collect(),
                ..load::Options::default()
            },
            times: self.times,
            rounds: self.rounds,
            // What never ends leaves time to search what it did.
            run_limit: (self.timeout / 3).max(Duration::from_secs(1)),
            max_events: self.max_events,
            step,
            // What does harm is known after the replays, and grouped then.
            predict: PredictOptions { by_cause: false, ..self.search.options(bounds) },
            budget: Budget { bounds, ..Budget::default() },
            cancellation: interrupts::cancellation(),
        }
    }

    /// What was covered, and why the hunt ended.
    fn summary(&self, coverage: &Coverage, does_harm: bool) -> String {
        if coverage.exhausted {
            let behaviours = match (coverage.behaviours, does_harm) {
                (1, true) => "the only behaviour of this program for this input was run".to_owned(),
                (1, false) => {
                    "the only behaviour of this program for this input was run; it does not fail".to_owned()
                }
                (many, true) => format!("all {many} behaviours of this program for this input were run"),
                (many, false) => {
                    format!("all {many} behaviours of this program for this input were run; none fails")
                }
            };
            return format!("covered: {behaviours} ({})", counted(coverage.runs, "run"));
        }
        let doubts = match coverage.doubts.as_slice() {
            [] => String::new(),
            doubts => format!("; there may be more behaviours: {}", doubts.join(", ")),
        };
        let why = match coverage.ended {
            HuntEnd::Unfinished | HuntEnd::RecordedRunOnly => String::new(),
            HuntEnd::NothingLeft => doubts,
            HuntEnd::NoNewFindings => "; nothing more was found for a while".to_owned(),
            HuntEnd::Stopped(by) => match by {
                StoppedBy::Time => {
                    format!("; the time of {} was used (`--timeout`)", seconds_in_words(self.timeout))
                }
                StoppedBy::Memory => "; the memory was used up (`--memory`)".to_owned(),
                StoppedBy::Interrupt => "; interrupted".to_owned(),
                StoppedBy::Events | StoppedBy::Error => String::new(),
            },
        };
        format!("covered: {}{why}", covered(coverage))
    }

    fn report(&self, outcome: HuntOutcome, bounds: Bounds) -> Result<Exit, Diagnostic> {
        let HuntOutcome { directory, file, explored, predictions } = outcome;
        let mut outputs = self.outputs.clone();
        let page = outputs.html.get_or_insert_with(|| directory.report().into_os_string()).clone();
        let coverage = predictions.coverage.clone();
        let does_harm = predictions.findings.iter().any(|finding| finding.harm.is_some_and(Harm::is_visible));
        let reporting = Reporting {
            file: &file,
            others: &explored,
            outputs: &outputs,
            mode: self.mode,
            options: &[],
            roots: self.search.roots(),
            suite: None,
            bounds,
        };
        let exit = reporting.deliver(predictions)?;
        if !self.mode.quiet && !self.mode.json {
            if let Some(coverage) = coverage {
                progress::say(&self.summary(&coverage, does_harm));
            }
            progress::say(&format!("report: {}", page.display()));
        }
        Ok(exit)
    }
}

/// What is printed where there is no time to present it: each finding that is shown in a line, and how many are not.
fn in_brief(mut predictions: Predictions) -> String {
    let all = std::mem::take(&mut predictions.findings);
    let (shown, hidden): (Vec<_>, Vec<_>) = all.into_iter().partition(|finding| finding.shown != Some(false));
    let lines: String = shown.iter().map(report::finding_in_a_line).collect();
    predictions.findings = shown;
    format!("{lines}{}{}", report::hidden_in_words(&hidden), report::summary(&predictions))
}

#[cfg(test)]
mod tests {
    use pipeline::TraceFile;
    use pipeline::observer::Silent;
    use pipeline::predict::predict;

    use super::*;

    #[test]
    fn options_of_others_have_nothing_else_run() {
        let check = |text: &str| {
            let options: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
            Hunt::check_for_workers(&options).map_err(|error| error.title().to_owned())
        };
        for options in ["", "--only deadlock", "--rounds 1 --runs 100 --memory 1G --policy pct"] {
            assert_eq!(check(options), Ok(()), "{options}");
        }
        for (options, why) in [
            ("--drive ./client", "workers do not take `--drive`"),
            ("hostile.c", "workers do not take a source file"),
            ("--only nonsense", "not options of `foretell hunt`"),
            ("--no-such-option", "not options of `foretell hunt`"),
            ("--help", "not options of `foretell hunt`"),
            ("-- /bin/sh", "not options of `foretell hunt`"),
        ] {
            let refused = check(options).unwrap_err();
            assert!(refused.starts_with(why), "{options}: {refused}");
        }
    }

    #[test]
    fn a_hunt_that_does_not_end_says_what_was_kept() {
        let arguments = Arguments::try_parse_from(["foretell", "hunt", "x.c", "--json"]).unwrap();
        let Command::Hunt(hunt) = arguments.command else { panic!("{arguments:?}") };
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join(saved::FINDINGS);
        let stopped =
            || pipeline::budget::stopped_by(pipeline::Bounds::NONE, pipeline::budget::Bound::Memory);
        assert_eq!(hunt.last_words(kept.clone())(stopped()), Exit::Budget, "nothing was kept yet");
        let race = "T0|w(x)|a.c:1\nT1|w(x)|a.c:2\n";
        for (text, exit) in [("T0|w(x)|1\n", Exit::Budget), (race, Exit::Findings)] {
            let trace = trace::text::read_bytes(text.as_bytes()).unwrap();
            let file = TraceFile::in_memory(trace, "test");
            let found = predict(&file, &PredictOptions::default(), &mut Silent).unwrap();
            std::fs::write(&kept, serde_json::to_vec(&found).unwrap()).unwrap();
            assert_eq!(hunt.last_words(kept.clone())(stopped()), exit, "{text}");
            let says_where =
                in_brief(found).starts_with("race-1: data race on x at a.c:1 and a.c:2, predicted\n");
            assert_eq!(says_where, exit == Exit::Findings);
        }
    }

    #[test]
    fn what_is_not_shown_is_not_counted_as_found_either() {
        let trace = trace::text::read_bytes(b"T0|w(x)|1\nT1|w(x)|2\n").unwrap();
        let file = TraceFile::in_memory(trace, "test");
        let mut found = predict(&file, &PredictOptions::default(), &mut Silent).unwrap();
        assert!(in_brief(found.clone()).contains("SUMMARY: 1 finding"));
        found.findings[0].shown = Some(false);
        let said = in_brief(found);
        assert!(said.contains("1 more finding is not shown") && said.contains("SUMMARY: nothing"), "{said}");
    }
}
