//! The options that say what to look for in a trace, and how.

use std::ffi::OsString;
use std::path::PathBuf;

use check::Model;
use clap::Args;
use papers::races;
use pipeline::predict::{AtomicWithin, MemoryOrders, Method, PredictOptions};
use pipeline::{Bounds, Budget};
use report::{FindingKind, quoted};

use crate::arguments::{model, one_of};
use crate::interrupts;
use crate::quantity::quantity;

/// What to look for, and how: the same for all commands that predict.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct Search {
    /// Search for these kinds of bugs only.
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    #[arg(value_parser = one_of(FindingKind::ALL, FindingKind::name))]
    only: Vec<FindingKind>,
    /// What reads must see in a schedule: `rf`, `branch` or `sync` (see `foretell decide --help`).
    #[arg(long, value_name = "M", value_parser = model(), default_value = Model::ReadsFrom.name(), hide_possible_values = true)]
    model: Model,
    /// What the memory orders of atomic operations mean to races: as `recorded` (see docs/memory-orders.md), or all `sc`.
    #[arg(long, value_name = "ORDER", value_parser = one_of(MemoryOrders::ALL, MemoryOrders::name))]
    #[arg(default_value = MemoryOrders::Recorded.name(), hide_possible_values = true)]
    memory_order: MemoryOrders,
    /// How to search for races (default `poly`) or atomicity violations (default `exact`); see docs/reference.md.
    #[arg(long, value_name = "X")]
    method: Option<Method>,
    /// Search only for atomicity violations within one function call or one critical section.
    #[arg(long, value_name = "SCOPE", value_parser = one_of(AtomicWithin::ALL, AtomicWithin::name))]
    atomic_within: Option<AtomicWithin>,
    /// A forbidden order: an event at A before an event at B, by id or location; may be repeated.
    #[arg(long = "order", value_name = "A < B")]
    orders: Vec<String>,
    /// A TOML file with forbidden orders and conditions over global states (see docs/rules.md).
    #[arg(long, value_name = "FILE")]
    rules: Option<OsString>,
    /// Report every set of events, not one finding per variable and set of functions.
    #[arg(long)]
    all: bool,
    /// Where your own code is, by default the project that was recorded; findings elsewhere come last. May be repeated.
    #[arg(long, value_name = "DIR")]
    first_party_root: Vec<PathBuf>,
    /// The maximum number of steps per question.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
}

impl Search {
    /// The same, as the library takes it.
    pub(crate) fn options(&self, bounds: Bounds) -> PredictOptions {
        PredictOptions {
            only: self.only.clone(),
            model: self.model,
            memory_order: self.memory_order,
            method: self.method,
            atomic_within: self.atomic_within,
            orders: self.orders.clone(),
            rules: self.rules.as_ref().map(Into::into),
            every_instance: self.all,
            by_cause: true,
            first_party_roots: self.first_party_root.clone(),
            budget: Budget { bounds, steps: self.budget },
            cancellation: interrupts::cancellation(),
            ..PredictOptions::default()
        }
    }

    /// Where the user's own code is, if that was said.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.first_party_root
    }

    /// How to find races.
    pub(crate) fn race_method(&self) -> races::Method {
        self.options(Bounds::NONE).race_method()
    }

    /// Whether every racy event is wanted, not one for each pair of places.
    pub(crate) fn wants_all(&self) -> bool {
        self.all
    }

    /// The options with which `replay` finds the same under the same ids, each word as a shell takes it. Which kinds are looked for is
    /// no matter: each has ids of its own.
    pub(crate) fn again(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.model != Model::ReadsFrom {
            words.extend(["--model".to_owned(), self.model.name().to_owned()]);
        }
        if self.memory_order != MemoryOrders::Recorded {
            words.extend(["--memory-order".to_owned(), self.memory_order.name().to_owned()]);
        }
        if let Some(method) = self.method {
            words.extend(["--method".to_owned(), method.name().to_owned()]);
        }
        if let Some(scope) = self.atomic_within {
            words.extend(["--atomic-within".to_owned(), scope.name().to_owned()]);
        }
        for order in &self.orders {
            words.extend(["--forbidden-order".to_owned(), quoted(order)]);
        }
        if let Some(rules) = &self.rules {
            words.extend(["--rules".to_owned(), quoted(&rules.to_string_lossy())]);
        }
        for root in &self.first_party_root {
            words.extend(["--first-party-root".to_owned(), quoted(&root.to_string_lossy())]);
        }
        if self.budget != Budget::STEPS {
            words.extend(["--budget".to_owned(), self.budget.to_string()]);
        }
        words.extend(self.all.then(|| "--all".to_owned()));
        words
    }
}
