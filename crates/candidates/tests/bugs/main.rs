//! The searches for bugs other than races, against the oracle and on traces written by hand.
//!
//! `cargo xtask fuzz-bugs --seeds N` makes the same comparisons over more seeds (`FORETELL_FUZZ_SEEDS`, `FORETELL_FUZZ_FROM`) and
//! keeps what they break, shrunken, in `corpus/found/`.

mod atomicity;
mod avfilter;
mod deadlocks;
mod nondeterminism;
mod orders;
mod regions;

use candidates::{Found, Report, Settings};
use check::{Model, Question};
use decide::{Options, Setup};
use trace::{EventId, Trace};

/// What a search reported.
#[derive(Default)]
struct Reported {
    found: Vec<Found>,
    unknown: Vec<Question>,
}

impl Reported {
    fn take(&mut self, report: Report) {
        match report {
            Report::Found(found) => self.found.push(found),
            Report::Unknown(question) => self.unknown.push(question),
            Report::Progress { done, total } => assert!(done <= total),
        }
    }

    /// The events of each finding.
    fn events(&self) -> Vec<Vec<Option<EventId>>> {
        self.found.iter().map(|found| found.events.clone()).collect()
    }
}

fn settings(model: Model) -> Settings {
    Settings { model, options: Options::default() }
}

/// Every schedule must answer its question.
fn assert_schedules(setup: &Setup<'_>, model: Model, found: &[Found]) {
    for found in found {
        let schedule = found.witness.schedule(setup, &found.question, model);
        let checked = check::check_schedule(setup.trace(), &found.question, model, &schedule);
        assert!(checked.is_ok(), "{checked:?} {:?}\n{}", found.question, shown(setup.trace()));
    }
}

/// A tiny trace of whatever kind.
fn tiny(seed: u64) -> Trace {
    generate::generate(&generate::Settings::tiny(seed)).expect("tiny settings are valid")
}

/// Shows a trace for each seed to a comparison: as many as usual, or those that the environment says. What it breaks is shrunken
/// and kept, if the environment says where.
fn on_traces(usual: u64, make: fn(u64) -> Trace, mut compare: impl FnMut(u64, &Trace)) {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let from = setting("FORETELL_FUZZ_FROM").unwrap_or(0);
    for seed in from..from + setting("FORETELL_FUZZ_SEEDS").unwrap_or(usual) {
        let trace = make(seed);
        let Ok(folder) = std::env::var("FORETELL_FUZZ_KEEP") else {
            compare(seed, &trace);
            continue;
        };
        let mut fails = |trace: &Trace| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(seed, trace))).is_err()
        };
        if fails(&trace) {
            let small = generate::shrink(&trace, &mut fails);
            std::fs::write(format!("{folder}/bugs-seed-{seed}.std"), shown(&small))
                .expect("keeping the trace");
            compare(seed, &small);
        }
    }
}

/// What fuzzing once broke is compared ever after.
#[test]
fn what_was_found_is_compared_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/found");
    let entries = folder.read_dir().expect("the corpus has it");
    for path in entries.map(|entry| entry.expect("a folder that can be listed").path()) {
        if path.extension().is_none_or(|extension| extension != "std") {
            continue;
        }
        let trace = trace::text::read(std::fs::File::open(path).expect("a file")).expect("a trace");
        for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
            deadlocks::compare(0, &trace, model, &mut deadlocks::Compared::default());
            nondeterminism::compare(0, &trace, model);
        }
        for comparison in atomicity::COMPARISONS {
            atomicity::compare(0, &trace, comparison, &mut atomicity::Compared::default());
        }
        avfilter::compare(0, &trace);
    }
}

fn shown(trace: &Trace) -> String {
    let mut text = Vec::new();
    trace::text::write(trace, &mut text).expect("memory can be written to");
    String::from_utf8(text).expect("text")
}

/// A trace written by hand, each line a location of its own unless it has one.
fn read(text: &str) -> Trace {
    let located = |(number, line): (usize, &str)| match line.trim() {
        line if line.matches('|').count() > 1 => line.to_owned(),
        line => format!("{line}|{number}"),
    };
    let lines: Vec<String> = text.lines().enumerate().map(located).collect();
    trace::text::read(lines.join("\n").as_bytes()).expect("a well-formed trace")
}

fn ids(events: &[u32]) -> Vec<Option<EventId>> {
    events.iter().map(|&event| Some(EventId(event))).collect()
}
