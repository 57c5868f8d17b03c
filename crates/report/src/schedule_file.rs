//! Schedules as files: docs/schedule-format.md. Written by `decide --schedule-out`, read by `check` and by
//! `replay`, which follows the schedule.

mod parse;

use std::fmt::Write as _;

use check::{Model, Question, Source, UnknownModel, WrittenQuestion};
use trace::native::ReadError;
use trace::{EventId, Kind, ThreadEvents, ThreadPath, Trace};

use crate::evidence::{About, ClaimedVerdict, Evidence, SCHEMA};
use crate::fingerprint::{push_name, push_op};

/// What such a file starts with.
const MAGIC: &str = "foretell-schedule";
/// The version without what a replay needs.
const BARE: u32 = 1;
/// The version with it.
const REPLAYABLE: u32 = 2;

/// A schedule with what it is an answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFile {
    /// The model it was found under.
    pub model: Model,
    /// What it answers.
    pub question: WrittenQuestion,
    /// The trace it is of.
    pub trace: About,
    /// Whether the program can follow it whatever it is.
    pub guaranteed: bool,
    /// What was run, if that is known.
    pub command: Vec<String>,
    /// How the program fails at the end of it, if it is the schedule of a failure.
    pub failure: Option<ScheduledFailure>,
    /// The events in order.
    pub lines: Vec<Line>,
    /// The events that the question names as next, if a replay can know them.
    pub next: Vec<Line>,
}

/// How a program fails at the end of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledFailure {
    /// What makes it the same failure.
    pub identity: String,
    /// The thread that fails, if it is one.
    pub thread: Option<ThreadPath>,
}

/// One event of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The event.
    pub event: EventId,
    /// The rest of the line as it is written, `thread|place|op(object)|location`: it follows from the event.
    pub rest: String,
    /// Where a replay finds it, if that was recorded.
    pub replay_point: Option<ReplayPoint>,
    /// The 1-based number of the line in the file.
    pub number: usize,
}

/// Where an event is in every run of a program that does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayPoint {
    /// Its thread.
    pub thread: ThreadPath,
    /// Its place among all that its thread does; none for an event that is no doing of its own.
    pub place: Option<u64>,
}

/// Why a text is no schedule file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ScheduleFileError {
    /// The 1-based line at fault.
    pub line: usize,
    /// What is wrong with it.
    pub problem: ScheduleProblem,
}

/// What is wrong with a line of a schedule file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum ScheduleProblem {
    #[error("the line is not UTF-8")]
    NotText,
    #[error("a schedule file starts with `{MAGIC} {BARE}` or `{MAGIC} {REPLAYABLE}`")]
    NotASchedule,
    #[error(
        "this is version {0} of the format, but this program knows versions {BARE} and {REPLAYABLE} only"
    )]
    Version(String),
    #[error("expected `{0}`")]
    Expected(&'static str),
    #[error(transparent)]
    Model(UnknownModel),
    #[error(
        "`{0}` is not a question; expected `race A B`, `order A B ..`, `deadlock A B ..`, `reads R`, `reads R W` or `cut T1=N|T2=M|..`"
    )]
    Question(String),
    #[error("expected `failure THREAD MESSAGE`, where THREAD is the path of a thread or `-`")]
    Failure,
    #[error("expected `id|thread|place|op(object)|location`, an event of the schedule")]
    Event,
    #[error("expected `id|thread|place|op(object)|location|path|place in the run`, an event of the schedule")]
    MetEvent,
}

