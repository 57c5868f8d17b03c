//! What a replay is to do, and the instructions for the runtime that follow from it.

use std::collections::BTreeMap;

use trace::{ExpectedFailure, Kind, ThreadPath};
use wire::{GivenDescriptor, Instruction, OnDivergence, Origin, ThreadName};

use super::ReplaySettings;

/// An event of the recording that a replay is to perform again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Its thread.
    pub thread: ThreadPath,
    /// Its place in the thread; none if it has none of its own.
    pub place: Option<u64>,
    /// Its kind.
    pub kind: Kind,
    /// What it is about, in the spelling of the trace.
    pub object: String,
    /// Where it is in the source.
    pub location: String,
}

/// What must be observed once the schedule has been followed. Unlike a question, whose events are ids in a trace, it
/// names events by thread and place, as a replayed run can be compared with, and it can be a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Both accesses are next, and none of them has happened.
    Race(PlannedEvent, PlannedEvent),
    /// Each waits for the next, and the last for the first.
    Deadlock(Vec<PlannedEvent>),
    /// These events have happened, in this order.
    Order(Vec<PlannedEvent>),
    /// The read has happened, after this write.
    Reads(PlannedEvent, Option<PlannedEvent>),
    /// The schedule has been followed, and nothing more has happened.
    State,
    /// The program fails.
    Failure(ExpectedFailure),
}

impl Goal {
    /// Whether the program is to hang without being deadlocked.
    pub(super) fn is_endless(&self) -> bool {
        matches!(self, Goal::Failure(planned) if crate::failure::is_endless(&planned.identity))
    }

    /// The events it names.
    pub fn named(&self) -> Vec<&PlannedEvent> {
        match self {
            Goal::Race(a, b) => vec![a, b],
            Goal::Deadlock(events) | Goal::Order(events) => events.iter().collect(),
            Goal::Reads(read, write) => std::iter::once(read).chain(write).collect(),
            Goal::State | Goal::Failure(_) => Vec::new(),
        }
    }

    /// Whether a deadlock is one of locks and joins alone, so that nobody outside of it can end it.
    pub(super) fn is_closed(&self) -> bool {
        let closed = |event: &PlannedEvent| {
            matches!(
                event.kind,
                Kind::Acquire | Kind::AcquireShared | Kind::Request | Kind::RequestShared | Kind::Join
            )
        };
        matches!(self, Goal::Deadlock(events) if events.iter().all(closed))
    }

    /// The events that must not have happened.
    fn next(&self) -> Vec<&PlannedEvent> {
        match self {
            Goal::Race(..) | Goal::Deadlock(_) => self.named(),
            _ => Vec::new(),
        }
    }
}

/// A schedule to be followed, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The schedule.
    pub steps: Vec<PlannedEvent>,
    /// What it leads to.
    pub goal: Goal,
    /// What the threads are called.
    pub names: BTreeMap<ThreadPath, String>,
}

impl Plan {
    /// What a thread is called: its name, or its path if it has none.
    pub fn thread_name(&self, thread: &ThreadPath) -> String {
        self.names.get(thread).cloned().unwrap_or_else(|| thread.to_string())
    }

    /// How many events threads perform until the end of the schedule, at least.
    pub(super) fn length(&self) -> u64 {
        let mut last: BTreeMap<&ThreadPath, u64> = BTreeMap::new();
        for step in &self.steps {
            let reached = last.entry(&step.thread).or_default();
            *reached = (*reached).max(step.place.map_or(0, |place| place + 1));
        }
        last.values().fold(0, |all, &reached| all.saturating_add(reached))
    }
}

/// Which of two racing accesses goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RaceOrder {
    /// The first that the race names.
    Ab,
    /// The second.
    Ba,
}

impl RaceOrder {
    /// Its name, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            RaceOrder::Ab => "ab",
            RaceOrder::Ba => "ba",
        }
    }
}

/// The threads of a plan, parents before children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadTable(Vec<ThreadPath>);

impl ThreadTable {
    pub(super) fn of(plan: &Plan) -> ThreadTable {
        ThreadTable::with(plan.steps.iter().chain(plan.goal.named()).map(|event| &event.thread))
    }

