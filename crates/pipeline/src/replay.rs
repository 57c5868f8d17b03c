//! Replayer a schedule: the real program is run along it, as often as asked for, and what was seen is summed up.

mod open;
mod plan;

use std::time::Duration;

use candidates::races::RacePair;
use check::Model;
use papers::races::hb;
use report::{Finding, FindingKind, ScheduleFile};
use run::failure::ThreadAtEnd;
use run::program::Recordability;
use run::replay::{
    self, Command, Divergence, Ending, Goal, NoOpinion, ObservedEvent, OnDivergence, Plan, PlannedEvent,
    RaceOrder, Replay, ReplayVerdict, TestBarriers, ThreadSanitizer,
};
use serde::Serialize;
use trace::{EventId, Kind, Op, Trace};

use crate::budget::{Bounds, Cancellation};
use crate::error::{Error, ErrorKind};
use crate::rerecording;
pub use open::FindingToReplay;
use plan::plan_of;

/// A schedule, and the command that is to follow it.
#[derive(Clone, Debug)]
pub struct Replayer {
    /// What it is called: the finding's id, or the file's name.
    pub finding: String,
    /// The schedule and what it leads to.
    pub plan: Plan,
    /// What is run.
    pub command: Command,
    /// How often.
    pub times: u64,
    /// Which of two racing accesses goes first; each is tried.
    pub orders: Vec<RaceOrder>,
    /// What happens to a program that leaves the schedule.
    pub on_divergence: OnDivergence,
    /// What the barrier of libtsan's own tests does while the schedule is followed. It is in no trace, so a schedule that keeps what every read saw
    /// may ask for what it prevents.
    pub test_barriers: TestBarriers,
    /// When to end a program that does not end.
    pub limit: Duration,
    /// Hold after this number of steps instead of at the end.
    pub until: Option<usize>,
    /// The race that memory orders leave in the recorded order, which the plan then follows: a replay must find it by happens-before.
    pub unordered: Option<OtherRace>,
    /// Of a wait that misses its signal: a replay must also find that no other signal ends the wait.
    pub is_lost_wake_up: bool,
    /// The recorded run up to the events in question, to tell what they saw in it.
    pub recorded: Option<Plan>,
    /// The seed of the choices that the schedule leaves open.
    pub seed: u64,
    /// Whether it is called off.
    pub cancellation: Cancellation,
    /// What all runs together may take.
    pub bounds: Bounds,
}

/// Sees every run, and of the first run of an order its trace, if there is one.
pub type ReplayWatcher<'w> = dyn FnMut(&Replayer, RaceOrder, WatchedReplay<'_>) + 'w;

/// A run of a replay, as a watcher sees it.
#[derive(Clone, Copy, Debug)]
pub struct WatchedReplay<'r> {
    /// The run.
    pub replay: &'r Replay,
    /// Its trace, of the first run of each order.
    pub trace: Option<&'r Trace>,
    /// Whether it is the first run of its order.
    pub is_first: bool,
}

/// The result of all replays, as `replay --json` prints it. The contract is docs/json.md.
#[derive(Clone, Debug, Serialize)]
pub struct ReplaySummary {
    /// The version of this shape.
    pub schema: u32,
    /// What was replayed.
    pub finding: String,
    /// The result.
    pub result: ReplayVerdict,
    /// How often it was tried.
    pub times: u64,
    /// How often it was seen happening.
    pub confirmed: u64,
    /// Where the program left the schedule, the first time it did.
    pub divergence: Option<Divergence>,
    /// How often the schedule changes from one thread to another.
    pub switches: usize,
    /// The first run of each order.
    pub runs: Vec<ReplayRun>,
    /// Races that these runs had besides, by happens-before.
    pub races: Vec<OtherRace>,
    /// What ThreadSanitizer said, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsan: Option<SecondOpinion>,
}

/// What ThreadSanitizer said of a run with the synchronisation of the schedule.
#[derive(Clone, Debug, Serialize)]
pub struct SecondOpinion {
    /// Whether it reported anything.
    pub reported: bool,
    /// Its own words.
    pub report: String,
}

