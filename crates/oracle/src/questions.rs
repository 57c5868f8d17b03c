//! Every question there is to ask about a tiny trace.

use check::{Question, Source};
use trace::{EventId, Trace};

/// All races, deadlocks of two and three threads (each cycle from its least event on), orders of two
/// events, atomicity violations (`a < c < b` with `a`, `b` of one thread and all on one variable),
/// reads of every source, and cuts.
pub fn all_questions(trace: &Trace) -> Vec<Question> {
    let mut questions = Vec::new();
    races_and_pairs(trace, &mut questions);
    deadlocks(trace, &mut questions);
    triples(trace, &mut questions);
    reads(trace, &mut questions);
    cuts(trace, &mut questions);
    questions
}

fn events(trace: &Trace) -> impl Iterator<Item = EventId> + Clone + use<> {
    (0..trace.len()).map(EventId::new)
}

fn races_and_pairs(trace: &Trace, questions: &mut Vec<Question>) {
    for a in events(trace) {
        for b in events(trace).filter(|&b| b != a) {
            let race = Question::Race(a, b);
            if a < b && race.validate(trace).is_ok() {
                questions.push(race);
            }
            questions.push(Question::Order(vec![a, b]));
        }
    }
}

fn deadlocks(trace: &Trace, questions: &mut Vec<Question>) {
    for a in events(trace) {
        for b in events(trace).filter(|&b| b > a) {
            let pair = Question::Deadlock(vec![a, b]);
            if pair.validate(trace).is_err() {
                continue;
            }
            questions.push(pair);
            let thirds = events(trace).filter(|&c| c > a).map(|c| Question::Deadlock(vec![a, b, c]));
            questions.extend(thirds.filter(|question| question.validate(trace).is_ok()));
        }
    }
}

fn triples(trace: &Trace, questions: &mut Vec<Question>) {
    let variable = |event: EventId| trace.op(event).access().map(|access| access.variable);
    for a in events(trace).filter(|&a| variable(a).is_some()) {
        let same = |event: &EventId| variable(*event) == variable(a);
        for b in events(trace).filter(|&b| b > a && trace.thread(b) == trace.thread(a)).filter(same) {
            let others = events(trace).filter(|&c| trace.thread(c) != trace.thread(a)).filter(same);
            questions.extend(others.map(|c| Question::Order(vec![a, c, b])));
        }
    }
}

fn reads(trace: &Trace, questions: &mut Vec<Question>) {
    for read in events(trace).filter(|&event| trace.op(event).reads().is_some()) {
        questions.push(Question::Reads(read, None));
        questions.push(Question::Reads(read, Some(Source::Initial)));
        let from = events(trace).map(|write| Question::Reads(read, Some(Source::Write(write))));
        questions.extend(from.filter(|question| question.validate(trace).is_ok()));
    }
}

fn cuts(trace: &Trace, questions: &mut Vec<Question>) {
    let mut lengths = vec![0u32; trace.symbols().threads.len()];
    for (_, thread, _) in trace.events() {
        lengths[thread.index()] += 1;
    }
    let mut all = vec![Vec::new()];
    for length in lengths {
        all = all.iter().flat_map(|cut| (0..=length).map(move |n| [cut.as_slice(), &[n]].concat())).collect();
    }
    questions.extend(all.into_iter().map(Question::Cut));
}