    fn with<'t>(threads: impl Iterator<Item = &'t ThreadPath>) -> ThreadTable {
        let mut paths = vec![ThreadPath::FIRST];
        paths.extend(threads.flat_map(ThreadPath::lineage));
        paths.sort_by(|a, b| (a.depth(), a).cmp(&(b.depth(), b)));
        paths.dedup();
        ThreadTable(paths)
    }

    /// The number of a thread.
    pub(super) fn number(&self, path: &ThreadPath) -> u32 {
        let known = self.0.binary_search_by(|known| (known.depth(), known).cmp(&(path.depth(), path)));
        known.unwrap_or(0) as u32
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How each thread comes to be.
    pub(super) fn origins(&self) -> Vec<Origin> {
        let origin = |path: &ThreadPath| match path.parent() {
            None => Origin { parent: None, nth: 0 },
            Some((parent, nth)) => Origin { parent: Some(self.number(&parent)), nth },
        };
        self.0.iter().map(origin).collect()
    }

    /// What its threads are called, of those that have names.
    fn names(&self, names: &BTreeMap<ThreadPath, String>) -> Vec<ThreadName> {
        let named = self.0.iter().zip(0..).filter_map(|(path, number)| Some((number, names.get(path)?)));
        named.map(|(number, name)| ThreadName::new(number, name)).collect()
    }

    /// The thread with this number.
    pub(super) fn path(&self, number: u32) -> Option<&ThreadPath> {
        self.0.get(number as usize)
    }
}

/// The part of a plan that the runtime gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) table: ThreadTable,
    pub(super) instructions: Vec<Instruction>,
    names: Vec<ThreadName>,
    on_divergence: OnDivergence,
}

impl Control {
    pub(super) fn new(plan: &Plan, settings: &ReplaySettings) -> Control {
        let table = ThreadTable::of(plan);
        let (limits, instructions) = (BTreeMap::new(), Vec::new());
        let debugger = settings.debugger;
        let mut making = Making { table: &table, plan, limits, instructions, debugger };
        for event in plan.goal.next() {
            if let Some(place) = event.place {
                making.limits.insert(table.number(&event.thread), place);
            }
        }
        making.follow(&plan.steps);
        making.reach(settings);
        if settings.until.is_some() && !settings.debugger {
            making.instructions.push(Instruction::End);
        }
        let instructions = making.instructions;
        Control {
            names: table.names(&plan.names),
            table,
            instructions,
            on_divergence: settings.on_divergence,
        }
    }

    /// Each thread in turn runs until it has performed a number of events.
    pub(super) fn along(route: &[(ThreadPath, u64)], on_divergence: OnDivergence) -> Control {
        let table = ThreadTable::with(route.iter().map(|(thread, _)| thread));
        let run = |(thread, until): &(ThreadPath, u64)| Instruction::Run {
            thread: table.number(thread),
            until: *until,
        };
        let instructions = route.iter().map(run).collect();
        Control { names: Vec::new(), table, instructions, on_divergence }
    }

    /// The control file, with the numbers of files that threads were given in the recorded run.
    pub(super) fn to_bytes(&self, descriptors: &BTreeMap<ThreadPath, Vec<u32>>) -> Vec<u8> {
        let given = self.table.0.iter().zip(0..).flat_map(|(path, thread)| {
            let numbers = descriptors.get(path).into_iter().flatten();
            numbers.map(move |&number| GivenDescriptor { thread, number })
        });
        let given: Vec<GivenDescriptor> = given.collect();
        let mut bytes = Vec::new();
        let mut write = |part: &[u8]| bytes.extend_from_slice(part);
        wire::write_control(
            self.on_divergence,
            &self.table.origins(),
            &self.instructions,
            &self.names,
            &given,
            &mut write,
        );
        bytes
    }
}

/// A control file in the making.
struct Making<'a> {
    table: &'a ThreadTable,
    plan: &'a Plan,
    /// Of threads that are to stand before an event: its place.
    limits: BTreeMap<u32, u64>,
    instructions: Vec<Instruction>,
    /// Whether a debugger may stop after each step.
    debugger: bool,
}

