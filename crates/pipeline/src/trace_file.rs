//! Loading a trace from a file or standard input, whatever form and compression it is in: the
//! content decides, never the name.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use report::counted;
use trace::native::{self, Completeness, Untranslated};
use trace::open::{Decompressor, FileContent, SNIFF_LENGTH, decode, sniff};
use trace::stream::{Batch, Take};
use trace::text::{ReadOptions, ReadTrace};
use trace::{Trace, text};

use crate::budget::{Bounds, in_words};
use crate::error::{Error, ErrorKind, Excerpt, SourcePosition};
use crate::files;
use crate::observer::{Observer, Progress, Stage};
use crate::predict::MemoryOrders;
use crate::recording;

/// A trace and what is known of where it came from.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// The trace.
    pub trace: Trace,
    /// The file as the user named it.
    pub name: String,
    /// The size of the file, unless it came through a pipe.
    pub bytes: Option<u64>,
    path: Option<String>,
    /// The form of the trace, without any compression around it: native or text.
    form: FileContent,
    /// What was around it: gzip or zstd.
    compression: Option<FileContent>,
    completeness: Completeness,
}

/// The recording of a replay that took a path of its own.
#[derive(Debug)]
pub struct ExploredTrace {
    /// What findings call it: its file in their directory.
    pub name: String,
    /// What is in it.
    pub file: TraceFile,
}

/// Passes on the events of the trace an argument names as they are read, without keeping them (but for native traces
/// within a compression, whose bytes are kept), up to where the bounds are reached. Warns about a trace that ends early.
pub fn stream(
    argument: &OsStr,
    bounds: Bounds,
    observer: &mut dyn Observer,
    take: &mut Take<'_>,
) -> Result<(), Error> {
    let source = Source::named(argument);
    let (input, bytes) = source.input()?;
    observer.begin(&Stage::Reading { bytes });
    let streamed = {
        let shared: Shared<'_> = RefCell::new(&mut *observer);
        let input = source.decoded(Box::new(Bounded { inner: input, bounds }), bytes, &shared);
        let mut take = |batch: &Batch<'_>| match bounds.are_reached() {
            true => ControlFlow::Break(()),
            false => take(batch),
        };
        input.and_then(|input| source.stream_decoded(input, bounds, &shared, &mut take))
    };
    observer.end(None);
    // What was read by then counts, whatever the reader makes of the end.
    if bounds.are_reached() {
        return Ok(());
    }
    if let Completeness::Truncated { offset, what } = streamed? {
        let warning = Error::from(ErrorKind::TruncatedTrace).in_file(source.name());
        observer.warning(warning.note(format!("at byte {offset}: {what}")));
    }
    Ok(())
}

impl TraceFile {
    /// Loads the trace an argument names; `-` is standard input. Warns about a trace that is empty or ends early.
    pub fn open(argument: &OsStr, observer: &mut dyn Observer) -> Result<TraceFile, Error> {
        TraceFile::open_within(argument, Bounds::NONE, observer)
    }

    /// Opens a trace, unless it takes more time or memory than there is.
    pub fn open_within(
        argument: &OsStr,
        bounds: Bounds,
        observer: &mut dyn Observer,
    ) -> Result<TraceFile, Error> {
        TraceFile::open_as(argument, ReadOptions::default(), bounds, observer)
    }

    /// The same for text that is to be read in a certain way.
    pub fn open_as(
        argument: &OsStr,
        options: ReadOptions,
        bounds: Bounds,
        observer: &mut dyn Observer,
    ) -> Result<TraceFile, Error> {
        let opened = Source::named(argument).load(options, bounds, observer);
        if let Some(bound) = bounds.reached() {
            return Err(Error::from(ErrorKind::OutOfBounds(in_words(bounds, bound)))
                .in_file(argument.to_string_lossy())
                .note("the trace was not read to its end"));
        }
        let opened = opened?;
        let name = opened.name.as_str();
        match opened.completeness {
            Completeness::Truncated { offset, what } => observer.warning(
                Error::from(ErrorKind::TruncatedTrace)
                    .in_file(name)
                    .note(format!("at byte {offset}: {what}"))
                    .note(format!("{} before it", counted(opened.trace.len() as u64, "event"))),
            ),
            Completeness::Complete if opened.trace.is_empty() => {
                observer.warning(Error::from(ErrorKind::EmptyTrace).in_file(name));
            }
            Completeness::Complete => {}
        }
        let incomplete = &opened.trace.metadata().incomplete;
        if !incomplete.is_empty() {
            let why = report::shown(incomplete);
            let help = why.contains("room").then_some(MAKE_ROOM);
            observer.warning(Error::from(ErrorKind::IncompleteTrace(why)).in_file(name).help_if(help));
        }
        Ok(opened)
    }

