//! What the clocks of a recorded program show.
//!
//! The text of a [`Clock`] is a value in the settings file and in the metadata of a trace.

use core::fmt;

use crate::decimal::parse_decimal;

/// What the program's clocks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The scheduler's own time. It passes with events, and at once when all threads wait for it. It starts here, or with the machine's if nothing
    /// is said.
    Virtual(Option<ClockStart>),
    /// The machine's time. Sleeps take as long as they say.
    Real,
}

/// What the program's clocks show when it starts, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStart {
    /// Since the epoch.
    pub realtime: u64,
    /// Of the monotonic clock.
    pub monotonic: u64,
}

const REAL: &str = "real";
const VIRTUAL: &str = "virtual";

impl Clock {
    /// Virtual, from now on.
    pub const VIRTUAL: Clock = Clock::Virtual(None);

    /// The clock that this text describes; virtual if it describes none.
    pub fn parse(text: &[u8]) -> Clock {
        let mut words = text.split(u8::is_ascii_whitespace);
        if words.next() == Some(REAL.as_bytes()) {
            return Clock::Real;
        }
        let mut number = || words.next().and_then(parse_decimal);
        match (number(), number()) {
            (Some(realtime), Some(monotonic)) => Clock::Virtual(Some(ClockStart { realtime, monotonic })),
            _ => Clock::VIRTUAL,
        }
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::VIRTUAL
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clock::Real => f.write_str(REAL),
            Clock::Virtual(None) => f.write_str(VIRTUAL),
            Clock::Virtual(Some(start)) => write!(f, "{VIRTUAL} {} {}", start.realtime, start.monotonic),
        }
    }
}
