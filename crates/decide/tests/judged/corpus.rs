//! The corpus: what the papers say of their examples is what the engine answers, and so does the oracle; traces that
//! once broke something stay right. corpus/README.md describes the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::expectation::{Ask, Expectation, Expected};
use crate::judged::{Cases, Judged, judge};
use check::{Model, Question, Source};
use decide::{Index, Options};
use trace::{EventId, Trace};

const MODELS: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

/// The ordinary window, and one so small that most questions need several.
const REACHES: [u32; 2] = [256, 2];

const TRACE: &str = ".std";
const EXPECTATION: &str = ".expect.toml";

#[test]
fn the_papers_examples_are_answered_as_the_papers_say() {
    let folder = folder("papers");
    let (traces, expectations) = (names(&folder, TRACE), names(&folder, EXPECTATION));
    assert!(!traces.is_empty(), "no trace in {}", folder.display());
    let alone: Vec<&String> = traces.symmetric_difference(&expectations).collect();
    assert!(alone.is_empty(), "a trace without expectation, or the other way round: {alone:?}");
    let faults: Vec<String> = traces.iter().flat_map(|name| as_expected(&folder, name)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_was_found_stays_right() {
    let folder = folder("found");
    let (traces, expectations) = (names(&folder, TRACE), names(&folder, EXPECTATION));
    assert!(!traces.is_empty(), "no trace in {}", folder.display());
    assert!(expectations.is_subset(&traces), "an expectation without trace in {}", folder.display());
    let mut faults: Vec<String> = expectations.iter().flat_map(|name| as_expected(&folder, name)).collect();
    faults.extend(traces.iter().flat_map(|name| as_the_oracle(&folder, name)));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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

fn read_trace(folder: &Path, name: &str) -> Trace {
    trace::text::read_bytes(read(folder, name, TRACE).as_bytes())
        .unwrap_or_else(|error| panic!("{name}{TRACE}: {error}"))
}

/// What is not as the expectation says.
fn as_expected(folder: &Path, name: &str) -> Vec<String> {
    let trace = read_trace(folder, name);
    let index = Index::new(&trace);
    let expectation: Expectation = toml::from_str(&read(folder, name, EXPECTATION))
        .unwrap_or_else(|error| panic!("{name}{EXPECTATION}: {error}"));
    assert!(!expectation.asks.is_empty(), "{name}{EXPECTATION} asks nothing");
    let mut faults = Vec::new();
    for ask in &expectation.asks {
        for &model in &ask.models {
            for reach in REACHES {
                let options = Options { reach, ..Options::default() };
                if let Err(fault) = answered(&index, ask, model, options) {
                    faults.push(format!("{name}: {} under {model:?}: {fault} ({})", ask.question, ask.why));
                }
            }
        }
    }
    faults
}

fn answered(index: &Index<'_>, ask: &Ask, model: Model, options: Options) -> Result<(), String> {
    ask.validate()?;
    let question = ask.question(index.trace())?;
    let expected = ask.verdict == Expected::Feasible;
    if oracle::decide(index.trace(), &question, model).is_some() != expected {
        return Err(format!("{:?} is expected, but not what the oracle says", ask.verdict));
    }
    match judge(index, &question, model, options)? {
        judged if judged.is_feasible() != expected => Err(format!("the engine says {judged:?}")),
        Judged::Feasible { guaranteed } if ask.guaranteed.is_some_and(|expected| expected != guaranteed) => {
            Err(format!("guaranteed is {guaranteed}"))
        }
        Judged::Infeasible { cases } if ask.split.is_some_and(|split| split != (cases == Cases::Needed)) => {
            Err(format!("cases are {cases:?}"))
        }
        _ => Ok(()),
    }
}

/// Where engine and oracle disagree about this trace, or the checker refuses evidence.
fn as_the_oracle(folder: &Path, name: &str) -> Vec<String> {
    let trace = read_trace(folder, name);
    let index = Index::new(&trace);
    let questions = oracle::all_questions(&trace);
    assert!(!questions.is_empty(), "nothing can be asked about {name}");
    let mut faults = Vec::new();
    for model in MODELS {
        let answers = oracle::answer_all(&trace, model, &questions);
        for (question, feasible) in questions.iter().zip(answers) {
            for reach in REACHES {
                let fault = match judge(&index, question, model, Options { reach, ..Options::default() }) {
                    Ok(judged) if judged.is_feasible() == feasible => continue,
                    Ok(judged) => format!("the oracle says {feasible}, the engine {judged:?}"),
                    Err(fault) => fault,
                };
                faults.push(format!("{name}: {question:?} under {model:?}: {fault}"));
            }
        }
    }
    faults
}

#[test]
fn questions_are_read_as_documented() {
    let text = "t|w(x)|a\nt|acq(l)|b\nu|r(x)|c\nt|rel(l)|d\nu|acq(l)|e\nu|w(x)|f\nt|fork(v)|g\nu|rel(l)|g\n";
    let trace = trace::text::read_bytes(text.as_bytes()).expect("a legal run");
    let [a, b, c, e] = [0, 1, 2, 4].map(EventId);
    let ask = |text| crate::expectation::question(&trace, text);
    assert_eq!(ask("race a c"), Ok(Question::Race(a, c)));
    assert_eq!(ask("order c < a < #4"), Ok(Question::Order(vec![c, a, e])));
    assert_eq!(ask("deadlock b e"), Ok(Question::Deadlock(vec![b, e])));
    assert_eq!(ask("reads c"), Ok(Question::Reads(c, None)));
    assert_eq!(ask("reads c from initial"), Ok(Question::Reads(c, Some(Source::Initial))));
    assert_eq!(ask("reads c from a"), Ok(Question::Reads(c, Some(Source::Write(a)))));
    assert_eq!(ask("cut u=2"), Ok(Question::Cut(vec![0, 2, 0])));
    for wrong in [
        "",
        "race a",
        "race a b",
        "order a c",
        "order a <",
        "reads c from g",
        "race a g",
        "race a h",
        "cut u",
        "cut w=1",
        "cut u=9",
        "order a < #99",
    ] {
        assert!(ask(wrong).is_err(), "'{wrong}' is no question");
    }
}
