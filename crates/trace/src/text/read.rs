//! Text to trace: blocks are cut into lines here, and lines made events in [`event`].

mod event;

use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;

use memchr::{memchr, memrchr};

use crate::builder::TraceBuilder;
use crate::fault::ImpossibleEvent;
use crate::ids::EventId;
use crate::memory_order::MemoryOrder;
use crate::stream::Take;
use crate::trace::Trace;

use super::cut::cut_event;
use super::directive::Directives;
use super::error::{Problem, ReadError, TextPosition};
use super::escape::Escapes;
use super::line_map::LineMap;
use super::naming::Naming;
use super::recent::{Recent, Repeated};
use super::waits::{self, DeepMonitor, WaitConvention, WaitCounts};
use super::{MAX_EVENTS, MAX_LINE, transactions};
use event::{Part, Refusal, place_of};

/// How much is read and parsed at a time: it stays in the cache from one to the other.
const BLOCK: usize = 64 << 10;
/// For how many events there is room before they come.
const MOST_ROOM: u64 = 1 << 20;
/// How often progress is reported, in bytes.
const PROGRESS_STEP: u64 = 1 << 20;

/// How far reading has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Bytes of text read.
    pub bytes: u64,
    /// Events read.
    pub events: u64,
}

/// Reads plain text into a trace, matched and checked.
pub fn read(input: impl Read) -> Result<Trace, ReadError> {
    read_with(input, &mut |_| ())
}

/// How a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What waits mean.
    pub wait: WaitConvention,
    /// Leave events out that cannot have happened where they stand.
    pub lenient: bool,
    /// How many bytes the text has, if that is known: there is room for its events before they come.
    pub length: Option<u64>,
}

/// A trace, and what there is to say of how it was read.
#[derive(Debug)]
pub struct ReadTrace {
    /// The trace.
    pub trace: Trace,
    /// What was seen of its waits.
    pub waits: WaitCounts,
    /// The lines that were left out, and what is wrong with them.
    pub dropped: Vec<(u64, String)>,
}

/// Reads plain text into a trace, in this way.
pub fn read_as(input: impl Read, options: ReadOptions) -> Result<ReadTrace, ReadError> {
    let mut tell = |_| ();
    let mut parser = Parser::new(&mut tell);
    parser.all(input, &mut |parser| {
        parser.make_room(options.length);
        ControlFlow::Continue(())
    })?;
    parser.finish_as(options)
}

/// Reads plain text into a trace and tells about every MiB, and at the end, how far it has come.
pub fn read_with(input: impl Read, tell: &mut dyn FnMut(ReadProgress)) -> Result<Trace, ReadError> {
    let mut parser = Parser::new(tell);
    parser.all(input, &mut |_| ControlFlow::Continue(()))?;
    parser.finish()
}

/// Reads plain text and passes its events on as they come. Memory for the names only.
pub fn stream(input: impl Read, take: &mut Take<'_>) -> Result<(), ReadError> {
    let mut tell = |_| ();
    let mut parser = Parser::new(&mut tell);
    parser.all(input, &mut |parser| {
        parser.naming.look_at_new_events(&parser.builder);
        parser.noted = NotedEvents::default();
        parser.builder.pass_on(take)
    })
}

/// Reads plain text that is in memory into a trace.
pub fn read_bytes(text: &[u8]) -> Result<Trace, ReadError> {
    let mut tell = |_| ();
    let mut parser = Parser::new(&mut tell);
    let mut start = 0;
    while start < text.len() {
        let end = text.len().min(start + BLOCK);
        // A line longer than a block is given whole, or as much of it as shows that it is too long.
        let end =
            memchr(b'\n', &text[end..text.len().min(end + MAX_LINE)]).map_or(end, |rest| end + rest + 1);
        let parsed = parser.complete_lines(&text[start..end])?;
        if parsed == 0 {
            break;
        }
        start += parsed;
    }
    parser.last_line(&text[start..])?;
    parser.finish()
}

/// Fills the buffer unless the input ends first.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ReadError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// Events whose meaning is settled when all are known. They are rare in most traces, and noted so that nobody has to look for them.
#[derive(Debug, Default)]
struct NotedEvents {
    /// Begins and ends.
    lives: Vec<EventId>,
    /// Waits, signals and broadcasts.
    conditions: Vec<EventId>,
}

impl NotedEvents {
    #[cold]
    fn life(&mut self, event: EventId) {
        self.lives.push(event);
    }

    #[cold]
    fn condition(&mut self, event: EventId) {
        self.conditions.push(event);
    }
}

