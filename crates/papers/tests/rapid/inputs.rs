//! The traces both sides are given: the public ones, generated ones of some length, and many tiny ones.

use std::fmt::Write as _;

use generate::TraceSettings;
use trace::{Trace, text};

/// How forks and joins name a thread `T7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forks {
    /// `fork(T7)`.
    ByName,
    /// `fork(7)`, as some recorders write.
    ByNumber,
}

/// A trace, and the text of it that RAPID is given.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) trace: Trace,
}

impl Input {
    fn read(name: impl Into<String>, text: String) -> Option<Input> {
        let trace = text::read_bytes(text.as_bytes()).ok()?;
        Some(Input { name: name.into(), text, trace })
    }

    /// What RAPID accepts of a trace. That can be no run any more: nothing then.
    pub(crate) fn of(name: impl Into<String>, trace: &Trace, forks: Forks) -> Option<Input> {
        let mut text = Vec::new();
        text::write_rapid(trace, &mut text).ok()?;
        let text = String::from_utf8(text).ok()?;
        let text = match forks {
            Forks::ByName => text,
            Forks::ByNumber => text.replace("fork(T", "fork(").replace("join(T", "join("),
        };
        Input::read(name, text)
    }
}

/// RAPID's public traces.
pub(crate) fn public() -> Vec<Input> {
    let folder = testing::public_traces().expect("the public traces: FORETELL_TRACES names their directory");
    let entries = folder.read_dir().expect("a directory");
    let mut inputs: Vec<Input> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".std.gz")?.to_owned();
            let decoded = trace::open::decode(std::fs::File::open(&path).ok()?).ok()?;
            Input::read(name, std::io::read_to_string(decoded).ok()?)
        })
        .collect();
    inputs.sort_by_key(|input| input.trace.len());
    inputs
}

/// A generated trace as recorded from a long run.
pub(crate) fn generated(events: u64, threads: u32) -> Input {
    let trace =
        generate::generate(&TraceSettings::large(events, threads, 32, 10_000)).expect("valid settings");
    Input::of(format!("generated, {events} events, {threads} threads"), &trace, Forks::ByName)
        .expect("accesses and sections alone are a run too")
}

/// Tiny traces: those of the seeds whose accesses and sections alone are a run, with an access.
pub(crate) fn tiny(seeds: std::ops::Range<u64>, forks: Forks) -> Vec<Input> {
    let of_seed = |seed: u64| {
        let trace = generate::generate(&TraceSettings::tiny(seed)).expect("tiny settings are valid");
        let input = Input::of(format!("seed {seed}"), &trace, forks)?;
        let has_fork = input.text.contains("fork(");
        let has_access = input.trace.events().any(|(_, _, op)| op.access().is_some());
        (has_access && (forks == Forks::ByName || has_fork)).then_some(input)
    };
    seeds.filter_map(of_seed).collect()
}

/// Many traces side by side as one text, each with threads, locks and variables of its own: none can matter to another, and starting RAPID for each
/// would take longer than all it does.
pub(crate) fn merged(inputs: &[Input]) -> String {
    let mut all = String::new();
    for (index, input) in inputs.iter().enumerate() {
        for line in input.text.lines() {
            let mut fields = line.split(['|', '(', ')']);
            let mut field = || fields.next().expect("RAPID's lines have four names");
            let (thread, op, object, _, location) = (field(), field(), field(), field(), field());
            let thread = number(index, thread);
            let object = match op {
                "fork" | "join" if object.starts_with('T') => format!("T{}", number(index, object)),
                "fork" | "join" => number(index, object).to_string(),
                _ => format!("{object}_{index}"),
            };
            let _ = writeln!(all, "T{thread}|{op}({object})|{location}");
        }
    }
    all
}

/// The number of a thread of the trace at this index.
fn number(index: usize, name: &str) -> usize {
    let own: usize = name.trim_start_matches('T').parse().expect("generated threads have numbers");
    assert!(own < 100, "a tiny trace has few threads");
    100 * (index + 1) + own
}

#[test]
fn traces_side_by_side_have_nothing_in_common() {
    let inputs = tiny(0..60, Forks::ByName);
    let all = text::read_bytes(merged(&inputs).as_bytes()).expect("runs side by side are a run");
    let total = |of: fn(&Trace) -> usize| inputs.iter().map(|input| of(&input.trace)).sum::<usize>();
    assert_eq!(all.len(), total(Trace::len));
    assert_eq!(all.symbols().threads.len(), total(|trace| trace.symbols().threads.len()));
    assert_eq!(all.symbols().locks.len(), total(|trace| trace.symbols().locks.len()));
    assert_eq!(all.symbols().variables.len(), total(|trace| trace.symbols().variables.len()));
}
