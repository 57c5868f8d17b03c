//! Loads the raw log of a run as a trace.
//!
//! The trace goes into a [`Sink`]: a file, memory, or nowhere. [`inspect`] uses the same translation to find
//! single events of a log.
//!
//! There are two passes over the log, or three if the user chooses what to keep ([`chosen`]). The first
//! ([`sharing`]) finds the memory worth keeping, which several threads touched and at least one wrote, and
//! divides it into variables. The second ([`mod@translate`]) writes the events, with names, locations and stacks.
//! Both take linear time. Their memory grows with the program's memory and objects, not with its events. A log
//! that ends in the middle is loaded up to there.
//!
#![doc = include_str!("../README.md")]

mod annotations;
mod blocks;
mod chosen;
mod debug;
mod descriptors;
mod directives;
mod fibers;
mod frames;
mod handed;
mod heap;
pub mod inspect;
mod lock_order;
mod memory;
mod modules;
mod naming;
mod objects;
mod pages;
mod pool;
mod published;
mod recent;
mod repeated;
mod rust;
mod sharing;
mod sink;
mod source;
mod spinning;
mod stacks;
mod statics;
mod stillness;
mod sync;
mod threads;
mod translate;
mod typing;
mod variables;

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::path::Path;

use bounds::Bounds;
use trace::native::{Untranslated, Writer};
use trace::{ImpossibleEvent, Metadata, Trace};
use wire::{Damage, Event, Header, Losses, NotALog, Op, Reader, Stop};

use chosen::Chosen;
use descriptors::Descriptors;
use fibers::Fibers;
use handed::HandOvers;
use memory::Output;
use modules::Modules;
pub use naming::Pattern;
pub use objects::is_signal;
use pool::PoolAccesses;
use sharing::{Shared, Sharing};
pub use sink::{InMemory, Nowhere, Sink};
pub use stillness::ends_in_standstill;
use threads::Threads;
use translate::Translator;
use variables::Variables;

/// No access is looked at further than this: the program cannot have touched more at once in the time it took.
const LONGEST_ACCESS: u64 = 1 << 30;

/// How many accesses are translated together.
const TOGETHER: usize = 64;

/// How many accesses are looked at before the bounds are.
const AT_ONCE: u32 = 1 << 20;

/// What to load of a log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leave out repeated accesses of a thread to a variable while no other thread touches it and the thread does nothing
    /// but access memory (paper 3). Saves little, and hides atomicity violations.
    pub drop_repeated: bool,
    /// Keep this share of the variables, chosen by the seed.
    pub sample: Option<Sample>,
    /// Keep the variables that functions and files with these names access.
    pub include: Vec<Pattern>,
    /// Leave out the variables that only functions and files with these names access.
    pub exclude: Vec<Pattern>,
    /// End the trace at this many events: one access of the log may be several of the trace.
    pub max_events: Option<NonZeroU64>,
    /// The time and the memory it may take. Loading fails when they are used up.
    pub bounds: Bounds,
    /// The program is known to have ended by itself: a log that does not say so is not all of its run.
    pub has_exited: bool,
}

/// Which variables are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How many of them, from 0 to 1.
    pub share: f64,
    /// Which of them.
    pub seed: u64,
}

/// A run as the recorder left it.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The log.
    pub log: &'a [u8],
    /// The list of the files that were mapped.
    pub modules: &'a str,
    /// Where it ran.
    pub directory: &'a Path,
}

/// What was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Events of the trace.
    pub events: u64,
    /// Events of the log, dropped ones included.
    pub recorded: u64,
    /// Threads.
    pub threads: u64,
    /// Variables.
    pub variables: u64,
    /// Events that count branches.
    pub branches: u64,
    /// Reads of spinning threads that were left out because they repeat others.
    pub repeated: u64,
    /// Why the log ends, if it says so: a killed program leaves no word.
    pub stop: Option<Stop>,
    /// What is wrong with the log, if something is; what came before it was loaded.
    pub damage: Option<Damage>,
    /// What the recorder could not keep.
    pub losses: Losses,
    /// Files that have changed since the run was recorded, so what they would name has no name.
    pub changed: Vec<String>,
}

