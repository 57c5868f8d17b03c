//! Schedule files, read.

use check::{Question, Source, WrittenQuestion};
use trace::{Binary, EventId, ExpectedFailure};

use super::{BARE, Line, MAGIC, REPLAYABLE, ReplayPoint, ScheduleFile, ScheduleFileError, ScheduleProblem};
use crate::evidence::About;

impl ScheduleFile {
    /// Reads a file. An error names the first wrong line.
    pub fn parse(bytes: &[u8]) -> Result<ScheduleFile, ScheduleFileError> {
        ScheduleFile::parse_while(bytes, || true)
    }

    /// The same while this holds: a line takes more memory than it has bytes. After that, the line that was not read is wrong.
    pub fn parse_while(bytes: &[u8], go_on: impl Fn() -> bool) -> Result<ScheduleFile, ScheduleFileError> {
        let mut reader = Reader { lines: bytes.split(|&byte| byte == b'\n'), number: 0, go_on };
        let version = reader.version()?;
        let model = reader
            .field("model sync|rf|branch", "model ", |text| text.parse().map_err(ScheduleProblem::Model))?;
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
        let mut file = ScheduleFile {
            model,
            question,
            trace,
            guaranteed,
            command: Vec::new(),
            program: None,
            failure: None,
            lines: Vec::new(),
            next: Vec::new(),
            unordered: None,
        };
        while let Some(text) = reader.next()? {
            if version == BARE {
                let line = parse_event(text, reader.number);
                file.lines.push(line.ok_or(reader.wrong(ScheduleProblem::Event))?);
                continue;
            }
            let started = !file.lines.is_empty() || !file.next.is_empty();
            match text.split_once(' ') {
                Some(("command", words)) if !started => file.command = parse_command(words),
                Some(("program", program)) if !started => {
                    let program = parse_program(program);
                    file.program = Some(program.ok_or(reader.wrong(ScheduleProblem::Program))?);
                }
                Some(("failure", failure)) if !started => {
                    let failure = parse_failure(failure);
                    file.failure = Some(failure.ok_or(reader.wrong(ScheduleProblem::Failure))?);
                }
                None if text == "unordered" && !started => file.unordered = Some(Vec::new()),
                _ => {
                    let (next, then) = (text.strip_prefix("next "), text.strip_prefix("then "));
                    let (lines, text) = match (next, then, &mut file.unordered) {
                        (Some(text), ..) => (&mut file.next, text),
                        (None, Some(text), Some(rest)) => (rest, text),
                        _ => (&mut file.lines, text),
                    };
                    let line = parse_with_point(text, reader.number);
                    lines.push(line.ok_or(reader.wrong(ScheduleProblem::MetEvent))?);
                }
            }
        }
        Ok(file)
    }
}

struct Reader<I, G> {
    lines: I,
    go_on: G,
    /// Of the line read last, counted from 1.
    number: usize,
}

impl<'a, I: Iterator<Item = &'a [u8]>, G: Fn() -> bool> Reader<I, G> {
    fn wrong(&self, problem: ScheduleProblem) -> ScheduleFileError {
        ScheduleFileError { line: self.number.max(1), problem }
    }

    /// The next line that is neither empty nor a comment.
    fn next(&mut self) -> Result<Option<&'a str>, ScheduleFileError> {
        for line in self.lines.by_ref() {
            self.number += 1;
            if !(self.go_on)() {
                return Err(self.wrong(ScheduleProblem::NotRead));
            }
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

    fn version(&mut self) -> Result<u32, ScheduleFileError> {
        let first = self.next()?.and_then(|text| text.strip_prefix(MAGIC)).map(str::trim);
        let known = [BARE, REPLAYABLE];
        match first {
            Some(version) if !version.is_empty() => {
                let known = known.into_iter().find(|known| version == known.to_string());
                known.ok_or_else(|| self.wrong(ScheduleProblem::Version(version.to_owned())))
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

fn parse_question(text: &str) -> Option<WrittenQuestion> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    if kind == "cut" {
        return parse_cut(rest).map(Question::Cut);
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let ids = || words.iter().map(|word| event(word)).collect::<Option<Vec<EventId>>>();
    match (kind, &words[..]) {
        ("race", [a, b]) => Some(Question::Race(event(a)?, event(b)?)),
        ("deadlock", _) => ids().map(Question::Deadlock),
        ("order", _) => ids().map(Question::Order),
        ("reads", [read]) => Some(Question::Reads(event(read)?, None)),
        ("reads", [read, source]) => {
            let source = match *source {
                "initial" => Source::Initial,
                write => Source::Write(event(write)?),
            };
            Some(Question::Reads(event(read)?, Some(source)))
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
    Some(Line { event: event(id)?, rest: rest.to_owned(), replay_point: None, number })
}

fn parse_with_point(text: &str, number: usize) -> Option<Line> {
    let mut fields = text.rsplitn(3, '|');
    let (place, path) = (fields.next()?.trim_end(), fields.next()?);
    let line = parse_event(fields.next()?, number)?;
    let thread = path.parse().ok()?;
    let place = if place == "-" { None } else { Some(place.parse().ok()?) };
    Some(Line { replay_point: Some(ReplayPoint { thread, place }), ..line })
}

fn parse_program(text: &str) -> Option<Binary> {
    let mut words = text.splitn(3, ' ');
    let (checksum, build_id, path) = (words.next()?, words.next()?, words.next()?);
    let build_id = if build_id == "-" { "" } else { build_id };
    // A path may have spaces: where a word before it is missing, a part of it stands in that place.
    if checksum.is_empty() || !is_hexadecimal(checksum) || !is_hexadecimal(build_id) {
        return None;
    }
    let path = Some(decoded(path.trim_end())).filter(|path| !path.is_empty())?;
    Some(Binary { path, build_id: build_id.to_owned(), checksum: checksum.to_owned() })
}

/// Whether there are only hexadecimal digits, or nothing.
pub(super) fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn parse_failure(text: &str) -> Option<ExpectedFailure> {
    let (thread, identity) = text.split_once(' ')?;
    let thread = if thread == "-" { None } else { Some(thread.parse().ok()?) };
    Some(ExpectedFailure { identity: decoded(identity), thread })
}

fn parse_command(text: &str) -> Vec<String> {
    let words = text.split(' ').filter(|word| !word.is_empty());
    words.map(|word| decoded(&word.replace("%20", " ").replace("%09", "\t"))).collect()
}

/// What `push_name` spelled. The percent sign comes last, since what is left of it then starts no code.
pub(super) fn decoded(spelled: &str) -> String {
    // Nearly all names are spelled as they are.
    if !spelled.contains('%') {
        return spelled.to_owned();
    }
    spelled.replace("%7C", "|").replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
}