/// A race that nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct OtherRace {
    /// What it is about.
    pub object: String,
    /// Where its two accesses are.
    pub locations: [String; 2],
}

impl OtherRace {
    /// That of two events. If one allocates or frees memory, it is about the block.
    fn of(a: &PlannedEvent, b: &PlannedEvent) -> OtherRace {
        let mut locations = [a.location.clone(), b.location.clone()];
        locations.sort();
        let is_of_block = matches!(b.kind, Kind::Allocate | Kind::Free);
        OtherRace { object: if is_of_block { b } else { a }.object.clone(), locations }
    }
}

/// One run of the program.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayRun {
    /// Which of two racing accesses went first; none: it was no race.
    pub order: Option<RaceOrder>,
    /// The result.
    pub result: ReplayVerdict,
    /// How the program ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// How long it took.
    pub seconds: f64,
    /// What was seen of the events in question.
    pub events: Vec<ReplayedEvent>,
    /// The threads at the end of the schedule, or where the program left it.
    pub threads: Vec<ThreadAtEnd<String>>,
    /// The end of what it printed.
    pub output: String,
}

/// What was seen of an event.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedEvent {
    /// Whose event.
    pub thread: String,
    /// What it does.
    #[serde(skip)]
    pub kind: Kind,
    /// The same, and to what.
    pub operation: String,
    /// Where.
    pub location: String,
    /// What memory held there before it, as a number or in hexadecimal bytes.
    pub before: Option<String>,
    /// And after it.
    pub after: Option<String>,
    /// Of a read: what it sees in the recorded order, if that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// Its call stack, the innermost function first.
    pub stack: Vec<String>,
}

impl Replayer {
    /// A replay of this schedule by this command.
    pub fn new(finding: String, file: &ScheduleFile, command: Command) -> Result<Replayer, Error> {
        let plan = plan_of(file).ok_or_else(|| cannot_be_replayed(&finding))?;
        let unordered = match &plan.goal {
            Goal::Order(events) if file.unordered.is_some() => Some(OtherRace::of(&events[0], &events[1])),
            _ => None,
        };
        let test_barriers = match file.model {
            Model::ReadsFrom if file.failure.is_none() => TestBarriers::Pass,
            _ => TestBarriers::Wait,
        };
        Ok(Replayer { unordered, test_barriers, ..Replayer::along(finding, plan, command) })
    }

    /// A replay along this plan.
    pub(crate) fn along(finding: String, plan: Plan, command: Command) -> Replayer {
        let orders = match plan.goal {
            Goal::Race(..) => vec![RaceOrder::Ab, RaceOrder::Ba],
            _ => vec![RaceOrder::Ab],
        };
        Replayer {
            finding,
            plan,
            command,
            times: 1,
            orders,
            on_divergence: OnDivergence::Stop,
            test_barriers: TestBarriers::Wait,
            limit: Duration::from_secs(60),
            until: None,
            unordered: None,
            is_lost_wake_up: false,
            recorded: None,
            seed: 1,
            cancellation: Cancellation::default(),
            bounds: Bounds::NONE,
        }
    }

    /// Has what reads saw in the recorded run told, too; a replay along it sees the same.
    pub fn compare_with(&mut self, recorded_order: &ScheduleFile) {
        self.recorded = plan_of(recorded_order);
    }

    /// How a plan is followed.
    pub fn settings(&self, order: RaceOrder, debugger: bool) -> replay::ReplaySettings {
        let &Replayer { on_divergence, until, limit, seed, bounds, .. } = self;
        let limit = bounds.time_left().map_or(limit, |left| left.min(limit));
        let cancellation = self.cancellation.clone();
        // A program that runs on does what it would do without us.
        let test_barriers = match on_divergence {
            OnDivergence::Stop => self.test_barriers,
            OnDivergence::Continue => TestBarriers::Wait,
        };
        replay::ReplaySettings {
            order,
            on_divergence,
            test_barriers,
            debugger,
            until,
            limit,
            cancellation,
            seed,
        }
    }

