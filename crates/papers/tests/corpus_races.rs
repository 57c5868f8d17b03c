//! The races of the corpus: what each method reports of the traces in `corpus/races` and `corpus/programs`, beside what
//! paper 1 prints in its table 1. corpus/README.md describes the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use candidates::races::{RacePair, poly, syncp};
use candidates::{Report, SearchSettings};
use check::{Model, Question, check_schedule};
use decide::{Index, Options};
use papers::races::{Method, cp, hb, lockset, ucg};
use serde::Deserialize;
use trace::{EventId, Op, Trace};

const TRACE: &str = ".std";
const EXPECTATION: &str = ".expect.toml";

/// What is written beside a trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    races: Races,
    paper: Option<Paper>,
}

/// What we report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Races {
    lockset: usize,
    hb: usize,
    cp: usize,
    syncp: usize,
    ucg: usize,
    poly: usize,
    /// The locations of the pairs that `poly` reports, each once, smaller one first.
    pairs: BTreeSet<(String, String)>,
}

impl Races {
    fn of(&self, method: Method) -> usize {
        match method {
            Method::Lockset => self.lockset,
            Method::Hb => self.hb,
            Method::Cp => self.cp,
            Method::Syncp => self.syncp,
            Method::Ucg => self.ucg,
            Method::Poly => self.poly,
        }
    }
}

/// A row of paper 1's table 1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    row: String,
    potential: usize,
    ucg: usize,
    poly: usize,
    cp: usize,
    /// Why our numbers are others; absent if they are not.
    differs: Option<String>,
    trace: Option<Shape>,
}

/// The size of a trace as the paper counts it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    /// It has one more for each lock and each condition variable: their initialisation, which is no event here.
    events: usize,
    threads: usize,
    locks: usize,
    conditions: usize,
    variables: usize,
    lock_events: usize,
    condition_events: usize,
    reads: usize,
    writes: usize,
}

impl Shape {
    fn of(trace: &Trace) -> Shape {
        let symbols = trace.symbols();
        let count = |is: fn(Op) -> bool| trace.events().filter(|&(_, _, op)| is(op)).count();
        Shape {
            events: trace.len() + symbols.locks.len() + symbols.conditions.len(),
            threads: symbols.threads.len(),
            locks: symbols.locks.len(),
            conditions: symbols.conditions.len(),
            variables: symbols.variables.len(),
            lock_events: count(|op| matches!(op, Op::Acquire(_) | Op::Release(_))),
            condition_events: count(|op| matches!(op, Op::Wait(_) | Op::Signal(_) | Op::Broadcast(_))),
            reads: count(|op| op.reads().is_some()),
            writes: count(|op| op.writes().is_some()),
        }
    }
}

/// How many races each method reports: racy events by `hb` and `syncp`, pairs by the others.
fn count(method: Method, index: &Index<'_>) -> usize {
    let trace = index.trace();
    match method {
        Method::Lockset => lockset::pairs(trace).count(),
        Method::Hb => hb::races(trace).count(),
        Method::Cp => cp::Cp::new(&Index::new(trace)).expect("a small trace").pairs().count(),
        Method::Syncp => syncp::Syncp::new(index).races().count(),
        Method::Ucg => ucg::pairs(index).count(),
        Method::Poly => predicted(index).len(),
    }
}

/// The pairs that `poly` reports under `rf`, every schedule verified.
fn predicted(index: &Index<'_>) -> Vec<RacePair> {
    let (trace, model) = (index.trace(), Model::ReadsFrom);
    let mut pairs = Vec::new();
    let settings = SearchSettings { model, options: Options::default() };
    poly::races(index, settings, &mut |report| match report {
        Report::Bug(found) => {
            let Question::Race(first, second) = found.question else { panic!("{:?}", found.question) };
            let schedule = found.witness.schedule(index, &found.question, model);
            check_schedule(trace, &found.question, model, &schedule).expect("a schedule that holds");
            pairs.push(RacePair { first, second });
        }
        Report::Unknown(question) => panic!("unknown: {question:?}"),
        Report::Progress { .. } => {}
    });
    pairs
}