impl Making<'_> {
    fn follow(&mut self, steps: &[PlannedEvent]) {
        let watched = match &self.plan.goal {
            goal @ (Goal::Order(_) | Goal::Reads(..)) => goal.named(),
            _ => Vec::new(),
        };
        for (performed, step) in steps.iter().enumerate() {
            self.stop_after(performed);
            let thread = self.table.number(&step.thread);
            // What became several events happens at once: if one of them is to be next, so are all.
            let limit = self.limits.get(&thread).copied().unwrap_or(u64::MAX);
            let Some(place) = step.place.filter(|&place| place < limit) else { continue };
            let is_watched =
                watched.iter().any(|event| event.thread == step.thread && event.place == step.place);
            let seen = Instruction::ReportAccess { thread, place };
            if is_watched && !self.instructions.contains(&seen) {
                self.run(thread, place);
                self.instructions.push(seen);
                self.run(thread, place + 1);
                self.instructions.push(Instruction::ReportMemory { thread });
            } else {
                self.run(thread, place + 1);
            }
        }
    }

    /// Lets the thread run on, if it does already, or now.
    fn run(&mut self, thread: u32, until: u64) {
        match self.instructions.last_mut() {
            Some(Instruction::Run { thread: running, until: before }) if *running == thread => {
                *before = until.max(*before);
            }
            _ => self.instructions.push(Instruction::Run { thread, until }),
        }
    }

    /// Where a debugger can stop: after this number of steps.
    fn stop_after(&mut self, steps: usize) {
        if self.debugger {
            self.instructions.push(Instruction::Stop { step: steps as u64 });
        }
    }

    fn hold(&mut self) {
        self.instructions.push(Instruction::ReportThreads);
        self.stop_after(self.plan.steps.len());
    }

    /// What comes after the schedule.
    fn reach(&mut self, settings: &ReplaySettings) {
        match &self.plan.goal {
            Goal::Race(a, b) => {
                let pair = [a, b].map(|event| (self.table.number(&event.thread), event.place.unwrap_or(0)));
                pair.iter().for_each(|&(thread, place)| self.run(thread, place));
                pair.iter().for_each(|&(thread, place)| {
                    self.instructions.push(Instruction::ReportAccess { thread, place });
                });
                self.hold();
                let in_order = match settings.order {
                    RaceOrder::Ab => pair,
                    RaceOrder::Ba => [pair[1], pair[0]],
                };
                for (performed, (thread, place)) in in_order.into_iter().enumerate() {
                    // What memory holds when it is its turn.
                    self.instructions.push(Instruction::ReportAccess { thread, place });
                    self.run(thread, place + 1);
                    self.instructions.push(Instruction::ReportMemory { thread });
                    self.stop_after(self.plan.steps.len() + performed + 1);
                }
            }
            Goal::Deadlock(events) => {
                for event in events {
                    let before = event.place.unwrap_or(u64::MAX / 2);
                    let thread = self.table.number(&event.thread);
                    self.instructions.push(Instruction::Block { thread, before });
                }
                self.hold();
                if self.plan.goal.is_closed() {
                    self.instructions.push(Instruction::End);
                }
            }
            Goal::Order(_) | Goal::Reads(..) | Goal::State => self.hold(),
            Goal::Failure(failure) => {
                self.stop_after(self.plan.steps.len());
                // It goes on until it fails, before anybody else does anything.
                if let Some(thread) = &failure.thread {
                    self.run(self.table.number(thread), u64::MAX / 2);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use wire::TestBarriers;

    use super::*;
    use crate::Cancellation;

    fn event(thread: &[u32], place: u64, kind: Kind) -> PlannedEvent {
        PlannedEvent {
            thread: ThreadPath::new(thread),
            place: Some(place),
            kind,
            object: "x".to_owned(),
            location: "a.c:1".to_owned(),
        }
    }

    fn settings() -> ReplaySettings {
        ReplaySettings {
            order: RaceOrder::Ba,
            on_divergence: OnDivergence::Stop,
            test_barriers: TestBarriers::Wait,
            debugger: false,
            until: None,
            limit: Duration::from_secs(1),
            cancellation: Cancellation::default(),
            seed: 1,
        }
    }

    #[test]
    fn a_replay_records_a_bounded_number_of_events_whatever_it_leads_to() {
        let steps = vec![event(&[], 9, Kind::Write), event(&[0], 4, Kind::Write), event(&[], 7, Kind::Read)];
        let planned = |identity: &str| ExpectedFailure { identity: identity.to_owned(), thread: None };
        let goals = [
            Goal::Race(event(&[], 10, Kind::Write), event(&[0], 5, Kind::Write)),
            Goal::Deadlock(Vec::new()),
            Goal::Order(Vec::new()),
            Goal::Reads(event(&[], 10, Kind::Read), None),
            Goal::State,
            Goal::Failure(planned("abort")),
        ];
        for goal in goals {
            let plan = Plan { steps: steps.clone(), goal, names: BTreeMap::new() };
            let most = settings().for_runtime(&plan).max_events.map(NonZeroU64::get);
            assert_eq!(most, Some(15 + super::super::LATER_EVENTS), "{:?}", plan.goal);
        }
    }

    fn control(steps: Vec<PlannedEvent>, goal: Goal) -> Control {
        Control::new(&Plan { steps, goal, names: BTreeMap::new() }, &settings())
    }

    #[test]
    fn a_race_is_held_before_both_accesses() {
        let steps = vec![
            event(&[], 0, Kind::Begin),
            event(&[], 1, Kind::Fork),
            event(&[], 2, Kind::Fork),
            event(&[2], 0, Kind::Begin),
            event(&[2], 3, Kind::Release),
            event(&[1], 0, Kind::Begin),
        ];
        let goal = Goal::Race(event(&[1], 1, Kind::Write), event(&[2], 4, Kind::Read));
        let control = control(steps, goal);
        let origin = |parent, nth| Origin { parent, nth };
        assert_eq!(control.table.origins(), [origin(None, 0), origin(Some(0), 1), origin(Some(0), 2)]);
        use Instruction::{ReportAccess, ReportMemory, ReportThreads, Run};
        let expected = [
            Run { thread: 0, until: 3 },
            Run { thread: 2, until: 4 },
            Run { thread: 1, until: 1 },
            Run { thread: 2, until: 4 },
            ReportAccess { thread: 1, place: 1 },
            ReportAccess { thread: 2, place: 4 },
            ReportThreads,
            ReportAccess { thread: 2, place: 4 },
            Run { thread: 2, until: 5 },
            ReportMemory { thread: 2 },
            ReportAccess { thread: 1, place: 1 },
            Run { thread: 1, until: 2 },
            ReportMemory { thread: 1 },
        ];
        assert_eq!(control.instructions, expected);
        let bytes = control.to_bytes(&BTreeMap::new());
        let read = wire::Control::parse(&bytes).unwrap();
        assert_eq!(read.on_divergence, OnDivergence::Stop);
        assert_eq!(read.instructions().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_of_files_go_to_the_threads_that_take_part() {
        let goal = Goal::Race(event(&[1], 1, Kind::Write), event(&[2], 4, Kind::Read));
        let numbers = [(&[][..], vec![3]), (&[2], vec![7, 5]), (&[3], vec![9])];
        let numbers = numbers.map(|(path, numbers)| (ThreadPath::new(path), numbers)).into();
        let bytes = control(Vec::new(), goal).to_bytes(&numbers);
        let given: Vec<(u32, u32)> = wire::Control::parse(&bytes)
            .unwrap()
            .descriptors()
            .map(|given| (given.thread, given.number))
            .collect();
        assert_eq!(given, [(0, 3), (2, 7), (2, 5)]);
    }

    #[test]
    fn half_of_what_happens_at_once_is_not_taken_for_all() {
        let steps = vec![event(&[], 5, Kind::Read)];
        let goal = Goal::Race(event(&[], 5, Kind::Write), event(&[1], 2, Kind::Read));
        let control = control(steps, goal);
        assert_eq!(control.instructions[0], Instruction::Run { thread: 0, until: 5 });
    }

    #[test]
    fn grandchildren_come_after_their_parents() {
        let goal = Goal::Deadlock(vec![event(&[1, 3], 4, Kind::Acquire), event(&[2], 4, Kind::Acquire)]);
        let control = control(Vec::new(), goal);
        let origin = |parent, nth| Origin { parent, nth };
        let origins = [origin(None, 0), origin(Some(0), 1), origin(Some(0), 2), origin(Some(1), 3)];
        assert_eq!(control.table.origins(), origins);
        let block = |thread| Instruction::Block { thread, before: 4 };
        assert_eq!(control.instructions, [block(3), block(2), Instruction::ReportThreads, Instruction::End]);
    }
}
