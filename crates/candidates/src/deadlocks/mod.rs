//! Deadlocks: every cycle of threads that block each other, of any length, through locks, joins, condition variables,
//! barriers and semaphores; and lost wake-ups.
//!
//! Paper 3 (section 2.2.2) asks a model checker for any state that nothing leads out of. Here the cycle comes first:
//!
//! 1. `blocked.rs`: events that can be blocked, gathered by thread, by what they wait for and by how they block
//!    others (a lock held, or something that lies ahead of them). One pass.
//! 2. `cycles.rs`: cycles of those, two threads first, then three and so on.
//! 3. Groups of a cycle that hold a common lock (a gate) are passed over.
//! 4. `instances.rs`: events of the groups no two of which are ordered in every schedule (by fork and join, signals,
//!    barriers and, under `rf`, reads-from).
//! 5. What is left is asked of the engine as [`Question::Deadlock`].
//!
//! A *pattern* is the places in the source where the threads of a cycle are blocked, in the order of the cycle. Its
//! instances are asked until one is feasible, those near to each other first, or until [`Limits`] are reached; then
//! the pattern is reported as unknown. [`Extent::All`] asks every instance.
//!
//! Promise: every finding is feasible under the model, and every feasible pattern is found unless it is counted as
//! unknown. If [`Counts::cut_short`], there are cycles that nobody looked at, and the count of unknowns includes one
//! for them. Cycles of one thread are no deadlocks. Cost: linear, and for each pair of places that block each other;
//! longer cycles can be exponentially many, hence the limits.

mod blocked;
mod cycles;
mod instances;
mod lost;

use check::Question;
use decide::{MustOrder, Setup, Verdict, decide};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LocationId};

use self::blocked::Blocked;
use self::cycles::{Cycles, Go};
use self::instances::{Instances, Place};
use self::lost::Lost;
use crate::{Found, Object, Report, Settings};

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Which instances of a pattern to ask.
    pub extent: Extent,
    /// How many instances of a pattern to ask before it is left as unknown. Not for [`Extent::All`].
    pub instances: u32,
    /// What a question may cost at most, whatever the settings say: another instance may be easier. Likewise.
    pub budget: u64,
    /// How many patterns to ask about.
    pub patterns: u64,
    /// How many steps to look for cycles, and as many again for their instances.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            extent: Extent::Patterns,
            instances: 4,
            budget: 1_000_000,
            patterns: 10_000,
            steps: 50_000_000,
        }
    }
}

/// Which instances of a pattern to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Until one is feasible.
    Patterns,
    /// All of them.
    All,
}

/// How many cycles there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that can be blocked.
    pub blocked: u64,
    /// Cycles of places, before gates and orders are looked at.
    pub cycles: u64,
    /// Patterns with an instance worth asking, and waits that may miss their signal.
    pub candidates: u64,
    /// Questions asked.
    pub asked: u64,
    /// Findings: patterns (or with [`Extent::All`], instances) that are feasible, and lost wake-ups.
    pub feasible: u64,
    /// Of those, lost wake-ups.
    pub lost: u64,
    /// Patterns and lost wake-ups left open, and one more if it was cut short.
    pub unknown: u64,
    /// There are cycles that were not looked at.
    pub cut_short: bool,
}

/// Finds deadlocks and lost wake-ups, one for each pattern.
pub fn search(setup: &Setup<'_>, settings: Settings, report: &mut dyn FnMut(Report)) -> Counts {
    search_within(setup, settings, Limits::default(), report)
}

/// Finds deadlocks and lost wake-ups within limits.
pub fn search_within(
    setup: &Setup<'_>,
    settings: Settings,
    limits: Limits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let blocked = Blocked::of(setup.trace());
    let mut search = Search {
        setup,
        settings,
        limits,
        must: None,
        blocked: &blocked,
        patterns: FxHashMap::default(),
        counts: Counts { blocked: blocked.events, ..Counts::default() },
        steps: limits.steps,
        report,
    };
    search.cycles();
    search.leave_open();
    search.lost_wake_ups();
    search.counts
}

/// The places where the threads of a cycle are blocked, in its order, from the one on that makes the least list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pattern(Box<[LocationId]>);