/// Why a log was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is none.
    #[error("{0}")]
    NotALog(#[from] NotALog),
    /// The trace could not be written.
    #[error("{0}")]
    Write(#[from] io::Error),
    /// What was loaded is not a run that can have happened.
    #[error("{0}")]
    Malformed(#[from] ImpossibleEvent),
}

/// Loads a run into a file of the native form. `metadata` is written with the modules added.
pub fn load<W: Write>(
    recorded: Recorded<'_>,
    metadata: &Metadata,
    options: &Options,
    out: W,
) -> Result<Loaded, LoadError> {
    let (loaded, writer) = load_into(recorded, metadata, options, Writer::new(out)?)?;
    writer.finish()?;
    Ok(loaded)
}

/// Whether a run can be kept as it is, to be translated by its first reader: nothing of it is lost, it has more events than this, and it can
/// be checked later whether the files that name things are still the same.
pub fn can_be_kept(recorded: Recorded<'_>, events: u64) -> bool {
    let Ok(reader) = Reader::new(recorded.log) else { return false };
    let is_whole = losses(recorded.log, reader.header()) == Losses::default();
    is_whole && has_more_than(reader, events) && {
        let modules = Modules::listed(recorded.modules, recorded.directory).described();
        !modules.is_empty() && modules.iter().all(|module| !module.build_id.is_empty())
    }
}

/// Whether a log was closed by its writer: then it has not a byte more than its records. One that was not has room for more, or was cut.
pub fn is_closed(log: &[u8]) -> bool {
    let written = Reader::new(log).map(|reader| reader.header().progress.written());
    written.is_ok_and(|written| log.len() as u64 == wire::STREAM_START as u64 + written)
}

/// Keeps a run as it is.
pub fn keep<W: Write>(recorded: Recorded<'_>, metadata: &Metadata, out: W) -> Result<(), LoadError> {
    let written = Reader::new(recorded.log)?.header().progress.written();
    let end = usize::try_from(written).unwrap_or(usize::MAX).saturating_add(wire::STREAM_START);
    let log = &recorded.log[..end.min(recorded.log.len())];
    let modules = Modules::listed(recorded.modules, recorded.directory).described();
    Untranslated::write(&Metadata { modules, ..metadata.clone() }, recorded.modules, log, out)?;
    Ok(())
}

/// Whether a log has more events than this.
fn has_more_than(mut reader: Reader<'_>, events: u64) -> bool {
    let mut seen = 0;
    while seen <= events {
        let event = reader.next_after_accesses(|_| {
            seen += 1;
            if seen <= events { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match event {
            Some(Ok(_)) => seen += 1,
            Some(Err(_)) | None => break,
        }
    }
    seen > events
}

/// Translates a run that was kept as it is into a file of the native form.
pub fn translate<W: Write>(kept: &Untranslated, options: &Options, out: W) -> Result<Loaded, LoadError> {
    let directory = Path::new(&kept.metadata.directory);
    let recorded = Recorded { log: &kept.log, modules: &kept.modules, directory };
    load(recorded, &kept.metadata, options, out)
}

/// Loads a run into a trace in memory, without call stacks.
pub fn load_trace(
    recorded: Recorded<'_>,
    metadata: &Metadata,
    options: &Options,
) -> Result<Trace, LoadError> {
    let (_, memory) = load_into(recorded, metadata, options, InMemory::default())?;
    Ok(memory.finish()?)
}

/// Loads a run into any sink.
pub fn load_into<S: Sink>(
    recorded: Recorded<'_>,
    metadata: &Metadata,
    options: &Options,
    sink: S,
) -> Result<(Loaded, S), LoadError> {
    let mut fibers = Fibers::of(&Reader::new(recorded.log)?);
    let first = FirstPass::over(Reader::new(recorded.log)?, fibers.clone(), options.bounds)?;
    let modules = || {
        let (modules, changed) = match &metadata.modules[..] {
            [] => (Modules::listed(recorded.modules, recorded.directory), Vec::new()),
            before => Modules::listed_again(recorded.modules, recorded.directory, before),
        };
        (modules.within(options.bounds), changed)
    };
    let mut carried = fibers.clone();
    let again = Reader::new(recorded.log)?.map_while(Result::ok);
    let again = again.filter_map(|event| fibers::of_trace(&mut carried, event));
    let choose = |shared: &_| Chosen::by(options, modules().0, again, shared);
    let mut reader = Reader::new(recorded.log)?;
    let mut losses = losses(recorded.log, reader.header());
    if options.has_exited && !first.has_end {
        losses.0 |= Losses::NO_END.0;
    }
    let (modules, changed) = modules();
    let mut loaded = Loaded { losses, changed, ..Loaded::default() };
    let incomplete = lost_in_words(losses).map_or_else(|| metadata.incomplete.clone(), str::to_owned);
    let metadata = Metadata { incomplete, ..metadata.clone() };
    let mut translator = first.second_pass(modules, choose, &metadata, options, sink)?;
    translator.ignores_orders |= fibers.is_some();
    let mut accesses = Vec::with_capacity(TOGETHER);
    while !translator.is_full() {
        go_on(options.bounds)?;
        accesses.clear();
        let event = reader.next_after_accesses(|access| {
            accesses.push(fibers.as_ref().map_or(*access, |fibers| fibers.access(*access)));
            if accesses.len() < TOGETHER { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        loaded.recorded += translator.plain_accesses(&accesses)?;
        if translator.is_full() {
            break;
        }
        match event {
            Some(Ok(event)) => {
                loaded.recorded += 1;
                translator.carrier = fibers.as_ref().map(|_| event.thread);
                let Some(event) = fibers::of_trace(&mut fibers, event) else { continue };
                if translator.wants_accesses(&event)? {
                    translator.learn(&event, &heap::look_ahead(reader.clone(), &event))?;
                }
                if translator.wants_pool_accesses(&event)? {
                    translator.note_pool(PoolAccesses::look_ahead(reader.clone(), &event));
                }
                translator.event(&event)?;
            }
            Some(Err(damage)) => loaded.damage = Some(damage),
            None if accesses.len() == TOGETHER => {}
            None => break,
        }
    }
    let sink = translator.finish(&mut loaded)?;
    Ok((loaded, sink))
}

/// Whether there is time and memory left.
fn go_on(bounds: Bounds) -> io::Result<()> {
    if bounds.are_reached() { Err(io::Error::other("there is no time or memory left")) } else { Ok(()) }
}

/// What is missing of a log: what its writer says, and whether the file is shorter than it was.
fn losses(log: &[u8], header: Header) -> Losses {
    let stream = (log.len().saturating_sub(wire::STREAM_START)) as u64;
    match header.progress.written() > stream {
        true => Losses(header.losses.0 | Losses::CUT.0),
        false => header.losses,
    }
}

/// Why a log is not all of its run, if it is not.
pub fn lost_in_words(losses: Losses) -> Option<&'static str> {
    match losses {
        losses if losses.include(Losses::NO_ROOM) => Some("there was no room for the rest of the log"),
        losses if losses.include(Losses::CUT) => Some("the log was cut short while it was written"),
        losses if losses.include(Losses::OTHER_FILE) => Some(
            "the list of modules could not be written, so names may be missing: there was no room, or the program now runs as another user",
        ),
        losses if losses.include(Losses::NO_END) => Some(
            "the log does not say how the program ended: the rest of it could not be written, or the program exited by a direct system call",
        ),
        _ => None,
    }
}

/// What the first pass learns.
#[derive(Default)]
struct FirstPass {
    sharing: Sharing,
    threads: Threads,
    hand_overs: HandOvers,
    descriptors: Descriptors,
    /// The log says why it ends.
    has_end: bool,
}

impl FirstPass {
    /// Over a whole log, as far as it is sound.
    fn over(mut reader: Reader<'_>, mut fibers: Option<Fibers>, bounds: Bounds) -> io::Result<FirstPass> {
        let mut first = FirstPass::default();
        loop {
            let mut left = AT_ONCE;
            let event = reader.next_after_accesses(|access| {
                let access = &fibers.as_ref().map_or(*access, |fibers| fibers.access(*access));
                first.sharing.see_access(access);
                first.threads.see_access(access);
                left -= 1;
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            go_on(bounds)?;
            match event {
                Some(Ok(event)) => {
                    if let Some(of_trace) = fibers::of_trace(&mut fibers, event) {
                        first.see(&of_trace, &event);
                    }
                }
                None if left == 0 => {}
                Some(Err(_)) | None => break,
            }
        }
        for (nth, (fiber, carrier)) in (1..).zip(fibers.iter().flat_map(Fibers::carried)) {
            first.threads.add_fiber(fiber, nth, carrier);
        }
        Ok(first)
    }

    /// An event of a fiber, and the same as that of the thread which carries it. A thread that a fiber creates is found as a child of the
    /// carrier.
    #[inline]
    fn see(&mut self, event: &Event<'_>, of_carrier: &Event<'_>) {
        self.sharing.see(event);
        self.threads.see(if let Op::Create { .. } = event.op { of_carrier } else { event });
        self.hand_overs.see(event);
        self.descriptors.see(of_carrier);
        self.has_end |= matches!(event.op, Op::Stop(_));
    }

    /// What the second pass starts with.
    fn second_pass<S: Sink>(
        self,
        modules: Modules,
        choose: impl FnOnce(&Shared) -> io::Result<Chosen>,
        metadata: &Metadata,
        options: &Options,
        mut sink: S,
    ) -> io::Result<Translator<S>> {
        let shared = self.sharing.finish();
        let chosen = choose(&shared)?;
        let descriptors = self.descriptors.finish(self.threads.origins());
        let metadata = Metadata { modules: modules.described(), descriptors, ..metadata.clone() };
        sink.metadata(&metadata)?;
        let output = Output { modules, sink };
        let variables = Variables::new(shared);
        let mut translator = Translator::new(output, variables, self.threads, metadata, options, chosen)?;
        translator.hand_over(self.hand_overs.finish());
        Ok(translator)
    }
}

#[cfg(test)]
mod tests;