    /// The same with memory orders as asked for.
    pub fn with_memory_orders(self, orders: MemoryOrders) -> TraceFile {
        match orders {
            MemoryOrders::Recorded => self,
            MemoryOrders::Sequential => TraceFile { trace: self.trace.without_memory_orders(), ..self },
        }
    }

    /// The same with source files named as they are seen from the working directory. Programs of a suite run in directories of their own.
    pub fn seen_from_here(self) -> TraceFile {
        let here = std::env::current_dir().unwrap_or_default().display().to_string();
        TraceFile { trace: self.trace.seen_from(&here), ..self }
    }

    /// A trace that is in memory only, under a name for messages.
    pub fn in_memory(trace: Trace, name: &str) -> TraceFile {
        TraceFile {
            trace,
            name: name.to_owned(),
            bytes: None,
            path: None,
            form: FileContent::Native,
            compression: None,
            completeness: Completeness::Complete,
        }
    }

    /// One without events, for reports that are about none.
    pub(crate) fn empty() -> Result<TraceFile, Error> {
        let trace = trace::TraceBuilder::new().finish();
        let trace = trace
            .map_err(|error| Error::io("make", "an empty trace", io::Error::other(error.to_string())))?;
        Ok(TraceFile::in_memory(trace, "nothing"))
    }

    /// Where the trace can be found again; `None`: it came through a pipe.
    pub fn path(&self) -> Option<String> {
        self.path.clone()
    }

    /// `text`, `text in gzip`, `native`.
    pub fn form_in_words(&self) -> String {
        match self.compression_name() {
            Some(compression) => format!("{} in {compression}", self.form_name()),
            None => self.form_name().to_owned(),
        }
    }

    /// `text` or `native`.
    pub fn form_name(&self) -> &'static str {
        if self.form == FileContent::Native { "native" } else { "text" }
    }

    /// `gzip` or `zstd`, where there is one around it.
    pub fn compression_name(&self) -> Option<&'static str> {
        match self.compression? {
            FileContent::Gzip => Some("gzip"),
            FileContent::Zstd => Some("zstd"),
            FileContent::Native | FileContent::Text => None,
        }
    }

    /// Whether it is all that its writer meant to write, where the form can tell.
    pub fn completeness_in_words(&self) -> Option<String> {
        match self.completeness {
            Completeness::Complete if self.form == FileContent::Native => Some("yes".to_owned()),
            Completeness::Complete => None,
            truncated => Some(format!("no, {truncated}")),
        }
    }

    /// Whether the file ends where its writer meant it to. Text cannot tell, so it counts as whole.
    pub fn is_complete(&self) -> bool {
        self.completeness == Completeness::Complete
    }
}

/// What to do about a log that found no room.
pub(crate) const MAKE_ROOM: &str = "set TMPDIR to a directory with more room, and record again";

/// What standard input is called.
const STDIN: &str = "<stdin>";

/// Where a trace is read from.
enum Source {
    Stdin,
    File(PathBuf),
}

/// An input whose progress is passed on.
type Input<'o, 'm> = Decompressor<Watched<'o, 'm>>;

/// The observer of a reader, shared with the code that made the reader.
type Shared<'m> = RefCell<&'m mut dyn Observer>;

