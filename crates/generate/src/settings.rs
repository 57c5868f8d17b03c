//! The knobs.

use crate::rng::Rng;

/// What traces to generate. The same settings give the same trace, always.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSettings {
    /// Where the randomness starts.
    pub seed: u64,
    /// How many events to make. There are fewer if all threads have ended or are stuck before.
    pub events: u64,
    /// How many threads; the first is there from the start.
    pub threads: u32,
    /// How many locks.
    pub locks: u32,
    /// How many variables.
    pub variables: u32,
    /// How many condition variables.
    pub conditions: u32,
    /// How many barriers.
    pub barriers: u32,
    /// How many semaphores.
    pub semaphores: u32,
    /// How many blocks of memory to allocate and free.
    pub blocks: u32,
    /// How many atomic regions.
    pub regions: u32,
    /// How many different marks.
    pub marks: u32,
    /// How many source locations.
    pub locations: u32,
    /// How many sections a thread may have open at once.
    pub nesting: u32,
    /// How often a thread does what.
    pub weights: Weights,
    /// The share of threads that are forked by another; the others are just there.
    pub forked: f64,
    /// How likely a thread forks one of the threads that remain to be forked as its next event.
    pub fork: f64,
    /// The share of forked threads that do nothing at all.
    pub idle: f64,
    /// The share of threads that begin with a begin and end with an end.
    pub begun: f64,
    /// The share of acquires that a request comes before.
    pub requests: f64,
    /// The share of nested acquires that do not follow the order of the locks.
    pub inversions: f64,
    /// The share of waits that nobody needs to wake.
    pub spurious: f64,
    /// The share of semaphores whose permits are declared.
    pub declared: f64,
    /// The share of threads that end without closing their sections.
    pub abandoned: f64,
    /// The share of accesses that keep to the discipline: of the lock held last, or of the thread's
    /// own variables when it holds none.
    pub disciplined: f64,
    /// How likely an access goes to the hottest eighth of the variables, to the hottest eighth of
    /// that, and so on; the same holds for an acquire.
    pub skew: f64,
    /// How likely another thread goes on after an event.
    pub switch: f64,
    /// The share of such switches that do not happen if the thread holds a lock.
    pub uninterrupted: f64,
    /// What happens when nobody can go on.
    pub stuck: AtStandstill,
    /// How the trace ends.
    pub ending: Ending,
}

/// What happens when no thread can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStandstill {
    /// The trace ends there: a deadlock.
    Stop,
    /// Somebody does something else instead. Threads also refrain from what could block them for
    /// good, so that all of them last.
    GiveUp,
}

/// How a trace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In the middle of everything.
    Cut,
    /// Sections are closed, threads end and are joined by those that forked them.
    WindDown,
}