    /// One run.
    pub fn once(&self, order: RaceOrder) -> Result<Replay, Error> {
        let mut replayed = replay::replay(&self.plan, &self.command, self.settings(order, false))
            .map_err(|error| self.cannot_run(&error.to_string()))?;
        if replayed.verdict == ReplayVerdict::Confirmed && !self.is_unordered(&replayed) {
            replayed.verdict = ReplayVerdict::NotReached;
        }
        if replayed.verdict == ReplayVerdict::Confirmed
            && let Some(divergence) = self.woken_by_another(&replayed)
        {
            replayed.verdict = ReplayVerdict::Diverged;
            replayed.divergence = Some(divergence);
        }
        Ok(replayed)
    }

    /// Prepares for what a finding claims beyond its schedule.
    pub(crate) fn expect(&mut self, finding: &Finding) {
        self.is_lost_wake_up =
            finding.kind == FindingKind::Deadlock && matches!(self.plan.goal, Goal::Order(_));
    }

    /// That a wait which missed its signal ended all the same, if it did: the program waits for a condition, and does not mind who signals.
    fn woken_by_another(&self, replayed: &Replay) -> Option<Divergence> {
        let went_on = matches!(replayed.ending, Ending::Exited(_) | Ending::Killed(_));
        let Goal::Order(events) = &self.plan.goal else { return None };
        let waiter = events.last().filter(|_| self.is_lost_wake_up && self.until.is_none() && went_on)?;
        Some(Divergence {
            step: self.plan.steps.len(),
            thread: self.plan.thread_name(&waiter.thread),
            expected: "to wait forever".to_owned(),
            came: "another signal that ended the wait".to_owned(),
        })
    }

    /// Whether the accesses that memory orders leave unordered are so in this run, by its own vector clocks.
    fn is_unordered(&self, replayed: &Replay) -> bool {
        let Some(race) = &self.unordered else { return true };
        let races = |trace: Trace| races_of(&trace).contains(race) || memory_races_of(&trace).contains(race);
        rerecording::trace_of(self, replayed).is_some_and(races)
    }

    /// Replays as often as asked for. The last run of the first order is handed out, too.
    pub fn run(&self) -> Result<(ReplaySummary, Option<Replay>), Error> {
        self.run_watched(&mut |_, _, _| {})
    }