/// A reader that ends when there is no time or memory left.
struct Bounded {
    inner: Box<dyn Read>,
    bounds: Bounds,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bounds.are_reached() {
            true => Err(io::Error::other("there is no time or memory left")),
            false => self.inner.read(buffer),
        }
    }
}

/// A reader that says how much of it was read.
struct Watched<'o, 'm> {
    inner: Box<dyn Read>,
    observer: &'o Shared<'m>,
    done: u64,
    total: Option<u64>,
}

impl Read for Watched<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        self.observer.borrow_mut().advance(Progress::Counted { done: self.done, total: self.total });
        Ok(count)
    }
}

impl Source {
    fn named(argument: &OsStr) -> Source {
        if argument == "-" { Source::Stdin } else { Source::File(argument.into()) }
    }

    fn name(&self) -> String {
        match self {
            Source::Stdin => STDIN.to_owned(),
            Source::File(path) => path.display().to_string(),
        }
    }

    fn load(
        &self,
        options: ReadOptions,
        bounds: Bounds,
        observer: &mut dyn Observer,
    ) -> Result<TraceFile, Error> {
        let (input, bytes) = self.input()?;
        observer.begin(&Stage::Reading { bytes });
        let input = Box::new(Bounded { inner: input, bounds });
        let opened = self.load_decoded(input, bytes, (options, bounds), &RefCell::new(&mut *observer));
        observer.end(None);
        let (opened, remarks) = opened?;
        remarks.into_iter().for_each(|remark| observer.warning(remark.in_file(self.name())));
        Ok(opened)
    }

    fn decoded<'o, 'm>(
        &self,
        inner: Box<dyn Read>,
        total: Option<u64>,
        observer: &'o Shared<'m>,
    ) -> Result<Input<'o, 'm>, Error> {
        decode(Watched { inner, observer, done: 0, total }).map_err(|error| self.unreadable(error))
    }