/// Everything that is known between one block of lines and the next.
struct Parser<'t> {
    builder: TraceBuilder,
    lines: LineMap,
    directives: Directives,
    naming: Naming,
    /// Lines parsed.
    line: u64,
    /// Bytes parsed.
    bytes: u64,
    threads: Repeated<64>,
    variables: Recent<{ 1 << 15 }>,
    locks: Recent<{ 1 << 10 }>,
    locations: Recent<{ 1 << 14 }>,
    /// Whether names of the block that is being parsed have to be decoded.
    escapes: Escapes,
    noted: NotedEvents,
    /// Memory orders of events of the block that is being parsed.
    orders: Vec<(EventId, MemoryOrder)>,
    most_events: usize,
    tell: &'t mut dyn FnMut(ReadProgress),
    told: u64,
}

impl<'t> Parser<'t> {
    fn new(tell: &'t mut dyn FnMut(ReadProgress)) -> Self {
        Parser {
            builder: TraceBuilder::new(),
            lines: LineMap::default(),
            directives: Directives::default(),
            naming: Naming::default(),
            line: 0,
            bytes: 0,
            threads: Repeated::default(),
            variables: Recent::default(),
            locks: Recent::default(),
            locations: Recent::default(),
            escapes: Escapes::None,
            noted: NotedEvents::default(),
            orders: Vec::new(),
            most_events: MAX_EVENTS,
            tell,
            told: 0,
        }
    }

    /// Parses all lines. After each block `go_on` is asked whether to.
    fn all(
        &mut self,
        mut input: impl Read,
        go_on: &mut dyn FnMut(&mut Self) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let mut buffer = vec![0; MAX_LINE + BLOCK];
        // The buffer starts with a line that is not complete yet.
        let mut filled = 0;
        loop {
            let room = filled..buffer.len().min(filled + BLOCK);
            let count = read_full(&mut input, &mut buffer[room])?;
            if count == 0 {
                self.last_line(&buffer[..filled])?;
                let _ = go_on(self);
                return Ok(());
            }
            filled += count;
            let parsed = self.complete_lines(&buffer[..filled])?;
            if go_on(self).is_break() {
                return Ok(());
            }
            buffer.copy_within(parsed..filled, 0);
            filled -= parsed;
        }
    }

    /// Makes room for the events of the whole text after its first block, at the rate that they came so far, but for no more than is cheap:
    /// a file can be said to be of any length.
    fn make_room(&mut self, length: Option<u64>) {
        let (events, bytes) = (self.builder.len() as u64, self.bytes);
        let Some(length) = length.filter(|&length| bytes <= BLOCK as u64 && bytes < length) else { return };
        // No event is shorter, so that what is not needed after all is a few times the text.
        let all = (events.saturating_mul(length) / bytes.max(1)).min(MOST_ROOM);
        self.builder.reserve((all - events.min(all)) as usize + 1);
    }

    /// Parses the complete lines that the text starts with and returns their length.
    fn complete_lines(&mut self, text: &[u8]) -> Result<usize, ReadError> {
        if self.bytes == 0 && text.starts_with("\u{feff}".as_bytes()) {
            return Err(self.refuse(
                TextPosition { line: 1, column: 1, length: 3 },
                Problem::ByteOrderMark,
                b"",
            ));
        }
        let Some(last) = memrchr(b'\n', text) else {
            return if text.len() > MAX_LINE { Err(self.line_too_long(text)) } else { Ok(0) };
        };
        let length = last + 1;
        self.block(&text[..length])?;
        for (event, order) in self.orders.drain(..) {
            self.builder.set_order(event, order);
        }
        self.bytes += length as u64;
        if self.bytes - self.told >= PROGRESS_STEP {
            self.tell_progress();
        }
        Ok(length)
    }

    /// Parses the last line, which may lack its line end.
    fn last_line(&mut self, text: &[u8]) -> Result<(), ReadError> {
        // So much of a line is enough to see that it is too long.
        let text = &text[..text.len().min(MAX_LINE + 1)];
        if !text.is_empty() {
            self.complete_lines(&[text, b"\n"].concat())?;
        }
        self.tell_progress();
        Ok(())
    }

    fn tell_progress(&mut self) {
        self.told = self.bytes;
        (self.tell)(ReadProgress { bytes: self.bytes, events: self.builder.len() as u64 });
    }

    /// Parses a block, which ends with a line end.
    fn block(&mut self, block: &[u8]) -> Result<(), ReadError> {
        match str::from_utf8(block) {
            Ok(text) => self.all_lines(text),
            Err(error) => {
                let bad = error.valid_up_to();
                let start = memrchr(b'\n', &block[..bad]).map_or(0, |newline| newline + 1);
                // What is wrong before it is reported first.
                if let Ok(text) = str::from_utf8(&block[..start]) {
                    self.all_lines(text)?;
                }
                let place = TextPosition { line: self.line + 1, column: bad - start + 1, length: 1 };
                let line = &block[start..];
                let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
                Err(self.refuse(place, Problem::InvalidUtf8 { byte: block[bad] }, line))
            }
        }
    }

