//! From what searches report to findings: merged by variable and source location, grouped by cause if wanted, and ranked.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use candidates::Bug;
use check::Model;
use decide::{Index, Options, Verdict};
use report::{Cause, Finding, FindingKind, MOST_ELEMENTS, Rung, family};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, Op, ThreadId, Trace, VariableId};

use super::allocation::Allocations;
use super::ids::{Ids, KnownIds};
use super::library_code::is_of_libraries;
use super::prediction::{Checkers, PendingSchedule, Prediction};
use super::{Sink, has_branches};
use crate::first_party::FirstParty;
use crate::observer::Observer;
use crate::parallel::cores;

/// How many findings of a kind are passed on however late it is, so that they are not lost.
const IN_ANY_CASE: usize = 16;

/// How many bugs at the same places are compared by how far their schedules are from the recorded run, and the events of a run up to which
/// they are.
const MOST_COMPARED: u64 = 64;
const LONGEST_COMPARED: usize = 100_000;

/// What findings are merged by: kind, variable, the set of locations, and what is done there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: FindingKind,
    locations: Vec<LocationId>,
    object: String,
    /// Of an atomicity violation: which of its accesses write.
    writes: Vec<bool>,
}

/// How findings are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// Not at all: one for each set of events.
    None,
    /// One for each variable and set of locations.
    ByLocation,
    /// One for each variable and set of functions.
    ByCause,
}

struct Group {
    found: Bug,
    rung: Rung,
    count: u64,
    /// One of its reads races.
    racy: bool,
    /// A thread writes by what it read before another wrote.
    stale: bool,
    /// Reads that see something else than in the recorded run before it happens: the fewer there are, the likelier is the program to follow.
    strays: usize,
    /// The same about other elements of the array, the first few of them.
    elements: Vec<Element>,
}

/// A bug about another element of the same array, or another block of the same allocation, at the same places.
struct Element {
    found: Bug,
    count: u64,
}

impl Group {
    /// Takes in another bug with the same key, and keeps the first by rank as its own.
    fn take(&mut self, kind: FindingKind, new: Group) {
        let count = self.count + 1;
        let mut other = new;
        if other.rank(kind) < self.rank(kind) {
            other.elements = std::mem::take(&mut self.elements);
            std::mem::swap(self, &mut other);
        }
        self.count = count;
        if kind.tells_elements_apart() && other.found.object != self.found.object {
            self.note_element(other.found);
        }
    }

    /// Lists an element; the group's own may have been listed before it became its own.
    fn note_element(&mut self, found: Bug) {
        let own = &self.found.object;
        self.elements.retain(|element| element.found.object != *own);
        let known = self.elements.iter().position(|element| element.found.object == found.object);
        match known {
            Some(known) => self.elements[known].count += 1,
            None if self.elements.len() < MOST_ELEMENTS => self.elements.push(Element { found, count: 1 }),
            None => {}
        }
    }

    /// What is shown first: what forks and joins leave a choice about, then the highest rung, then reads that race and writes that are
    /// stale. Of what has one cause, the first is replayed: a write that is lost does harm where a value that is seen too early may not.
    fn rank(&self, kind: FindingKind) -> impl Ord + use<> {
        let last = last(&self.found);
        let (racy, stale) = (Reverse(self.racy), Reverse(self.stale));
        (self.found.remarks.inherent, Reverse(self.rung), kind, racy, stale, self.strays, last)
    }
}

/// Collects what searches report and passes on findings: each bug as it is found if all are wanted, otherwise one for each set of
/// locations when its kind has been searched for.
pub(super) struct Gatherer<'s> {
    pub(super) index: &'s Index<'s>,
    pub(super) model: Model,
    pub(super) options: Options,
    /// Every bug is wanted by itself.
    pub(super) all: bool,
    grouping: Grouping,
    first_party: &'s FirstParty,
    groups: BTreeMap<Key, Group>,
    /// The places of events that race.
    racy: BTreeSet<LocationId>,
    /// None: the trace is no recording. It is looked at when something is found.
    allocations: OnceCell<Option<Allocations>>,
    /// Whether the trace says where threads branch.
    has_branches: OnceCell<bool>,
    /// Of the findings that are passed on.
    pub(super) ids: Ids,
    checkers: &'s Checkers<'s>,
    pub(super) observer: &'s mut dyn Observer,
    sink: &'s mut Sink<'s>,
    /// The sink wants no more.
    stopped: bool,
}

