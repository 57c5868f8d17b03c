//! What the pipeline says while it works, on standard error: progress bars on a terminal, a line for each stage of a hunt, and
//! warnings.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;
use pipeline::ending::signal_name;
use pipeline::observer::{Coverage, Event, NotReplayed, Observer, Progress, Stage};
use report::{Finding, TestOutcome};
use trace::Ending;

use crate::diagnostics::Diagnostic;
use crate::heartbeat::Heartbeat;
use crate::interrupts;
use crate::mode::OutputMode;
use crate::progress::{self, StatesBar};
use crate::table::counted;

/// Shows what the pipeline says.
#[derive(Debug)]
pub struct TerminalObserver {
    mode: OutputMode,
    /// The stages under way, the innermost last.
    stages: Vec<Running>,
    heartbeat: Heartbeat,
    /// The findings so far, if somebody may need them.
    kept: Option<KeptFindings>,
}

/// Findings that were passed on, for last words.
pub type KeptFindings = Arc<Mutex<Vec<Finding>>>;

#[derive(Debug)]
struct Running {
    stage: Stage,
    bar: Bar,
    started: Instant,
}

#[derive(Debug)]
enum Bar {
    Simple(ProgressBar),
    States(StatesBar),
}

impl Bar {
    fn clear(&self) {
        match self {
            Bar::Simple(bar) => bar.finish_and_clear(),
            Bar::States(bar) => bar.finish(),
        }
    }
}

impl TerminalObserver {
    /// Speaks as the user wants.
    pub fn new(mode: OutputMode) -> Self {
        TerminalObserver { mode, stages: Vec::new(), heartbeat: Heartbeat::new(mode), kept: None }
    }

    /// The same that keeps a copy of all findings.
    pub fn keeping(mut self, kept: &KeptFindings) -> Self {
        self.kept = Some(Arc::clone(kept));
        self
    }

    fn bar(&self, stage: &Stage) -> Bar {
        let mode = self.mode;
        let doing = doing(stage);
        Bar::Simple(match stage {
            Stage::Reading { bytes: Some(bytes) } => progress::of_bytes(&doing, *bytes, mode),
            Stage::Reading { bytes: None } | Stage::Translating | Stage::SearchingRacyReads => {
                progress::of_unknown(&doing, mode)
            }
            Stage::Searching(_) => progress::of_events(&doing, 0, mode),
            Stage::Deciding { events } => progress::of_events(&doing, *events, mode),
            Stage::SearchingStates => return Bar::States(StatesBar::new(&doing, mode)),
            Stage::Building(_) | Stage::Recording | Stage::Exploring => progress::of_stage(&doing, mode),
            // What the tests print is shown as it comes.
            Stage::Surveying => ProgressBar::hidden(),
            Stage::HuntingTests { tests } => progress::of_items(*tests as u64, "test", mode),
            // Each of its searches has a bar of its own.
            Stage::Predicting => ProgressBar::hidden(),
            Stage::Replaying { findings } => progress::of_items(*findings as u64, "finding", mode),
        })
    }

    /// Prints while no bar is in the way.
    fn print(&self, print: impl FnOnce()) {
        match self.stages.last() {
            Some(Running { bar: Bar::Simple(bar), .. }) => bar.suspend(print),
            _ => print(),
        }
    }
}

impl Observer for TerminalObserver {
    fn begin(&mut self, stage: &Stage) {
        if *stage == Stage::Recording {
            interrupts::heed();
        }
        let bar = self.bar(stage);
        self.heartbeat.begin(doing(stage));
        self.stages.push(Running { stage: stage.clone(), bar, started: Instant::now() });
    }

    fn item(&mut self, name: &str) {
        self.heartbeat.item(name);
        let Some(Running { stage, bar: Bar::Simple(bar), .. }) = self.stages.last() else { return };
        bar.set_message(match stage {
            Stage::Exploring => format!("trying {name}"),
            Stage::HuntingTests { .. } => format!("hunting in {name}"),
            _ => format!("replaying {name}"),
        });
    }

    fn advance(&mut self, progress: Progress) {
        self.heartbeat.advance(progress.clone());
        match (self.stages.last_mut().map(|running| &mut running.bar), progress) {
            (Some(Bar::Simple(bar)), Progress::Counted { done, total }) => {
                if let Some(total) = total {
                    bar.set_length(total);
                }
                bar.set_position(done);
            }
            (Some(Bar::States(bar)), Progress::Estimated { done, share }) => bar.update(done, share),
            (Some(Bar::Simple(bar)), Progress::Covered(coverage)) => {
                bar.set_message(format!("trying other behaviours: {}", covered(&coverage)));
            }
            _ => {}
        }
    }

