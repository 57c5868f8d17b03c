//! The one bookkeeping of all searches that ask the engine by *pattern*: the places in the source that a bug is made of.
//!
//! A pattern has instances, sets of events at its places. Unless [`Extent::All`] is wanted they are asked until one is feasible
//! or [`PatternLimits`] are reached. First each instance may cost a share of the budget, because another one may be easier; what that left open is
//! asked again in the end, for ten times as much each ([`PatternSearch::second_look`]). A pattern that is neither found nor refuted then is left
//! open: it is counted, and one of its questions reported as unknown.

use std::hash::Hash;

use check::Question;
use decide::{Index, Verdict, Witness, decide};
use rustc_hash::FxHashMap;
use trace::EventId;

use crate::{Bug, Object, Remarks, Report, SearchSettings};

/// Which instances of a pattern to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Until one is feasible.
    Patterns,
    /// Until one is feasible, but the same places are another pattern for another variable, where a search is about variables.
    PatternsOfVariables,
    /// Until one is feasible, but the elements of an array, and blocks from one allocation, count as one variable; and the same places are another
    /// pattern if other accesses there read or write.
    Causes,
    /// All of them, whatever they cost.
    All,
}

/// How far to go for a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternLimits {
    /// Which instances of a pattern to ask.
    pub extent: Extent,
    /// How many instances of a pattern to ask before it is left as unknown. Not for [`Extent::All`].
    pub instances: u32,
    /// A question may cost the budget divided by this: another instance may be easier. All that cost that much without an answer may
    /// together cost half the budget; then no more is asked. In a second look each may cost ten times as much, and all that
    /// stay open half the budget once more. Not for [`Extent::All`].
    pub share: u64,
    /// How many instances of a pattern to look at, asked or filtered, before it is left as unknown. Not for [`Extent::All`].
    pub tries: u32,
}

impl PatternLimits {
    /// Everything there is.
    pub const ALL: PatternLimits = PatternLimits { extent: Extent::All, ..PatternLimits::GENEROUS };

    /// One instance for each pattern, however long it takes.
    pub const GENEROUS: PatternLimits =
        PatternLimits { extent: Extent::Patterns, instances: u32::MAX, share: 1, tries: u32::MAX };
}

/// A set of events at the places of a pattern.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) question: Question,
    pub(crate) events: Vec<Option<EventId>>,
    pub(crate) object: Object,
    pub(crate) remarks: Remarks,
}

/// The answer about an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Found,
    NotFound,
}

/// The number of patterns and instances of each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Patterns with an instance that neither locks nor orders exclude.
    pub candidates: u64,
    /// Instances asked of the engine.
    pub asked: u64,
    /// Findings: patterns, or with [`Extent::All`] instances.
    pub feasible: u64,
    /// Patterns left open.
    pub unknown: u64,
}

impl Tally {
    /// The same with one more left open if the search was cut short.
    pub(crate) fn cut_short(self, cut_short: bool) -> Tally {
        Tally { unknown: self.unknown + u64::from(cut_short), ..self }
    }
}

/// The number of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternId(pub(crate) u32);

/// What is known of a pattern.
#[derive(Debug, Default)]
struct PatternState {
    found: bool,
    asked: u32,
    tried: u32,
    /// Instances that a share of the budget left open.
    open: Vec<Instance>,
    /// A question that the limits or the whole budget left open.
    unknown: Option<Question>,
    /// The limits were reached.
    limited: bool,
}

/// Asks about instances of patterns.
pub(crate) struct PatternSearch<'a, P> {
    pub(crate) index: &'a Index<'a>,
    settings: SearchSettings,
    limits: PatternLimits,
    numbers: FxHashMap<P, PatternId>,
    known: Vec<PatternState>,
    asked: Tally,
    /// What was spent on questions that stayed open.
    in_vain: u64,
    report: &'a mut dyn FnMut(Report),
}

impl<'a, P: Eq + Hash> PatternSearch<'a, P> {
    pub(crate) fn new(
        index: &'a Index<'a>,
        settings: SearchSettings,
        limits: PatternLimits,
        report: &'a mut dyn FnMut(Report),
    ) -> Self {
        let (numbers, known) = (FxHashMap::default(), Vec::new());
        PatternSearch { index, settings, limits, numbers, known, asked: Tally::default(), in_vain: 0, report }
    }

    /// The number of a pattern.
    pub(crate) fn pattern(&mut self, pattern: P) -> PatternId {
        let next = PatternId(self.known.len() as u32);
        let number = *self.numbers.entry(pattern).or_insert(next);
        if number == next {
            self.known.push(PatternState::default());
        }
        number
    }

    /// The number of a pattern, unless it is new and there are `most` others.
    pub(crate) fn pattern_within(&mut self, pattern: P, most: usize) -> Option<PatternId> {
        match self.numbers.get(&pattern) {
            Some(&number) => Some(number),
            None => (self.known.len() < most).then(|| self.pattern(pattern)),
        }
    }

    /// How many patterns were found, or with [`Extent::All`] instances.
    pub(crate) fn feasible(&self) -> u64 {
        self.asked.feasible
    }

    /// Whether a pattern needs no more instances.
    pub(crate) fn is_settled(&self, pattern: PatternId) -> bool {
        let known = &self.known[pattern.0 as usize];
        self.limits.extent != Extent::All && (known.found || known.limited)
            || self.index.bounds().are_reached()
    }

    /// Whether so much was spent without an answer that no more is asked. With the whole budget for each question, each is on its own.
    pub(crate) fn is_spent(&self) -> bool {
        let PatternLimits { extent, share, .. } = self.limits;
        extent != Extent::All && share > 1 && self.in_vain >= self.settings.options.budget / 2
    }

