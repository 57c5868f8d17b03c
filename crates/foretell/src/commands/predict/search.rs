//! What to look for in a trace, and how.

use std::ffi::OsString;
use std::str::FromStr;
use std::sync::OnceLock;

use candidates::atomicity::{Calls, Intent};
use candidates::orders::Rule;
use check::Model;
use clap::{Args, ValueEnum};
use decide::{Options, Setup};
use papers::{atomicity, races};
use report::{Predictions, SCHEMA, Size, quoted};
use trace::Trace;

use super::gather::Take;
use super::{gather, others, predicates, private, races as racing};
use crate::arguments::{Manner, model};
use crate::commands::decide::refuse_without_branches;
use crate::diagnostics::Diagnostic;
use crate::foretold::{Foretold, all_written_out};
use crate::open::Opened;
use crate::quantity::quantity;
use crate::rules::RulesFile;

/// Steps of a question, as the default below says it.
const DEFAULT_BUDGET: u64 = 20_000_000;

/// What to look for, and how: the same for all commands that predict.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct Search {
    /// Search for these kinds of bugs only.
    #[arg(long, value_name = "KIND,..", value_enum, value_delimiter = ',')]
    only: Vec<KindArgument>,
    /// What reads must see in a schedule: `rf`, `branch` or `sync` (see `foretell decide --help`).
    #[arg(long, value_name = "M", value_parser = model(), default_value = Model::ReadsFrom.name(), hide_possible_values = true)]
    model: Model,
    /// How to search for races (default `poly`) or atomicity violations (default `exact`); see docs/reference.md.
    #[arg(long, value_name = "X")]
    method: Option<MethodArgument>,
    /// Search only for atomicity violations within one function call or one critical section.
    #[arg(long, value_name = "SCOPE", value_enum)]
    atomic_within: Option<Scope>,
    /// A forbidden order: an event at A before an event at B, by id or location; may be repeated.
    #[arg(long = "order", value_name = "A < B")]
    orders: Vec<String>,
    /// A TOML file with forbidden orders and conditions over global states (see docs/rules.md).
    #[arg(long, value_name = "FILE")]
    rules: Option<OsString>,
    /// Report every set of events, not one finding per set of source locations.
    #[arg(long)]
    all: bool,
    /// The maximum number of steps per question.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum KindArgument {
    Race,
    Deadlock,
    Atomicity,
    Order,
    Nondeterminism,
    Predicate,
}

impl KindArgument {
    /// In the order in which they are searched for: which reads race is known before what else they could see.
    const ALL: &[KindArgument] = &[
        KindArgument::Race,
        KindArgument::Deadlock,
        KindArgument::Atomicity,
        KindArgument::Order,
        KindArgument::Nondeterminism,
        KindArgument::Predicate,
    ];

    fn name(self) -> &'static str {
        match self {
            KindArgument::Race => "race",
            KindArgument::Deadlock => "deadlock",
            KindArgument::Atomicity => "atomicity",
            KindArgument::Order => "order",
            KindArgument::Nondeterminism => "nondeterminism",
            KindArgument::Predicate => "predicate",
        }
    }
}

/// A way to find one kind of bugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MethodArgument {
    Races(races::Method),
    Atomicity(atomicity::Method),
}

impl MethodArgument {
    fn name(self) -> &'static str {
        match self {
            MethodArgument::Races(method) => method.name(),
            MethodArgument::Atomicity(method) => method.name(),
        }
    }

    fn kind(self) -> KindArgument {
        match self {
            MethodArgument::Races(_) => KindArgument::Race,
            MethodArgument::Atomicity(_) => KindArgument::Atomicity,
        }
    }
}

impl FromStr for MethodArgument {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(&method) = atomicity::Method::ALL.iter().find(|method| method.name() == name) {
            return Ok(MethodArgument::Atomicity(method));
        }
        name.parse().map(MethodArgument::Races).map_err(|error: races::UnknownMethod| {
            let others: Vec<&str> = atomicity::Method::ALL.iter().map(|method| method.name()).collect();
            format!("{error}; nor one to find atomicity violations: {}", others.join(", "))
        })
    }
}

/// What is meant to be atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scope {
    Function,
    Lock,
}