    fn stream_decoded(
        &self,
        mut input: Input<'_, '_>,
        bounds: Bounds,
        observer: &Shared<'_>,
        take: &mut Take<'_>,
    ) -> Result<Completeness, Error> {
        let native = |bytes: &[u8], take: &mut Take<'_>| {
            // A command that reads events one by one warns only of a trace that ends early.
            let (bytes, _) = self.translated(bytes, bounds, observer)?;
            native::stream(&bytes, take).map_err(|error| self.refused_native(&error))
        };
        let text = |error| self.refused_text(error);
        match (input.form(), self) {
            (FileContent::Native, Source::File(path)) if is_regular(path) => {
                let mapped = run::mapping::map_file(path).map_err(|error| self.unreadable(error))?;
                native(&mapped, take)
            }
            (FileContent::Text, _) => {
                text::stream(input, take).map(|()| Completeness::Complete).map_err(text)
            }
            _ => {
                let mut start = Vec::with_capacity(SNIFF_LENGTH);
                let sniffed = input.by_ref().take(SNIFF_LENGTH as u64).read_to_end(&mut start);
                sniffed.map_err(|error| self.unreadable(error))?;
                if sniff(&start) == FileContent::Native {
                    input.read_to_end(&mut start).map_err(|error| self.unreadable(error))?;
                    return native(&start, take);
                }
                let whole = Cursor::new(start).chain(input);
                text::stream(whole, take).map(|()| Completeness::Complete).map_err(text)
            }
        }
    }

    /// The bytes of the source, and how many there are if that is known.
    fn input(&self) -> Result<(Box<dyn Read>, Option<u64>), Error> {
        let path = match self {
            Source::Stdin => return Ok((Box::new(io::stdin()), None)),
            Source::File(path) => path,
        };
        let file = File::open(path).map_err(|error| self.unreadable(error))?;
        let metadata = file.metadata().map_err(|error| self.unreadable(error))?;
        if metadata.is_dir() {
            let error = Error::from(ErrorKind::IsDirectory(path.clone()));
            return Err(error.help("name a trace file in it"));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok((Box::new(file), bytes))
    }

    fn load_decoded(
        &self,
        input: Box<dyn Read>,
        bytes: Option<u64>,
        (options, bounds): (ReadOptions, Bounds),
        observer: &Shared<'_>,
    ) -> Result<(TraceFile, Vec<Error>), Error> {
        let mut remarks = Vec::new();
        let text = |input: &mut dyn Read, options: ReadOptions, remarks: &mut Vec<Error>| {
            let read = text::read_as(input, options).map_err(|error| self.refused_text(error))?;
            remarks.extend(remarks_on(&read));
            Ok::<Trace, Error>(read.trace)
        };
        let mut input = self.decoded(input, bytes, observer)?;
        let outer = input.form();
        let compression = matches!(outer, FileContent::Gzip | FileContent::Zstd).then_some(outer);
        let (trace, form, completeness) = match (outer, self, bytes) {
            (FileContent::Native, Source::File(path), Some(_)) => {
                drop(input);
                let mapped = run::mapping::map_file(path).map_err(|error| self.unreadable(error))?;
                let (trace, completeness) = self.native(&mapped, bounds, observer, &mut remarks)?;
                (trace, FileContent::Native, completeness)
            }
            (FileContent::Text, ..) => {
                let options = ReadOptions { length: bytes, ..options };
                (text(&mut input, options, &mut remarks)?, FileContent::Text, Completeness::Complete)
            }
            _ => {
                let mut start = Vec::with_capacity(SNIFF_LENGTH);
                let sniffed = input.by_ref().take(SNIFF_LENGTH as u64).read_to_end(&mut start);
                sniffed.map_err(|error| self.unreadable(error))?;
                let form = sniff(&start);
                if form == FileContent::Native {
                    input.read_to_end(&mut start).map_err(|error| self.unreadable(error))?;
                    let (trace, completeness) = self.native(&start, bounds, observer, &mut remarks)?;
                    (trace, form, completeness)
                } else {
                    let mut whole = Cursor::new(start).chain(input);
                    (text(&mut whole, options, &mut remarks)?, FileContent::Text, Completeness::Complete)
                }
            }
        };
        let path = matches!(self, Source::File(_)).then(|| self.name());
        // A recording that was translated is another file now.
        let length = path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map(|facts| facts.len());
        let bytes = bytes.and(length);
        Ok((TraceFile { trace, name: self.name(), bytes, path, form, compression, completeness }, remarks))
    }

    /// A native trace. A recording that is not translated yet becomes one, and takes its own place if it may.
    fn translated<'b>(
        &self,
        bytes: &'b [u8],
        bounds: Bounds,
        observer: &Shared<'_>,
    ) -> Result<(Cow<'b, [u8]>, Vec<Error>), Error> {
        let kept = Untranslated::read(bytes).map_err(|error| self.refused_native(&error))?;
        let Some(kept) = kept else { return Ok((Cow::Borrowed(bytes), Vec::new())) };
        observer.borrow_mut().begin(&Stage::Translating);
        let translated = recording::translate(&kept, bounds);
        observer.borrow_mut().end(None);
        let (trace, remarks) = translated.map_err(|error| self.unreadable(error))?;
        if let Source::File(path) = self
            && regular(path).is_some_and(is_native)
        {
            // Who may not write there translates it again next time.
            let _ = files::write(path, files::Form::Native, |out| out.write_all(&trace));
        }
        Ok((Cow::Owned(trace), remarks))
    }

    fn native(
        &self,
        bytes: &[u8],
        bounds: Bounds,
        observer: &Shared<'_>,
        remarks: &mut Vec<Error>,
    ) -> Result<(Trace, Completeness), Error> {
        let (bytes, more) = self.translated(bytes, bounds, observer)?;
        remarks.extend(more);
        let total = Some(bytes.len() as u64);
        native::read_with(&bytes, |position| {
            observer.borrow_mut().advance(Progress::Counted { done: position as u64, total });
            if bounds.are_reached() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(|error| self.refused_native(&error))
    }

    fn refused_native(&self, error: &native::ReadError) -> Error {
        let (title, advice) = title_and_advice(&error.problem.to_string());
        let refused = Error::from(ErrorKind::MalformedTrace(title)).in_file(self.name());
        refused.note(format!("at byte {}", error.offset)).help_if(advice)
    }

    fn unreadable(&self, error: io::Error) -> Error {
        Error::io("read", format!("`{}`", self.name()), error)
    }

    /// A text that is not a trace, with the line at fault.
    fn refused_text(&self, error: text::ReadError) -> Error {
        let can_be_left_out = matches!(error, text::ReadError::Malformed { .. });
        let (place, message, line) = match error {
            text::ReadError::Io(error) => return self.unreadable(error),
            text::ReadError::Line { place, problem, line } => (place, problem.to_string(), Some(line)),
            text::ReadError::Malformed { place, explanation, .. } => {
                (place, explanation, self.line(place.line))
            }
        };
        let (title, advice) = title_and_advice(&message);
        let excerpt = line.map(|text| Excerpt { span: span(place, &text), text, label: String::new() });
        let line = usize::try_from(place.line).ok();
        let refused = Error::from(ErrorKind::MalformedTrace(title));
        let refused = refused.at(SourcePosition { file: self.name(), line, excerpt }).help_if(advice);
        let refused = refused.help_if(can_be_left_out.then_some(LENIENT));
        if place.line > 1 {
            return refused;
        }
        refused.note(
            "a trace is STD text (`thread|op(object)|location`), plain or compressed with gzip or zstd, or in the native format",
        )
    }

    /// A line of the file, read again for the sake of the message.
    fn line(&self, number: u64) -> Option<String> {
        let Source::File(path) = self else { return None };
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let lines = BufReader::new(decode(regular(path)?).ok()?).lines();
        lines.map_while(Result::ok).nth(index)
    }
}

const LENIENT: &str = "`--lenient` leaves out what cannot have happened; what is found then is only possible";

/// What to say of how a text was read.
fn remarks_on(read: &ReadTrace) -> Vec<Error> {
    let mut remarks = Vec::new();
    let waits = &read.waits;
    if waits.contradict_each_other() {
        let error = ErrorKind::AmbiguousWaits { woken: waits.woken, begun: waits.begun };
        remarks.push(Error::from(error).help("say what `wait` means: `--wait begins` or `--wait woken`"));
    } else if waits.read_as_begun {
        let all = waits.begun + waits.unsignalled + waits.woken;
        let note = "`--wait woken` reads them as woken";
        remarks.push(Error::from(ErrorKind::WaitsBegin(all)).note(note));
    }
    if waits.unsignalled > 0 {
        let note = "such a wait is ordered after nothing, which allows schedules that cannot happen";
        let error = Error::from(ErrorKind::UnsignalledWaits(waits.unsignalled)).note(note);
        remarks.push(error.help_if(
            (!waits.read_as_begun).then_some("if `wait` is logged where waiting begins, use `--wait begins`"),
        ));
    }
    if let Some((line, first)) = read.dropped.first() {
        let error = Error::from(ErrorKind::DroppedEvents(read.dropped.len() as u64));
        remarks.push(error.note(format!("the first is in line {line}: {first}")));
    }
    remarks
}

/// The file, if it can be read a second time.
fn regular(path: &Path) -> Option<File> {
    is_regular(path).then(|| File::open(path).ok()).flatten()
}

/// Whether a file is a native trace as it is, not within a compression.
fn is_native(file: File) -> bool {
    let mut start = Vec::with_capacity(SNIFF_LENGTH);
    file.take(SNIFF_LENGTH as u64).read_to_end(&mut start).is_ok() && sniff(&start) == FileContent::Native
}

fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// What the readers say is 'what is wrong; what was expected': the first is the title, the second
/// the help below the excerpt.
fn title_and_advice(message: &str) -> (String, Option<String>) {
    match message.rsplit_once("; ") {
        Some((title, advice)) => (title.to_owned(), Some(advice.to_owned())),
        None => (message.to_owned(), None),
    }
}

fn span(place: text::TextPosition, line: &str) -> std::ops::Range<usize> {
    match place.column {
        0 => 0..line.len(),
        column => column - 1..column - 1 + place.length,
    }
}
