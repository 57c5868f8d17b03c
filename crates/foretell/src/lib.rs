//! The command line: what the user asks is parsed ([`arguments`]), done by one of the
//! [`commands`], and ends in an exit status ([`exit`]) or a diagnostic ([`diagnostics`]).

pub mod arguments;
pub mod commands;
pub mod open;
pub mod project;

pub use terminal::{
    diagnostics, exit, heartbeat, interrupts, limits, mode, observer, output, patience, progress, quantity,
    reporting, table,
};

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use compile::compiler::Language;

use arguments::{Arguments, Command};
use diagnostics::Diagnostic;
use exit::Exit;

/// Does what the arguments ask for (the program's name first) and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = compile::rust::without_runner_name(arguments.into_iter().collect());
    let called_as = commands::intercept(&arguments)
        .or_else(|| commands::intercept_rustc(&arguments))
        .or_else(|| commands::intercept_launch(&arguments));
    if let Some(diagnostic) = called_as {
        diagnostic.print_error();
        return Exit::Mistake.into();
    }
    let arguments = commands::with_own_options_first(arguments);
    let arguments = match project::with_project(arguments) {
        Ok(arguments) => arguments,
        Err(diagnostic) => {
            diagnostic.print_error();
            return Exit::Mistake.into();
        }
    };
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return end_with_usage(&usage),
    };
    interrupts::handle();
    match perform(arguments.command) {
        Ok(exit) => exit.into(),
        Err(diagnostic) => {
            diagnostic.print_error();
            diagnostic.exit().into()
        }
    }
}

fn perform(command: Command) -> Result<Exit, Diagnostic> {
    match command {
        Command::Hunt(hunt) => hunt.run(),
        Command::Test(test) => test.run(),
        Command::Merge(merge) => merge.run(),
        Command::Fleet(fleet) => Err(fleet.run()),
        Command::Cc(arguments) => Err(arguments.run(Language::C)),
        Command::Cpp(arguments) => Err(arguments.run(Language::Cpp)),
        Command::Cargo(cargo) => cargo.run(),
        Command::Record(record) => record.run(),
        Command::Predict(predict) => predict.run(),
        Command::Replay(replay) => replay.run(),
        Command::Show(show) => show.run(),
        Command::Diff(diff) => diff.run(),
        Command::Report(report) => report.run(),
        Command::Decide(decide) => decide.run(),
        Command::Check(check) => check.run(),
        Command::Compare(compare) => compare.run(),
        Command::States(states) => states.run(),
        Command::Convert(convert) => convert.run(),
        Command::Stats(stats) => stats.run(),
        Command::Generate(generate) => generate.run(),
        Command::Recover(recover) => recover.run(),
        Command::Scrub(scrub) => scrub.run(),
        Command::List(list) => list.run(),
        Command::Open(open) => open.run(),
        Command::Clean(clean) => clean.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Init(init) => init.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}

/// A mistake in the arguments, or the help or version that was asked for.
fn end_with_usage(usage: &clap::Error) -> ExitCode {
    // A reader that has gone away has seen all it wanted.
    let _ = usage.print();
    match usage.use_stderr() {
        true => Exit::Mistake.into(),
        false => Exit::Nothing.into(),
    }
}
