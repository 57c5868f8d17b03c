//! Conditions over global states that the user states: a state that must not be, or one that must not be avoided.
//!
//! A state counts under the model asked for: under `rf` one that a schedule reaches in which every read sees what it saw. Under
//! `sync` and `branch` that is tried first, for the rung, and then any.

use check::{Model, Question, check_schedule};
use decide::{Index, Options, Verdict};
use report::{Finding, FindingKind, Predictions, Rung};
use states::{Certainty, Definitely, Exhausted, Loset, Possibly, StateLimits, definitely, possibly_where};
use trace::{EventId, ThreadEvents, ThreadId};

use crate::error::Error;
use crate::observer::{Observer, Progress, Stage};
use crate::rules::{NamedPredicate, Wrong};
use crate::verify;

/// States looked at for one condition.
const MOST_STATES: u64 = 1_000_000_000;

/// Asks all conditions.
pub(super) fn search(
    conditions: &[NamedPredicate],
    index: &Index<'_>,
    model: Model,
    options: Options,
    predictions: &mut Predictions,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    if conditions.is_empty() {
        // Global states take room for each event and thread.
        return Ok(());
    }
    let limits = StateLimits { states: MOST_STATES, steps: options.budget, bounds: index.bounds() };
    let Ok(loset) = Loset::within(index.trace(), index.bounds()) else {
        predictions.unknown += conditions.len() as u64;
        return Ok(());
    };
    let search_for = ConditionSearch { index, loset, model, options, limits };
    let mut number = 0;
    for condition in conditions {
        predictions.candidates += 1;
        let example = match condition.wrong {
            Wrong::Reached => search_for.reached(condition, observer),
            Wrong::Avoided => search_for.avoided(condition, observer),
        };
        match example {
            Ok(None) => {}
            Ok(Some(example)) => {
                number += 1;
                predictions.findings.push(search_for.finding(number, condition, example)?);
            }
            Err(_) => predictions.unknown += 1,
        }
    }
    Ok(())
}

struct ConditionSearch<'a> {
    index: &'a Index<'a>,
    loset: Loset,
    model: Model,
    options: Options,
    limits: StateLimits,
}

/// A schedule that shows it, under the model it holds in.
struct Example {
    state: Vec<u32>,
    schedule: Vec<EventId>,
    model: Model,
}

impl ConditionSearch<'_> {
    /// A schedule to a state with the condition.
    fn reached(
        &self,
        condition: &NamedPredicate,
        observer: &mut dyn Observer,
    ) -> Result<Option<Example>, Exhausted> {
        let models = if self.model == Model::ReadsFrom {
            vec![Model::ReadsFrom]
        } else {
            vec![Model::ReadsFrom, self.model]
        };
        for model in models {
            observer.begin(&Stage::SearchingStates);
            let demand = |state: &[u32]| self.schedule(state, model).map(|schedule| schedule.is_some());
            let trace = self.index.trace();
            let found =
                possibly_where(trace, &self.loset, &condition.predicate, &demand, self.limits, |at| {
                    observer.advance(Progress::Estimated { done: at.looked, share: Some(at.share) });
                });
            observer.end(None);
            let Possibly { state: Some(state), .. } = found? else { continue };
            if let Some(schedule) = self.schedule(&state, model)? {
                return Ok(Some(Example { state, schedule, model }));
            }
        }
        Ok(None)
    }

    /// A run that has no state with the condition.
    fn avoided(
        &self,
        condition: &NamedPredicate,
        observer: &mut dyn Observer,
    ) -> Result<Option<Example>, Exhausted> {
        let trace = self.index.trace();
        observer.begin(&Stage::SearchingStates);
        let found = definitely(trace, &self.loset, &condition.predicate, self.limits, |looked| {
            observer.advance(Progress::Estimated { done: looked, share: None });
        });
        observer.end(None);
        let Certainty { answer: Definitely::Avoided(schedule), .. } = found? else { return Ok(None) };
        let mut state = vec![0; self.loset.threads()];
        schedule.iter().for_each(|&event| state[trace.thread(event).index()] += 1);
        let keeps = check_schedule(trace, &Question::Cut(state.clone()), Model::ReadsFrom, &schedule).is_ok();
        match (keeps, self.model) {
            (true, _) => Ok(Some(Example { state, schedule, model: Model::ReadsFrom })),
            // Another run may avoid it with every read as it was: that is not searched for.
            (false, Model::ReadsFrom | Model::Branch) => Err(Exhausted::States(self.limits.states)),
            (false, Model::Sync) => Ok(Some(Example { state, schedule, model: Model::Sync })),
        }
    }

    /// A schedule to a state under a model.
    fn schedule(&self, state: &[u32], model: Model) -> Result<Option<Vec<EventId>>, Exhausted> {
        let question = Question::Cut(state.to_vec());
        match decide::decide(self.index, &question, model, self.options) {
            Ok(Verdict::Feasible(witness)) => Ok(Some(witness.schedule(self.index, &question, model))),
            Ok(Verdict::Unknown { budget }) => Err(Exhausted::Steps(budget)),
            Ok(Verdict::Infeasible(_)) | Err(_) => Ok(None),
        }
    }

    /// The finding, verified. Its events are the last of each thread.
    fn finding(&self, number: u32, condition: &NamedPredicate, example: Example) -> Result<Finding, Error> {
        let Example { state, schedule, model } = example;
        let trace = self.index.trace();
        let question = Question::Cut(state.clone());
        let certainty = verify::schedule(trace, &question, model, &schedule)?;
        let threads = ThreadEvents::of(trace);
        let last = |(thread, &place): (usize, &u32)| {
            place.checked_sub(1).map(|last| threads.of_thread(ThreadId::new(thread))[last as usize])
        };
        let events: Vec<EventId> = state.iter().enumerate().filter_map(last).collect();
        let rung = match model {
            Model::ReadsFrom if trace.metadata().dropped == 0 => Rung::Predicted,
            _ => Rung::Possible,
        };
        Ok(Finding {
            id: format!("{}-{number}", FindingKind::Predicate.name()),
            guaranteed: certainty.guaranteed,
            events: events.iter().map(|event| i64::from(event.0)).collect(),
            object: condition.name.clone(),
            locations: events
                .iter()
                .map(|&e| trace.symbols().location(trace.location(e)).to_owned())
                .collect(),
            schedule,
            ..Finding::new(FindingKind::Predicate, rung, question.written(trace))
        })
    }
}