impl Pattern {
    fn of(sites: &[LocationId]) -> Pattern {
        let turned = |by: usize| sites[by..].iter().chain(&sites[..by]).copied().collect::<Box<[_]>>();
        Pattern((0..sites.len()).map(turned).min().unwrap_or_default())
    }
}

/// What is known of a pattern.
#[derive(Clone, Debug, Default)]
struct Known {
    found: bool,
    asked: FxHashSet<Box<[EventId]>>,
    /// A question the budget left open, or that was not asked for its sake.
    open: Option<Question>,
}

struct Search<'a> {
    setup: &'a Setup<'a>,
    settings: Settings,
    limits: Limits,
    /// Made when there is a cycle.
    must: Option<MustOrder>,
    blocked: &'a Blocked,
    patterns: FxHashMap<Pattern, Known>,
    counts: Counts,
    /// Events of instances that may still be tried.
    steps: u64,
    report: &'a mut dyn FnMut(Report),
}

impl<'a> Search<'a> {
    fn cycles(&mut self) {
        let blocked = self.blocked;
        let threads = self.setup.threads().threads();
        let mut cycles = Cycles::new(blocked, self.limits.steps);
        let complete = cycles.each(threads, &mut |cycle| {
            self.counts.cycles += 1;
            let mut places = Vec::with_capacity(cycle.len());
            self.groups(cycle, &mut places)
        });
        if !complete {
            self.counts.cut_short = true;
            self.counts.unknown += 1;
        }
    }

    /// Chooses groups for the nodes of a cycle that no common lock keeps apart.
    fn groups(&mut self, cycle: &[u32], places: &mut Vec<Place<'a>>) -> Go {
        let blocked = self.blocked;
        let Some(&number) = cycle.get(places.len()) else { return self.instances(places) };
        let node = &blocked.nodes[number as usize];
        for group in &node.groups {
            if places.iter().any(|place| blocked.sets.exclude(place.group.held, group.held)) {
                continue;
            }
            places.push(Place { node, group });
            let go = self.groups(cycle, places);
            places.pop();
            if go == Go::Stop {
                return Go::Stop;
            }
        }
        Go::On
    }

