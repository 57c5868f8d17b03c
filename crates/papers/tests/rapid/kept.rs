//! Cases kept in `corpus/rapid/`: the shrunken traces on which RAPID and we differ, with what each says and what is true.

use std::path::{Path, PathBuf};

use papers::races::Method;
use serde::Deserialize;
use trace::{EventId, Trace, text};

use crate::comparison::kind_of;
use crate::inputs::{Forks, Input};
use crate::kinds::{Kind, Side};
use crate::ours::{Racy, decided, racy, true_ones};
use crate::peer::{Engine, Rapid};

/// What is written beside a kept trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// RAPID's engine.
    engine: Engine,
    /// The racy events by that engine.
    rapid: Vec<u32>,
    /// Ours that it is compared with, and the racy events by that.
    method: String,
    ours: Vec<u32>,
    /// The racy events there are: by the oracle, and by `poly`.
    racy: Vec<u32>,
    why: String,
}

impl Expectation {
    fn in_toml(&self) -> String {
        let Expectation { engine, rapid, method, ours, racy, why } = self;
        let engine = format!("{engine:?}").to_lowercase();
        format!(
            "engine = {engine:?}\nrapid = {rapid:?}\nmethod = {method:?}\nours = {ours:?}\nracy = {racy:?}\nwhy = {why:?}\n"
        )
    }
}

pub(crate) struct Case {
    name: String,
    text: String,
    expectation: Expectation,
}

impl Case {
    /// The smallest trace found that shows this kind of difference as the example does.
    pub(crate) fn shrunken(kind: Kind, example: &Input, rapid: &Rapid) -> Case {
        let forks = if kind.by_number { Forks::ByNumber } else { Forks::ByName };
        let shows = |trace: &Trace| {
            Input::of("", trace, forks).is_some_and(|input| {
                let verdicts = Verdicts::of(kind.engine, &input, rapid);
                verdicts.is_some_and(|verdicts| verdicts.kinds(&input, kind.engine).contains(&kind))
            })
        };
        let smallest = generate::shrink(&example.trace, shows);
        let input = Input::of("", &smallest, forks).expect("it was read before");
        let verdicts = Verdicts::of(kind.engine, &input, rapid).expect("it completed before");
        let numbers = |events: &Racy| events.iter().map(|event| event.0).collect();
        let expectation = Expectation {
            engine: kind.engine,
            rapid: numbers(&verdicts.rapid),
            method: kind.engine.method().name().to_owned(),
            ours: numbers(&verdicts.ours),
            racy: numbers(&verdicts.real),
            why: kind.why().unwrap_or("not explained yet").to_owned(),
        };
        Case { name: kind.name(), text: input.text, expectation }
    }

    pub(crate) fn keep(&self, folder: &Path) {
        let write = |ending: &str, content: String| {
            let path = folder.join(format!("{}{ending}", self.name));
            std::fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        };
        std::fs::create_dir_all(folder).expect("a folder of the corpus");
        write(TRACE, format!("# Shrunken by cargo xtask bench rapid.\n{}", self.text));
        write(EXPECTATION, self.expectation.in_toml());
    }
}

struct Verdicts {
    rapid: Racy,
    ours: Racy,
    real: Racy,
}

impl Verdicts {
    fn of(engine: Engine, input: &Input, rapid: &Rapid) -> Option<Verdicts> {
        let ours = racy(engine.method(), &input.trace);
        let real = if input.trace.len() <= 30 { true_ones(&input.trace) } else { decided(&input.trace)? };
        Some(Verdicts { rapid: rapid.racy(engine, &input.text)?, ours, real })
    }

    fn kinds(&self, input: &Input, engine: Engine) -> Vec<Kind> {
        let kind = |side: Side, event: &EventId| {
            kind_of(&input.trace, &input.text, engine, side, *event, &self.real)
        };
        let theirs = self.rapid.difference(&self.ours).map(|event| kind(Side::Rapid, event));
        theirs.chain(self.ours.difference(&self.rapid).map(|event| kind(Side::Ours, event))).collect()
    }
}

const TRACE: &str = ".std";
const EXPECTATION: &str = ".expect.toml";

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/rapid")
}

/// A kept case: its name, its text as a trace, and what is expected.
struct KeptCase {
    name: String,
    text: String,
    trace: Trace,
    expected: Expectation,
}

fn kept_cases() -> Vec<KeptCase> {
    let folder = folder();
    let read = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut cases = Vec::new();
    for entry in folder.read_dir().expect("a folder of the corpus") {
        let path = entry.expect("an entry").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(TRACE)) else {
            continue;
        };
        let expected: Expectation = toml::from_str(&read(&folder.join(format!("{name}{EXPECTATION}"))))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = read(&path);
        let trace = text::read_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        cases.push(KeptCase { name: name.to_owned(), text, trace, expected });
    }
    assert!(!cases.is_empty(), "no case in {}", folder.display());
    cases
}

fn numbers(events: Racy) -> Vec<u32> {
    events.into_iter().map(|event| event.0).collect()
}

#[test]
fn kept_cases_are_as_they_were() {
    for KeptCase { name, trace, expected, .. } in kept_cases() {
        let method: Method = expected.method.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(method, expected.engine.method(), "{name}");
        assert_eq!(numbers(racy(method, &trace)), expected.ours, "{name}, our {method}");
        assert_eq!(numbers(true_ones(&trace)), expected.racy, "{name}, the oracle");
        assert_eq!(decided(&trace).map(numbers), Some(expected.racy), "{name}, poly");
        assert_ne!(expected.rapid, expected.ours, "{name} shows no difference");
    }
}

#[test]
#[ignore = "needs RAPID: RAPID_HOME"]
fn rapid_reports_of_the_kept_cases_what_it_did() {
    let rapid = Rapid::here("kept");
    for KeptCase { name, text, expected, .. } in kept_cases() {
        // RAPID knows no comments.
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let found = rapid.racy(expected.engine, &lines.join("\n"));
        assert_eq!(found.map(numbers), Some(expected.rapid), "{name}");
    }
}
