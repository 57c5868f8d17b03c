//! Schedules as files: docs/schedule-format.md. Written by `decide --schedule-out`, read by `check` and by
//! whatever is to follow the schedule.

use std::fmt::Write as _;

use check::{Question, Source};
use trace::{EventId, ThreadEvents, Trace};

use crate::evidence::{About, Asked, Evidence, ModelName, Pair, ReadAndSource, SCHEMA, VerdictName};
use crate::fingerprint::{push_name, push_op};

/// What such a file starts with.
const MAGIC: &str = "foretell-schedule";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// A schedule with what it is an answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFile {
    /// The model it was found under.
    pub model: ModelName,
    /// What it answers.
    pub question: Asked,
    /// The trace it is of.
    pub trace: About,
    /// Whether the program can follow it whatever it is.
    pub guaranteed: bool,
    /// The events in order.
    pub lines: Vec<Line>,
}

/// One event of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The event.
    pub event: EventId,
    /// The rest of the line as it is written, `thread|place|op(object)|location`: it follows from the event.
    pub rest: String,
    /// The 1-based number of the line in the file.
    pub number: usize,
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
    #[error("a schedule file starts with `{MAGIC} {VERSION}`")]
    NotASchedule,
    #[error("this is version {0} of the format, but this program knows version {VERSION} only")]
    Version(String),
    #[error("expected `{0}`")]
    Expected(&'static str),
    #[error("unknown model `{0}`; it is `sync`, `rf` or `branch`")]
    Model(String),
    #[error(
        "`{0}` is no question; it is `race A B`, `order A B ..`, `deadlock A B ..`, `reads R`, `reads R W` or `cut T1=N|T2=M|..`"
    )]
    Question(String),
    #[error("expected `id|thread|place|op(object)|location`, an event of the schedule")]
    Event,
}

impl ScheduleFile {
    /// The file of a schedule.
    pub fn new(
        trace: &Trace,
        question: &Question,
        model: ModelName,
        about: About,
        guaranteed: bool,
        schedule: &[EventId],
    ) -> Self {
        let threads = ThreadEvents::of(trace);
        let lines = schedule.iter().enumerate().map(|(index, &event)| Line {
            event,
            rest: rest_of_line(trace, &threads, event),
            number: index + 1 + HEADER_LINES,
        });
        ScheduleFile {
            model,
            question: Asked::of(trace, question),
            trace: about,
            guaranteed,
            lines: lines.collect(),
        }
    }

    /// The schedule it holds.
    pub fn schedule(&self) -> Vec<EventId> {
        self.lines.iter().map(|line| line.event).collect()
    }

    /// The first line that says something else of its event than the trace does, and what the trace says. Events that the
    /// trace does not have are not its concern.
    pub fn contradiction(&self, trace: &Trace) -> Option<(&Line, String)> {
        let threads = ThreadEvents::of(trace);
        let known = self.lines.iter().filter(|line| line.event.index() < trace.len());
        known
            .map(|line| (line, rest_of_line(trace, &threads, line.event)))
            .find(|(line, rest)| line.rest != *rest)
    }

    /// The same as an answer to its question.
    pub fn into_evidence(self) -> Evidence {
        Evidence {
            schema: SCHEMA,
            verdict: VerdictName::Feasible,
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
        writeln!(f, "{MAGIC} {VERSION}")?;
        writeln!(f, "model {}", self.model.name())?;
        writeln!(f, "question {}", question_line(&self.question))?;
        let About { path, events, checksum } = &self.trace;
        let mut shown = String::new();
        path.iter().for_each(|path| push_name(&mut shown, path));
        writeln!(f, "{}", format!("trace {checksum} {events} {shown}").trim_end())?;
        writeln!(f, "guaranteed {}", if self.guaranteed { "yes" } else { "no" })?;
        writeln!(f, "# id|thread|place in thread|operation|location")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{}|{}", line.event, line.rest))
    }
}

fn question_line(question: &Asked) -> String {
    let ids = |word: &str, events: &[EventId]| {
        events.iter().fold(word.to_owned(), |mut line, event| {
            // Writing to a string cannot fail.
            let _ = write!(line, " {event}");
            line
        })
    };
    match question {
        Asked::Race(Pair(a, b)) => ids("race", &[*a, *b]),
        Asked::Deadlock(events) => ids("deadlock", events),
        Asked::Order(events) => ids("order", events),
        Asked::Reads(ReadAndSource { read, source }) => match source {
            None => format!("reads {read}"),
            Some(Source::Initial) => format!("reads {read} initial"),
            Some(Source::Write(write)) => format!("reads {read} {write}"),
        },
        Asked::Cut(counts) => {
            let each = counts.iter().map(|(thread, count)| {
                let mut item = String::new();
                push_name(&mut item, thread);
                format!("{item}={count}")
            });
            format!("cut {}", each.collect::<Vec<_>>().join("|"))
        }
    }
}

impl ScheduleFile {
    /// Reads a file. The first line of it that is wrong is told.
    pub fn parse(bytes: &[u8]) -> Result<ScheduleFile, ScheduleFileError> {
        let mut reader = Reader { lines: bytes.split(|&byte| byte == b'\n'), number: 0 };
        reader.version()?;
        let model = reader.field("model sync|rf|branch", "model ", |text| {
            ModelName::named(text).ok_or_else(|| ScheduleProblem::Model(text.to_owned()))
        })?;
        let question = reader.field("question ..", "question ", |text| {
            parse_question(text).ok_or_else(|| ScheduleProblem::Question(text.to_owned()))
        })?;
        const TRACE: &str = "trace CHECKSUM EVENTS [PATH]";
        let trace = reader
            .field(TRACE, "trace ", |text| parse_trace(text).ok_or(ScheduleProblem::Expected(TRACE)))?;
        const GUARANTEED: &str = "guaranteed yes|no";
        let guaranteed = reader.field(GUARANTEED, "guaranteed ", |text| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(ScheduleProblem::Expected(GUARANTEED)),
        })?;
        let mut lines = Vec::new();
        while let Some(text) = reader.next()? {
            lines.push(parse_event(text, reader.number).ok_or(reader.wrong(ScheduleProblem::Event))?);
        }
        Ok(ScheduleFile { model, question, trace, guaranteed, lines })
    }
}