/// The potential races that brute force finds a schedule for.
fn real(trace: &Trace) -> BTreeSet<RacePair> {
    let question = |pair: &RacePair| Question::Race(pair.first, pair.second);
    let feasible = |pair: &RacePair| oracle::decide(trace, &question(pair), Model::ReadsFrom).is_some();
    lockset::pairs(trace).filter(feasible).collect()
}

fn locations(trace: &Trace, pairs: &[RacePair]) -> BTreeSet<(String, String)> {
    let name = |event: EventId| trace.symbols().location(trace.location(event)).to_owned();
    let sorted = |a: String, b: String| if a <= b { (a, b) } else { (b, a) };
    pairs.iter().map(|pair| sorted(name(pair.first), name(pair.second))).collect()
}

/// What is not as the expectation says.
fn faults(name: &str, trace: &Trace, expected: &Expectation) -> Vec<String> {
    let index = Index::new(trace);
    let mut faults = Vec::new();
    let mut hold = |what: &str, found: String, expected: String| {
        if found != expected {
            faults.push(format!("{name}: {what}: found {found}, expected {expected}"));
        }
    };
    for &method in Method::ALL {
        hold(method.name(), count(method, &index).to_string(), expected.races.of(method).to_string());
    }
    let predicted = predicted(&index);
    hold(
        "pairs, by the oracle",
        format!("{:?}", BTreeSet::from_iter(&predicted)),
        format!("{:?}", real(trace)),
    );
    let pairs = locations(trace, &predicted);
    hold("pairs", format!("{pairs:?}"), format!("{:?}", expected.races.pairs));
    if let Some(paper) = &expected.paper {
        let Races { lockset, ucg, poly, cp, .. } = expected.races;
        let same = [lockset, ucg, poly, cp] == [paper.potential, paper.ucg, paper.poly, paper.cp];
        hold(
            "row has the same numbers, or says why not",
            (!same).to_string(),
            paper.differs.is_some().to_string(),
        );
        if let Some(shape) = &paper.trace {
            hold("shape", format!("{:?}", Shape::of(trace)), format!("{shape:?}"));
        }
    }
    faults
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

/// The files with this ending, without it.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("a folder that can be listed").file_name();
        name.to_str()?.strip_suffix(ending).map(str::to_owned)
    };
    entries.filter_map(name).collect()
}

