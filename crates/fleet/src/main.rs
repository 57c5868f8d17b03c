//! Hunts on many machines, through NATS JetStream: `foretell fleet`.
//!
//! `submit` splits a hunt into jobs and puts them into a queue on the server ([`submit`]); workers take jobs, hunt, and store what they find
//! ([`work`]); `status`, `collect` and `cancel` look at it from outside. What the server keeps, and under which names, is in [`streams`].
//!
//! A worker hunts in a process of its own, and that process is this program, too: what is not a command of the fleet is one of `foretell`.

mod arguments;
mod bundle;
mod cache;
mod campaign;
mod cancel;
mod cleaning;
mod collect;
mod connection;
mod digest;
mod fleet;
mod live;
mod simulate;
mod status;
mod streams;
mod submit;
mod work;

use std::process::ExitCode;

use clap::Parser;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;

use arguments::{Arguments, COMMANDS, Command};

fn main() -> ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let is_ours = words.get(1).and_then(|word| word.to_str()).is_none_or(|word| COMMANDS.contains(&word));
    if !is_ours {
        return foretell::run(words);
    }
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(usage) => {
            // A reader that has gone away has seen all it wanted.
            let _ = usage.print();
            return if usage.use_stderr() { Exit::Mistake } else { Exit::Nothing }.into();
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(perform(arguments.command)),
        Err(error) => Err(Diagnostic::from_io("start", "the network", &error)),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(diagnostic) => {
            diagnostic.print_error();
            diagnostic.exit().into()
        }
    }
}

async fn perform(command: Command) -> Result<Exit, Diagnostic> {
    match command {
        Command::Submit(submit) => submit.run().await,
        Command::Work(work) => work.run().await,
        Command::Status(status) => status.run().await,
        Command::Collect(collect) => collect.run().await,
        Command::Cancel(cancel) => cancel.run().await,
        Command::Simulate(simulate) => simulate.run().await,
    }
}
