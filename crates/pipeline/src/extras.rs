//! What a page shows besides the findings: why other candidates cannot happen, and the states of a small trace.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use candidates::{Report, SearchSettings, atomicity, deadlocks};
use check::{Model, Question, Reason, Refutation, Step, check_refutation};
use decide::{Index, Options, Verdict};
use papers::races::lockset;
use report::{
    Context, Extras, Finding, FindingKind, Lattice, Predictions, RuledOut, explain, in_one_sentence,
    shown_object,
};
use states::{Class, Loset, StateLimits};
use trace::{LocationId, Trace};

use crate::budget::Bounds;

/// In a longer trace no candidates are looked for: that would take longer than the search itself.
const LONGEST: usize = 1_000_000;
/// The same of what costs more.
const LONGEST_FOR_ATOMICITY: usize = 100_000;
/// Of each kind: pairs of events looked at, sets of places asked about, and answers shown.
const MOST_PAIRS: usize = 200_000;
const ASKED: usize = 60;
const SHOWN: usize = 20;
/// Steps for each question.
const BUDGET: u64 = 500_000;
/// A longer explanation is cut to one sentence.
const LONGEST_EXPLANATION: usize = 12_000;
/// States of a lattice that a person can take in.
const STATES: usize = 240;

/// Gathers them: only what there is time for, and no more than a page can show.
pub fn extras(context: &Context<'_>, predictions: &Predictions, bounds: Bounds) -> Extras {
    let trace = context.trace;
    let ruled_out = match trace.len() <= LONGEST {
        true => ruled_out(context, &predictions.findings, bounds),
        false => Vec::new(),
    };
    Extras { ruled_out, lattice: lattice(trace, bounds), ..Extras::default() }
}

/// A candidate about to be asked.
struct Candidate {
    kind: FindingKind,
    object: String,
    question: Question,
    /// Where its events are.
    places: Vec<LocationId>,
}

/// Candidates that cannot happen, of each kind those whose reason is least obvious first: accesses without a common lock that do not race all the
/// same, and deadlocks and atomicity violations that synchronisation alone would allow.
fn ruled_out(context: &Context<'_>, findings: &[Finding], bounds: Bounds) -> Vec<RuledOut> {
    let index = Index::within(context.trace, bounds);
    let found = FoundPlaces::of(context.trace, findings);
    if bounds.are_reached() {
        return Vec::new();
    }
    let candidates = [racing(&index, &found), blocking(&index, &found), interleaving(&index, &found)];
    candidates.into_iter().flat_map(|candidates| refuted(context, &index, candidates)).collect()
}

/// Decides candidates of a kind, and keeps those that are refuted.
fn refuted(context: &Context<'_>, index: &Index<'_>, candidates: Vec<Candidate>) -> Vec<RuledOut> {
    let options = Options { budget: BUDGET, ..Options::default() };
    let mut answers = Vec::new();
    let in_time = |_: &Candidate| !index.bounds().are_reached();
    for candidate in candidates.into_iter().take(ASKED).take_while(in_time) {
        let verdict = decide::decide(index, &candidate.question, Model::ReadsFrom, options);
        let Ok(Verdict::Infeasible(refutation)) = verdict else { continue };
        if check_refutation(context.trace, &candidate.question, Model::ReadsFrom, &refutation).is_ok() {
            answers.push((candidate, refutation));
        }
    }
    answers.sort_by_key(|(_, refutation)| std::cmp::Reverse(subtlety(refutation)));
    answers.truncate(SHOWN);
    answers.iter().map(|(candidate, refutation)| explained(context, candidate, refutation)).collect()
}

/// Kinds and places that findings have, so that no other instance of them is called impossible.
struct FoundPlaces(BTreeSet<(FindingKind, Vec<LocationId>)>);

impl FoundPlaces {
    fn of(trace: &Trace, findings: &[Finding]) -> FoundPlaces {
        let own = findings.iter().filter(|finding| finding.recording.is_none());
        let places = |finding: &Finding| finding.named_events().map(|event| trace.location(event)).collect();
        FoundPlaces(own.map(|finding| (finding.kind, sorted(places(finding)))).collect())
    }

    /// Of these candidates the first at each set of places, if there is no finding there.
    fn leave(&self, candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
        let mut seen = self.0.clone();
        candidates
            .filter(|candidate| seen.insert((candidate.kind, sorted(candidate.places.clone()))))
            .collect()
    }
}