    /// Takes note of an instance. Whether it may be looked at: not too many were.
    pub(crate) fn looks_at(&mut self, pattern: PatternId, question: &Question) -> bool {
        let within =
            self.limits.extent == Extent::All || self.known[pattern.0 as usize].tried < self.limits.tries;
        let known = &mut self.known[pattern.0 as usize];
        known.tried = known.tried.saturating_add(u32::from(within));
        if !within {
            self.leave(pattern, question);
        }
        within
    }

    /// Asks the engine about an instance, if the limits allow.
    pub(crate) fn ask(&mut self, pattern: PatternId, instance: Instance) -> Outcome {
        match self.looks_at(pattern, &instance.question) {
            true => self.judge(pattern, instance, ask),
            false => Outcome::NotFound,
        }
    }

    /// Leaves a pattern open for the sake of the limits.
    fn leave(&mut self, pattern: PatternId, question: &Question) {
        let known = &mut self.known[pattern.0 as usize];
        known.unknown.get_or_insert_with(|| question.clone());
        known.limited = true;
    }

    /// Has an instance judged that has been looked at, if not too many were and the budget is not spent.
    pub(crate) fn judge(
        &mut self,
        pattern: PatternId,
        instance: Instance,
        judge: impl FnOnce(&Index<'_>, &Question, SearchSettings) -> Verdict,
    ) -> Outcome {
        let asked = self.known[pattern.0 as usize].asked;
        if self.limits.extent != Extent::All && (asked >= self.limits.instances || self.is_spent()) {
            self.leave(pattern, &instance.question);
            return Outcome::NotFound;
        }
        let mut settings = self.settings;
        if self.limits.extent != Extent::All {
            settings.options.budget /= self.limits.share.max(1);
        }
        self.asked.asked += 1;
        self.known[pattern.0 as usize].asked += 1;
        match judge(self.index, &instance.question, settings) {
            Verdict::Feasible(witness) => self.take(pattern, instance, witness),
            Verdict::Infeasible(_) => Outcome::NotFound,
            Verdict::Unknown { .. } => {
                self.in_vain = self.in_vain.saturating_add(settings.options.budget);
                let known = &mut self.known[pattern.0 as usize];
                match settings.options.budget < self.settings.options.budget {
                    true => known.open.push(instance),
                    false => {
                        known.unknown.get_or_insert(instance.question);
                    }
                }
                Outcome::NotFound
            }
        }
    }

    /// Has what a share of the budget left open judged again, for ten times as much, pattern by pattern. One that
    /// stays open leaves its pattern open, and the others of the pattern are not looked at: others can be settled for what it would cost.
    /// Which patterns were found.
    pub(crate) fn second_look(
        &mut self,
        judge: impl Fn(&Index<'_>, &Question, SearchSettings) -> Verdict,
    ) -> Vec<PatternId> {
        let most = self.settings.options.budget / 2;
        let mut settings = self.settings;
        settings.options.budget /= (self.limits.share / 10).max(1);
        let (mut in_vain, mut found) = (0, Vec::new());
        for number in 0..self.known.len() {
            let open = std::mem::take(&mut self.known[number].open);
            for instance in open {
                if self.known[number].found {
                    break;
                }
                let judged = match in_vain < most {
                    true => judge(self.index, &instance.question, settings),
                    false => Verdict::Unknown { budget: settings.options.budget },
                };
                match judged {
                    Verdict::Feasible(witness) => {
                        let pattern = PatternId(number as u32);
                        self.take(pattern, instance, witness);
                        found.push(pattern);
                    }
                    Verdict::Infeasible(_) => {}
                    Verdict::Unknown { .. } => {
                        in_vain = in_vain.saturating_add(settings.options.budget);
                        self.known[number].unknown.get_or_insert(instance.question);
                        break;
                    }
                }
            }
        }
        found
    }

    /// Takes in an instance that is known to be feasible.
    pub(crate) fn take(&mut self, pattern: PatternId, instance: Instance, witness: Witness) -> Outcome {
        let Instance { question, events, object, remarks } = instance;
        // What is computed when there is no time or memory left may be incomplete.
        if self.index.bounds().are_reached() {
            self.known[pattern.0 as usize].unknown.get_or_insert(question);
            return Outcome::NotFound;
        }
        self.known[pattern.0 as usize].found = true;
        self.asked.feasible += 1;
        (self.report)(Report::Bug(Bug { question, events, object, witness, remarks }));
        Outcome::Found
    }

    /// Says how far the search is.
    pub(crate) fn progress(&mut self, done: u64, total: u64) {
        (self.report)(Report::Progress { done, total });
    }

    /// Reports the patterns that are neither found nor refuted, and counts everything. After [`PatternSearch::second_look`].
    pub(crate) fn finish(self) -> Tally {
        debug_assert!(
            self.known.iter().all(|known| known.open.is_empty()),
            "what is open was looked at again"
        );
        let looked_at = self.known.iter().filter(|known| known.found || known.tried > 0 || known.limited);
        let mut asked = Tally { candidates: looked_at.count() as u64, ..self.asked };
        let open = self.known.into_iter().filter(|known| !known.found);
        let mut questions: Vec<Question> = open.filter_map(|known| known.unknown).collect();
        questions.sort_by_key(Question::named);
        for question in questions {
            asked.unknown += 1;
            (self.report)(Report::Unknown(question));
        }
        asked
    }
}

/// The engine's verdict.
pub fn ask(index: &Index<'_>, question: &Question, settings: SearchSettings) -> Verdict {
    let verdict = decide(index, question, settings.model, settings.options);
    verdict.unwrap_or_else(|error| unreachable!("searches ask valid questions: {error}"))
}
