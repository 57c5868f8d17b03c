//! What a schedule file says, as a replay follows it.

use std::collections::BTreeMap;

use check::{Question, Source};
use report::{Line, ScheduleFile};
use run::replay::{Expected, Goal, Plan};
use trace::{EventId, Kind};

/// The plan that a schedule file describes; none if it does not tell where to find its events.
pub(super) fn plan_of(file: &ScheduleFile) -> Option<Plan> {
    let steps = file.lines.iter().map(step).collect::<Option<Vec<Expected>>>()?;
    let all = || file.lines.iter().chain(&file.next);
    let named = |event: &EventId| all().find(|line| line.event == *event).and_then(expected);
    let many = |events: &[EventId]| events.iter().map(named).collect::<Option<Vec<Expected>>>();
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
    Some(Plan { steps, goal })
}

/// A request is a step of the schedule, but nothing that happens by itself: its place is that of its acquire. Nor can the arrival of a
/// signal be arranged: it has no place.
fn step(line: &Line) -> Option<Expected> {
    let step = expected(line)?;
    let has_place = match step.kind {
        Kind::Request | Kind::RequestShared => false,
        Kind::AtomicRead => !load::is_signal(&step.object),
        _ => true,
    };
    let place = step.place.filter(|_| has_place);
    Some(Expected { place, ..step })
}

fn expected(line: &Line) -> Option<Expected> {
    let met = line.met.as_ref()?;
    let (kind, object, location) = line.parts()?;
    Some(Expected { thread: path_of(&met.path)?, place: met.place, kind, object, location })
}

fn path_of(text: &str) -> Option<Vec<u32>> {
    text.split('.').skip(1).map(|part| part.parse().ok()).collect()
}

pub(super) fn names_of(file: &ScheduleFile) -> BTreeMap<Vec<u32>, String> {
    let lines = file.lines.iter().chain(&file.next);
    let named = lines.filter_map(|line| {
        let name = line.rest.split('|').next()?.to_owned();
        Some((path_of(&line.met.as_ref()?.path)?, name))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read() {
        assert_eq!(path_of("0"), Some(vec![]));
        assert_eq!(path_of("0.2.1"), Some(vec![2, 1]));
        assert_eq!(path_of("0.x"), None);
    }
}
