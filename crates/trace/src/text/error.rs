//! Why a text is not a trace: each mistake with its place, what was found and what was expected.

use std::io;

use crate::fault::ImpossibleEvent;
use crate::names::TooManyNames;

/// Why a text could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input itself failed.
    #[error("cannot read the trace: {0}")]
    Io(#[from] io::Error),
    /// A line is not in the grammar.
    #[error("{place}: {problem}")]
    Line {
        /// Where.
        place: TextPosition,
        /// What is wrong there.
        problem: Problem,
        /// The line as it stands, cut after 4 KiB.
        line: String,
    },
    /// Every line is in the grammar, but together they are not a run that can have happened.
    #[error("{place}: {explanation}")]
    Malformed {
        /// The line of the event at fault.
        place: TextPosition,
        /// The fault in terms of events.
        malformed: Box<ImpossibleEvent>,
        /// The fault in terms of lines.
        explanation: String,
    },
}

impl ReadError {
    /// Where in the text the mistake is, unless the input itself failed.
    pub fn place(&self) -> Option<TextPosition> {
        match self {
            ReadError::Io(_) => None,
            ReadError::Line { place, .. } | ReadError::Malformed { place, .. } => Some(*place),
        }
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: u64,
    /// The byte in the line, from 1; 0 if the line as a whole is meant.
    pub column: usize,
    /// How many bytes from there on are meant; 0 if only the place is.
    pub length: usize,
}

impl std::fmt::Display for TextPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            0 => write!(f, "line {}", self.line),
            column => write!(f, "line {}, column {column}", self.line),
        }
    }
}

/// What is wrong with a line. What was found is quoted, shortened where it is long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each is its documentation")]
pub enum Problem {
    #[error("this line has {found} of the 3 fields of an event; expected `thread|op(object)|location`")]
    TooFewFields { found: usize },
    #[error(
        "this line has {found} fields, 3 are expected: `thread|op(object)|location`; a `|` in a name is written `%7C`"
    )]
    TooManyFields { found: usize },
    #[error("the thread is missing; expected a name before the first `|`")]
    NoThread,
    #[error("the location is missing; expected a name or number after the second `|`")]
    NoLocation,
    #[error("the operation is missing; expected `op(object)` between the two `|`")]
    NoOp,
    #[error("unknown operation `{found}`; {}", advice(*.nearest))]
    UnknownOp { found: String, nearest: Option<&'static str> },
    #[error("unknown memory order `{found}`; expected relaxed, acquire, release, acq_rel or seq_cst")]
    UnknownOrder { found: String },
    #[error("`{op}` has no memory order, but `{found}` is given; only ar, aw, rmw and fence have one")]
    UnwantedOrder { op: &'static str, found: String },
    #[error("`{op}` acts on something, but nothing is named; expected `{op}({object})`")]
    NoObject { op: &'static str, object: &'static str },
    #[error("`{op}` is written without parentheses; expected `{op}()`")]
    NoParentheses { op: &'static str },
    #[error("`{found}` is not closed; expected a `)` at the end of the operation")]
    NotClosed { found: String },
    #[error("`{op}` acts on nothing, but `{found}` is named; expected `{op}()`")]
    UnwantedObject { op: &'static str, found: String },
    #[error("`{found}` is not a count of branches; expected a whole number from 0 to 4294967295")]
    BadCount { found: String },
    #[error("`{found}` is not a mark; expected `mark(name,value)` with a value after the last comma")]
    BadMark { found: String },
    #[error(
        "`{found}` is not the value of a mark; expected a whole number from -9223372036854775808 to 9223372036854775807"
    )]
    BadMarkValue { found: String },
    #[error(
        "unknown directive `{found}`; expected `#! semaphore NAME COUNT`, `#! threads as-written` or `#! metadata {{..}}` (a comment starts with `#` alone)"
    )]
    UnknownDirective { found: String },
    #[error(
        "`{found}` does not declare a semaphore; expected `#! semaphore NAME COUNT` with single spaces and a count from 0 to 4294967295"
    )]
    BadSemaphore { found: String },
    #[error("semaphore `{name}` is declared a second time; expected one declaration")]
    SemaphoreDeclaredTwice { name: String },
    #[error("`{found}` is not a setting of threads; expected `#! threads as-written`")]
    BadThreads { found: String },
    #[error("`{found}` is not what a wait can mean; expected `#! wait woken` or `#! wait begins`")]
    BadWait { found: String },
    #[error("this is not metadata: {reason}; expected a JSON object as described in docs/trace-format.md")]
    BadMetadata { reason: String },
    #[error(
        "the thread holds the monitor {depth} times where it waits for it, as other waits do; expected no more releases and acquires to put in than a few for each event"
    )]
    DeepMonitor { depth: u32 },
    #[error("metadata is given twice; expected it once")]
    MetadataTwice,
    #[error("byte 0x{byte:02x} is not valid UTF-8; expected text in UTF-8")]
    InvalidUtf8 { byte: u8 },
    #[error("the text starts with a byte order mark; expected UTF-8 without one")]
    ByteOrderMark,
    #[error("this line is longer than 1 MiB; expected one event per line")]
    LineTooLong,
    #[error("more events than a trace can hold; expected at most {most}")]
    TooManyEvents { most: usize },
    #[error("{0}")]
    TooManyNames(#[from] TooManyNames),
}

fn advice(nearest: Option<&'static str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("expected one of {}", super::spelling::all_names()),
    }
}

/// The most characters of the input that a message repeats.
const MOST_QUOTED: usize = 60;

/// What was found, fit to stand in a message: on one line and not too long.
pub(super) fn quote(found: &str) -> String {
    let mut quoted: String =
        found.chars().take(MOST_QUOTED).flat_map(|c| printable(c).collect::<Vec<_>>()).collect();
    if found.chars().nth(MOST_QUOTED).is_some() {
        quoted.push_str("..");
    }
    quoted
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}