impl ScheduleFile {
    /// The file of a schedule: with what a replay needs, if the trace has it.
    pub fn new(
        trace: &Trace,
        question: &Question,
        model: Model,
        about: About,
        guaranteed: bool,
        schedule: &[EventId],
    ) -> Result<Self, ReadError> {
        let threads = ThreadEvents::of(trace);
        let named = match question {
            Question::Race(..) | Question::Deadlock(_) => question.named(),
            _ => Vec::new(),
        };
        let events: Vec<EventId> = schedule.iter().chain(&named).copied().collect();
        let points = replay_points(trace, &threads, &events)?;
        let command = if points.is_some() { trace.metadata().command.clone() } else { Vec::new() };
        let header = HEADER_LINES + usize::from(!command.is_empty());
        let mut lines: Vec<Line> = Vec::with_capacity(events.len());
        for (index, &event) in events.iter().enumerate() {
            lines.push(Line {
                event,
                rest: rest_of_line(trace, &threads, event),
                replay_point: points.as_ref().map(|points| points[index].clone()),
                number: index + 1 + header,
            });
        }
        let mut next = lines.split_off(schedule.len());
        if points.is_none() {
            next.clear();
        }
        let question = question.written(trace);
        Ok(ScheduleFile { model, question, trace: about, guaranteed, command, failure: None, lines, next })
    }

    /// Whether a replay can follow it.
    pub fn can_be_replayed(&self) -> bool {
        let lines = self.lines.iter().chain(&self.next);
        self.lines.iter().any(|line| line.replay_point.is_some())
            && lines.into_iter().all(|line| line.replay_point.is_some())
    }

    /// The schedule it holds.
    pub fn schedule(&self) -> Vec<EventId> {
        self.lines.iter().map(|line| line.event).collect()
    }

    /// The first line that says something else of its event than the trace does, and what the trace says. Events that the
    /// trace does not have are not its concern.
    pub fn contradiction(&self, trace: &Trace) -> Option<(&Line, String)> {
        let threads = ThreadEvents::of(trace);
        let lines = self.lines.iter().chain(&self.next);
        let known = lines.filter(|line| line.event.index() < trace.len());
        known
            .map(|line| (line, rest_of_line(trace, &threads, line.event)))
            .find(|(line, rest)| line.rest != *rest)
    }

    /// The same as an answer to its question.
    pub fn into_evidence(self) -> Evidence {
        Evidence {
            schema: SCHEMA,
            verdict: ClaimedVerdict::Feasible,
            guaranteed: Some(self.guaranteed),
            model: self.model,
            schedule: Some(self.schedule()),
            refutation: None,
            question: self.question,
            trace: self.trace,
            budget: None,
        }
    }

    /// Whether a file that starts so is meant to be a schedule file.
    pub fn is_one(start: &[u8]) -> bool {
        start.starts_with(MAGIC.as_bytes())
    }
}

/// Lines before the first event.
const HEADER_LINES: usize = 6;

/// Where a replay finds these events; none if the trace does not say that of all of them.
fn replay_points(
    trace: &Trace,
    threads: &ThreadEvents,
    events: &[EventId],
) -> Result<Option<Vec<ReplayPoint>>, ReadError> {
    let Some(notes) = trace.notes() else { return Ok(None) };
    // A request is at the place of what it asks for.
    let placed: Vec<EventId> = events
        .iter()
        .map(|&event| match trace.op(event).kind() {
            Kind::Request | Kind::RequestShared => next_of_thread(trace, threads, event).unwrap_or(event),
            _ => event,
        })
        .collect();
    let places = notes.places(trace, &placed)?;
    let points = events.iter().zip(placed).zip(places).map(|((&event, placed), place)| {
        let thread = notes.path(trace.thread(event))?;
        let own = match trace.op(placed).kind() {
            Kind::Request | Kind::RequestShared | Kind::Branch => None,
            _ => Some(place?),
        };
        Some(ReplayPoint { thread, place: own })
    });
    Ok(points.collect())
}

fn next_of_thread(trace: &Trace, threads: &ThreadEvents, event: EventId) -> Option<EventId> {
    threads.of_thread(trace.thread(event)).get(threads.place(event) + 1).copied()
}

fn rest_of_line(trace: &Trace, threads: &ThreadEvents, event: EventId) -> String {
    let mut rest = String::new();
    push_name(&mut rest, trace.symbols().thread(trace.thread(event)));
    rest.push_str(&format!("|{}|", threads.place(event)));
    push_op(&mut rest, trace, event);
    rest.push('|');
    push_name(&mut rest, trace.symbols().location(trace.location(event)));
    rest
}