macro_rules! weights {
    ($($(#[$doc:meta])* $field:ident => $choice:ident,)*) => {
        /// How often a thread does what, relative to each other. What makes no sense where it is
        /// drawn (a release without a section) is drawn again, and in the end becomes an access.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Weights {
            $($(#[$doc])* pub $field: u32,)*
        }

        /// What a thread may set out to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Choice {
            $($choice,)*
        }

        impl Choice {
            pub(crate) const ALL: &[Choice] = &[$(Choice::$choice,)*];
        }

        impl Weights {
            /// In the order of [`Choice::ALL`].
            pub(crate) fn in_order(&self) -> Vec<u32> {
                vec![$(self.$field,)*]
            }
        }
    };
}

weights! {
    /// Reads.
    read => Read,
    /// Writes.
    write => Write,
    /// Atomic reads.
    atomic_read => AtomicRead,
    /// Atomic writes.
    atomic_write => AtomicWrite,
    /// Atomic read-modify-writes.
    atomic_update => AtomicUpdate,
    /// Acquires of a lock that is not held by the thread.
    acquire => Acquire,
    /// Shared ones.
    acquire_shared => AcquireShared,
    /// Acquires, in any form, of a lock the thread already holds.
    reacquire => Reacquire,
    /// Releases, of any form.
    release => Release,
    /// Waits for a condition: release, wait, acquire if a lock is held.
    wait => Wait,
    /// Signals.
    signal => Signal,
    /// Broadcasts.
    broadcast => Broadcast,
    /// Enters of a barrier; exits follow.
    barrier => Barrier,
    /// Posts of a semaphore.
    post => Post,
    /// Takes of a semaphore.
    take => Take,
    /// Allocations.
    allocate => Allocate,
    /// Frees.
    free => Free,
    /// Counts of branches.
    branch => Branch,
    /// Marks.
    mark => Mark,
    /// Begins of atomic regions.
    region_begin => RegionBegin,
    /// Ends of atomic regions.
    region_end => RegionEnd,
    /// Fences.
    fence => Fence,
    /// Joins of any other thread.
    join => Join,
    /// Ends of the thread.
    end => End,
}

/// Settings that nothing can be generated with.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// Nobody to act.
    #[error("a trace needs at least one thread")]
    NoThreads,
    /// Event ids are 32-bit numbers.
    #[error("{0} events are more than a trace can hold ({max})", max = MOST_EVENTS)]
    TooManyEvents(u64),
    /// Ids of objects are 27-bit numbers.
    #[error("{count} {what} are more than a trace can hold ({max})", max = MOST_OBJECTS)]
    TooManyObjects {
        /// The kind of object.
        what: &'static str,
        /// How many were asked for.
        count: u32,
    },
    /// A probability outside 0 to 1.
    #[error("{what} must be between 0 and 1, not {value}")]
    NotAShare {
        /// The setting's name.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

const MOST_EVENTS: u64 = u32::MAX as u64 - 1;
const MOST_OBJECTS: u32 = (1 << 27) - 2;

impl TraceSettings {
    /// Whether a trace can be generated with these settings.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if self.threads == 0 {
            return Err(SettingsError::NoThreads);
        }
        if self.events > MOST_EVENTS {
            return Err(SettingsError::TooManyEvents(self.events));
        }
        let objects = [
            ("threads", self.threads),
            ("locks", self.locks),
            ("variables", self.variables),
            ("conditions", self.conditions),
            ("barriers", self.barriers),
            ("semaphores", self.semaphores),
            ("blocks", self.blocks),
            ("regions", self.regions),
            ("marks", self.marks),
            ("locations", self.locations),
        ];
        if let Some(&(what, count)) = objects.iter().find(|&&(_, count)| count > MOST_OBJECTS) {
            return Err(SettingsError::TooManyObjects { what, count });
        }
        let shares = [
            ("forked", self.forked),
            ("fork", self.fork),
            ("idle", self.idle),
            ("begun", self.begun),
            ("requests", self.requests),
            ("inversions", self.inversions),
            ("spurious", self.spurious),
            ("declared", self.declared),
            ("abandoned", self.abandoned),
            ("disciplined", self.disciplined),
            ("skew", self.skew),
            ("switch", self.switch),
            ("uninterrupted", self.uninterrupted),
        ];
        match shares.iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some(&(what, value)) => Err(SettingsError::NotAShare { what, value }),
            None => Ok(()),
        }
    }

    /// A tiny trace for fuzzing: 2 to 5 threads, 4 to 18 events that conflict a lot. Each seed has
    /// its own mixture, so that some traces are about locks, some about reads, some about semaphores,
    /// and some nearly deadlock.
    pub fn tiny(seed: u64) -> TraceSettings {
        // Not the numbers the generator itself will draw from this seed.
        let mut rng = Rng::new(seed ^ 0x7469_6e79);
        let mixed = TraceSettings::tiny_mixture(seed, &mut rng);
        match rng.below(4) {
            0 => mixed.with_sections_in_sections(&mut rng),
            _ => mixed,
        }
    }

    fn tiny_mixture(seed: u64, rng: &mut Rng) -> TraceSettings {
        let share = |rng: &mut Rng| rng.pick(&[0.0, 0.0, 0.1, 0.3, 0.6, 1.0]);
        TraceSettings {
            seed,
            events: u64::from(rng.between(4, 18).max(rng.between(4, 18))),
            threads: rng.pick(&[2, 2, 3, 3, 3, 4, 4, 5]),
            locks: rng.between(1, 3),
            variables: rng.between(1, 3),
            conditions: rng.between(1, 2),
            barriers: 1,
            semaphores: rng.between(1, 2),
            blocks: 2,
            regions: 2,
            marks: 4,
            locations: rng.between(1, 30),
            nesting: rng.between(1, 3),
            weights: Weights::mixture(rng),
            forked: share(rng),
            fork: 0.3,
            idle: rng.pick(&[0.0, 0.0, 0.0, 0.1]),
            begun: rng.pick(&[0.0, 0.0, 0.0, 0.3]),
            requests: share(rng),
            inversions: 1.0,
            spurious: rng.pick(&[0.0, 0.1]),
            declared: share(rng),
            abandoned: rng.pick(&[0.0, 0.2]),
            disciplined: 0.0,
            skew: 0.2,
            switch: rng.pick(&[0.2, 0.4, 0.6, 0.9]),
            uninterrupted: rng.pick(&[0.0, 0.0, 0.7]),
            stuck: if rng.below(4) == 0 { AtStandstill::GiveUp } else { AtStandstill::Stop },
            ending: if rng.below(3) == 0 { Ending::WindDown } else { Ending::Cut },
        }
    }

    /// Few threads that take two or three locks at once, in any order.
    fn with_sections_in_sections(self, rng: &mut Rng) -> TraceSettings {
        let mut weights = Weights { read: 1, write: 2, acquire: 16, release: 12, ..Weights::default() };
        if rng.below(2) == 0 {
            let theme = rng.below(10);
            weights.add_theme(theme, rng);
        }
        TraceSettings {
            events: u64::from(rng.between(12, 18)),
            threads: rng.pick(&[2, 2, 3]),
            locks: rng.pick(&[2, 2, 3]),
            nesting: rng.between(2, 3),
            weights,
            skew: 0.0,
            switch: 0.5,
            uninterrupted: rng.pick(&[0.7, 0.9, 1.0]),
            forked: rng.pick(&[0.0, 0.0, 0.5]),
            stuck: if rng.below(3) == 0 { AtStandstill::Stop } else { AtStandstill::GiveUp },
            ending: Ending::Cut,
            ..self
        }
    }

    /// A trace as recorded from a long run: most accesses disciplined, 9 % of the events
    /// synchronisation, every thread forked by another and joined in the end.
    pub fn large(events: u64, threads: u32, locks: u32, variables: u32) -> TraceSettings {
        TraceSettings {
            seed: 0,
            events,
            threads,
            locks,
            variables,
            conditions: 4,
            barriers: 2,
            semaphores: 4,
            blocks: 1000,
            regions: 16,
            marks: 16,
            locations: 5000,
            nesting: 4,
            weights: Weights::large(90_000),
            forked: 1.0,
            fork: 1.0,
            idle: 0.0,
            begun: 1.0,
            requests: 0.0,
            inversions: 0.01,
            spurious: 0.01,
            declared: 0.5,
            abandoned: 0.0,
            disciplined: 0.999,
            skew: 0.3,
            switch: 0.02,
            uninterrupted: 0.0,
            stuck: AtStandstill::GiveUp,
            ending: Ending::WindDown,
        }
    }
}