    /// Asks the instances of a cycle: for each event of the first group the nearest ones, those that span least of the
    /// trace first; then the others.
    fn instances(&mut self, cycle: &[Place<'a>]) -> Go {
        let sites: Vec<LocationId> = cycle.iter().map(|place| place.group.site).collect();
        let pattern = Pattern::of(&sites);
        let known = self.patterns.get(&pattern).cloned();
        if self.limits.extent == Extent::Patterns && known.as_ref().is_some_and(|known| known.found) {
            return Go::On;
        }
        if known.is_none() && self.patterns.len() as u64 >= self.limits.patterns {
            return Go::Stop;
        }
        let (setup, model) = (self.setup, self.settings.model);
        let must = self.must.take().unwrap_or_else(|| MustOrder::new(setup, model));
        let mut known = known.unwrap_or_default();
        let mut steps = self.steps;
        let blocked = self.blocked;
        let mut each = |width: usize, visit: &mut dyn FnMut(&[EventId]) -> Go| {
            Instances { setup, must: &must, blocked, cycle, width, steps: &mut steps }.each(visit)
        };
        let mut nearest: Vec<Vec<EventId>> = Vec::new();
        each(1, &mut |events| {
            nearest.push(events.to_vec());
            Go::On
        });
        nearest.sort_by_key(|events| span(events));
        if nearest.iter().all(|events| self.instance(cycle, events, &mut known) == Go::On) {
            each(usize::MAX, &mut |events| self.instance(cycle, events, &mut known));
        }
        self.steps = steps;
        self.must = Some(must);
        if known.found || !known.asked.is_empty() || known.open.is_some() {
            self.patterns.insert(pattern, known);
        }
        if self.steps == 0 { Go::Stop } else { Go::On }
    }

    /// Asks an instance. Stops when its pattern is settled.
    fn instance(&mut self, cycle: &[Place<'a>], events: &[EventId], known: &mut Known) -> Go {
        let least = (0..events.len()).min_by_key(|&index| events[index]).unwrap_or(0);
        let turned: Vec<EventId> = events[least..].iter().chain(&events[..least]).copied().collect();
        let question = Question::Deadlock(turned.clone());
        let limited = self.limits.extent == Extent::Patterns;
        if limited && known.asked.len() as u64 >= u64::from(self.limits.instances) {
            if !known.asked.contains(turned.as_slice()) {
                known.open.get_or_insert(question);
                return Go::Stop;
            }
            return Go::On;
        }
        if !known.asked.insert(turned.clone().into()) {
            return Go::On;
        }
        let waits = cycle[least..].iter().chain(&cycle[..least]);
        let object = Object::Cycle(waits.map(|place| place.node.wanted.waited(self.setup.trace())).collect());
        let events = turned.into_iter().map(Some).collect();
        match self.ask(question, events, object) {
            Answer::Found => known.found = true,
            Answer::Nothing => {}
            Answer::Open(question) => {
                known.open.get_or_insert(question);
            }
        }
        if limited && known.found { Go::Stop } else { Go::On }
    }

    /// Reports the patterns that are neither found nor refuted.
    fn leave_open(&mut self) {
        self.counts.candidates += self.patterns.len() as u64;
        let open = std::mem::take(&mut self.patterns).into_values().filter(|known| !known.found);
        let mut questions: Vec<Question> = open.filter_map(|known| known.open).collect();
        questions.sort_by_key(Question::named);
        for question in questions {
            self.counts.unknown += 1;
            (self.report)(Report::Unknown(question));
        }
    }

    /// Asks about each place of a wait and its signal, those that span least of the trace first.
    fn lost_wake_ups(&mut self) {
        let mut patterns: FxHashMap<[LocationId; 2], Vec<Lost>> = FxHashMap::default();
        for lost in lost::candidates(self.setup) {
            patterns.entry(lost.sites).or_default().push(lost);
        }
        let mut patterns: Vec<Vec<Lost>> = patterns.into_values().collect();
        patterns.sort_by_key(|pattern| pattern[0].wait);
        self.counts.candidates += patterns.len() as u64;
        for mut pattern in patterns {
            pattern.sort_by_key(|lost| span(&lost.question.named()));
            self.lost_wake_up(pattern);
        }
    }

    fn lost_wake_up(&mut self, pattern: Vec<Lost>) {
        let limited = self.limits.extent == Extent::Patterns;
        let mut open = None;
        for (asked, Lost { wait, question, object, .. }) in pattern.into_iter().enumerate() {
            if limited && asked as u64 >= u64::from(self.limits.instances) {
                open.get_or_insert(question);
                break;
            }
            match self.ask(question, vec![Some(wait)], object) {
                Answer::Found => {
                    self.counts.lost += 1;
                    if limited {
                        return;
                    }
                }
                Answer::Nothing => {}
                Answer::Open(question) => {
                    open.get_or_insert(question);
                }
            }
        }
        if let Some(question) = open {
            self.counts.unknown += 1;
            (self.report)(Report::Unknown(question));
        }
    }

    fn ask(&mut self, question: Question, events: Vec<Option<EventId>>, object: Object) -> Answer {
        self.counts.asked += 1;
        let Settings { model, mut options } = self.settings;
        if self.limits.extent == Extent::Patterns {
            options.budget = options.budget.min(self.limits.budget);
        }
        match decide(self.setup, &question, model, options) {
            Ok(Verdict::Feasible(witness)) => {
                self.counts.feasible += 1;
                (self.report)(Report::Found(Found { question, events, object, witness }));
                Answer::Found
            }
            Ok(Verdict::Infeasible(_)) => Answer::Nothing,
            Ok(Verdict::Unknown { .. }) => Answer::Open(question),
            Err(error) => unreachable!("blocked events of different threads make a question: {error}"),
        }
    }
}

enum Answer {
    Found,
    Nothing,
    Open(Question),
}

/// How many events of the trace lie from the first of these to the last.
fn span(events: &[EventId]) -> u32 {
    let places = || events.iter().map(|event| event.0);
    places().max().unwrap_or(0) - places().min().unwrap_or(0)
}
