//! What the user wants to see of a command.

use clap::Args;

/// What a command prints: the same options for all.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct OutputMode {
    /// Print one JSON object instead of text (see docs/json.md).
    #[arg(long)]
    pub json: bool,
    /// Print only the result.
    #[arg(short, long)]
    pub quiet: bool,
}
