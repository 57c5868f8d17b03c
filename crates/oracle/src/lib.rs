//! The oracle: brute force over all schedules of a tiny trace. The judge of the engine and of
//! every analysis in tests, and never part of the product.
//!
//! It is exact under every model for every kind of event, and simple enough to be believed by
//! reading. `rules.rs` says when an event can be next, in the words of the definition;
//! `goal.rs` says when a state answers a question; [`decide`] walks from state to state until one
//! does. A state is what happened, the last write of each variable, and which threads must stop at
//! their next branch: nothing else of the past can matter, so no state is walked twice.
//! [`answer_all`] gives the same answers to many questions from few walks, and
//! [`all_questions`] knows all there are.
//!
//! The cost is that of all reachable states: fine for some twenty events, hopeless for fifty.
//! Questions must be valid ([`Question::validate`]), and traces have at most 128 events.

mod goal;
mod graph;
mod memory;
mod questions;
mod rules;
mod set;

use std::collections::BTreeSet;

use check::{Model, Question};
use rustc_hash::FxHashSet;
use trace::{EventId, Trace};

pub use graph::answer_all;
pub use questions::all_questions;
use rules::{Demands, Rules, State};

/// A schedule that answers the question, if there is one. For [`Question::Race`],
/// [`Question::Deadlock`] and [`Question::Cut`] it leads to the state asked for; for
/// [`Question::Order`] and [`Question::Reads`] it ends with the last event named.
pub fn decide(trace: &Trace, question: &Question, model: Model) -> Option<Vec<EventId>> {
    let rules = Rules::of(trace, model);
    let demands = goal::demands(&rules, question, model);
    let mut walk =
        Walk { rules: &rules, question, demands, schedule: Vec::new(), visited: FxHashSet::default() };
    walk.from(State::default()).then_some(walk.schedule)
}

struct Walk<'a> {
    rules: &'a Rules,
    question: &'a Question,
    demands: Demands,
    /// The events that led to the current state.
    schedule: Vec<EventId>,
    visited: FxHashSet<State>,
}

impl Walk<'_> {
    /// Whether the goal can be reached from this state; `schedule` then leads there.
    fn from(&mut self, state: State) -> bool {
        if goal::reached(self.rules, self.question, &state) {
            match self.question {
                Question::Reads(read, _) => self.schedule.push(*read),
                Question::Race(..) | Question::Deadlock(_) | Question::Order(_) | Question::Cut(_) => {}
            }
            return true;
        }
        if !self.visited.insert(state) {
            return false;
        }
        for event in self.rules.all_events() {
            if goal::too_early(self.question, event, &state) {
                continue;
            }
            if let Some(after) = self.rules.step(&state, event, self.demands) {
                self.schedule.push(event);
                if self.from(after) {
                    return true;
                }
                self.schedule.pop();
            }
        }
        false
    }
}

/// All reachable global states: for each, how many events of each thread happened, by thread id.
pub fn reachable_cuts(trace: &Trace, model: Model) -> BTreeSet<Vec<u32>> {
    let rules = Rules::of(trace, model);
    let counts = |state: &State| {
        let happened = |events: &Vec<EventId>| events.iter().filter(|&&e| state.happened.contains(e)).count();
        rules.threads.iter().map(|events| happened(events) as u32).collect()
    };
    let values = match model {
        Model::Sync => graph::Values::Forget,
        Model::ReadsFrom | Model::Branch => graph::Values::Keep,
    };
    graph::Graph::explore(&rules, Demands::default(), values).states.iter().map(counts).collect()
}

/// Shows every schedule that keeps to the model without exemptions to `visit`, the empty one first,
/// and each before those that continue it. There are exponentially many.
pub fn all_schedules(trace: &Trace, model: Model, mut visit: impl FnMut(&[EventId])) {
    fn continue_from(
        rules: &Rules,
        state: &State,
        schedule: &mut Vec<EventId>,
        visit: &mut impl FnMut(&[EventId]),
    ) {
        visit(schedule);
        for event in rules.all_events() {
            if let Some(after) = rules.step(state, event, Demands::default()) {
                schedule.push(event);
                continue_from(rules, &after, schedule, visit);
                schedule.pop();
            }
        }
    }
    continue_from(&Rules::of(trace, model), &State::default(), &mut Vec::new(), &mut visit);
}
