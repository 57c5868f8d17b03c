//! What can be asked on the command line. The arguments of each command are in its own file.

use check::Model;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use wire::{Children, Policy};

use crate::commands::{
    Cargo, Check, Clean, Compare, CompilerArguments, Completions, Convert, Decide, Diff, Doctor, Fleet,
    Generate, Hunt, Init, List, Man, Merge, Open, Predict, Record, Recover, Replay, Report, Scrub, Show,
    States, Stats, Test,
};
use crate::exit::Exit;

const ABOUT: &str = "Records one run of a multithreaded program, predicts the concurrency bugs of other \
                     runs, and replays them.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "foretell", version, about = ABOUT, after_help = Exit::HELP)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "each is documented where its arguments are")]
pub enum Command {
    Hunt(Box<Hunt>),
    Test(Test),
    #[command(about = "Compile C for recording: your compiler with the flags it needs")]
    Cc(CompilerArguments),
    #[command(name = "c++", about = "Compile C++ for recording, like cc")]
    Cpp(CompilerArguments),
    Cargo(Cargo),
    Record(Record),
    Predict(Predict),
    Replay(Replay),
    Show(Show),
    Report(Report),
    Diff(Diff),
    Merge(Merge),
    Fleet(Fleet),
    Decide(Decide),
    Check(Check),
    Compare(Compare),
    States(States),
    Convert(Convert),
    Stats(Stats),
    Generate(Generate),
    Recover(Recover),
    Scrub(Scrub),
    List(List),
    Open(Open),
    Clean(Clean),
    Doctor(Doctor),
    Init(Init),
    Completions(Completions),
    Man(Man),
}

/// The value of `--model`: `sync`, `rf` or `branch`.
pub fn model() -> impl TypedValueParser<Value = Model> {
    one_of(&Model::ALL, Model::name)
}

/// The value of `--policy`, each explained.
pub fn policy() -> impl TypedValueParser<Value = Policy> {
    let explained = |policy: Policy| {
        PossibleValue::new(policy.name()).help(match policy {
            Policy::Random => "A random thread may be next at any event",
            Policy::Pct => "Threads have random priorities that change at a few random events",
            Policy::RoundRobin => "Each thread in turn",
            Policy::Os => "As the operating system schedules them",
        })
    };
    named(Policy::ALL.map(explained).into(), &Policy::ALL, Policy::name)
}

/// The value of `--children`, each explained.
pub fn children() -> impl TypedValueParser<Value = Children> {
    let explained = |children: Children| {
        PossibleValue::new(children.name()).help(match children {
            Children::Follow => "Record each in its own trace",
            Children::Ignore => "Do not record them",
        })
    };
    named(Children::ALL.map(explained).into(), &Children::ALL, Children::name)
}

/// A value of a closed set, by the names that the library has for them.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    named(all.iter().map(|&value| PossibleValue::new(name(value))).collect(), all, name)
}

fn named<T: Copy + Send + Sync + 'static>(
    possible: Vec<PossibleValue>,
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(possible).map(move |given| {
        let named = all.iter().copied().find(|&value| name(value) == given);
        named.unwrap_or_else(|| unreachable!("only names of values are accepted"))
    })
}