    fn end(&mut self, outcome: Option<&Event>) {
        let Some(Running { bar, started, .. }) = self.stages.pop() else { return };
        bar.clear();
        self.heartbeat.end();
        // That nothing more was found is worth no line.
        let is_worth_it = |event: &&Event| !matches!(event, Event::Predicted { findings: 0, more: true, .. });
        if let Some(event) = outcome.filter(is_worth_it).filter(|_| !self.mode.quiet) {
            progress::say(&format!("{} ({:.1} s)", in_words(event), started.elapsed().as_secs_f64()));
        }
    }

    fn event(&mut self, event: &Event) {
        if !self.mode.quiet {
            self.print(|| progress::say(&in_words(event)));
        }
    }

    fn warning(&mut self, warning: pipeline::Error) {
        self.print(|| Diagnostic::from(warning).print_warning());
    }

    fn finding(&mut self, finding: &Finding) {
        interrupts::count_finding();
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(finding.clone());
        }
    }
}

impl Drop for TerminalObserver {
    /// An error may have ended the work in the middle of stages.
    fn drop(&mut self) {
        self.stages.iter().for_each(|running| running.bar.clear());
        self.heartbeat.stop();
    }
}

/// What a stage does.
fn doing(stage: &Stage) -> String {
    match stage {
        Stage::Reading { .. } => "reading".to_owned(),
        Stage::Translating => "translating the recording".to_owned(),
        Stage::Searching(kind) => format!("searching for {}", kind.title_of_many()),
        Stage::SearchingRacyReads => "searching for reads that race".to_owned(),
        Stage::Deciding { .. } => "deciding what the method reports".to_owned(),
        Stage::SearchingStates => "searching".to_owned(),
        Stage::Building(source) => format!("building {}", source.display()),
        Stage::Recording => "recording".to_owned(),
        Stage::Predicting => "predicting".to_owned(),
        Stage::Replaying { .. } => "replaying".to_owned(),
        Stage::Exploring => "trying other behaviours".to_owned(),
        Stage::Surveying => "running the tests".to_owned(),
        Stage::HuntingTests { .. } => "hunting".to_owned(),
    }
}

fn in_words(event: &Event) -> String {
    match event {
        Event::Built { source } => format!("built {}", source.display()),
        Event::Failed { seed, message } => {
            format!("the program failed with seed {seed} ({}); recording another run", report::shown(message))
        }
        Event::Recorded { events, threads, ending, limit } => {
            let end = match ending {
                Ending::Killed(signal) => {
                    format!("the program was killed by signal {signal}{}", signal_name(*signal))
                }
                Ending::TimedOut => format!("the program was stopped after {} s", limit.as_secs()),
                Ending::Deadlocked => "the program deadlocked".to_owned(),
                Ending::Ended => "the program was stopped".to_owned(),
                Ending::Exited(status) => format!("the program exited with status {status}"),
            };
            format!("recorded {} of {}; {end}", counted(*events, "event"), counted(*threads, "thread"))
        }
        Event::Predicted { findings, candidates, more } => {
            let more = if *more { " more" } else { "" };
            format!(
                "predicted {}{more} from {}",
                counted(*findings, "finding"),
                counted(*candidates, "candidate")
            )
        }
        Event::Surveyed { status, processes, tests } => {
            let processes = match processes {
                1 => "1 instrumented process".to_owned(),
                many => format!("{} instrumented processes", report::number(*many)),
            };
            format!("ran the tests: status {status}; {processes}, {}", counted(*tests, "test"))
        }
        Event::TestHunted { name, outcome, findings, milliseconds, message } => {
            let result = match (outcome, message) {
                (TestOutcome::Hunted, _) if *findings > 0 => counted(*findings, "finding"),
                (outcome, Some(message)) => format!("{}: {}", outcome.in_words(), report::printable(message)),
                (outcome, None) => outcome.in_words().to_owned(),
            };
            let seconds = *milliseconds as f64 / 1000.0;
            format!("{}: {result} ({seconds:.1} s)", report::shown(name))
        }
        Event::TestsHunted { hunted, left } => {
            let left = match left {
                0 => String::new(),
                left => format!("; {} not reached", counted(*left, "test")),
            };
            format!("hunted in {}{left}", counted(*hunted, "test"))
        }
        Event::Confirmed { title, after } => format!("confirmed after {:.1} s: {title}", after.as_secs_f64()),
        Event::Replayed { confirmed, left, why } => {
            let why = match why {
                NotReplayed::TimeUp => "the time was up",
                NotReplayed::Interrupted => "interrupted",
                NotReplayed::OfChild => {
                    "only the program itself is run again, not the processes that it starts"
                }
            };
            match left {
                0 => format!("replayed: {confirmed} confirmed"),
                left => format!(
                    "replayed: {confirmed} confirmed; {} not replayed: {why}",
                    counted(*left, "finding")
                ),
            }
        }
    }
}

/// What a hunt has covered, in words.
pub fn covered(coverage: &Coverage) -> String {
    let runs = counted(coverage.runs, "run");
    let behaviours = counted(coverage.behaviours, "behaviour");
    let targets = counted(coverage.targets, "target");
    format!("{runs}, {behaviours}, {targets} left")
}
