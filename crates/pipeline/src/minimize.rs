//! Schedules with fewer switches between threads: easier to read, and what a person would try.

use check::{Model, Question, check_schedule};
use trace::{EventId, ThreadId, Trace};

/// How much work may go into it: events that are checked, over all attempts.
const BUDGET: usize = 50_000_000;

/// How often a schedule changes from one thread to another.
pub fn switches(trace: &Trace, schedule: &[EventId]) -> usize {
    schedule.windows(2).filter(|pair| trace.thread(pair[0]) != trace.thread(pair[1])).count()
}

/// A schedule that answers the same question with at most as many switches: stretches of a thread are brought together,
/// one pair after the other, as long as the checker agrees.
pub fn minimized(trace: &Trace, question: &Question, model: Model, schedule: &[EventId]) -> Vec<EventId> {
    let mut stretches = stretches(trace, schedule);
    let mut budget = BUDGET;
    while let Some(better) = improved(trace, question, model, &stretches, &mut budget) {
        stretches = better;
    }
    stretches.concat()
}

type Stretch = Vec<EventId>;

fn stretches(trace: &Trace, schedule: &[EventId]) -> Vec<Stretch> {
    let same = |a: &EventId, b: &EventId| trace.thread(*a) == trace.thread(*b);
    schedule.chunk_by(same).map(<[EventId]>::to_vec).collect()
}

/// The first way found to bring two stretches of a thread together.
fn improved(
    trace: &Trace,
    question: &Question,
    model: Model,
    stretches: &[Stretch],
    budget: &mut usize,
) -> Option<Vec<Stretch>> {
    let thread = |index: usize| -> ThreadId { trace.thread(stretches[index][0]) };
    for first in 0..stretches.len() {
        let Some(second) = (first + 1..stretches.len()).find(|&second| thread(second) == thread(first))
        else {
            continue;
        };
        for moved in [together(stretches, first, second, first), together(stretches, first, second, second)] {
            let schedule = moved.concat();
            *budget = budget.checked_sub(trace.len() + schedule.len())?;
            if check_schedule(trace, question, model, &schedule).is_ok() {
                let moved = self::stretches(trace, &schedule);
                debug_assert!(moved.len() < stretches.len());
                return Some(moved);
            }
        }
    }
    None
}

/// The stretches with two of them joined where one of the two is.
fn together(stretches: &[Stretch], first: usize, second: usize, at: usize) -> Vec<Stretch> {
    let joined = [&stretches[first][..], &stretches[second][..]].concat();
    let kept = (0..stretches.len()).filter(|&index| index == at || (index != first && index != second));
    kept.map(|index| if index == at { joined.clone() } else { stretches[index].clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_brought_together_as_far_as_locks_allow() {
        let text = "main|fork(A)|1\nmain|fork(B)|2\nA|w(x)|3\nB|w(y)|4\nA|acq(l)|5\nB|w(z)|6\nA|rel(l)|7\nB|acq(l)|8\nB|r(q)|9\nA|w(q)|10\n";
        let trace = trace::text::read(text.as_bytes()).unwrap();
        let question = Question::Race(EventId(8), EventId(9));
        let before: Vec<EventId> = (0..8).map(EventId).collect();
        check_schedule(&trace, &question, Model::ReadsFrom, &before).unwrap();
        let after = minimized(&trace, &question, Model::ReadsFrom, &before);
        assert_eq!((switches(&trace, &before), switches(&trace, &after)), (6, 2));
        check_schedule(&trace, &question, Model::ReadsFrom, &after).unwrap();
        assert_eq!(after, [0, 1, 2, 4, 6, 3, 5, 7].map(EventId));
    }
}