fn sorted(mut places: Vec<LocationId>) -> Vec<LocationId> {
    places.sort_unstable();
    places.dedup();
    places
}

fn racing(index: &Index<'_>, found: &FoundPlaces) -> Vec<Candidate> {
    let trace = index.trace();
    let candidates = lockset::pairs_within(trace, index.bounds()).take(MOST_PAIRS).map(|pair| {
        let variable = trace.op(pair.first).access().map(|access| access.variable);
        Candidate {
            kind: FindingKind::Race,
            object: variable
                .map(|variable| trace.symbols().variable(variable).to_owned())
                .unwrap_or_default(),
            question: Question::Race(pair.first, pair.second),
            places: vec![trace.location(pair.first), trace.location(pair.second)],
        }
    });
    found.leave(candidates)
}

fn blocking(index: &Index<'_>, found: &FoundPlaces) -> Vec<Candidate> {
    allowed_by_sync(index, found, FindingKind::Deadlock, |settings, report| {
        let each = candidates::PatternLimits { instances: 4, ..deadlocks::DeadlockLimits::default().each };
        let limits =
            deadlocks::DeadlockLimits { each, patterns: ASKED as u64, steps: BUDGET, run_ups: BUDGET };
        deadlocks::search_within(index, settings, limits, report);
    })
}

fn interleaving(index: &Index<'_>, found: &FoundPlaces) -> Vec<Candidate> {
    if index.trace().len() > LONGEST_FOR_ATOMICITY {
        return Vec::new();
    }
    allowed_by_sync(index, found, FindingKind::Atomicity, |settings, report| {
        atomicity::search(index, settings, report);
    })
}

/// What a search finds if reads may see anything, but for what is so in every run.
fn allowed_by_sync(
    index: &Index<'_>,
    found: &FoundPlaces,
    kind: FindingKind,
    search: impl FnOnce(SearchSettings, &mut dyn FnMut(Report)),
) -> Vec<Candidate> {
    let trace = index.trace();
    let options = Options { budget: BUDGET, ..Options::default() };
    let mut candidates = Vec::new();
    search(SearchSettings { model: Model::Sync, options }, &mut |report| {
        if let Report::Bug(found) = report
            && !found.remarks.inherent
        {
            let events = found.events.iter().flatten();
            candidates.push(Candidate {
                kind,
                object: found.object.name(trace.symbols()),
                places: events.map(|&event| trace.location(event)).collect(),
                question: found.question,
            });
        }
    });
    found.leave(candidates.into_iter())
}

fn explained(context: &Context<'_>, candidate: &Candidate, refutation: &Refutation) -> RuledOut {
    let (trace, words) = (context.trace, context.words());
    let question = &candidate.question;
    let reason = in_one_sentence(trace, question, Model::ReadsFrom, refutation);
    let explanation = explain(trace, question, Model::ReadsFrom, refutation);
    let short = explanation.len() <= LONGEST_EXPLANATION;
    RuledOut {
        kind: candidate.kind.name(),
        kind_title: candidate.kind.title(),
        object: shown_object(candidate.kind, &candidate.object),
        statement: words.impossible(question),
        explanation: if short { explanation } else { format!("{reason}.\n") },
        reason,
        locations: question.named().iter().map(|&event| words.location(event)).collect(),
    }
}

/// How much there is to a refutation: more than forks and joins, and cases.
fn subtlety(refutation: &Refutation) -> usize {
    let is_subtle = |step: &&Step| match step {
        Step::Order { because, .. } => !matches!(because, Reason::Fork | Reason::Join),
        Step::Split { .. } => true,
        Step::Case { .. } | Step::End { .. } => false,
    };
    refutation.steps.iter().filter(is_subtle).count()
}

/// All reachable states, if they are few.
fn lattice(trace: &Trace, bounds: Bounds) -> Option<Lattice> {
    if trace.is_empty() || trace.len() > STATES {
        return None;
    }
    let mut states = Vec::new();
    let limits = StateLimits { states: 100 * STATES as u64, steps: BUDGET, bounds };
    let loset = Loset::within(trace, bounds).ok()?;
    let walked = states::walk(trace, &loset, Class::Reachable, limits, |state| {
        states.push(state.to_vec());
        if states.len() > STATES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    matches!(walked, Ok(ControlFlow::Continue(()))).then_some(Lattice { states })
}