impl<'s> Gatherer<'s> {
    #[expect(clippy::too_many_arguments, reason = "each is another thing that it gathers with")]
    pub(super) fn new(
        index: &'s Index<'s>,
        model: Model,
        options: Options,
        grouping: Grouping,
        first_party: &'s FirstParty,
        checkers: &'s Checkers<'s>,
        observer: &'s mut dyn Observer,
        sink: &'s mut Sink<'s>,
    ) -> Self {
        let (groups, racy, ids) = (BTreeMap::new(), BTreeSet::new(), Ids::new(&KnownIds::default()));
        let (stopped, all, allocations) = (false, grouping == Grouping::None, OnceCell::new());
        Gatherer {
            index,
            model,
            options,
            all,
            grouping,
            first_party,
            groups,
            racy,
            allocations,
            has_branches: OnceCell::new(),
            ids,
            checkers,
            observer,
            sink,
            stopped,
        }
    }

    /// Takes in a bug that was found under the model asked for.
    pub(super) fn take(&mut self, kind: FindingKind, found: Bug) {
        match self.model {
            Model::ReadsFrom => self.take_at(kind, found, Rung::Predicted),
            Model::Sync | Model::Branch => self.take_climbing(kind, found),
        }
    }

    /// Takes in a bug that was found under a weaker model, or by a method that keeps to none: how far it climbs is decided, and then its
    /// schedule keeps what reads saw.
    pub(super) fn take_climbing(&mut self, kind: FindingKind, found: Bug) {
        match decide::decide(self.index, &found.question, Model::ReadsFrom, self.options) {
            Ok(Verdict::Feasible(witness)) => self.take_at(kind, Bug { witness, ..found }, Rung::Predicted),
            _ if self.model == Model::Branch => self.take_at(kind, found, Rung::Likely),
            _ => self.take_below(kind, found),
        }
    }

    /// Takes in a bug that is not feasible if all reads keep what they saw.
    fn take_below(&mut self, kind: FindingKind, found: Bug) {
        let index = self.index;
        let has_branches = *self.has_branches.get_or_init(|| has_branches(index.trace()));
        let likely =
            has_branches.then(|| decide::decide(index, &found.question, Model::Branch, self.options));
        match likely {
            Some(Ok(Verdict::Feasible(witness))) => {
                self.take_at(kind, Bug { witness, ..found }, Rung::Likely);
            }
            _ => self.take_at(kind, found, Rung::Possible),
        }
    }

    /// Takes note of a race, so that reads that take part in one are known.
    pub(super) fn note_race(&mut self, found: &Bug) {
        let trace = self.index.trace();
        self.racy.extend(found.events.iter().flatten().map(|&event| trace.location(event)));
    }

    /// Takes in a bug whose rung is known.
    pub(super) fn take_at(&mut self, kind: FindingKind, found: Bug, rung: Rung) {
        let trace = self.index.trace();
        let read = found.events.first().copied().flatten().map(|read| trace.location(read));
        let racy = kind == FindingKind::Nondeterminism && read.is_some_and(|read| self.racy.contains(&read));
        // Of nondeterministic reads there may be very many: those are left out once they are merged.
        if kind != FindingKind::Nondeterminism && is_of_libraries(trace, kind, &found.events) {
            return;
        }
        let rung = match kind {
            FindingKind::Order if self.uses_too_early(&found) => return,
            // A replay is the judge.
            FindingKind::Race | FindingKind::Atomicity if self.uses_too_early(&found) => Rung::Possible,
            _ => rung,
        };
        let stale = kind == FindingKind::Atomicity && is_stale(trace, &found.events);
        let mut new = Group { found, rung, count: 1, racy, stale, strays: 0, elements: Vec::new() };
        if self.all {
            let prediction = self.prediction(kind, new);
            return self.pass_on(vec![prediction]);
        }
        let key = self.key(kind, &new.found);
        if rung < Rung::Predicted {
            let known = self.groups.get(&key).map_or(0, |group| group.count);
            new.strays = if known < MOST_COMPARED { strays(self.index, &new.found) } else { usize::MAX };
        }
        match self.groups.get_mut(&key) {
            None => {
                self.groups.insert(key, new);
            }
            Some(group) => group.take(kind, new),
        }
    }

    /// Whether the schedule of a bug uses memory before it is allocated, which only an incomplete recording allows.
    fn uses_too_early(&self, found: &Bug) -> bool {
        let allocations = self.allocations.get_or_init(|| Allocations::of(self.index));
        allocations.as_ref().is_some_and(|all| all.are_missing(self.index, &found.events, &found.witness))
    }

    fn key(&self, kind: FindingKind, found: &Bug) -> Key {
        let trace = self.index.trace();
        let events = || found.events.iter().flatten();
        let mut locations: Vec<LocationId> = events().map(|&event| trace.location(event)).collect();
        // An order and its reverse are different violations.
        if kind != FindingKind::Order {
            locations.sort_unstable();
            locations.dedup();
        }
        let writes = match kind {
            FindingKind::Atomicity => events().map(|&event| trace.op(event).writes().is_some()).collect(),
            _ => Vec::new(),
        };
        let object = match kind {
            // A cycle of other locks at the same places is the same mistake.
            FindingKind::Deadlock => String::new(),
            _ => family(&found.object.name(trace.symbols())).into_owned(),
        };
        Key { kind, locations, object, writes }
    }