impl Search {
    /// Searches the trace. The same trace gives the same findings under the same ids.
    pub(crate) fn run(&self, opened: &Opened, manner: Manner) -> Result<Predictions, Diagnostic> {
        let mut findings = Vec::new();
        let mut predictions = self.head(opened)?;
        self.search(opened, manner, &mut predictions, &mut |foretold| {
            findings.extend(all_written_out(foretold)?);
            Ok(())
        })?;
        predictions.findings = findings;
        Ok(predictions)
    }

    /// Whether findings are passed on as they are found.
    pub(crate) fn streams(&self) -> bool {
        self.all
    }

    /// How to find races.
    pub(crate) fn race_method(&self) -> races::Method {
        match self.method {
            Some(MethodArgument::Races(method)) => method,
            _ => races::Method::Poly,
        }
    }

    /// What is known before the search.
    pub(crate) fn head(&self, opened: &Opened) -> Result<Predictions, Diagnostic> {
        Ok(Predictions {
            schema: SCHEMA,
            trace: Size::of(&opened.trace, opened.path()),
            model: self.model,
            method: self.method_name(&self.kinds()?).to_owned(),
            findings: Vec::new(),
            unknown: 0,
            candidates: 0,
            refuted: 0,
            suppressed: 0,
            funnel: None,
        })
    }