    /// The same, and shows every run to `watch`.
    pub fn run_watched(
        &self,
        watch: &mut ReplayWatcher<'_>,
    ) -> Result<(ReplaySummary, Option<Replay>), Error> {
        let mut summary = ReplaySummary {
            schema: report::SCHEMA,
            finding: self.finding.clone(),
            result: ReplayVerdict::NotReached,
            times: 0,
            confirmed: 0,
            divergence: None,
            switches: self.switches(),
            runs: Vec::new(),
            races: Vec::new(),
            tsan: None,
        };
        let mut kept = None;
        'all: for _ in 0..self.times {
            let mut confirmed = true;
            for (index, &order) in self.orders.iter().enumerate() {
                if self.bounds.are_final() && summary.times + index as u64 > 0 {
                    break 'all;
                }
                let replayed = self.once(order);
                if self.cancellation.is_cancelled() {
                    // It was ended, perhaps before it left anything, and not seen to its end.
                    break 'all;
                }
                let replayed = replayed?;
                // What was not followed to its end was not seen.
                confirmed &= replayed.verdict == ReplayVerdict::Confirmed && self.until.is_none();
                if summary.divergence.is_none() {
                    summary.divergence = replayed.divergence.clone();
                }
                let is_first = summary.runs.len() <= index;
                let mut trace = None;
                if is_first {
                    summary.runs.push(self.summed_up(order, &replayed));
                    trace = rerecording::trace_of(self, &replayed);
                    summary.races.extend(trace.iter().flat_map(|trace| self.other_races(trace)));
                }
                watch(self, order, WatchedReplay { replay: &replayed, trace: trace.as_ref(), is_first });
                if index == 0 {
                    kept = Some(replayed);
                }
            }
            summary.times += 1;
            summary.confirmed += u64::from(confirmed);
        }
        self.add_recorded_values(&mut summary.runs);
        summary.races.sort();
        summary.races.dedup();
        summary.result = match (summary.confirmed, &summary.divergence) {
            (1.., _) => ReplayVerdict::Confirmed,
            (0, Some(_)) => ReplayVerdict::Diverged,
            (0, None) => ReplayVerdict::NotReached,
        };
        Ok((summary, kept))
    }

    /// Adds what reads saw in the recorded run, as far as a replay along it can be carried out.
    fn add_recorded_values(&self, runs: &mut [ReplayRun]) {
        let (Some(plan), None, false) = (&self.recorded, self.until, self.cancellation.is_cancelled()) else {
            return;
        };
        let replayed = replay::replay(plan, &self.command, self.settings(RaceOrder::Ab, false));
        let Some(replayed) = replayed.ok().filter(|replayed| replayed.verdict == ReplayVerdict::Confirmed)
        else {
            return;
        };
        for (seen, event) in runs.iter_mut().flat_map(|run| run.events.iter_mut().zip(self.plan.goal.named()))
        {
            let reads = matches!(event.kind, Kind::Read | Kind::AtomicRead | Kind::AtomicUpdate);
            let same = replayed.events.iter().find(|observed| observed.event == *event);
            seen.recorded = same.filter(|_| reads).and_then(|same| same.before.as_deref()).map(value);
        }
    }

    /// Runs the program under the genuine ThreadSanitizer along the schedule.
    pub fn second_opinion(&self, asked: &ThreadSanitizer) -> Result<SecondOpinion, Error> {
        let opinion =
            asked.asked(&self.plan, &self.command, self.limit, &self.cancellation).map_err(no_opinion)?;
        Ok(SecondOpinion { reported: !opinion.report.is_empty(), report: opinion.report })
    }

    /// The genuine ThreadSanitizer, if it is there and the program is one for it.
    pub fn second_judge(&self) -> Result<ThreadSanitizer, Error> {
        let program = run::program::Program::find(&self.command.words[0]);
        if program.is_ok_and(|program| program.recordability != Recordability::Full) {
            return Err(Error::from(ErrorKind::NotBuiltByGcc).help(AS_GCC_DOES));
        }
        ThreadSanitizer::find().map_err(no_opinion)
    }

    /// At which step the program left the schedule, in words.
    pub fn step_in_words(&self, left: &Divergence) -> String {
        match self.plan.steps.len() {
            steps if left.step < steps => format!("step {} of {steps}", left.step + 1),
            _ => "the end".to_owned(),
        }
    }

    fn switches(&self) -> usize {
        self.plan.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
    }

    /// Races of a run that are not the one in question.
    fn other_races(&self, trace: &Trace) -> Vec<OtherRace> {
        let asked = |race: &OtherRace| match &self.plan.goal {
            Goal::Race(a, b) => *race == OtherRace::of(a, b),
            _ => self.unordered.as_ref() == Some(race),
        };
        let mut races: Vec<OtherRace> = races_of(trace).into_iter().filter(|race| !asked(race)).collect();
        races.sort();
        races.dedup();
        races
    }

    pub(crate) fn cannot_run(&self, error: &str) -> Error {
        let program = self.command.words[0].display().to_string();
        ErrorKind::CannotReplay { program, why: error.to_owned() }.into()
    }

    fn summed_up(&self, order: RaceOrder, replayed: &Replay) -> ReplayRun {
        let is_race = matches!(self.plan.goal, Goal::Race(..));
        ReplayRun {
            order: is_race.then_some(order),
            result: match replayed.verdict {
                ReplayVerdict::Confirmed if self.until.is_some() => ReplayVerdict::NotReached,
                verdict => verdict,
            },
            ending: replayed.ending,
            seconds: replayed.elapsed.as_secs_f64(),
            events: replayed.events.iter().map(|observed| self.replayed_event(observed)).collect(),
            threads: replayed.threads.clone(),
            output: tail(&replayed.output),
        }
    }

    fn replayed_event(&self, observed: &ObservedEvent) -> ReplayedEvent {
        let ObservedEvent { event, before, after, stack } = observed;
        ReplayedEvent {
            thread: self.plan.thread_name(&event.thread),
            kind: event.kind,
            operation: format!("{}({})", trace::text::op_name(event.kind), event.object),
            location: event.location.clone(),
            before: before.as_deref().map(value),
            after: after.as_deref().map(value),
            recorded: None,
            stack: stack.iter().map(|frame| frame.to_string()).collect(),
        }
    }
}

