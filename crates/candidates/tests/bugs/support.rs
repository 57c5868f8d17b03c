//! What the comparisons of searches with the oracle share. Also used by the tests of `papers`.

use candidates::{Bug, Report, SearchSettings};
use check::{Model, Question};
use decide::{Index, Options};
use trace::{EventId, Trace};

/// What a search reported.
#[derive(Default)]
pub(crate) struct Reported {
    pub(crate) found: Vec<Bug>,
    pub(crate) unknown: Vec<Question>,
}

impl Reported {
    pub(crate) fn take(&mut self, report: Report) {
        match report {
            Report::Bug(found) => self.found.push(found),
            Report::Unknown(question) => self.unknown.push(question),
            Report::Progress { done, total } => assert!(done <= total),
        }
    }

    /// The events of each finding.
    pub(crate) fn events(&self) -> Vec<Vec<Option<EventId>>> {
        self.found.iter().map(|found| found.events.clone()).collect()
    }
}

pub(crate) fn settings(model: Model) -> SearchSettings {
    SearchSettings { model, options: Options::default() }
}

/// Every schedule must answer its question.
pub(crate) fn assert_schedules(index: &Index<'_>, model: Model, found: &[Bug]) {
    for found in found {
        let schedule = found.witness.schedule(index, &found.question, model);
        let checked = check::check_schedule(index.trace(), &found.question, model, &schedule);
        assert!(checked.is_ok(), "{checked:?} {:?}\n{}", found.question, shown(index.trace()));
    }
}

/// A tiny trace of whatever kind.
pub(crate) fn tiny(seed: u64) -> Trace {
    generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid")
}

/// Shows a trace for each seed to a comparison: as many as usual, or those that the environment says. What it breaks is shrunken
/// and kept, if the environment says where.
pub(crate) fn on_traces(usual: u64, make: fn(u64) -> Trace, mut compare: impl FnMut(u64, &Trace)) {
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

pub(crate) fn shown(trace: &Trace) -> String {
    let mut text = Vec::new();
    trace::text::write(trace, &mut text).expect("memory can be written to");
    String::from_utf8(text).expect("text")
}

/// A trace written by hand, each line a location of its own unless it has one.
pub(crate) fn read(text: &str) -> Trace {
    let located = |(number, line): (usize, &str)| match line.trim() {
        line if line.matches('|').count() > 1 => line.to_owned(),
        line => format!("{line}|{number}"),
    };
    let lines: Vec<String> = text.lines().enumerate().map(located).collect();
    trace::text::read(lines.join("\n").as_bytes()).expect("a well-formed trace")
}

pub(crate) fn ids(events: &[u32]) -> Vec<Option<EventId>> {
    events.iter().map(|&event| Some(EventId(event))).collect()
}
