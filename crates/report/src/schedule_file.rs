//! Schedules as files: docs/schedule-format.md. Written by `decide --schedule-out`, read by `check` and by
//! `replay`, which follows the schedule.

mod parse;

use std::fmt::Write as _;

use check::{Model, Question, Source, UnknownModel, WrittenQuestion};
use trace::native::ReadError;
use trace::{Binary, EventId, ExpectedFailure, Kind, ThreadEvents, ThreadPath, Trace};

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
    /// The file of the program that was run, to tell whether it is still the same.
    pub program: Option<Binary>,
    /// How the program fails at the end of it, if it is the schedule of a failure.
    pub failure: Option<ExpectedFailure>,
    /// The events in order.
    pub lines: Vec<Line>,
    /// The events that the question names as next, if a replay can know them.
    pub next: Vec<Line>,
    /// The rest of the recorded run up to the later of two racing accesses, if they race because of memory orders. No program can follow
    /// such a schedule, so a replay follows the recorded order, and looks whether the accesses are unordered.
    pub unordered: Option<Vec<Line>>,
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
    #[error("the file was not read to its end")]
    NotRead,
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
    #[error("expected `program CHECKSUM BUILD-ID PATH`, where BUILD-ID may be `-`")]
    Program,
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
        let named = named_next(question);
        let events: Vec<EventId> = schedule.iter().chain(&named).copied().collect();
        let points = replay_points(trace, &threads, &events)?;
        let metadata = trace.metadata();
        let command = if points.is_some() { metadata.command.clone() } else { Vec::new() };
        let program = metadata.binary.clone().filter(|_| points.is_some()).filter(can_be_written);
        let header = HEADER_LINES + usize::from(!command.is_empty()) + usize::from(program.is_some());
        let mut lines = lines_of(trace, &threads, &events, points.as_deref(), header);
        let mut next = lines.split_off(schedule.len());
        if points.is_none() {
            next.clear();
        }
        let question = question.written(trace);
        let failure = None;
        Ok(ScheduleFile {
            model,
            question,
            trace: about,
            guaranteed,
            command,
            program,
            failure,
            lines,
            next,
            unordered: None,
        })
    }

    /// The same for accesses that race because of memory orders, with the rest of the recorded run up to them.
    pub fn with_recorded_order(self, trace: &Trace) -> Result<Self, ReadError> {
        let Question::Race(a, b) = self.question else { return Ok(self) };
        let mut known: Vec<EventId> = self.lines.iter().chain(&self.next).map(|line| line.event).collect();
        known.sort_unstable();
        let upto = (0..=a.max(b).index()).map(EventId::new);
        let rest: Vec<EventId> = upto.filter(|event| known.binary_search(event).is_err()).collect();
        let threads = ThreadEvents::of(trace);
        let points = replay_points(trace, &threads, &rest)?;
        let rest = lines_of(trace, &threads, &rest, points.as_deref(), known.len() + HEADER_LINES + 3);
        Ok(ScheduleFile { unordered: points.is_some().then_some(rest), ..self })
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

    /// The first line that says something else than the trace does. Events of the schedule that the trace does not have are
    /// not its concern. Where threads and places are is compared if the trace has it.
    pub fn contradiction(
        &self,
        trace: &Trace,
        question: &Question,
    ) -> Result<Option<Contradiction>, ReadError> {
        let threads = ThreadEvents::of(trace);
        let is_known = |line: &&Line| line.event.index() < trace.len();
        let lines = self.lines.iter().chain(&self.next).chain(self.unordered.iter().flatten());
        let known: Vec<&Line> = lines.filter(is_known).collect();
        let events: Vec<EventId> = known.iter().map(|line| line.event).collect();
        let points = match self.can_be_replayed() {
            true => replay_points(trace, &threads, &events)?,
            false => None,
        };
        for (index, &line) in known.iter().enumerate() {
            let rest = rest_of_line(trace, &threads, line.event);
            if line.rest != rest {
                return Ok(Some(Contradiction::of(line, line.rest.clone(), rest)));
            }
            let expected = points.as_ref().map(|points| &points[index]);
            if let (Some(found), Some(expected)) = (&line.replay_point, expected)
                && found != expected
            {
                return Ok(Some(Contradiction::of(line, found.to_string(), expected.to_string())));
            }
        }
        Ok(self.wrong_next(question))
    }

    /// What is said to be next must be what the question names.
    fn wrong_next(&self, question: &Question) -> Option<Contradiction> {
        if !self.can_be_replayed() {
            return None;
        }
        let named = named_next(question);
        let found: Vec<EventId> = self.next.iter().map(|line| line.event).collect();
        let ids = |events: &[EventId]| {
            let ids: Vec<String> = events.iter().map(EventId::to_string).collect();
            format!("next {}", ids.join(", "))
        };
        let line = self.next.first().or(self.lines.last())?;
        (found != named).then(|| Contradiction::of(line, ids(&found), ids(&named)))
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

/// A line that says something else than the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The 1-based number of the line.
    pub line: usize,
    /// Its event.
    pub event: EventId,
    /// What the line says.
    pub found: String,
    /// What the trace says.
    pub expected: String,
}

impl Contradiction {
    fn of(line: &Line, found: String, expected: String) -> Contradiction {
        Contradiction { line: line.number, event: line.event, found, expected }
    }
}

/// The events that are to be next when the schedule has been followed.
fn named_next(question: &Question) -> Vec<EventId> {
    match question {
        Question::Race(..) | Question::Deadlock(_) => question.named(),
        _ => Vec::new(),
    }
}

/// Whether the line can identify the program.
fn can_be_written(program: &Binary) -> bool {
    let Binary { path, build_id, checksum } = program;
    !path.trim_end().is_empty()
        && !checksum.is_empty()
        && parse::is_hexadecimal(checksum)
        && parse::is_hexadecimal(build_id)
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

fn lines_of(
    trace: &Trace,
    threads: &ThreadEvents,
    events: &[EventId],
    points: Option<&[ReplayPoint]>,
    header: usize,
) -> Vec<Line> {
    let line = |(index, &event): (usize, &EventId)| Line {
        event,
        rest: rest_of_line(trace, threads, event),
        replay_point: points.map(|points| points[index].clone()),
        number: index + 1 + header,
    };
    events.iter().enumerate().map(line).collect()
}

fn next_of_thread(trace: &Trace, threads: &ThreadEvents, event: EventId) -> Option<EventId> {
    threads.of_thread(trace.thread(event)).get(threads.place(event) + 1).copied()
}

fn rest_of_line(trace: &Trace, threads: &ThreadEvents, event: EventId) -> String {
    let mut rest = String::new();
    push_name(&mut rest, trace.symbols().thread(trace.thread(event)));
    // Writing to a string cannot fail.
    let _ = write!(rest, "|{}|", threads.place(event));
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
        if let Some(Binary { path, build_id, checksum }) = &self.program {
            let build_id = if build_id.is_empty() { "-" } else { build_id };
            let mut spelled = String::new();
            push_name(&mut spelled, path);
            writeln!(f, "program {checksum} {build_id} {spelled}")?;
        }
        if let Some(ExpectedFailure { identity, thread }) = &self.failure {
            let thread = thread.as_ref().map_or("-".to_owned(), ThreadPath::to_string);
            let mut spelled = String::new();
            push_name(&mut spelled, identity);
            writeln!(f, "failure {thread} {spelled}")?;
        }
        if self.unordered.is_some() {
            writeln!(f, "unordered")?;
        }
        writeln!(f, "# id|thread|place in thread|operation|location|path of thread|place in run")?;
        self.lines.iter().try_for_each(|line| line.write_with_point(f, ""))?;
        self.next.iter().try_for_each(|line| line.write_with_point(f, "next "))?;
        self.unordered.iter().flatten().try_for_each(|line| line.write_with_point(f, "then "))
    }
}

impl std::fmt::Display for ReplayPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}|{place}", self.thread),
            None => write!(f, "{}|-", self.thread),
        }
    }
}

impl Line {
    fn write_with_point(&self, f: &mut std::fmt::Formatter<'_>, word: &str) -> std::fmt::Result {
        let Some(point) = &self.replay_point else { return Ok(()) };
        writeln!(f, "{word}{}|{}|{point}", self.event, self.rest)
    }

    /// What it does, to what, and where: `op(object)` and the location.
    pub fn parts(&self) -> Option<(Kind, String, String)> {
        let mut fields = self.rest.splitn(4, '|').skip(2);
        let (op, location) = (fields.next()?, fields.next()?);
        let (word, object) = op.split_once('(')?;
        let kind = Kind::from_text_name(word.as_bytes())?;
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
