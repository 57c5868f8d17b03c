//! When a state answers a question with yes.

use check::{Model, Question, Source};
use trace::EventId;

use crate::rules::{Demands, Rules, State};
use crate::set::EventSet;

/// What the question demands: the reads that it names are exempt, in one about a race those that synchronise with nothing. (Without a
/// demand there is nothing to exempt from.)
pub(crate) fn demands(rules: &Rules, question: &Question, model: Model) -> Demands {
    let reads = rules.all_events().filter(|&event| rules.rule(event).saw.is_some());
    match model {
        Model::Sync => Demands::default(),
        Model::ReadsFrom if matches!(question, Question::Race(..)) => {
            Demands { exempt: rules.unordered, synchronisation: true }
        }
        Model::ReadsFrom | Model::Branch => {
            Demands { exempt: reads.filter(|&read| question.exempts(read)).collect(), synchronisation: false }
        }
    }
}

/// Whether this state is what the question asks for. For `Order`, the way there must have obeyed
/// [`too_early`]; for `Reads`, the read can happen next and the state after it is the answer.
pub(crate) fn reached(rules: &Rules, question: &Question, state: &State) -> bool {
    match question {
        Question::Race(a, b) => rules.is_next(*a, state) && rules.is_next(*b, state),
        Question::Deadlock(blocked) => {
            let next_in_cycle = blocked.iter().cycle().skip(1);
            blocked.iter().all(|&event| rules.is_next(event, state))
                && blocked.iter().zip(next_in_cycle).all(|(&a, &b)| is_blocked_by(rules, a, b, state))
                && blocked.iter().all(|&take| no_post_helps(rules, blocked, take, state))
        }
        Question::Order(events) => events.last().is_some_and(|&last| state.happened.contains(last)),
        Question::Reads(read, source) => {
            let Some(saw) = rules.rule(*read).saw else { return false };
            rules
                .step(state, *read, Demands { exempt: EventSet::EMPTY.with(*read), ..Demands::default() })
                .is_some()
                && match source {
                    None => !rules.sees_the_same(&saw, state),
                    Some(Source::Initial) => !state.visible.contains_any(saw.writes),
                    Some(Source::Write(write)) => state.visible.contains(*write),
                }
        }
        Question::Cut(counts) => state.happened == cut(rules, counts),
    }
}

/// Whether `a`, the next of its thread, cannot happen because of the thread whose next is `b`.
fn is_blocked_by(rules: &Rules, a: EventId, b: EventId, state: &State) -> bool {
    let rule = rules.rule(a);
    let other = rules.rule(b).thread;
    let yet_to_come: EventSet = rules.threads[other.index()]
        .iter()
        .copied()
        .filter(|&event| !state.happened.contains(event))
        .collect();
    let keeps_out = rule.excluded_by.iter().any(|s| s.thread == other && s.is_open(state.happened));
    let is_awaited = rule.awaits.contains_any(yet_to_come);
    let has_a_post =
        rule.takes.is_some_and(|p| !p.are_left(state.happened) && p.posts.contains_any(yet_to_come));
    keeps_out || is_awaited || has_a_post
}

/// Whether all posts yet to come for a blocked take are of blocked threads, or of threads that only these can create.
fn no_post_helps(rules: &Rules, blocked: &[EventId], take: EventId, state: &State) -> bool {
    let Some(permits) = rules.rule(take).takes else { return true };
    let is_behind = |post: EventId| {
        let mut before = EventSet::EMPTY.with(post);
        loop {
            let more = rules.all_events().filter(|&event| {
                before.contains(event)
                    || rules.all_events().any(|e| before.contains(e) && rules.rule(e).place.contains(event))
            });
            let more: EventSet = more.collect();
            if more == before {
                return blocked.iter().any(|&event| before.contains(event));
            }
            before = more;
        }
    };
    let left = rules.all_events().filter(|&e| permits.posts.contains(e) && !state.happened.contains(e));
    left.into_iter().all(is_behind)
}

/// The events of this cut.
pub(crate) fn cut(rules: &Rules, counts: &[u32]) -> EventSet {
    let of_thread = |(events, &count): (&Vec<EventId>, &u32)| events[..count as usize].to_vec();
    rules.threads.iter().zip(counts).flat_map(of_thread).collect()
}

/// Whether the event must not happen yet because an order names another before it.
pub(crate) fn too_early(question: &Question, event: EventId, state: &State) -> bool {
    match question {
        Question::Order(events) => {
            events.windows(2).any(|pair| pair[1] == event && !state.happened.contains(pair[0]))
        }
        Question::Race(..) | Question::Deadlock(_) | Question::Reads(..) | Question::Cut(_) => false,
    }
}
