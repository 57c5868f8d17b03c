//! Records to bytes. No allocation, no lock, a bounded number of steps: this runs inside the program.

use core::hint::select_unpredictable;

use crate::kind::Kind;
use crate::number::{length, zigzag};
use crate::predict::{Address, Context, Key, Site, Table, Told};

/// The longest text kept; the rest is cut off.
pub const MAX_TEXT: usize = 1024;
/// No record is longer.
pub const MAX_RECORD: usize = 128 + MAX_TEXT;

pub(crate) const CLASS_SIMPLE: u8 = 0;
pub(crate) const CLASS_SWITCH: u8 = 1;
pub(crate) const CLASS_DETAILED: u8 = 2;
/// With the code of a kind: the thread has taken a branch since its last event. No kind has such a code.
pub(crate) const AFTER_BRANCH: u8 = 0x80;
/// In the tag of a switch: the number follows.
pub(crate) const THREAD_FOLLOWS: u8 = 31;

/// Where records go: a piece of memory with room for at least [`MAX_RECORD`] bytes. What does not fit is
/// dropped, not written elsewhere.
#[derive(Debug)]
pub struct Sink<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Sink<'a> {
    /// Writes to the start of these bytes.
    #[inline]
    pub fn new(bytes: &'a mut [u8]) -> Sink<'a> {
        Sink { bytes, used: 0 }
    }

    /// How many bytes were written.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.used) {
            *place = byte;
            self.used += 1;
        }
    }

    #[inline(always)]
    fn head(&mut self, head: Head) {
        let bytes = head.word.to_le_bytes();
        match self.bytes.get_mut(self.used..).and_then(|rest| rest.first_chunk_mut()) {
            Some(room) => {
                *room = bytes;
                self.used += head.bytes as usize;
            }
            None => bytes.into_iter().take(head.bytes as usize).for_each(|byte| self.byte(byte)),
        }
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        for _ in 1..length(number) {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline]
    fn difference(&mut self, from: u64, to: u64) {
        self.number(zigzag(to.wrapping_sub(from) as i64));
    }
}

/// Runs up to this length take one byte.
pub const SHORT_RUN: u64 = 127;

/// A run of predicted events. Nothing is written for none.
#[inline]
pub fn write_run(sink: &mut Sink<'_>, events: u64) {
    if events <= SHORT_RUN {
        write_short_run(sink, events);
    } else {
        sink.byte(0x80);
        sink.number(events);
    }
}

/// The same for one up to [`SHORT_RUN`], without branches.
#[inline(always)]
pub fn write_short_run(sink: &mut Sink<'_>, events: u64) {
    debug_assert!(events <= SHORT_RUN);
    if let Some(place) = sink.bytes.get_mut(sink.used) {
        *place = 0x80 | events as u8;
        sink.used += usize::from(events > 0);
    }
}

/// The next events are this thread's.
pub fn write_switch(sink: &mut Sink<'_>, thread: u32) {
    if thread < u32::from(THREAD_FOLLOWS) {
        sink.byte(CLASS_SWITCH | (thread as u8) << 2);
    } else {
        sink.byte(CLASS_SWITCH | THREAD_FOLLOWS << 2);
        sink.number(u64::from(thread));
    }
}

/// A simple event for which [`Table::hit`] said no.
#[inline(always)]
pub fn write_simple(sink: &mut Sink<'_>, table: &mut Table, context: &mut Context, key: Key, address: u64) {
    match table.tell(context, key, address) {
        Some(told) => write_told(sink, told),
        None => write_new(sink, table, context, key, address),
    }
}

/// An access of which [`Table::forecast`] said that its address is another one.
#[inline(always)]
pub fn write_other_address(sink: &mut Sink<'_>, table: &mut Table, context: &mut Context, address: u64) {
    write_told(sink, table.tell_address(context, address));
}

/// An access of which [`Table::forecast`] said that its site is another one.
#[inline(always)]
pub fn write_other_site(
    sink: &mut Sink<'_>,
    table: &mut Table,
    context: &mut Context,
    key: Key,
    address: u64,
) {
    match table.tell_turn(context, key, address) {
        Some(told) => sink.head(Head::of(told)),
        None => write_simple_apart(sink, table, context, key, address),
    }
}

/// [`write_simple`], apart from what comes more often.
#[inline(never)]
fn write_simple_apart(sink: &mut Sink<'_>, table: &mut Table, context: &mut Context, key: Key, address: u64) {
    write_simple(sink, table, context, key, address);
}

#[inline(always)]
fn write_told(sink: &mut Sink<'_>, told: Told) {
    let mut head = Head::of(told);
    if told.address < Address::FROM_GUESS {
        return sink.head(head);
    }
    let distance = zigzag(told.distance);
    if distance < 1 << SHORT_NUMBER_BITS {
        head.push(short_number(distance), length(distance));
        sink.head(head);
    } else {
        sink.head(head);
        sink.number(distance);
    }
}

/// The first event of a site.
#[cold]
#[inline(never)]
fn write_new(sink: &mut Sink<'_>, table: &mut Table, context: &mut Context, key: Key, address: u64) {
    sink.byte(CLASS_SIMPLE | Site::NEW << 2 | Address::FROM_PREVIOUS << 4);
    sink.byte(key.code() | if key.is_after_branch() { AFTER_BRANCH } else { 0 });
    sink.difference(context.pc, key.pc());
    sink.number(zigzag(table.tell_new(context, key, address)));
}

/// The first bytes of a record, in a word.
#[derive(Clone, Copy, Default)]
struct Head {
    word: u64,
    bytes: u32,
}

impl Head {
    /// Says all of this but the distance.
    #[inline(always)]
    fn of(told: Told) -> Head {
        let has_slot = told.site == Site::SLOT;
        let mut head = Head::default();
        head.push(CLASS_SIMPLE | told.site << 2 | told.address << 4, 1);
        head.push(select_unpredictable(has_slot, told.index, 0), select_unpredictable(has_slot, 2, 0));
        head
    }

    /// Adds bytes; there are no more than eight in all.
    #[inline(always)]
    fn push(&mut self, bytes: impl Into<u64>, count: u32) {
        self.word |= bytes.into() << (8 * self.bytes);
        self.bytes += count;
    }
}

/// Numbers of this many bits take no more than five bytes.
const SHORT_NUMBER_BITS: u32 = 35;

/// The bytes of such a number, in a word.
#[inline(always)]
fn short_number(number: u64) -> u64 {
    let spread = (0..5).fold(0, |spread, group| spread | (number & 0x7f << (7 * group)) << group);
    let to_be_continued = 0x80_8080_8080 & ((1 << (8 * (length(number) - 1))) - 1);
    spread | to_be_continued
}

/// An event with arguments, as many as its kind has, and text where its kind has it.
pub fn write_detailed(
    sink: &mut Sink<'_>,
    context: &mut Context,
    kind: Kind,
    pc: u64,
    address: u64,
    arguments: &[u64],
    text: &[u8],
) {
    debug_assert_eq!(kind.arguments(), Some(arguments.len()));
    sink.byte(CLASS_DETAILED);
    sink.byte(kind as u8);
    sink.difference(context.pc, pc);
    sink.difference(context.previous, address);
    for &argument in arguments {
        sink.number(argument);
    }
    if kind.has_text() {
        let text = &text[..text.len().min(MAX_TEXT)];
        sink.number(text.len() as u64);
        for &byte in text {
            sink.byte(byte);
        }
    }
    context.pc = pc;
    context.previous = address;
}
