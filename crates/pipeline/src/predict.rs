//! From a trace to findings: bugs of the runs that did not happen, each with a schedule that shows it.
//!
//! Searches report as they go ([`candidates`]); [`gather`] keeps one finding for each variable and set of source locations or functions, or
//! all of them; a [`Prediction`] writes its schedule out and has it verified before anybody sees it. The same trace and options give
//! the same findings under the same ids.

mod allocation;
pub(crate) mod culprit;
pub(crate) mod fix;
mod gather;
mod ids;
mod kinds;
mod library_code;
mod misuse;
mod options;
mod parts;
mod predicates;
mod prediction;
mod races;
pub mod raw;
mod two_mutexes;

use std::ops::ControlFlow;

use check::Model;
use decide::{Index, Options};
use papers::atomicity;
use papers::races::Method as RaceMethod;
use report::{FindingKind, Predictions, SCHEMA, Size};
use trace::{Kind, Trace};

use crate::error::{Error, ErrorKind};
use crate::first_party::FirstParty;
use crate::observer::Observer;
use crate::rules::RulesFile;
use crate::trace_file::TraceFile;
use gather::{Gatherer, Grouping};
use ids::Ids;
pub use ids::KnownIds;
use kinds::Races;
pub use options::{AtomicWithin, MemoryOrders, Method, PredictOptions, UnknownMethod};
use parts::Parts;
use prediction::Checkers;
pub use prediction::{Prediction, with_schedules};

/// Takes findings as they come, as many at once as there are cores; whether more are wanted.
pub type Sink<'t> = dyn FnMut(Vec<Prediction<'_>>, &mut dyn Observer) -> ControlFlow<()> + 't;

