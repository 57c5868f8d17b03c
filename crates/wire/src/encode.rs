//! Records to bytes. No allocation, no lock, a bounded number of steps: this runs inside the program.

use crate::kind::Kind;
use crate::number::{length, zigzag};
use crate::predict::{Address, Context, Key, Site, Table};

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

/// A run of predicted events. Nothing is written for none.
#[inline]
pub fn write_run(sink: &mut Sink<'_>, events: u64) {
    match events {
        0 => {}
        1..=127 => sink.byte(0x80 | events as u8),
        _ => {
            sink.byte(0x80);
            sink.number(events);
        }
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
pub fn write_simple(sink: &mut Sink<'_>, table: &mut Table, context: &mut Context, key: Key, address: u64) {
    let (site, told) = table.describe(context, key, address);
    let site_code = match site {
        Site::Next => 0,
        Site::Other => 1,
        Site::Slot(_) => 2,
        Site::New(_) => 3,
    };
    let address_code = match told {
        Address::Favoured => 0,
        Address::Unfavoured => 1,
        Address::FromGuess(_) => 2,
        Address::FromPrevious(_) => 3,
    };
    sink.byte(CLASS_SIMPLE | site_code << 2 | address_code << 4);
    match site {
        Site::Next | Site::Other => {}
        Site::Slot(index) => {
            sink.byte(index as u8);
            sink.byte((index >> 8) as u8);
        }
        Site::New(key) => {
            sink.byte(key.code() | if key.is_after_branch() { AFTER_BRANCH } else { 0 });
            sink.difference(context.pc, key.pc());
        }
    }
    if let Address::FromGuess(distance) | Address::FromPrevious(distance) = told {
        sink.number(zigzag(distance));
    }
    table.learn(context, site, told);
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
