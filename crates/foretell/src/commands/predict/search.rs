//! What to look for in a trace, and how.

use candidates::races::Method;
use clap::{Args, ValueEnum};
use decide::{Options, Setup};
use report::{ModelName, Predictions, SCHEMA, Size};

use super::{gather, others, races};
use crate::arguments::Manner;
use crate::commands::decide::{ModelArgument, refuse_without_branches};
use crate::diagnostics::Diagnostic;
use crate::open::Opened;
use crate::quantity::quantity;

/// What to look for, and how: the same for all commands that predict.
#[derive(Clone, Debug, Args)]
pub(crate) struct Search {
    /// Look for these kinds of bugs only.
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', num_args = 1..)]
    only: Vec<KindArgument>,
    /// What reads must see in a schedule: `sync`, `rf` or `branch` (see `foretell decide --help`).
    #[arg(long, value_name = "M", value_enum, default_value_t = ModelArgument::Rf, hide_possible_values = true)]
    model: ModelArgument,
    /// How to find races.
    #[arg(long, value_name = "X", default_value = "poly")]
    method: Method,
    /// One finding for each set of events, not for each set of source locations.
    #[arg(long)]
    all: bool,
    /// How many steps each question may take.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    Race,
    Deadlock,
    Atomicity,
    Nondeterminism,
}

impl KindArgument {
    const ALL: &[KindArgument] =
        &[KindArgument::Race, KindArgument::Deadlock, KindArgument::Atomicity, KindArgument::Nondeterminism];
}

impl Search {
    /// Searches the trace. The same trace gives the same findings under the same ids.
    pub(crate) fn run(&self, opened: &Opened, manner: Manner) -> Result<Predictions, Diagnostic> {
        let trace = &opened.trace;
        let model = ModelName::from(self.model);
        if model == ModelName::Branch {
            refuse_without_branches(trace)?;
        }
        let setup = Setup::new(trace);
        let options = Options { budget: self.budget, ..Options::default() };
        let mut gatherer = gather::Gatherer::new(&setup, model, options, self.all);
        let mut predictions = Predictions {
            schema: SCHEMA,
            trace: Size::of(trace, opened.path()),
            model,
            method: self.method.name().to_owned(),
            findings: Vec::new(),
            unknown: 0,
            candidates: 0,
            refuted: 0,
            suppressed: 0,
            funnel: None,
        };
        let kinds = if self.only.is_empty() { KindArgument::ALL } else { &self.only };
        for kind in kinds {
            match kind {
                KindArgument::Race => races::search(self.method, &mut gatherer, &mut predictions, manner)?,
                KindArgument::Deadlock => others::deadlocks(&mut gatherer, &mut predictions, manner),
                KindArgument::Atomicity => others::atomicity(&mut gatherer, &mut predictions, manner),
                KindArgument::Nondeterminism => {
                    others::nondeterminism(&mut gatherer, &mut predictions, manner);
                }
            }
        }
        gatherer.finish(&mut predictions)?;
        Ok(predictions)
    }
}