/// Searches a trace. Every finding has been verified, and has its schedule.
pub fn predict(
    file: &TraceFile,
    options: &PredictOptions,
    observer: &mut dyn Observer,
) -> Result<Predictions, Error> {
    let (mut findings, mut failed) = (Vec::new(), None);
    let predictions = predict_each(
        file,
        options,
        observer,
        &mut |predictions, observer| match with_schedules(predictions) {
            Ok(new) => {
                new.iter().for_each(|finding| observer.finding(finding));
                findings.extend(new);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        },
    )?;
    match failed {
        Some(error) => Err(error),
        None => Ok(Predictions { findings, ..predictions }),
    }
}

/// Where nothing was recorded, nothing can be found, which is not the same as "nothing found".
pub(crate) fn nothing_in(name: &str) -> Error {
    Error::from(ErrorKind::EmptyTrace).in_file(name).note("there is nothing to search")
}

/// What is known before the search.
pub fn head(file: &TraceFile, options: &PredictOptions) -> Result<Predictions, Error> {
    options.kinds()?;
    Ok(Predictions {
        schema: SCHEMA,
        trace: Size::of(&file.trace, file.path()),
        model: options.model,
        method: options.method_name().to_owned(),
        findings: Vec::new(),
        unknown: 0,
        candidates: 0,
        refuted: 0,
        suppressed: 0,
        other_code: 0,
        funnel: None,
        coverage: None,
        stopped: None,
        baseline: None,
        suite: None,
    })
}

/// Searches a trace and passes the findings on: as they are found if all are wanted, otherwise when their kind has been searched for. The counts are
/// returned. What a budget or a cancellation keeps from being searched counts as unknown, and [`Predictions::stopped`] names it.
pub fn predict_each(
    file: &TraceFile,
    options: &PredictOptions,
    observer: &mut dyn Observer,
    sink: &mut Sink<'_>,
) -> Result<Predictions, Error> {
    let sequential;
    let file = match options.memory_order {
        MemoryOrders::Sequential if !file.trace.is_sequential() => {
            sequential = file.clone().with_memory_orders(MemoryOrders::Sequential);
            &sequential
        }
        _ => file,
    };
    let trace = &file.trace;
    if trace.is_empty() {
        return Err(nothing_in(&file.name));
    }
    let mut predictions = head(file, options)?;
    let model = options.model;
    if model == Model::Branch {
        refuse_without_branches(trace)?;
    }
    let kinds = options.kinds()?;
    let rules_file = options.rules.as_deref().map(RulesFile::open).transpose()?;
    let rules = options.stated_rules(trace, rules_file.as_ref(), observer)?;
    let conditions = rules_file.as_ref().map(|file| file.predicates(trace)).transpose()?.unwrap_or_default();
    let intent = options.intent(file)?;
    let bounds = options.budget.bounds;
    // What was left of the share of a part before is gone.
    options.begin_share(kinds.len() as u32);
    let index = Index::within(trace, bounds);
    let checkers = Checkers::within(bounds);
    let engine = Options { budget: options.budget.steps, ..Options::default() };
    let first_party = FirstParty::of(trace, &options.first_party_roots);
    let grouping = match (options.every_instance, options.by_cause) {
        (true, _) => Grouping::None,
        (false, true) => Grouping::ByCause,
        (false, false) => Grouping::ByLocation,
    };
    let mut gatherer =
        Gatherer::new(&index, model, engine, grouping, &first_party, &checkers, &mut *observer, &mut *sink);
    gatherer.ids = Ids::new(&options.known_ids);
    let has_work = |kind| match kind {
        // Failures are met in runs.
        FindingKind::Failure => false,
        FindingKind::Predicate => !conditions.is_empty(),
        FindingKind::Misuse => misuse::is_possible(trace),
        _ => true,
    };
    let mut parts = Parts::of(&kinds, has_work, options);
    // What the recorded run itself shows is not to be lost where a search takes all the time.
    let (shown, searched): (Vec<_>, Vec<_>) =
        kinds.iter().copied().partition(|&kind| kind == FindingKind::Misuse);
    for kind in shown.into_iter().chain(searched) {
        if !parts.begin(kind, &mut predictions) {
            continue;
        }
        let gatherer = &mut gatherer;
        match kind {
            FindingKind::Race => races::search(options.race_method(), gatherer, &mut predictions)?,
            FindingKind::Deadlock => kinds::deadlocks(gatherer, &mut predictions),
            FindingKind::Atomicity => {
                let (method, instances) = (options.atomicity_method(), options.instances);
                kinds::atomicity(method, instances, &intent, gatherer, &mut predictions);
            }
            FindingKind::Order => kinds::orders(&rules, gatherer, &mut predictions),
            FindingKind::Nondeterminism => {
                let races = if kinds.contains(&FindingKind::Race) { Races::Noted } else { Races::Wanted };
                kinds::nondeterminism(races, gatherer, &mut predictions);
            }
            FindingKind::Predicate => {
                let observer = &mut *gatherer.observer;
                predicates::search(&conditions, &index, model, engine, &mut predictions, observer)?;
                gatherer.pass_on_ready(std::mem::take(&mut predictions.findings));
            }
            FindingKind::Misuse => {
                misuse::search(&index, engine, &first_party, &mut predictions)?;
                gatherer.pass_on_ready(std::mem::take(&mut predictions.findings));
            }
            FindingKind::Failure => {}
        }
        parts.end(kind, gatherer.flush(), &mut predictions);
    }
    predictions.stopped = parts.stopped();
    Ok(predictions)
}

/// Whether a trace says where threads took branches.
pub fn has_branches(trace: &Trace) -> bool {
    trace.events().any(|(_, _, op)| op.kind() == Kind::Branch)
}

/// The model `branch` says nothing about a trace without branches.
pub fn refuse_without_branches(trace: &Trace) -> Result<(), Error> {
    if has_branches(trace) {
        return Ok(());
    }
    Err(Error::from(ErrorKind::NoBranches)
        .note("without them, no read would have to keep its value")
        .help(
            "build the program with `foretell cc`, with the option `--branches` if it uses -flto; Rust: `foretell cargo --branches`. In text, branch counts are lines such as `T1|branch(1)|a.c:7`",
        )
        .help("or use `--model rf`, in which every read keeps its value"))
}

impl PredictOptions {
    /// How to find races.
    pub fn race_method(&self) -> RaceMethod {
        match self.method {
            Some(Method::Races(method)) => method,
            _ => RaceMethod::Poly,
        }
    }

    fn atomicity_method(&self) -> atomicity::Method {
        match self.method {
            Some(Method::Atomicity(method)) => method,
            _ => atomicity::Method::Exact,
        }
    }
}
