//! Which thread is meant where a line names one.
//!
//! Some recorders write `fork(12)` for the fork of thread `T12`. They also make up a parent for the
//! first thread and give it a number that a real thread has later, so in their traces a thread
//! that has acted and is then forked by its number is two threads: what acts from there on is
//! called `T12#2`. A fork by name of a thread that has acted stays the mistake that it is.

use std::collections::HashMap;

use crate::builder::TraceBuilder;
use crate::ids::{EventId, ThreadId};
use crate::names::TooManyNames;
use crate::op::Op;

/// Names of threads and what they stand for.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Names that stand for another thread than at first.
    renamed: HashMap<String, Incarnation>,
    /// By thread: whether it has acted among the first `looked_at` events.
    acted: Vec<bool>,
    looked_at: usize,
}

/// The thread a name stands for now.
#[derive(Clone, Copy, Debug)]
struct Incarnation {
    thread: ThreadId,
    number: u32,
}

/// What a fork by number changes for the lines after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Every name means what it did.
    None,
    /// A name means another thread now.
    Renamed,
}

impl Naming {
    /// The thread that a line calls so.
    pub(super) fn thread(&self, name: &str, builder: &mut TraceBuilder) -> Result<ThreadId, TooManyNames> {
        match self.renamed.get(name) {
            Some(incarnation) => Ok(incarnation.thread),
            None => builder.thread(name),
        }
    }

    /// The thread with this number.
    pub(super) fn numbered(
        &self,
        number: &str,
        builder: &mut TraceBuilder,
    ) -> Result<ThreadId, TooManyNames> {
        self.thread(&format!("T{number}"), builder)
    }

    /// The thread with this number, which is forked now and so cannot have acted.
    pub(super) fn forked(
        &mut self,
        number: &str,
        actor: ThreadId,
        builder: &mut TraceBuilder,
    ) -> Result<(ThreadId, Change), TooManyNames> {
        let thread = self.numbered(number, builder)?;
        self.look_at_new_events(builder);
        let has_acted = self.acted.get(thread.index()) == Some(&true);
        if !has_acted || thread == actor {
            return Ok((thread, Change::None));
        }
        let name = format!("T{number}");
        let last = self.renamed.get(&name).map_or(1, |incarnation| incarnation.number);
        let next = next_incarnation(&name, last, builder)?;
        self.renamed.insert(name, next);
        Ok((next.thread, Change::Renamed))
    }

    /// Every event is looked at once, so all forks together take linear time.
    pub(super) fn look_at_new_events(&mut self, builder: &TraceBuilder) {
        for index in self.looked_at..builder.len() {
            let event = EventId::new(index - builder.passed_on());
            let mut note = |thread: ThreadId| {
                if self.acted.len() <= thread.index() {
                    self.acted.resize(thread.index() + 1, false);
                }
                self.acted[thread.index()] = true;
            };
            note(builder.columns().thread(event));
            // A joined thread is over: who has its number next is another.
            if let Op::Join(joined) = builder.columns().op(event) {
                note(joined);
            }
        }
        self.looked_at = builder.len();
    }
}

/// A thread that was not there before, called by this name and the next free number.
fn next_incarnation(name: &str, last: u32, builder: &mut TraceBuilder) -> Result<Incarnation, TooManyNames> {
    let mut number = last;
    loop {
        number = number.checked_add(1).ok_or(TooManyNames)?;
        let known = builder.threads();
        let thread = builder.thread(&format!("{name}#{number}"))?;
        if thread.index() == known {
            return Ok(Incarnation { thread, number });
        }
    }
}