impl Weights {
    /// For a long run in which `sync` of a million events are synchronisation.
    pub fn large(sync: u32) -> Weights {
        // Sections are closed three times as eagerly as opened: a third of them nest in another.
        let sync = sync.min(1_000_000);
        let percent = sync / 100;
        Weights {
            read: (1_000_000 - sync) / 100 * 68,
            write: (1_000_000 - sync) / 100 * 30,
            atomic_read: (1_000_000 - sync) / 100,
            atomic_update: (1_000_000 - sync) / 100,
            acquire: percent * 48,
            acquire_shared: percent * 5,
            reacquire: percent / 2,
            release: percent * 160,
            wait: percent / 10,
            signal: percent / 5,
            broadcast: percent / 50,
            barrier: percent / 10,
            post: percent,
            take: percent,
            ..Weights::default()
        }
    }

    /// Some accesses, and a few other things often.
    fn mixture(rng: &mut Rng) -> Weights {
        let mut weights =
            Weights { read: rng.between(2, 12), write: rng.between(2, 12), ..Weights::default() };
        for _ in 0..rng.between(1, 4) {
            weights.add_theme(rng.below(10), rng);
        }
        weights
    }

    fn add_theme(&mut self, theme: u32, rng: &mut Rng) {
        let often = rng.pick(&[2, 4, 8, 16]);
        match theme {
            0..=2 => {
                self.acquire += often;
                self.release += rng.pick(&[often / 2, often, often * 2]);
                self.reacquire += rng.pick(&[0, 1, often / 2]);
            }
            3 => {
                self.acquire_shared += often;
                self.acquire += rng.pick(&[0, often / 2]);
                self.release += often;
                self.reacquire += rng.pick(&[0, 1, often / 2]);
            }
            4 => {
                self.acquire += often / 2;
                self.release += often / 2;
                self.wait += often;
                self.signal += rng.pick(&[0, often]);
                self.broadcast += rng.pick(&[1, often / 2]);
            }
            5 => self.barrier += often,
            6 => {
                self.post += often;
                self.take += often;
            }
            7 => {
                self.atomic_read += often / 2;
                self.atomic_write += often / 4;
                self.atomic_update += often;
                self.fence += 1;
            }
            8 => {
                self.branch += often;
                self.read += often;
            }
            _ => {
                self.join += often / 2;
                self.end += 1;
                self.allocate += 1;
                self.free += 1;
                self.mark += 1;
                self.region_begin += 1;
                self.region_end += 1;
            }
        }
    }
}