    /// Parses complete lines. The plain event is cut here; every other line takes the slow way.
    fn all_lines(&mut self, text: &str) -> Result<(), ReadError> {
        self.escapes = Escapes::of(text);
        let bytes = text.as_bytes();
        let mut start = 0;
        while start < bytes.len() {
            let cut = cut_event(bytes, start);
            let end = match cut {
                Some(cut) => cut.end,
                None => memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length),
            };
            if end - start > MAX_LINE {
                return Err(self.line_too_long(&bytes[start..end]));
            }
            self.line += 1;
            let parsed = match cut {
                Some(cut) => self.event(text, cut),
                None => self.other_line(text[start..end].trim_end_matches('\r')),
            };
            if let Err((part, problem)) = parsed {
                let place = place_of(part, text, cut, self.line);
                return Err(self.refuse(place, problem, &bytes[start..end]));
            }
            start = end + 1;
        }
        Ok(())
    }

    /// A line that is not of three fields: nothing, a comment, a directive or a mistake.
    #[cold]
    fn other_line(&mut self, line: &str) -> Result<(), Refusal> {
        if let Some(comment) = line.strip_prefix('#') {
            if comment.starts_with('!') {
                let followed = self.directives.follow(line, &mut self.builder);
                followed.map_err(|problem| (Part::Line, problem))?;
            }
        } else if !line.bytes().all(|byte| byte == b' ' || byte == b'\t') {
            let found = line.split('|').count();
            let problem = match found {
                ..3 => Problem::TooFewFields { found },
                _ => Problem::TooManyFields { found },
            };
            return Err((Part::Line, problem));
        }
        self.lines.skip_before(self.builder.len());
        Ok(())
    }

    fn finish(self) -> Result<Trace, ReadError> {
        self.finish_as(ReadOptions::default()).map(|read| read.trace)
    }

    fn finish_as(mut self, options: ReadOptions) -> Result<ReadTrace, ReadError> {
        let resolved = transactions::resolve(&mut self.builder, &self.noted.lives);
        let place = TextPosition { line: self.line, column: 0, length: 0 };
        resolved.map_err(|error| self.refuse(place, error.into(), b""))?;
        let convention = match options.wait {
            WaitConvention::Detect => self.directives.wait.unwrap_or_default(),
            said => said,
        };
        let resolved = waits::resolve(&mut self.builder, &self.noted.conditions, convention);
        let (waits, origins) = resolved.map_err(|DeepMonitor { wait, depth }| {
            let place = TextPosition { line: self.lines.line(wait), column: 0, length: 0 };
            self.refuse(place, Problem::DeepMonitor { depth }, b"")
        })?;
        let lines = self.lines;
        let line = |event: EventId| match &origins {
            Some(origins) => lines.line(EventId(origins[event.index()])),
            None => lines.line(event),
        };
        if !options.lenient {
            let trace = self.builder.finish().map_err(|malformed| in_lines(malformed, line))?;
            return Ok(ReadTrace { trace, waits, dropped: Vec::new() });
        }
        let (trace, dropped) =
            self.builder.finish_lenient().map_err(|malformed| in_lines(malformed, line))?;
        let explain = |fault: &ImpossibleEvent| {
            (line(fault.event), fault.explain(|event| format!("line {}", line(event))))
        };
        Ok(ReadTrace { trace, waits, dropped: dropped.iter().map(explain).collect() })
    }

    #[cold]
    fn line_too_long(&self, line: &[u8]) -> ReadError {
        let place = TextPosition { line: self.line + 1, column: 0, length: 0 };
        self.refuse(place, Problem::LineTooLong, line)
    }

    #[cold]
    fn refuse(&self, place: TextPosition, problem: Problem, line: &[u8]) -> ReadError {
        const MOST_KEPT: usize = 4 << 10;
        let kept = line.strip_suffix(b"\r").unwrap_or(line);
        let kept = String::from_utf8_lossy(&kept[..kept.len().min(MOST_KEPT)]).into_owned();
        ReadError::Line { place, problem, line: kept }
    }
}

/// The fault of a run, with lines in the place of events.
#[cold]
fn in_lines(malformed: ImpossibleEvent, line: impl Fn(EventId) -> u64) -> ReadError {
    let place = TextPosition { line: line(malformed.event), column: 0, length: 0 };
    let explanation = malformed.explain(|event| format!("line {}", line(event)));
    ReadError::Malformed { place, malformed: Box::new(malformed), explanation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_events_than_ids_are_refused() {
        let mut tell = |_| ();
        let mut parser = Parser::new(&mut tell);
        parser.most_events = 2;
        let refused = parser.complete_lines(b"T|r(x)|1\n\nT|r(x)|1\nT|r(x)|1\n").unwrap_err();
        assert_eq!(refused.to_string(), "line 4: more events than a trace can hold; expected at most 2");
    }
}