fn read(folder: &Path, name: &str, ending: &str) -> String {
    let path = folder.join(format!("{name}{ending}"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every trace of a folder with its expectation.
fn cases(folder: &Path) -> Vec<(String, Trace, Expectation)> {
    let (traces, expectations) = (names(folder, TRACE), names(folder, EXPECTATION));
    assert!(!traces.is_empty(), "no trace in {}", folder.display());
    let alone: Vec<&String> = traces.symmetric_difference(&expectations).collect();
    assert!(alone.is_empty(), "a trace without expectation, or the other way round: {alone:?}");
    let case = |name: String| {
        let trace = trace::text::read_bytes(read(folder, &name, TRACE).as_bytes())
            .unwrap_or_else(|error| panic!("{name}{TRACE}: {error}"));
        let expected = toml::from_str(&read(folder, &name, EXPECTATION))
            .unwrap_or_else(|error| panic!("{name}{EXPECTATION}: {error}"));
        (name, trace, expected)
    };
    traces.into_iter().map(case).collect()
}

fn as_expected(cases: &[(String, Trace, Expectation)]) {
    let faults: Vec<String> =
        cases.iter().flat_map(|(name, trace, expected)| faults(name, trace, expected)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_first_set_of_paper_1_has_the_races_of_its_table() {
    let cases = cases(&folder("races"));
    as_expected(&cases);
    let mut total = [0; 3];
    for (name, _, expected) in &cases {
        let paper = expected.paper.as_ref().unwrap_or_else(|| panic!("{name} is a row of the table"));
        assert_eq!(&paper.row, name);
        assert!(paper.trace.is_some(), "{name}: the shape of the trace is that of the row");
        for (total, races) in total.iter_mut().zip([paper.ucg, paper.poly, paper.cp]) {
            *total += races;
        }
    }
    assert_eq!(total, [20, 11, 5], "the totals that the paper prints for ucg, poly and cp");
}

const BUGGY: &str = "-buggy";
const FIXED: &str = "-fixed";
const PROGRAM: &str = ".c";

#[test]
fn the_programs_of_paper_1_s_second_set_have_races_until_fixed() {
    let folder = folder("programs");
    let cases = cases(&folder);
    as_expected(&cases);
    let all: BTreeSet<String> = cases.iter().map(|(name, ..)| name.clone()).collect();
    assert_eq!(all, names(&folder, PROGRAM), "a trace without program, or the other way round");
    for (name, _, expected) in &cases {
        let other = match (name.strip_suffix(BUGGY), name.strip_suffix(FIXED)) {
            (Some(base), _) => format!("{base}{FIXED}"),
            (_, Some(base)) => format!("{base}{BUGGY}"),
            _ => panic!("{name} is neither buggy nor fixed"),
        };
        assert!(all.contains(&other), "{name} without {other}");
        assert_eq!(expected.paper.is_some(), name.ends_with(BUGGY), "{name}: the buggy ones are the paper's");
        assert!(name.ends_with(BUGGY) || expected.races.poly == 0, "{name} is not fixed");
    }
}

/// Traces are made by hand, so what a line is said to do should at least be mentioned there.
#[test]
fn the_programs_traces_point_at_the_lines_they_mean() {
    let folder = folder("programs");
    for (name, trace, _) in cases(&folder) {
        let program = read(&folder, &name, PROGRAM);
        let lines: Vec<&str> = program.lines().collect();
        assert!(program.contains("Reconstruction"), "{name}{PROGRAM} does not say what it is");
        for (event, _, op) in trace.events() {
            let location = trace.symbols().location(trace.location(event));
            let number = location
                .strip_prefix(&format!("{name}{PROGRAM}:"))
                .and_then(|number| number.parse::<usize>().ok())
                .unwrap_or_else(|| panic!("{name}: event {event} is at {location}"));
            let line = lines[number - 1];
            let meant = mention(&trace, op);
            assert!(line.contains(meant), "{name}: event {event} is {op:?}, but line {number} is {line:?}");
        }
    }
}

/// A word that the source must have where this happens.
fn mention(trace: &Trace, op: Op) -> &str {
    let symbols = trace.symbols();
    let object = match op {
        Op::Fork(_) => "pthread_create",
        Op::Join(_) => "pthread_join",
        Op::Read(variable) | Op::Write(variable) => symbols.variable(variable),
        Op::Acquire(lock) | Op::Release(lock) => symbols.lock(lock),
        Op::Wait(condition) | Op::Signal(condition) => symbols.condition(condition),
        other => panic!("not expected in a trace made by hand: {other:?}"),
    };
    // Of `segments[1].offset` the field, of `outbuf[0..6]` the array.
    let field = object.rsplit_once("].").map_or(object, |(_, field)| field);
    let field = field.split('[').next().unwrap_or(field);
    field.rsplit('.').next().unwrap_or(field)
}

#[test]
fn the_programs_compile_without_warnings() {
    if !testing::has("cc") {
        return;
    }
    let folder = folder("programs");
    for name in names(&folder, PROGRAM) {
        let output = Command::new("cc")
            .args(["-pthread", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
            .arg(folder.join(format!("{name}{PROGRAM}")))
            .output()
            .expect("the compiler was there a moment ago");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}{PROGRAM}: {said}");
    }
}
