//! What a schedule file says, as a replay follows it.

use std::collections::BTreeMap;

use check::{Question, Source};
use report::{Line, ScheduleFile};
use run::replay::{Goal, Plan, PlannedEvent};
use trace::{EventId, Kind, ThreadPath};

/// The plan that a schedule file describes; none if it does not tell where to find its events.
pub(super) fn plan_of(file: &ScheduleFile) -> Option<Plan> {
    if let (Question::Race(a, b), Some(rest)) = (&file.question, &file.unordered) {
        return recorded_plan(file, *a.min(b), *a.max(b), rest);
    }
    let steps = file.lines.iter().map(step).collect::<Option<Vec<PlannedEvent>>>()?;
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
    let steps = lines.iter().map(|line| step(line)).collect::<Option<Vec<PlannedEvent>>>()?;
    let named =
        |event: EventId| lines.iter().find(|line| line.event == event).and_then(|line| expected(line));
    let goal = Goal::Order(vec![named(first)?, named(second)?]);
    Some(Plan { steps, goal, names: names_of(file) })
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
