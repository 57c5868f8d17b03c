//! The programs of paper 5's table 3: how many shared variables have a violation by each method, beside what the paper
//! prints. corpus/README.md describes the files.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use candidates::atomicity::{Intent, LIMITS};
use candidates::{Extent, Object, PatternLimits, Report, SearchSettings};
use check::{Model, check_schedule};
use decide::{Index, Options};
use papers::atomicity::{Method, search_by};
use serde::Deserialize;
use trace::Trace;

/// What is written beside a trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    program: String,
    #[serde(default)]
    flags: Vec<String>,
    variables: Variables,
    paper: Paper,
}

/// How many variables have a violation by each method.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    over: usize,
    avfilter: usize,
    under: usize,
    rf: usize,
    branch: usize,
}

/// A row of table 3.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    threads: usize,
    causing: usize,
    over: usize,
    avfilter: usize,
    under: usize,
}

const ROWS: [&str; 7] =
    ["atom001", "atom001a", "atom002", "atom002a", "bank-av-8", "bank-sav-8", "bank-nav-8"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/atomicity")
}

fn row(name: &str) -> (Trace, Expectation) {
    let file = |ending: &str| {
        let path = folder().join(format!("{name}{ending}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let trace = trace::text::read(file(".std").as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = toml::from_str(&file(".expect.toml")).unwrap_or_else(|error| panic!("{name}: {error}"));
    (trace, expected)
}

/// How many variables have a violation; every schedule is verified.
fn variables(trace: &Trace, method: Method, model: Model) -> usize {
    let index = Index::new(trace);
    let settings = SearchSettings { model, options: Options::default() };
    let limits = PatternLimits { extent: Extent::PatternsOfVariables, ..LIMITS };
    let mut variables = BTreeSet::new();
    let counts = search_by(method, &index, settings, &Intent::Stated, limits, &mut |report| {
        let Report::Bug(found) = report else { return };
        let model = method.model(model);
        let schedule = found.witness.schedule(&index, &found.question, model);
        check_schedule(trace, &found.question, model, &schedule).expect("a schedule that shows it");
        if let Object::Variable(variable) = found.object {
            variables.insert(variable);
        }
    });
    assert_eq!(counts.tally.unknown, 0);
    variables.len()
}

#[test]
fn table_3_of_paper_5() {
    for name in ROWS {
        let (trace, expected) = row(name);
        let exact = |model| variables(&trace, Method::Exact, model);
        let found = Variables {
            over: variables(&trace, Method::Over, Model::ReadsFrom),
            avfilter: variables(&trace, Method::AvFilter, Model::ReadsFrom),
            under: variables(&trace, Method::Under, Model::ReadsFrom),
            rf: exact(Model::ReadsFrom),
            branch: exact(Model::Branch),
        };
        assert_eq!(found, expected.variables, "{name}");
        let Paper { threads, causing, over, avfilter, under } = expected.paper;
        assert_eq!(trace.symbols().threads.len(), threads, "{name}");
        assert_eq!((found.over, found.avfilter, found.under), (over, avfilter, under), "{name}: as printed");
        assert!(found.rf >= found.avfilter, "{name}: as good as the filter");
        assert_eq!(
            found.branch, causing,
            "{name}: all there are, also the one that the paper misses, and no other"
        );
    }
}

#[test]
fn the_traces_point_at_the_lines_they_mean() {
    for name in ROWS {
        let (trace, expected) = row(name);
        let program = std::fs::read_to_string(folder().join(&expected.program)).expect("the program");
        let lines: Vec<&str> = program.lines().collect();
        for (event, _, op) in trace.events() {
            let location = trace.symbols().location(trace.location(event));
            let (file, number) = location.split_once(':').expect("a file and a line");
            assert_eq!(file, expected.program);
            let line = lines[number.parse::<usize>().expect("a number") - 1];
            let Some(access) = op.access() else { continue };
            let variable = trace.symbols().variable(access.variable);
            let word = variable.split('[').next().unwrap_or(variable);
            assert!(line.contains(word), "{name}: event {event} at `{line}`");
        }
    }
}

#[test]
fn the_programs_compile_without_warnings() {
    if !testing::has("cc") {
        return;
    }
    for name in ROWS {
        let (_, Expectation { program, flags, .. }) = row(name);
        let output = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-fsyntax-only"])
            .args(flags)
            .arg(folder().join(&program))
            .output()
            .expect("the compiler was there a moment ago");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
