//! What can be asked of the fleet. The arguments of each command are in its own file.

use clap::{Parser, Subcommand};

use crate::cancel::Cancel;
use crate::collect::Collect;
use crate::simulate::Simulate;
use crate::status::Status;
use crate::submit::Submit;
use crate::work::Work;

/// The words that are ours; everything else is for `foretell`.
pub(crate) const COMMANDS: [&str; 10] =
    ["submit", "work", "status", "collect", "cancel", "simulate", "-h", "--help", "-V", "--version"];

const EXAMPLES: &str = "\
Quick start, on one machine:
  nats-server -js -sd ./nats                            the server
  foretell fleet work --nats 127.0.0.1                  a worker; start many
  foretell fleet submit --nats 127.0.0.1 --seeds 200 -- ./tests/queue_test
  foretell fleet status --nats 127.0.0.1
  foretell fleet collect --nats 127.0.0.1 --wait -o all

Workers run the programs that are submitted: see `Whom to trust` in
docs/fleet.md.

Exit status: 0 done, 1 findings, 2 usage or input error, or the server cannot be
reached, 3 nothing found, but some jobs are not done.";

/// Hunts on many machines, through a NATS server with JetStream.
#[derive(Debug, Parser)]
#[command(name = "foretell fleet", version, after_help = EXAMPLES)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Submit(Submit),
    Work(Work),
    Status(Status),
    Collect(Collect),
    Cancel(Cancel),
    #[command(hide = true)]
    Simulate(Simulate),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
        let named = Arguments::command();
        assert!(named.get_subcommands().all(|command| COMMANDS.contains(&command.get_name())));
    }
}