/// The file as text.
impl std::fmt::Display for ScheduleFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let replayable = self.can_be_replayed();
        writeln!(f, "{MAGIC} {}", if replayable { REPLAYABLE } else { BARE })?;
        writeln!(f, "model {}", self.model.name())?;
        writeln!(f, "question {}", question_line(&self.question))?;
        let About { path, events, checksum } = &self.trace;
        let mut shown = String::new();
        path.iter().for_each(|path| push_name(&mut shown, path));
        writeln!(f, "{}", format!("trace {checksum} {events} {shown}").trim_end())?;
        writeln!(f, "guaranteed {}", if self.guaranteed { "yes" } else { "no" })?;
        if !replayable {
            writeln!(f, "# id|thread|place in thread|operation|location")?;
            return self.lines.iter().try_for_each(|line| writeln!(f, "{}|{}", line.event, line.rest));
        }
        if !self.command.is_empty() {
            writeln!(f, "command {}", command_line(&self.command))?;
        }
        if let Some(ScheduledFailure { identity, thread }) = &self.failure {
            let thread = thread.as_ref().map_or("-".to_owned(), ThreadPath::to_string);
            let mut spelled = String::new();
            push_name(&mut spelled, identity);
            writeln!(f, "failure {thread} {spelled}")?;
        }
        writeln!(f, "# id|thread|place in thread|operation|location|path of thread|place in run")?;
        self.lines.iter().try_for_each(|line| line.write_with_point(f, ""))?;
        self.next.iter().try_for_each(|line| line.write_with_point(f, "next "))
    }
}

impl Line {
    fn write_with_point(&self, f: &mut std::fmt::Formatter<'_>, word: &str) -> std::fmt::Result {
        let Some(ReplayPoint { thread, place }) = &self.replay_point else { return Ok(()) };
        write!(f, "{word}{}|{}|{thread}|", self.event, self.rest)?;
        match place {
            Some(place) => writeln!(f, "{place}"),
            None => writeln!(f, "-"),
        }
    }

    /// What it does, to what, and where: `op(object)` and the location.
    pub fn parts(&self) -> Option<(Kind, String, String)> {
        let mut fields = self.rest.splitn(4, '|').skip(2);
        let (op, location) = (fields.next()?, fields.next()?);
        let (word, object) = op.split_once('(')?;
        let kind = Kind::ALL.iter().copied().find(|&kind| trace::text::op_name(kind) == word)?;
        Some((kind, parse::decoded(object.strip_suffix(')')?), parse::decoded(location)))
    }
}

/// The words of a command, the spaces in them spelled as names are.
fn command_line(command: &[String]) -> String {
    let words = command.iter().map(|word| {
        let mut spelled = String::new();
        push_name(&mut spelled, word);
        spelled.replace(' ', "%20").replace('\t', "%09")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn question_line(question: &WrittenQuestion) -> String {
    let ids = |word: &str, events: &[EventId]| {
        events.iter().fold(word.to_owned(), |mut line, event| {
            // Writing to a string cannot fail.
            let _ = write!(line, " {event}");
            line
        })
    };
    match question {
        Question::Race(a, b) => ids("race", &[*a, *b]),
        Question::Deadlock(events) => ids("deadlock", events),
        Question::Order(events) => ids("order", events),
        Question::Reads(read, source) => match source {
            None => format!("reads {read}"),
            Some(Source::Initial) => format!("reads {read} initial"),
            Some(Source::Write(write)) => format!("reads {read} {write}"),
        },
        Question::Cut(counts) => {
            let each = counts.iter().map(|(thread, count)| {
                let mut item = String::new();
                push_name(&mut item, thread);
                format!("{item}={count}")
            });
            format!("cut {}", each.collect::<Vec<_>>().join("|"))
        }
    }
}