struct Reader<I> {
    lines: I,
    /// Of the line read last, counted from 1.
    number: usize,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Reader<I> {
    fn wrong(&self, problem: ScheduleProblem) -> ScheduleFileError {
        ScheduleFileError { line: self.number.max(1), problem }
    }

    /// The next line that is neither empty nor a comment.
    fn next(&mut self) -> Result<Option<&'a str>, ScheduleFileError> {
        for line in self.lines.by_ref() {
            self.number += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Ok(text) = std::str::from_utf8(line) else {
                return Err(self.wrong(ScheduleProblem::NotText));
            };
            if !text.trim().is_empty() && !text.starts_with('#') {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn version(&mut self) -> Result<(), ScheduleFileError> {
        let first = self.next()?.and_then(|text| text.strip_prefix(MAGIC)).map(str::trim);
        match first {
            Some(version) if version == VERSION.to_string() => Ok(()),
            Some(version) if !version.is_empty() => {
                Err(self.wrong(ScheduleProblem::Version(version.to_owned())))
            }
            _ => Err(self.wrong(ScheduleProblem::NotASchedule)),
        }
    }

    fn field<T>(
        &mut self,
        expected: &'static str,
        prefix: &str,
        parse: impl FnOnce(&str) -> Result<T, ScheduleProblem>,
    ) -> Result<T, ScheduleFileError> {
        let value = self.next()?.and_then(|text| text.strip_prefix(prefix));
        let value = value.ok_or_else(|| self.wrong(ScheduleProblem::Expected(expected)))?;
        parse(value.trim()).map_err(|problem| self.wrong(problem))
    }
}

fn event(text: &str) -> Option<EventId> {
    text.parse().ok().map(EventId)
}

fn parse_question(text: &str) -> Option<Asked> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    if kind == "cut" {
        return parse_cut(rest).map(Asked::Cut);
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let ids = || words.iter().map(|word| event(word)).collect::<Option<Vec<EventId>>>();
    match (kind, &words[..]) {
        ("race", [a, b]) => Some(Asked::Race(Pair(event(a)?, event(b)?))),
        ("deadlock", _) => ids().map(Asked::Deadlock),
        ("order", _) => ids().map(Asked::Order),
        ("reads", [read]) => Some(Asked::Reads(ReadAndSource { read: event(read)?, source: None })),
        ("reads", [read, source]) => {
            let source = match *source {
                "initial" => Source::Initial,
                write => Source::Write(event(write)?),
            };
            Some(Asked::Reads(ReadAndSource { read: event(read)?, source: Some(source) }))
        }
        _ => None,
    }
}

fn parse_cut(text: &str) -> Option<std::collections::BTreeMap<String, u32>> {
    let items = text.split('|').filter(|item| !item.is_empty());
    items
        .map(|item| {
            let (thread, count) = item.rsplit_once('=')?;
            Some((decoded(thread), count.parse().ok()?))
        })
        .collect()
}

fn parse_trace(text: &str) -> Option<About> {
    let mut words = text.splitn(3, ' ');
    let (checksum, events) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
    let path = words.next().map(str::trim).filter(|path| !path.is_empty()).map(decoded);
    Some(About { path, events, checksum })
}

fn parse_event(text: &str, number: usize) -> Option<Line> {
    let (id, rest) = text.split_once('|')?;
    (rest.matches('|').count() == 3).then_some(())?;
    Some(Line { event: event(id)?, rest: rest.to_owned(), number })
}

/// What `push_name` spelled. The percent sign comes last, since what is left of it then starts no code.
fn decoded(spelled: &str) -> String {
    spelled.replace("%7C", "|").replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
}
