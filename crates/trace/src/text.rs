//! The STD text form: `thread|op(object)|location`, one event a line.
//!
//! The grammar is RAPID's, with one spelling for every kind of event; docs/trace-format.md is its
//! full description. A line that does not fit it is refused with its number and the reason, never
//! skipped or guessed at, and what [`write()`] writes, [`read()`] reads back as the same events.
//!
//! Reading is linear in the length of the text. It works on blocks of complete lines: a block is
//! checked to be UTF-8 once, cut at its delimiters, and its names are interned from where they stand.

mod cut;
mod directive;
mod error;
mod escape;
mod line_map;
mod naming;
mod numerals;
mod rapid;
mod read;
mod recent;
mod spelling;
mod transactions;
mod waits;
mod write;

pub use error::{Problem, ReadError, TextPosition};
pub use rapid::{DropCounts, write_rapid};
pub use read::{ReadOptions, ReadProgress, ReadTrace, read, read_as, read_bytes, read_with, stream};
pub use spelling::op_name;
pub use waits::{WaitConvention, WaitCounts};
pub use write::{object_name, write};

/// The longest line that is read, in bytes without its line end.
pub const MAX_LINE: usize = 1 << 20;

/// The most events a trace can have: ids have 32 bits and one of them means 'none'.
pub const MAX_EVENTS: usize = u32::MAX as usize - 1;

/// The region that RAPID's transactions are read as.
const TRANSACTION: &str = "transaction";

/// Whether a name is a number, as thread names are in some dialects.
fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}
