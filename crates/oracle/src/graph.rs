//! The same answers to many questions from few walks: all reachable states are found once for each
//! set of exempted reads, and each question is a look at them.

use std::collections::BTreeMap;

use check::{Model, Question};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, Trace};

use crate::goal;
use crate::rules::{Demands, Rules, State};
use crate::set::EventSet;

/// Whether there is a schedule for each question: as [`crate::decide`] for each, at less cost.
pub fn answer_all(trace: &Trace, model: Model, questions: &[Question]) -> Vec<bool> {
    let rules = Rules::of(trace, model);
    let mut groups: BTreeMap<(Demands, Values), Vec<usize>> = BTreeMap::new();
    for (index, question) in questions.iter().enumerate() {
        let key = (goal::demands(&rules, question, model), Values::matter_to(question, model));
        groups.entry(key).or_default().push(index);
    }
    let mut answers = vec![false; questions.len()];
    for ((demands, values), group) in groups {
        let graph = Graph::explore(&rules, demands, values);
        let asked: Vec<&Question> = group.iter().map(|&index| &questions[index]).collect();
        for (index, answer) in group.into_iter().zip(graph.answer(&rules, &asked)) {
            answers[index] = answer;
        }
    }
    answers
}

/// Whether states differ if the last writes of variables do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Values {
    Keep,
    Forget,
}

impl Values {
    fn matter_to(question: &Question, model: Model) -> Values {
        match (model, question) {
            (Model::ReadsFrom | Model::Branch, _) | (Model::Sync, Question::Reads(..)) => Values::Keep,
            (Model::Sync, _) => Values::Forget,
        }
    }
}

/// All reachable states and the steps between them. A step adds one event, and both are listed
/// with fewer events first: a step into a state comes before every step out of it.
pub(crate) struct Graph {
    pub(crate) states: Vec<State>,
    steps: Vec<Transition>,
}

struct Transition {
    from: u32,
    event: EventId,
    to: u32,
}

impl Graph {
    pub(crate) fn explore(rules: &Rules, demands: Demands, values: Values) -> Graph {
        let start = State::default();
        let mut graph = Graph { states: vec![start], steps: Vec::new() };
        let mut numbers = FxHashMap::from_iter([(start, 0u32)]);
        let mut from = 0;
        while let Some(&state) = graph.states.get(from) {
            for event in rules.all_events() {
                let Some(mut after) = rules.step(&state, event, demands) else { continue };
                if values == Values::Forget {
                    after.visible = EventSet::EMPTY;
                }
                let to = *numbers.entry(after).or_insert_with(|| {
                    graph.states.push(after);
                    graph.states.len() as u32 - 1
                });
                graph.steps.push(Transition { from: from as u32, event, to });
            }
            from += 1;
        }
        graph
    }

    fn answer(&self, rules: &Rules, questions: &[&Question]) -> Vec<bool> {
        let mut answers = vec![false; questions.len()];
        let mut orders = Vec::new();
        let mut cuts = None;
        for (index, question) in questions.iter().enumerate() {
            match question {
                Question::Order(events) => orders.push((index, events.as_slice())),
                Question::Cut(counts) => {
                    let cuts: &FxHashSet<EventSet> =
                        cuts.get_or_insert_with(|| self.states.iter().map(|s| s.happened).collect());
                    answers[index] = cuts.contains(&goal::cut(rules, counts));
                }
                Question::Race(..) | Question::Deadlock(_) | Question::Reads(..) => {
                    answers[index] = self.states.iter().any(|state| goal::reached(rules, question, state));
                }
            }
        }
        for chunk in orders.chunks(u64::BITS as usize) {
            let events: Vec<&[EventId]> = chunk.iter().map(|&(_, events)| events).collect();
            let feasible = self.orders(rules, &events);
            for (bit, &(index, _)) in chunk.iter().enumerate() {
                answers[index] = feasible >> bit & 1 == 1;
            }
        }
        answers
    }

    /// Which of up to 64 orders some way through the graph obeys. Bit i stands for the i-th order.
    fn orders(&self, rules: &Rules, orders: &[&[EventId]]) -> u64 {
        // For each event: which orders name which event directly before it, and which end with it.
        let mut before: Vec<Vec<(EventId, u64)>> = vec![Vec::new(); rules.events.len()];
        let mut ends = vec![0u64; rules.events.len()];
        for (index, order) in orders.iter().enumerate() {
            for pair in order.windows(2) {
                before[pair[1].index()].push((pair[0], 1 << index));
            }
            if let Some(last) = order.last() {
                ends[last.index()] |= 1 << index;
            }
        }
        // For each state: the orders that some way there obeys so far.
        let mut obeyed = vec![0u64; self.states.len()];
        obeyed[0] = u64::MAX;
        let mut done = 0;
        for step in &self.steps {
            let happened = self.states[step.from as usize].happened;
            let too_early = before[step.event.index()]
                .iter()
                .filter(|&&(event, _)| !happened.contains(event))
                .fold(0, |all, &(_, order)| all | order);
            let still = obeyed[step.from as usize] & !too_early;
            obeyed[step.to as usize] |= still;
            done |= still & ends[step.event.index()];
        }
        done
    }
}
