//! What to look for in a trace, and how.

use std::path::PathBuf;
use std::str::FromStr;

use candidates::atomicity::{Calls, Instances, Intent};
use candidates::orders::Rule;
use check::Model;
use papers::{atomicity, races};
use report::FindingKind;
use trace::Trace;

use super::ids::KnownIds;
use crate::budget::{Budget, Cancellation};
use crate::error::{Error, ErrorKind};
use crate::observer::Observer;
use crate::rules::RulesFile;
use crate::trace_file::TraceFile;

/// What to look for, and how.
#[derive(Clone, Debug)]
pub struct PredictOptions {
    /// The kinds of bugs to look for; none: all of them.
    pub only: Vec<FindingKind>,
    /// What reads must see in a schedule.
    pub model: Model,
    /// What the memory orders of atomic operations mean to races.
    pub memory_order: MemoryOrders,
    /// How to find races or atomicity violations; none: exactly.
    pub method: Option<Method>,
    /// Which instances of atomicity violations to look at.
    pub instances: Instances,
    /// Look for atomicity violations of what lies within one of these.
    pub atomic_within: Option<AtomicWithin>,
    /// Orders that must not be: `A < B`, events by id or location.
    pub orders: Vec<String>,
    /// A file with more of such orders, and conditions over global states.
    pub rules: Option<PathBuf>,
    /// One finding for each set of events, not for each variable and set of source locations.
    pub every_instance: bool,
    /// One finding for each variable and set of functions, unless every instance is wanted.
    pub by_cause: bool,
    /// How many parts of the same work come after this search. Each of them is left its share of the time.
    pub later_parts: u32,
    /// Where the user's own code is; none: where the run was recorded.
    pub first_party_roots: Vec<PathBuf>,
    /// Ids that findings keep.
    pub known_ids: KnownIds,
    /// What it may cost.
    pub budget: Budget,
    /// Whether it is called off.
    pub cancellation: Cancellation,
}

impl Default for PredictOptions {
    fn default() -> Self {
        PredictOptions {
            only: Vec::new(),
            model: Model::ReadsFrom,
            memory_order: MemoryOrders::Recorded,
            method: None,
            instances: Instances::Any,
            atomic_within: None,
            orders: Vec::new(),
            rules: None,
            every_instance: false,
            by_cause: false,
            later_parts: 0,
            first_party_roots: Vec::new(),
            known_ids: KnownIds::default(),
            budget: Budget::default(),
            cancellation: Cancellation::default(),
        }
    }
}

/// What the memory orders of atomic operations mean to races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryOrders {
    /// What the language says.
    #[default]
    Recorded,
    /// All are `seq_cst`.
    Sequential,
}

impl MemoryOrders {
    /// Both.
    pub const ALL: &[MemoryOrders] = &[MemoryOrders::Recorded, MemoryOrders::Sequential];

    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOrders::Recorded => "recorded",
            MemoryOrders::Sequential => "sc",
        }
    }
}

/// A way to find one kind of bugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Races.
    Races(races::Method),
    /// Atomicity violations.
    Atomicity(atomicity::Method),
}

/// What accesses lie within that are meant to be atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicWithin {
    /// One call of a function.
    Function,
    /// One critical section.
    Lock,
}

impl AtomicWithin {
    /// All of them.
    pub const ALL: &[AtomicWithin] = &[AtomicWithin::Function, AtomicWithin::Lock];

    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            AtomicWithin::Function => "function",
            AtomicWithin::Lock => "lock",
        }
    }
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{races}; methods for atomicity violations are {}", names())]
pub struct UnknownMethod {
    races: races::UnknownMethod,
}

fn names() -> String {
    atomicity::Method::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        match atomicity::Method::ALL.iter().find(|method| method.name() == name) {
            Some(&method) => Ok(Method::Atomicity(method)),
            None => name.parse().map(Method::Races).map_err(|races| UnknownMethod { races }),
        }
    }
}

impl Method {
    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            Method::Races(method) => method.name(),
            Method::Atomicity(method) => method.name(),
        }
    }

    /// What it finds.
    pub fn kind(self) -> FindingKind {
        match self {
            Method::Races(_) => FindingKind::Race,
            Method::Atomicity(_) => FindingKind::Atomicity,
        }
    }
}