    /// Passes on what was found since the last time: the first of each group. How many were left out, because there is no time for them any
    /// more.
    pub(super) fn flush(&mut self) -> u64 {
        let mut groups: Vec<(Key, Group)> = std::mem::take(&mut self.groups).into_iter().collect();
        groups.sort_by_cached_key(|(key, group)| group.rank(key.kind));
        let predictions = groups.into_iter().map(|(key, group)| self.prediction(key.kind, group));
        let mut predictions: Vec<Prediction<'s>> = predictions.collect();
        if self.grouping == Grouping::ByCause {
            predictions = grouped_by_cause(predictions);
        }
        predictions.sort_by_key(|prediction| prediction.finding().third_party);
        let mut predictions = predictions.into_iter().peekable();
        let mut passed = 0;
        while predictions.peek().is_some() {
            if passed >= IN_ANY_CASE && self.index.bounds().is_grace_over() {
                return predictions.count() as u64;
            }
            self.pass_on(predictions.by_ref().take(cores()).collect());
            passed += cores();
        }
        0
    }

    /// Passes on findings that need no schedule written out.
    pub(super) fn pass_on_ready(&mut self, findings: Vec<Finding>) {
        if !self.stopped && !findings.is_empty() {
            let ready = findings.into_iter().map(Prediction::from).collect();
            self.stopped = (self.sink)(ready, &mut *self.observer).is_break();
        }
    }

    fn pass_on(&mut self, predictions: Vec<Prediction<'s>>) {
        let trace = self.index.trace();
        let wanted = predictions.into_iter().filter(|prediction| {
            let finding = prediction.finding();
            let events: Vec<Option<EventId>> = finding.named_events().map(Some).collect();
            finding.kind != FindingKind::Nondeterminism || !is_of_libraries(trace, finding.kind, &events)
        });
        let ids = &mut self.ids;
        let named = wanted.map(|prediction| {
            let id = ids.next(prediction.finding());
            prediction.with_id(id)
        });
        let named = named.collect();
        if !self.stopped {
            self.stopped = (self.sink)(named, &mut *self.observer).is_break();
        }
    }

    fn prediction(&self, kind: FindingKind, group: Group) -> Prediction<'s> {
        let Group { found, rung, count, racy, elements, .. } = group;
        let pending =
            PendingSchedule { index: self.index, checkers: self.checkers, model: self.model, rung, found };
        let mut prediction = Prediction::pending(pending, kind, count, racy, self.first_party);
        for Element { found, count } in elements {
            prediction.absorb_element(found, count);
        }
        prediction
    }
}

/// The first of each cause, with the locations of the others.
fn grouped_by_cause<'s>(predictions: Vec<Prediction<'s>>) -> Vec<Prediction<'s>> {
    let mut groups: Vec<Prediction<'s>> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for prediction in predictions {
        let number = *numbers.entry(Cause::of(prediction.finding())).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(first) => first.absorb(prediction),
            None => groups.push(prediction),
        }
    }
    groups
}

/// Whether a thread reads, another writes, and the first writes by what it read: a check or a sum that no longer holds.
fn is_stale(trace: &Trace, events: &[Option<EventId>]) -> bool {
    let &[Some(read), Some(between), Some(write)] = events else { return false };
    let writes = |event| trace.op(event).writes().is_some();
    !writes(read) && writes(between) && writes(write)
}

/// How many reads of a bug's schedule see another write than in the trace.
fn strays(index: &Index<'_>, found: &Bug) -> usize {
    let trace = index.trace();
    if trace.len() > LONGEST_COMPARED {
        return 0;
    }
    let (counts, tail) = found.witness.cut_and_tail(index);
    let is_in_cut = |&(event, thread, _): &(EventId, ThreadId, Op)| {
        (index.threads().place(event) as u32) < counts[thread.index()]
    };
    let events = trace.events().filter(is_in_cut).map(|(event, _, op)| (event, op));
    let mut last: FxHashMap<VariableId, EventId> = FxHashMap::default();
    let mut strays = 0;
    for (event, op) in events.chain(tail.iter().map(|&event| (event, trace.op(event)))) {
        let Some(access) = op.access() else { continue };
        strays += usize::from(access.reads && trace.reads_from(event) != last.get(&access.variable).copied());
        if access.writes {
            last.insert(access.variable, event);
        }
    }
    strays
}

/// The latest event that makes a bug up, and the others: what comes earliest is shown first.
fn last(found: &Bug) -> (Option<EventId>, Vec<Option<EventId>>) {
    (found.events.iter().copied().max().flatten(), found.events.clone())
}