/// The races of a run by happens-before, named by what they are about and where.
fn races_of(trace: &Trace) -> Vec<OtherRace> {
    let symbols = trace.symbols();
    let location = |event: EventId| symbols.location(trace.location(event)).to_owned();
    let named = hb::races(trace).filter_map(|RacePair { first, second, .. }| {
        let variable = trace.op(first).access()?.variable;
        let mut locations = [location(first), location(second)];
        locations.sort();
        Some(OtherRace { object: symbols.variable(variable).to_owned(), locations })
    });
    named.collect()
}

/// The races of a run between uses of memory and its allocation or freeing, named by the block and where they are.
fn memory_races_of(trace: &Trace) -> Vec<OtherRace> {
    let symbols = trace.symbols();
    let location = |event: EventId| symbols.location(trace.location(event)).to_owned();
    let named = hb::races_of_memory(trace).into_iter().filter_map(|RacePair { first, second }| {
        let block = [first, second].into_iter().find_map(|event| match trace.op(event) {
            Op::Allocate(block) | Op::Free(block) => Some(block),
            _ => None,
        })?;
        let mut locations = [location(first), location(second)];
        locations.sort();
        Some(OtherRace { object: symbols.block(block).to_owned(), locations })
    });
    named.collect()
}

const AS_GCC_DOES: &str = "build it with `FORETELL_CC=gcc foretell cc`, and record it again";

fn no_opinion(error: NoOpinion) -> Error {
    let (note, help) = match &error {
        NoOpinion::NoThreadSanitizer => (
            Some("`gcc -print-file-name=libtsan.so.2` must print its path".to_owned()),
            Some("install gcc 12 or later with its libtsan (Debian: gcc and libtsan2)"),
        ),
        NoOpinion::CannotRun { said } => (Some(said.clone()), Some(AS_GCC_DOES)),
        NoOpinion::Run(_) => (None, None),
    };
    let error = Error::from(ErrorKind::from(error)).help_if(help);
    match note {
        Some(note) => error.note(note),
        None => error,
    }
}

/// The schedule came from elsewhere.
pub fn cannot_be_replayed(finding: &str) -> Error {
    Error::from(ErrorKind::NotReplayable(finding.to_owned()))
        .note("it stays `predicted` or `possible`")
        .help("native traces written by `foretell record` can be replayed")
}

/// What memory holds, as a person reads it.
fn value(bytes: &[u8]) -> String {
    match bytes.len() {
        1 | 2 | 4 | 8 => {
            let number = bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
            let unused = 64 - 8 * bytes.len() as u32;
            let signed = (number << unused) as i64 >> unused;
            // What is far from zero is an address, or several things at once.
            if signed.unsigned_abs() < 1 << 32 { signed.to_string() } else { format!("{number:#x}") }
        }
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The end of an output.
fn tail(output: &[u8]) -> String {
    const MOST: usize = 2000;
    let start = output.len().saturating_sub(MOST);
    String::from_utf8_lossy(&output[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_as_numbers() {
        assert_eq!(value(&[21, 0, 0, 0]), "21");
        assert_eq!(value(&[0xff, 0xff, 0xff, 0xff]), "-1");
        assert_eq!(value(&[0xff]), "-1");
        assert_eq!(value(&[0, 0, 0, 0, 0xf0, 0x7f, 0, 0]), "0x7ff000000000");
        assert_eq!(value(&[1, 2, 3]), "010203");
    }
}
