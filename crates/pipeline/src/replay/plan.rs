//! What a schedule file says, as a replay follows it.

use std::collections::{BTreeMap, HashMap};

use check::{Question, Source};
use report::{Line, ScheduleFile};
use run::replay::{Goal, Plan, PlannedEvent};
use trace::{EventId, Kind, ThreadPath};

/// The plan that a schedule file describes; none if it does not tell where to find its events.
pub(super) fn plan_of(file: &ScheduleFile) -> Option<Plan> {
    if let (Question::Race(a, b), Some(rest)) = (&file.question, &file.unordered) {
        return recorded_plan(file, *a.min(b), *a.max(b), rest);
    }
    let steps = steps_of(file.lines.iter())?;
    let all = || file.lines.iter().chain(&file.next);
    let named = |event: &EventId| all().find(|line| line.event == *event).and_then(expected);
    let many = |events: &[EventId]| events.iter().map(named).collect::<Option<Vec<PlannedEvent>>>();
    if let Some(failure) = file.failure.clone() {
        let goal = Goal::Failure(failure);
        return Some(Plan { steps, goal, names: names_of(file) });
    }
    let goal = match &file.question {
        Question::Race(a, b) => Goal::Race(named(a)?, named(b)?),
        Question::Deadlock(events) => Goal::Deadlock(many(events)?),
        Question::Order(events) => Goal::Order(many(events)?),
        Question::Reads(read, source) => {
            let write = match source {
                Some(Source::Write(write)) => named(write),
                _ => None,
            };
            Goal::Reads(named(read)?, write)
        }
        Question::Cut(_) => Goal::State,
    };
    Some(Plan { steps, goal, names: names_of(file) })
}

/// The recorded order up to two accesses that memory orders leave unordered.
fn recorded_plan(file: &ScheduleFile, first: EventId, second: EventId, rest: &[Line]) -> Option<Plan> {
    let mut lines: Vec<&Line> = file.lines.iter().chain(&file.next).chain(rest).collect();
    lines.retain(|line| line.event <= second);
    lines.sort_by_key(|line| line.event);
    let steps = steps_of(lines.iter().copied())?;
    let named =
        |event: EventId| lines.iter().find(|line| line.event == event).and_then(|line| expected(line));
    let goal = Goal::Order(vec![named(first)?, named(second)?]);
    Some(Plan { steps, goal, names: names_of(file) })
}

/// The steps of a schedule. Where one event of the program became several of the trace that read (it comes after several others), it happens when the
/// last of them does: only that has a place.
fn steps_of<'l>(lines: impl Iterator<Item = &'l Line>) -> Option<Vec<PlannedEvent>> {
    let mut steps = lines.map(step).collect::<Option<Vec<PlannedEvent>>>()?;
    let mut next: HashMap<ThreadPath, u64> = HashMap::new();
    for step in steps.iter_mut().rev() {
        let Some(place) = step.place else { continue };
        let reads = matches!(step.kind, Kind::Read | Kind::AtomicRead);
        if next.insert(step.thread.clone(), place) == Some(place) && reads {
            step.place = None;
        }
    }
    Some(steps)
}

/// A request is a step of the schedule, but nothing that happens by itself: its place is that of its acquire. Nor can the arrival of a
/// signal be arranged: it has no place.
fn step(line: &Line) -> Option<PlannedEvent> {
    let step = expected(line)?;
    let has_place = match step.kind {
        Kind::Request | Kind::RequestShared => false,
        Kind::AtomicRead => !load::is_signal(&step.object),
        _ => true,
    };
    let place = step.place.filter(|_| has_place);
    Some(PlannedEvent { place, ..step })
}

fn expected(line: &Line) -> Option<PlannedEvent> {
    let point = line.replay_point.as_ref()?;
    let (kind, object, location) = line.parts()?;
    Some(PlannedEvent { thread: point.thread.clone(), place: point.place, kind, object, location })
}

fn names_of(file: &ScheduleFile) -> BTreeMap<ThreadPath, String> {
    let lines = file.lines.iter().chain(&file.next);
    let named = lines.filter_map(|line| {
        let name = line.rest.split('|').next()?.to_owned();
        Some((line.replay_point.as_ref()?.thread.clone(), name))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_several_others_happens_with_the_last_of_them() {
        let schedule = "foretell-schedule 2\nmodel rf\nquestion race 6 7\ntrace crc32:1 8 t.ftr\nguaranteed yes\ncommand ./a\n\
                        program 1 - ./a\n# id|..\n\
                        0|main|0|fork(T1)|a.c:1|0|0\n1|main|1|fork(T2)|a.c:1|0|1\n2|T1|0|aw(p)|a.c:2|0.1|0\n\
                        4|T2|0|ar(p)|a.c:3|0.2|0\n3|main|2|aw(q)|a.c:4|0|2\n5|T2|1|ar(q)|a.c:3|0.2|0\n\
                        next 6|T2|2|w(x)|a.c:5|0.2|1\nnext 7|T1|1|w(x)|a.c:6|0.1|1\n";
        let file = ScheduleFile::parse(schedule.as_bytes()).unwrap();
        let places: Vec<Option<u64>> =
            plan_of(&file).unwrap().steps.into_iter().map(|step| step.place).collect();
        assert_eq!(places, [Some(0), Some(1), Some(0), None, Some(2), Some(0)]);
    }
}
