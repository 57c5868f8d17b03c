//! The losets of corpus/states, with the counts, states and orders that are written beside them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use states::{Class, LockingOrder, Loset, Natural, Reach, SectionId, StateLimits, count, walk};
use trace::{ThreadEvents, ThreadId, Trace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expected {
    /// Where the trace is, if not beside.
    trace: Option<PathBuf>,
    #[expect(dead_code, reason = "for people")]
    why: String,
    counts: BTreeMap<Class, u64>,
    #[serde(default)]
    state: Vec<State>,
    /// Locking orders of the whole loset, by location of release and acquire.
    #[serde(default)]
    orders: Vec<(String, String)>,
    dynamic: Option<Dynamic>,
    paper: Option<PaperRow>,
}

/// What the row of paper 2's table 1 says that a loset was made after.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperRow {
    row: String,
    threads: usize,
    events: usize,
    states: u64,
    /// Whether ours has as many states.
    exact: bool,
}

type Places = BTreeMap<String, u32>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct State {
    at: Places,
    narrowest: Class,
    greatest_lock_free: Places,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dynamic {
    at: Places,
    orders: Vec<(String, String)>,
}

/// Larger ones are counted, not walked.
const MOST_WALKED: u64 = 4_000_000;

#[test]
fn all_are_as_expected() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/states");
    let mut tried = 0;
    for entry in std::fs::read_dir(&directory).expect("the corpus is there") {
        let path = entry.expect("readable").path();
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".expect.toml")) else { continue };
        let expected: Expected = toml::from_str(&std::fs::read_to_string(&path).expect("readable"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let file =
            expected.trace.as_ref().map_or(PathBuf::from(format!("{name}.std")), |t| directory.join(t));
        let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        check(name, &trace::text::read(&bytes[..]).expect("a sound trace"), &expected);
        tried += 1;
    }
    assert!(tried >= 28, "only {tried} losets were found");
}

fn check(name: &str, trace: &Trace, expected: &Expected) {
    let loset = Loset::of(trace);
    assert_eq!(expected.counts.len(), Class::ALL.len(), "{name} leaves out a class");
    for (class, &wanted) in Class::ALL.into_iter().zip(expected.counts.values()) {
        let counted = count(trace, &loset, class, StateLimits::default(), |_| {});
        assert_eq!(counted, Ok(Natural::from(wanted)), "{name}, {class:?}");
        if wanted <= MOST_WALKED {
            assert_eq!(walked(trace, &loset, class), wanted, "{name}, {class:?}");
        }
    }
    if let Some(paper) = &expected.paper {
        check_row(name, trace, &loset, expected.counts[&Class::Strong], paper);
    }
    let mut reach = Reach::new(trace, &loset, StateLimits { steps: 1_000_000, ..StateLimits::default() });
    for state in &expected.state {
        let at = places(trace, &state.at);
        for (index, class) in Class::ALL.into_iter().enumerate() {
            let wanted = index <= state.narrowest as usize;
            assert_eq!(reach.is_in(class, &at), Ok(wanted), "{name}, {at:?}, {class:?}");
        }
        assert_eq!(loset.greatest_lock_free(&at), places(trace, &state.greatest_lock_free), "{name}, {at:?}");
    }
    let found = loset.normalise(loset.lengths()).expect("the recorded run is one");
    for order in &expected.orders {
        assert!(located(trace, &loset, &found).contains(order), "{name} lacks {order:?}");
    }
    if let Some(dynamic) = &expected.dynamic {
        let mut found = located(trace, &loset, &loset.dynamic_orders(&places(trace, &dynamic.at)));
        let mut wanted = dynamic.orders.clone();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
    }
}

fn check_row(name: &str, trace: &Trace, loset: &Loset, states: u64, paper: &PaperRow) {
    assert_eq!(loset.threads(), paper.threads, "{name}");
    assert_eq!(states == paper.states, paper.exact, "{name}");
    // The paper counts an initial event of each thread. Of raytracer's events some cannot be told from its counts.
    let as_many = trace.len() + loset.threads() == paper.events;
    assert_eq!(as_many, paper.row != "raytracer", "{name}");
}

fn walked(trace: &Trace, loset: &Loset, class: Class) -> u64 {
    let mut states = 0;
    let end = walk(trace, loset, class, StateLimits::default(), |_| {
        states += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(end, Ok(ControlFlow::Continue(())));
    states
}

fn places(trace: &Trace, named: &Places) -> Vec<u32> {
    let mut state = vec![0; trace.symbols().threads.len()];
    for (thread, &place) in named {
        state[trace.symbols().threads.find(thread).expect("a thread of the trace")] = place;
    }
    state
}

/// By the locations of the release and the acquire.
fn located(trace: &Trace, loset: &Loset, orders: &[LockingOrder]) -> Vec<(String, String)> {
    let threads = ThreadEvents::of(trace);
    let at = |thread: ThreadId, place: u32| {
        trace.symbols().location(trace.location(threads.of_thread(thread)[place as usize])).to_owned()
    };
    let section = |id: SectionId| loset.sections()[id.0 as usize];
    let both = |order: &LockingOrder| {
        let (first, then) = (section(order.first), section(order.then));
        let release = first.release.expect("it ends before another starts");
        (at(first.thread, release), at(then.thread, then.acquire))
    };
    orders.iter().map(both).collect()
}

/// The programs of figures 1 and 3, with their marks on and off, run to their end without the tool.
#[test]
fn the_programs_of_the_figures_run_without_the_tool() {
    if !testing::has("cc") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("there is room");
    for (name, options) in [("p2-fig1", &[][..]), ("p2-fig3", &[]), ("p2-fig1", &["-DFORETELL_OFF"])] {
        let program = folder.path().join(name);
        let compiled = Command::new("cc")
            .args(["-pthread", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(root.join("include"))
            .args(options)
            .arg(root.join(format!("corpus/states/{name}.c")))
            .arg("-o")
            .arg(&program)
            .status()
            .expect("the compiler runs");
        assert!(compiled.success(), "{name} compiles");
        assert!(Command::new(&program).status().expect("it can be started").success(), "{name} runs");
    }
}
