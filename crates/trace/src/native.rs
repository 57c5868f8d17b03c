//! The native form of a trace (`.ftr`): chunked, checksummed, compressed, and readable up to its last
//! whole chunk after a crash. docs/trace-format.md says what is where and why.
//!
//! The reader trusts nothing: no input makes it panic, hang, or take more memory than a fixed multiple
//! of the input's size.

mod content;
mod error;
pub mod layout;
mod notes;
mod pending;
mod read;
mod scrub;
mod unpack;
mod untranslated;
mod write;

pub use error::{Completeness, Cut, Problem, ReadError};
pub use layout::Table;
pub use notes::{Distance, FrameNumber, Note, Notes, StackId, ThreadOrigin};
pub use read::{metadata, read, read_with, stream};
pub use scrub::{ScrubError, scrub};
pub use untranslated::{Untranslated, is_untranslated};
pub use write::{Writer, write};
