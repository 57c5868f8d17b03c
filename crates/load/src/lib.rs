//! From the raw log of a run to a trace.
//!
//! Two passes over the log, or three where the user chooses what to keep ([`chosen`]). The first ([`sharing`]) finds the memory worth keeping, what several threads touched and
//! somebody wrote, and divides it into variables; the second ([`translate`]) writes the events, with names,
//! locations and stacks. Both take linear time, and memory for the program's memory and objects, not for its events. A log
//! that ends in the middle is loaded up to there.

mod blocks;
mod chosen;
mod layouts;
pub mod look;
mod modules;
mod naming;
mod objects;
mod pages;
mod published;
mod remarks;
mod repeated;
mod rust;
mod sharing;
mod stacks;
mod sync;
mod threads;
mod told;
mod translate;
mod variables;

use std::io::{self, Write};
use std::path::Path;

use trace::Metadata;
use trace::native::Writer;
use wire::{Damage, Event, NotALog, Reader, Stop};

use chosen::Chosen;
use modules::Modules;
pub use naming::Pattern;
use objects::Teller;
pub use objects::is_signal;
use sharing::{Shared, Sharing};
pub use stacks::StackFrame;
use threads::Threads;
use translate::Translator;
use variables::Variables;

/// No access is looked at further than this: the program cannot have touched more at once in the time it took.
const LONGEST_ACCESS: u64 = 1 << 30;

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
    /// Leave out the variables that nobody but functions and files with these names access.
    pub exclude: Vec<Pattern>,
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
    /// Why the log ends, if it says so: a killed program leaves no word.
    pub stop: Option<Stop>,
    /// What is wrong with the log, if something is; what came before it was loaded.
    pub damage: Option<Damage>,
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
}

/// Loads a run into a trace. `metadata` is written with the modules added.
pub fn load<W: Write>(
    recorded: Recorded<'_>,
    metadata: &Metadata,
    options: &Options,
    out: W,
) -> Result<Loaded, LoadError> {
    let mut first = FirstPass::default();
    for event in Reader::new(recorded.log)?.map_while(Result::ok) {
        first.see(&event);
    }
    let modules = || Modules::listed(recorded.modules, recorded.directory);
    let again = Reader::new(recorded.log)?.map_while(Result::ok);
    let choose = |shared: &_| Chosen::by(options, modules(), again, shared);
    let mut translator = first.second_pass(modules(), choose, metadata, options, out)?;
    let mut loaded = Loaded::default();
    for event in Reader::new(recorded.log)? {
        match event {
            Ok(event) => {
                loaded.recorded += 1;
                translator.event(&event)?;
            }
            Err(damage) => loaded.damage = Some(damage),
        }
    }
    translator.finish(&mut loaded)?;
    Ok(loaded)
}

/// What the first pass learns.
#[derive(Default)]
struct FirstPass {
    sharing: Sharing,
    threads: Threads,
}

impl FirstPass {
    #[inline]
    fn see(&mut self, event: &Event<'_>) {
        self.sharing.see(event);
        self.threads.see(event);
    }

    /// What the second pass starts with.
    fn second_pass<W: Write>(
        self,
        modules: Modules,
        choose: impl FnOnce(&Shared) -> io::Result<Chosen>,
        metadata: &Metadata,
        options: &Options,
        out: W,
    ) -> io::Result<Translator<W>> {
        let shared = self.sharing.finish();
        let chosen = choose(&shared)?;
        let mut writer = Writer::new(out)?;
        let metadata = Metadata { modules: modules.described(), ..metadata.clone() };
        writer.metadata(&metadata)?;
        let teller = Teller { modules, writer };
        let variables = Variables::new(shared);
        Translator::new(teller, variables, self.threads, metadata, options, chosen)
    }
}

#[cfg(test)]
mod tests;
