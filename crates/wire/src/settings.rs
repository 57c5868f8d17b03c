//! How a program is run: the file [`SETTINGS_FILE`](crate::SETTINGS_FILE).
//!
//! Text, `key=value` a line, so that a person can read what was asked for. The launcher writes it with `Display`, and the
//! runtime reads it with [`RuntimeSettings::parse`], which allocates nothing. Unknown keys, and values that make no sense, leave the default.

use core::fmt;
use core::num::NonZeroU64;

use crate::clock::Clock;
use crate::decimal::parse_decimal;

/// How the next thread is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// At random, after a random number of events.
    #[default]
    Random,
    /// By priorities that change now and then (PCT).
    Pct,
    /// In turn.
    RoundRobin,
    /// As the operating system would.
    Os,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Policy; 4] = [Policy::Random, Policy::Pct, Policy::RoundRobin, Policy::Os];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Random => "random",
            Policy::Pct => "pct",
            Policy::RoundRobin => "round-robin",
            Policy::Os => "os",
        }
    }

    fn named(name: &[u8]) -> Option<Policy> {
        Policy::ALL.into_iter().find(|policy| policy.name().as_bytes() == name)
    }
}

/// What the run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A recording: the policy chooses.
    #[default]
    Record,
    /// A replay: the control file chooses.
    Replay,
    /// A survey: nothing is recorded, and each process says how it can be started again ([`ProcessRecord`](crate::ProcessRecord)).
    Survey,
}

/// What happens in a program in which no thread can go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtDeadlock {
    /// It is ended.
    #[default]
    Stop,
    /// It hangs, as it would by itself.
    Hang,
}

/// Which processes are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Children {
    /// The first only.
    #[default]
    Ignore,
    /// The first, and those that it starts.
    Follow,
}

impl Children {
    /// Both.
    pub const ALL: [Children; 2] = [Children::Follow, Children::Ignore];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Children::Follow => "follow",
            Children::Ignore => "ignore",
        }
    }
}

/// Who goes on when a thread has created another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewThreads {
    /// Either, as the policy chooses.
    #[default]
    Either,
    /// The new thread.
    First,
    /// Its creator.
    Last,
}

/// What the barrier does that libtsan's own tests arrange their runs with. It is in no trace, since it must not order threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestBarriers {
    /// Threads wait at it, as in a run without us.
    #[default]
    Wait,
    /// It holds back nobody, so that a schedule can be followed in which it would. After the schedule the program ends where it would wait.
    Pass,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// What the run is for.
    pub mode: Mode,
    /// The seed of all random choices.
    pub seed: u64,
    /// How the next thread is chosen.
    pub policy: Policy,
    /// The mean number of events between switches; none: the runtime's own choice.
    pub quantum: Option<NonZeroU64>,
    /// Recording stops after this many schedulable events; none: never.
    pub max_events: Option<NonZeroU64>,
    /// Which processes are recorded.
    pub children: Children,
    /// What happens in a program in which no thread can go on.
    pub at_deadlock: AtDeadlock,
    /// Who goes on when a thread has created another.
    pub new_threads: NewThreads,
    /// What the program's clocks show.
    pub clock: Clock,
    /// What the barrier of libtsan's own tests does.
    pub test_barriers: TestBarriers,
}

mod key {
    pub(super) const MODE: &str = "mode";
    pub(super) const SEED: &str = "seed";
    pub(super) const POLICY: &str = "policy";
    pub(super) const QUANTUM: &str = "quantum";
    pub(super) const MAX_EVENTS: &str = "max-events";
    pub(super) const CHILDREN: &str = "children";
    pub(super) const DEADLOCK: &str = "deadlock";
    pub(super) const NEW_THREADS: &str = "new-threads";
    pub(super) const CLOCK: &str = "clock";
    pub(super) const TEST_BARRIERS: &str = "test-barriers";
}

const REPLAY: &str = "replay";
const SURVEY: &str = "survey";
const FOLLOW: &str = "follow";
const HANG: &str = "hang";
const FIRST: &str = "first";
const LAST: &str = "last";
const PASS: &str = "pass";