impl PredictOptions {
    /// What to look for, in the order in which it is done. Options for other kinds are mistakes.
    pub(super) fn kinds(&self) -> Result<Vec<FindingKind>, Error> {
        let kinds = self.searched();
        let needed = [
            self.method.map(|method| (format!("--method {}", method.name()), method.kind())),
            self.atomic_within.map(|_| ("--atomic-within".to_owned(), FindingKind::Atomicity)),
            (!self.orders.is_empty()).then(|| ("--order".to_owned(), FindingKind::Order)),
        ];
        for (option, kind) in needed.into_iter().flatten() {
            if !kinds.contains(&kind) {
                let error = Error::from(ErrorKind::KindNotSearched { option, kind });
                return Err(error.help(format!("add `{}` to `--only`", kind.name())));
            }
        }
        Ok(kinds)
    }

    fn searched(&self) -> Vec<FindingKind> {
        let wanted = |kind: &FindingKind| self.only.is_empty() || self.only.contains(kind);
        FindingKind::ALL.iter().copied().filter(wanted).collect()
    }

    /// Whether the work is over before its end.
    pub(super) fn is_over(&self) -> bool {
        self.cancellation.is_cancelled() || self.budget.is_exhausted()
    }

    /// Begins the next part of the search, with the number of parts to come, this one included.
    pub(super) fn begin_share(&self, parts: u32) {
        self.budget.bounds.begin_share(parts + self.later_parts);
    }

    /// The same, one kind of bug each, in the order in which it is done.
    pub(crate) fn one_by_one(&self) -> Result<Vec<PredictOptions>, Error> {
        let kinds = self.kinds()?;
        let of_kind = |(kind, later): (FindingKind, u32)| PredictOptions {
            later_parts: self.later_parts + later,
            only: vec![kind],
            method: self.method.filter(|method| method.kind() == kind),
            atomic_within: self.atomic_within.filter(|_| kind == FindingKind::Atomicity),
            orders: if kind == FindingKind::Order { self.orders.clone() } else { Vec::new() },
            ..self.clone()
        };
        let later = (0..kinds.len() as u32).rev();
        Ok(kinds.into_iter().zip(later).map(of_kind).collect())
    }

    /// The same, but for reads that can see other values unless they were asked for.
    pub(crate) fn without_nondeterminism(&self) -> PredictOptions {
        let mut options = self.clone();
        if options.only.is_empty() {
            let bugs = FindingKind::ALL.iter().filter(|&&kind| kind != FindingKind::Nondeterminism);
            options.only.extend(bugs);
        }
        options
    }

    /// How candidates are found, by name: the method given, or that of the only kind with a choice.
    pub(super) fn method_name(&self) -> &'static str {
        let kinds = self.searched();
        let default = match kinds.contains(&FindingKind::Race) || !kinds.contains(&FindingKind::Atomicity) {
            true => races::Method::Poly.name(),
            false => atomicity::Method::Exact.name(),
        };
        self.method.map_or(default, Method::name)
    }

    /// The orders the user states, one by one and in a file.
    pub(super) fn stated_rules(
        &self,
        trace: &Trace,
        file: Option<&RulesFile>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Rule>, Error> {
        let mut rules = Vec::new();
        for text in &self.orders {
            rules.push(Rule::parse(trace, text).map_err(|error| ErrorKind::Rule(error.to_string()))?);
        }
        if let Some(file) = file {
            rules.extend(file.orders(trace, observer)?);
        }
        Ok(rules)
    }

    /// What is meant to be atomic.
    pub(super) fn intent(&self, file: &TraceFile) -> Result<Intent, Error> {
        match self.atomic_within {
            None => Ok(Intent::Stated),
            Some(AtomicWithin::Lock) => Ok(Intent::WithinLock),
            Some(AtomicWithin::Function) => match Calls::of(&file.trace) {
                Ok(Some(calls)) => Ok(Intent::WithinFunction(calls)),
                Ok(None) => Err(Error::from(ErrorKind::NoCallStacks)
                    .in_file(file.name.as_str())
                    .help("record it with `foretell record`; text traces cannot store them")),
                Err(error) => {
                    Err(Error::from(ErrorKind::CallStacks(error.to_string())).in_file(file.name.as_str()))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_kinds_that_are_not_searched_are_mistakes() {
        let races = vec![FindingKind::Race];
        let options =
            PredictOptions { only: races, orders: vec!["a < b".into()], ..PredictOptions::default() };
        let error = options.kinds().unwrap_err();
        assert_eq!(error.to_string(), "`--order` applies to the kind `order`, which is not searched for");
        assert_eq!(error.advice(), ["add `order` to `--only`"]);
    }

    #[test]
    fn methods_are_known_by_name() {
        assert_eq!("hb".parse(), Ok(Method::Races(races::Method::Hb)));
        assert_eq!("under".parse(), Ok(Method::Atomicity(atomicity::Method::Under)));
        assert!("best".parse::<Method>().unwrap_err().to_string().contains("avfilter"));
    }
}