    /// Searches the trace, counts, and passes the findings on, with `--all` as they are found.
    pub(crate) fn search(
        &self,
        opened: &Opened,
        manner: Manner,
        predictions: &mut Predictions,
        take: &mut Take<'_>,
    ) -> Result<(), Diagnostic> {
        let trace = &opened.trace;
        let take: &mut Take<'_> = &mut |mut foretold| {
            foretold.retain(|foretold| !private::is_of_libraries(trace, foretold.finding()));
            take(foretold)
        };
        let model = self.model;
        if model == Model::Branch {
            refuse_without_branches(trace)?;
        }
        let kinds = self.kinds()?;
        let file = self.rules.as_deref().map(RulesFile::open).transpose()?;
        let rules = self.stated(trace, file.as_ref())?;
        let conditions = file.as_ref().map(|file| file.predicates(trace)).transpose()?.unwrap_or_default();
        let intent = self.intent(opened)?;
        let setup = Setup::new(trace);
        let cuts = OnceLock::new();
        let options = Options { budget: self.budget, ..Options::default() };
        let mut gatherer = gather::Gatherer::new(&setup, model, options, self.all, &cuts, &mut *take);
        let race_method = self.race_method();
        let atomicity_method = match self.method {
            Some(MethodArgument::Atomicity(method)) => method,
            _ => atomicity::Method::Exact,
        };
        for &kind in &kinds {
            let gatherer = &mut gatherer;
            match kind {
                KindArgument::Race => racing::search(race_method, gatherer, predictions, manner)?,
                KindArgument::Deadlock => others::deadlocks(gatherer, predictions, manner),
                KindArgument::Atomicity => {
                    others::atomicity(atomicity_method, &intent, gatherer, predictions, manner);
                }
                KindArgument::Order => others::orders(&rules, gatherer, predictions, manner),
                KindArgument::Nondeterminism => {
                    if !kinds.contains(&KindArgument::Race) {
                        racing::note(gatherer, manner);
                    }
                    others::nondeterminism(gatherer, predictions, manner);
                }
                // Each is about the whole program, not about places: nothing to gather.
                KindArgument::Predicate => {}
            }
        }
        gatherer.finish()?;
        if kinds.contains(&KindArgument::Predicate) {
            predicates::search(&conditions, &setup, model, options, predictions, manner)?;
        }
        take(std::mem::take(&mut predictions.findings).into_iter().map(Foretold::from).collect())
    }

    /// The same, one kind of bug each, in the order in which it is done.
    pub(crate) fn one_by_one(&self) -> Result<Vec<Search>, Diagnostic> {
        let of_kind = |kind: KindArgument| Search {
            only: vec![kind],
            method: self.method.filter(|method| method.kind() == kind),
            atomic_within: self.atomic_within.filter(|_| kind == KindArgument::Atomicity),
            orders: if kind == KindArgument::Order { self.orders.clone() } else { Vec::new() },
            ..self.clone()
        };
        Ok(self.kinds()?.into_iter().map(of_kind).collect())
    }

    /// Whether reads that can see other values are asked for.
    pub(crate) fn looks_for_nondeterminism(&self) -> bool {
        self.only.contains(&KindArgument::Nondeterminism)
    }

    /// Reads that can see other values, and nothing else.
    pub(crate) fn only_nondeterminism(&self) -> Search {
        let (only, budget) = (vec![KindArgument::Nondeterminism], self.budget);
        Search {
            only,
            method: None,
            atomic_within: None,
            orders: Vec::new(),
            rules: None,
            all: false,
            budget,
            ..*self
        }
    }

    /// The same, but for reads that can see other values unless they were asked for.
    pub(crate) fn without_nondeterminism(&self) -> Search {
        let mut search = self.clone();
        if search.only.is_empty() {
            let bugs = KindArgument::ALL.iter().filter(|&&kind| kind != KindArgument::Nondeterminism);
            search.only.extend(bugs);
        }
        search
    }

    /// The options with which `replay` finds the same under the same ids, each word as a shell takes it. Which kinds are looked for is
    /// no matter: each has ids of its own.
    pub(crate) fn again(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.model != Model::ReadsFrom {
            words.extend(["--model".to_owned(), self.model.name().to_owned()]);
        }
        if let Some(method) = self.method {
            words.extend(["--method".to_owned(), method.name().to_owned()]);
        }
        if let Some(scope) = self.atomic_within.and_then(|scope| scope.to_possible_value()) {
            words.extend(["--atomic-within".to_owned(), scope.get_name().to_owned()]);
        }
        for order in &self.orders {
            words.extend(["--forbidden-order".to_owned(), quoted(order)]);
        }
        if let Some(rules) = &self.rules {
            words.extend(["--rules".to_owned(), quoted(&rules.to_string_lossy())]);
        }
        if self.budget != DEFAULT_BUDGET {
            words.extend(["--budget".to_owned(), self.budget.to_string()]);
        }
        words.extend(self.all.then(|| "--all".to_owned()));
        words
    }

    /// What to look for, in the order in which it is done. Options for other kinds are mistakes.
    fn kinds(&self) -> Result<Vec<KindArgument>, Diagnostic> {
        let wanted = |kind: &KindArgument| self.only.is_empty() || self.only.contains(kind);
        let kinds: Vec<KindArgument> = KindArgument::ALL.iter().copied().filter(wanted).collect();
        let needed = [
            self.method.map(|method| (format!("--method {}", method.name()), method.kind())),
            self.atomic_within.map(|_| ("--atomic-within".to_owned(), KindArgument::Atomicity)),
            (!self.orders.is_empty()).then(|| ("--order".to_owned(), KindArgument::Order)),
        ];
        for (option, kind) in needed.into_iter().flatten() {
            if !kinds.contains(&kind) {
                let title =
                    format!("`{option}` applies to the kind `{}`, which is not searched for", kind.name());
                return Err(Diagnostic::new(title).help(format!("add `{}` to `--only`", kind.name())));
            }
        }
        Ok(kinds)
    }

    /// How candidates are found, by name: the one given, or that of the only kind with a choice.
    fn method_name(&self, kinds: &[KindArgument]) -> &'static str {
        let default = match kinds.contains(&KindArgument::Race) || !kinds.contains(&KindArgument::Atomicity) {
            true => races::Method::Poly.name(),
            false => atomicity::Method::Exact.name(),
        };
        self.method.map_or(default, MethodArgument::name)
    }

    /// The orders the user states, on the command line and in a file.
    fn stated(&self, trace: &Trace, file: Option<&RulesFile>) -> Result<Vec<Rule>, Diagnostic> {
        let mut rules = Vec::new();
        for text in &self.orders {
            rules.push(Rule::parse(trace, text).map_err(|error| Diagnostic::new(error.to_string()))?);
        }
        if let Some(file) = file {
            rules.extend(file.orders(trace)?);
        }
        Ok(rules)
    }

    fn intent(&self, opened: &Opened) -> Result<Intent, Diagnostic> {
        match self.atomic_within {
            None => Ok(Intent::Stated),
            Some(Scope::Lock) => Ok(Intent::WithinLock),
            Some(Scope::Function) => match Calls::of(&opened.trace) {
                Ok(Some(calls)) => Ok(Intent::WithinFunction(calls)),
                Ok(None) => Err(Diagnostic::new(
                    "`--atomic-within function` needs call stacks, and the trace has none",
                )
                .in_file(opened.name.as_str())
                .help("record it with `foretell record`; text traces cannot store them")),
                Err(error) => Err(Diagnostic::new(error.to_string()).in_file(opened.name.as_str())),
            },
        }
    }
}