impl RuntimeSettings {
    /// What a recording is, unless something else is asked for.
    pub const DEFAULT: RuntimeSettings = RuntimeSettings {
        mode: Mode::Record,
        seed: 0,
        policy: Policy::Random,
        quantum: None,
        max_events: None,
        children: Children::Ignore,
        at_deadlock: AtDeadlock::Stop,
        new_threads: NewThreads::Either,
        clock: Clock::VIRTUAL,
        test_barriers: TestBarriers::Wait,
    };

    /// The settings that this text describes.
    pub fn parse(text: &[u8]) -> RuntimeSettings {
        let mut settings = RuntimeSettings::DEFAULT;
        for line in text.split(|&byte| byte == b'\n') {
            if let Some(equals) = line.iter().position(|&byte| byte == b'=') {
                settings.set(line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
            }
        }
        settings
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        let number = || parse_decimal(value).unwrap_or(0);
        let is = |name: &str| key == name.as_bytes();
        let says = |word: &str| value == word.as_bytes();
        if is(key::SEED) {
            self.seed = number();
        } else if is(key::QUANTUM) {
            self.quantum = NonZeroU64::new(number());
        } else if is(key::MAX_EVENTS) {
            self.max_events = NonZeroU64::new(number());
        } else if is(key::POLICY) {
            self.policy = Policy::named(value).unwrap_or_default();
        } else if is(key::MODE) {
            self.mode = match () {
                () if says(REPLAY) => Mode::Replay,
                () if says(SURVEY) => Mode::Survey,
                () => Mode::Record,
            };
        } else if is(key::CHILDREN) {
            self.children = if says(FOLLOW) { Children::Follow } else { Children::Ignore };
        } else if is(key::DEADLOCK) {
            self.at_deadlock = if says(HANG) { AtDeadlock::Hang } else { AtDeadlock::Stop };
        } else if is(key::CLOCK) {
            self.clock = Clock::parse(value);
        } else if is(key::TEST_BARRIERS) {
            self.test_barriers = if says(PASS) { TestBarriers::Pass } else { TestBarriers::Wait };
        } else if is(key::NEW_THREADS) {
            self.new_threads = match () {
                () if says(FIRST) => NewThreads::First,
                () if says(LAST) => NewThreads::Last,
                () => NewThreads::Either,
            };
        }
    }
}

/// The settings as text. What is as it is by default is left out, but for the seed and the policy.
impl fmt::Display for RuntimeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}={}", key::SEED, self.seed)?;
        match self.mode {
            Mode::Record => {}
            Mode::Replay => writeln!(f, "{}={REPLAY}", key::MODE)?,
            Mode::Survey => writeln!(f, "{}={SURVEY}", key::MODE)?,
        }
        writeln!(f, "{}={}", key::POLICY, self.policy.name())?;
        if let Some(quantum) = self.quantum {
            writeln!(f, "{}={quantum}", key::QUANTUM)?;
        }
        if let Some(most) = self.max_events {
            writeln!(f, "{}={most}", key::MAX_EVENTS)?;
        }
        if self.children == Children::Follow {
            writeln!(f, "{}={FOLLOW}", key::CHILDREN)?;
        }
        if self.at_deadlock == AtDeadlock::Hang {
            writeln!(f, "{}={HANG}", key::DEADLOCK)?;
        }
        match self.new_threads {
            NewThreads::Either => {}
            NewThreads::First => writeln!(f, "{}={FIRST}", key::NEW_THREADS)?,
            NewThreads::Last => writeln!(f, "{}={LAST}", key::NEW_THREADS)?,
        }
        if self.clock != Clock::VIRTUAL {
            writeln!(f, "{}={}", key::CLOCK, self.clock)?;
        }
        if self.test_barriers == TestBarriers::Pass {
            writeln!(f, "{}={PASS}", key::TEST_BARRIERS)?;
        }
        Ok(())
    }
}
