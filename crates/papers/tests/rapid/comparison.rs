//! The comparison itself.

use std::collections::{BTreeMap, BTreeSet};

use papers::races::Method;
use trace::{EventId, Trace};

use crate::inputs::{Forks, Input, generated, merged, public, tiny};
use crate::kept::{Case, folder};
use crate::kinds::{Kind, Side, has_conflict};
use crate::ours::{Racy, decided, racy, true_ones};
use crate::peer::{Engine, Rapid};

/// How many seeds make tiny traces.
const SEEDS: u64 = 1200;
/// So many tiny traces are given to RAPID at a time.
const AT_A_TIME: usize = 40;
/// Longer traces are not decided: only the sets are compared.
const MOST_DECIDED: usize = 100_000;

/// Longer traces are not shrunken: RAPID would have to be started too often.
const MOST_SHRUNKEN: usize = 40;

/// How an engine and our method differ on one trace or on some.
#[derive(Default)]
struct Row {
    both: usize,
    only: [usize; 2],
    /// Of those that one side alone reports, how many are racy.
    real: [usize; 2],
    kinds: BTreeSet<Kind>,
}

/// The smallest trace that shows a kind of difference.
type Examples = BTreeMap<Kind, Input>;

#[test]
#[ignore = "takes minutes, needs RAPID and its public traces: RAPID_HOME, FORETELL_TRACES; `cargo xtask bench rapid` runs it"]
fn sets_of_racy_events_beside_rapid() {
    let rapid = Rapid::here("comparison");
    let mut examples = Examples::new();
    for forks in [Forks::ByName, Forks::ByNumber] {
        of_tiny_ones(&rapid, SEEDS, forks, &mut examples);
    }
    for input in public().into_iter().chain([generated(20_000, 8), generated(1_000_000, 8)]) {
        of_one(&rapid, &input, &mut examples);
    }
    let folder = folder();
    let new = examples.iter().filter(|(kind, _)| !folder.join(format!("{kind}.std")).exists());
    for (&kind, example) in new {
        Case::shrunken(kind, example, &rapid).keep(&folder);
    }
}

fn of_tiny_ones(rapid: &Rapid, seeds: u64, forks: Forks, examples: &mut Examples) {
    let inputs = tiny(0..seeds, forks);
    let spelling = if forks == Forks::ByNumber { ", forks by number" } else { "" };
    for engine in Engine::ALL {
        let mut row = Row::default();
        for inputs in inputs.chunks(AT_A_TIME) {
            let racy = rapid.racy(engine, &merged(inputs)).expect("an engine that completes");
            let mut start = 0;
            for input in inputs {
                let end = start + input.trace.len() as u32;
                let theirs = racy.range(EventId(start)..EventId(end)).map(|event| EventId(event.0 - start));
                row.add(engine, input, &theirs.collect(), Some(&true_ones(&input.trace)), examples);
                start = end;
            }
        }
        row.print(&format!("{} tiny ones{spelling}", inputs.len()), engine);
    }
}

fn of_one(rapid: &Rapid, input: &Input, examples: &mut Examples) {
    let real = (input.trace.len() <= MOST_DECIDED).then(|| decided(&input.trace)).flatten();
    for engine in Engine::ALL {
        let needs_real = matches!(engine, Engine::Shb | Engine::Wcp);
        if (needs_real && real.is_none()) || (engine == Engine::Syncp && input.trace.len() > MOST_DECIDED) {
            continue;
        }
        match rapid.racy(engine, &input.text) {
            None => println!("| {} | {} | did not complete | | | |", input.name, engine.name()),
            Some(theirs) => {
                let mut row = Row::default();
                row.add(engine, input, &theirs, real.as_ref(), examples);
                row.print(&input.name, engine);
            }
        }
    }
}

impl Row {
    fn add(
        &mut self,
        engine: Engine,
        input: &Input,
        theirs: &Racy,
        real: Option<&Racy>,
        examples: &mut Examples,
    ) {
        let method = engine.method();
        let ours = match (method, real) {
            (Method::Poly, Some(real)) => real.clone(),
            _ => racy(method, &input.trace),
        };
        self.both += ours.intersection(theirs).count();
        let alone = [(Side::Rapid, theirs.difference(&ours)), (Side::Ours, ours.difference(theirs))];
        for (side, events) in alone {
            for &event in events {
                self.only[side as usize] += 1;
                let Some(real) = real else { continue };
                self.real[side as usize] += usize::from(real.contains(&event));
                let kind = kind_of(&input.trace, &input.text, engine, side, event, real);
                self.kinds.insert(kind);
                if input.trace.len() > MOST_SHRUNKEN {
                    continue;
                }
                let example = examples.entry(kind).or_insert_with(|| input.clone());
                if input.trace.len() < example.trace.len() {
                    *example = input.clone();
                }
            }
        }
    }

    fn print(&self, what: &str, engine: Engine) {
        let alone = |side: Side| match (self.only[side as usize], self.real[side as usize]) {
            (0, _) => "0".to_owned(),
            (all, _) if self.kinds.is_empty() => format!("{all}"),
            (all, real) => format!("{all}, {real} of them racy"),
        };
        let kinds: Vec<String> = self.kinds.iter().map(|kind| format!("`{kind}`")).collect();
        println!(
            "| {what} | {} | {} | {} | {} | {} |",
            engine.name(),
            self.both,
            alone(Side::Rapid),
            alone(Side::Ours),
            kinds.join(", ")
        );
    }
}

/// What sort of difference an event is that one side alone reports.
pub(crate) fn kind_of(
    trace: &Trace,
    text: &str,
    engine: Engine,
    side: Side,
    event: EventId,
    real: &Racy,
) -> Kind {
    // A fork that RAPID does not see makes it report more, never less; and Eraser looks at no fork.
    let by_number = side == Side::Rapid && engine != Engine::Lockset && forks_by_number(text);
    let has_conflict = has_conflict(trace, event);
    Kind { engine, side, real: real.contains(&event), has_conflict, by_number }
}

/// Whether a line forks or joins a thread by its number, and the thread that does has a name.
fn forks_by_number(text: &str) -> bool {
    let is_number = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
    text.lines().any(|line| {
        let named = !is_number(line);
        let target =
            line.split_once("|fork(").or_else(|| line.split_once("|join(")).map(|(_, target)| target);
        named && target.is_some_and(is_number)
    })
}
