//! Everything the launcher and the runtime say to each other, defined once: how a program is run ([`RuntimeSettings`]), what a replay is to do
//! ([`Control`]) and its result ([`OutcomeRecord`]), what a server's clients send ([`ClientRecord`]), the names of files, variables and exit
//! statuses, and the raw log of a run, which
//! the rest of this page describes. Nothing here allocates where the runtime uses it, and no reader panics, whatever the bytes.
//!
//! # The raw log
//!
//! A log is one stream of events in the one order in which they happened; the thread that holds the
//! runtime's token writes. Writer and reader mirror each other: both keep the same [`Table`]s and
//! [`Context`]s, so an event that was predicted costs no byte at all, and the others little.
//! The writer allocates nothing and takes a fixed time; the reader never panics, whatever the bytes.
//! A log that was cut anywhere, or whose writer was killed at any instruction, yields every event before
//! the cut.
//!
//! # Layout
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | [`MAGIC`] |
//! | 8 | 4 | [`VERSION`], little endian like every number here |
//! | 12 | 4 | process id |
//! | 16 | 8 | [`LogProgress`]: how far the stream is valid, and how many predicted events follow it |
//! | 24 | 4 | [`Losses`]: what the writer could not keep |
//! | 28 | 4 | [`Traits`]: what a reader has to know before the first event |
//! | [`STREAM_START`] | .. | the stream: records |
//!
//! `LogProgress` is one word, so one store makes a record count, and a kill between two stores cannot tear it.
//! The file may be longer than the stream: it grows in big steps.
//!
//! A record is a tag byte and what belongs to it:
//!
//! | tag | record |
//! |---|---|
//! | `1nnnnnnn` | a run of n predicted events; n = 0: the number follows (at most [`MAX_RUN`]) |
//! | `0aaass00` | a *simple* event that was not predicted: `ss` says how its site is known (successor, other successor, slot number, new site), `aaa` its address (favoured guess; the guess by stride, by offset, by detour; distance from the favoured guess; distance from the thread's previous address) |
//! | `0nnnnn01` | the events that follow are thread n's; n = 31: the number follows |
//! | `00000010` | a *detailed* event: kind, pc, address, its arguments, its text |
//!
//! A new site is given by the code of its kind, with `0x80` added if the thread has taken a branch since its last event, and its pc. The
//! same pc with and without a branch before it are two sites, so what is predicted of one says whether there was a branch. The reader yields
//! the branch as an event of its own, [`Op::Branches`].
//!
//! Numbers are LEB128; differences are zigzagged first.
//!
//! # Threads and places
//!
//! Threads are numbered from 0 (main) in the order of their creation: the number is in [`Op::Create`]. A
//! thread that the runtime did not see being created has no `Create`. Its first own event is [`Op::Begin`].
//! The *place* of an event is the number of schedulable events ([`Kind::is_schedulable`]) its thread has
//! performed before.
//!
#![doc = include_str!("../README.md")]

mod access;
mod client;
mod clock;
mod control;
mod decimal;
mod decode;
mod directory;
mod encode;
mod event;
mod header;
mod kind;
mod number;
mod object;
mod order;
mod outcome;
mod predict;
mod settings;
mod state;
mod std_call;
mod survey;

pub use access::{Plain, PlainAccess};
pub use client::{ClientHeader, ClientRecord, Endpoint};
pub use clock::{Clock, ClockStart};
pub use control::{Control, GivenDescriptor, Instruction, OnDivergence, Origin, ThreadName, write_control};
pub use decimal::{decimal, parse_decimal};
pub use decode::{Damage, NotALog, Reader};
pub use directory::{
    CLIENT_FILE, CONTROL_FILE, DEADLOCK_STATUS, FIRST_FILE, LOG_EXTENSION, MODULES_EXTENSION,
    OPTIONS_EXTENSION, ORDER_VARIABLE, OUTCOME_FILE, REPLAY_OVER_STATUS, RUN_VARIABLE, SETTINGS_FILE,
    SUPPRESSIONS_EXTENSION, UNRECORDED_FILE,
};
pub use encode::{
    MAX_RECORD, MAX_TEXT, SHORT_RUN, Sink, write_detailed, write_other_address, write_other_site, write_run,
    write_short_run, write_simple, write_switch,
};
pub use event::{Event, Hold, Ignored, Op, Refusal, Stop, UnsafeCall, Waker};
pub use header::{Header, LogProgress, Losses, MAGIC, MAX_RUN, STREAM_START, Traits, VERSION};
pub use kind::{Kind, MAX_ARGUMENTS};
pub use object::{Passage, Signal, SignalTarget};
pub use order::{CallOrder, OrderedCall, SyncCall, write_call_order};
pub use outcome::{
    MAX_MEMORY, Memory, MemoryRange, OUTCOME_RECORD, Obstacle, OutcomeRecord, PendingAccess, WaitsFor,
};
pub use predict::{BRANCHED_AT, Branched, Context, Forecast, Key, MAX_TABLES, Table};
pub use settings::{AtDeadlock, Children, Mode, NewThreads, Policy, RuntimeSettings, TestBarriers};
pub use state::ThreadState;
pub use std_call::StdCall;
pub use survey::{PROCESS_EXTENSION, ProcessRecord, THREADS_EXTENSION};
