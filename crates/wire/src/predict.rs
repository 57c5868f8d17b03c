//! The predictor that both sides run: which event comes next, and at which address.
//!
//! An event's *site* is its pc and kind. A site has a slot in a [`Table`], found by hash. The slot remembers
//! which two slots came after it, so a loop predicts its own sequence of sites, and two guesses at the
//! address: a stride from the site's own last address (walking an array), or an offset from the
//! thread's previous address (fields of whatever object it is at). The guess that was right is favoured.

use crate::kind::Kind;

/// Slots of a table: 64 KiB.
const SLOTS: usize = 2048;
/// More tables than this are never used; threads share them when there are more threads.
pub const MAX_TABLES: u64 = 1024;

const FAVOUR_OFFSET: u16 = 1 << 15;
const SLOT_MASK: u16 = SLOTS as u16 - 1;

/// A site: where in the program, what kind of event, and whether the thread has taken a branch since its last event. Zero is no site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Key(u64);

impl Key {
    /// The bits of a pc that are kept: user space.
    const PC_BITS: u32 = 48;

    /// The site of this kind at this pc.
    #[inline(always)]
    pub fn new(kind: Kind, pc: u64) -> Key {
        Key((kind as u64) << Self::PC_BITS | pc & ((1 << Self::PC_BITS) - 1))
    }

    pub(crate) fn pc(self) -> u64 {
        self.0 & ((1 << Self::PC_BITS) - 1)
    }

    pub(crate) fn code(self) -> u8 {
        (self.0 >> Self::PC_BITS) as u8
    }

    /// The same site after a branch, if [`Branched`] says so.
    #[inline(always)]
    pub fn after(self, branched: Branched) -> Key {
        Key(self.0 | branched.0)
    }

    /// Whether the thread has taken a branch since its last event.
    #[inline(always)]
    pub(crate) fn is_after_branch(self) -> bool {
        self.0 & Branched::YES.0 != 0
    }

    fn home(self) -> u16 {
        (self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16 & SLOT_MASK
    }
}

/// Where the byte is in which a thread's branches leave a 1, counted from its thread pointer. Code of the program writes it, wherever it is
/// linked, so it is at a fixed place: among the 512 bytes from `0x80` on of the C library's own header of a thread, which it leaves unused and keeps
/// because other tools rely on the header's size (`__glibc_unused2` in glibc's `tcbhead_t`). crates/compile/src/compiler/branches.s has the same number.
pub const BRANCHED_AT: usize = 0x260;

/// Whether a thread has taken a branch since its last event. Zero bytes: it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Branched(u64);

impl Branched {
    /// It has. The bit is one that a site does not use, and low enough for [`Key::home`] to tell both sites apart.
    pub const YES: Branched = Branched(1 << Self::BIT);
    const BIT: u32 = 56;

    /// 1: it has; 0: it has not.
    #[inline(always)]
    pub fn from_word(word: u32) -> Branched {
        Branched(u64::from(word) << Self::BIT)
    }
}

/// What is remembered of a site.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Slot {
    key: Key,
    /// The site's last address.
    last: u64,
    /// What is added to it for the first guess.
    stride: i32,
    /// The stride seen at the last wrong guess: seen twice it becomes the stride.
    candidate: i32,
    /// What is added to the thread's previous address for the second guess.
    offset: i32,
    /// The slot that came after this one the last time.
    next: u16,
    /// The slot that came the time before, and in the top bit which guess is favoured.
    other: u16,
}

impl Slot {
    #[inline(always)]
    fn favours_offset(&self) -> bool {
        self.other & FAVOUR_OFFSET != 0
    }

    /// Both guesses at the address, the favoured one first.
    #[inline(always)]
    fn guesses(&self, previous: u64) -> [u64; 2] {
        let by_stride = self.last.wrapping_add(i64::from(self.stride) as u64);
        let by_offset = previous.wrapping_add(i64::from(self.offset) as u64);
        if self.favours_offset() { [by_offset, by_stride] } else { [by_stride, by_offset] }
    }
}

/// The slots. A value of zero bytes is a fresh table.
#[derive(Clone, Debug)]
pub struct Table {
    slots: [Slot; SLOTS],
}

/// Where a thread stands in the prediction. A value of zero bytes is a fresh context.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Context {
    /// The slot that should come next. A word, as is the next one: a load of both at once, after two stores, would
    /// wait for the stores.
    expected: u32,
    /// The slot of the thread's last simple event.
    current: u32,
    /// The address of the thread's last event.
    pub(crate) previous: u64,
    /// The pc of the thread's last event that was written out.
    pub(crate) pc: u64,
}

/// How the site of an event that was not predicted is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    Next,
    Other,
    Slot(u16),
    New(Key),
}

/// How the address of an event that was not predicted is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Favoured,
    Unfavoured,
    FromGuess(i64),
    FromPrevious(i64),
}

/// A table with nothing in it.
impl Default for Table {
    fn default() -> Table {
        Table { slots: [Slot::default(); SLOTS] }
    }
}

impl Table {
    fn slot(&mut self, index: u16) -> &mut Slot {
        &mut self.slots[usize::from(index & SLOT_MASK)]
    }

    /// Takes the event if it is the one predicted: the writer then only counts it. This is the hot path.
    #[inline(always)]
    pub fn hit(&mut self, context: &mut Context, key: Key, address: u64) -> bool {
        let index = context.expected;
        let slot = &mut self.slots[usize::from(index as u16 & SLOT_MASK)];
        if slot.key != key || slot.guesses(context.previous)[0] != address {
            return false;
        }
        slot.last = address;
        context.previous = address;
        context.current = index;
        context.expected = u32::from(slot.next);
        true
    }

    /// The reader's side of [`Table::hit`]: the event that is predicted; none if the slot is empty, which a
    /// sound log never asks for.
    pub(crate) fn predicted(&mut self, context: &mut Context) -> Option<(Key, u64)> {
        self.predicted_if(context, |key| key != Key::default())
    }

    /// The event that is predicted, if its site is of this sort. Nothing changes otherwise.
    #[inline(always)]
    pub(crate) fn predicted_if(
        &mut self,
        context: &mut Context,
        is_wanted: impl FnOnce(Key) -> bool,
    ) -> Option<(Key, u64)> {
        let index = context.expected;
        let slot = &mut self.slots[usize::from(index as u16 & SLOT_MASK)];
        if !is_wanted(slot.key) {
            return None;
        }
        let address = slot.guesses(context.previous)[0];
        slot.last = address;
        context.previous = address;
        context.current = index;
        context.expected = u32::from(slot.next);
        Some((slot.key, address))
    }

    /// How to tell the reader of an event that was not predicted.
    pub(crate) fn describe(&mut self, context: &Context, key: Key, address: u64) -> (Site, Address) {
        let other = self.slot(context.current as u16).other & SLOT_MASK;
        let home = key.home();
        let (site, index) = if self.slot(context.expected as u16).key == key {
            (Site::Next, context.expected as u16)
        } else if self.slot(other).key == key {
            (Site::Other, other)
        } else if self.slot(home).key == key {
            (Site::Slot(home), home)
        } else {
            return (Site::New(key), Address::FromPrevious(address.wrapping_sub(context.previous) as i64));
        };
        let [favoured, unfavoured] = self.slot(index).guesses(context.previous);
        let told = if address == favoured {
            Address::Favoured
        } else if address == unfavoured {
            Address::Unfavoured
        } else {
            let from_guess = address.wrapping_sub(favoured) as i64;
            let from_previous = address.wrapping_sub(context.previous) as i64;
            if from_previous.unsigned_abs() < from_guess.unsigned_abs() {
                Address::FromPrevious(from_previous)
            } else {
                Address::FromGuess(from_guess)
            }
        };
        (site, told)
    }

    /// Takes an event that was not predicted, as it was described: both sides learn the same from it.
    pub(crate) fn learn(&mut self, context: &mut Context, site: Site, address: Address) -> (Key, u64) {
        let index = match site {
            Site::Next => context.expected as u16 & SLOT_MASK,
            Site::Other => self.slot(context.current as u16).other & SLOT_MASK,
            Site::Slot(index) => index & SLOT_MASK,
            Site::New(key) => key.home(),
        };
        let before = self.slot(context.current as u16);
        if before.next != index {
            before.other = before.other & FAVOUR_OFFSET | before.next;
            before.next = index;
        }
        let previous = context.previous;
        let slot = self.slot(index);
        if let Site::New(key) = site {
            let last = match address {
                Address::FromPrevious(distance) => previous.wrapping_add(distance as u64),
                _ => previous,
            };
            *slot = Slot { key, last, next: index, other: index, ..Slot::default() };
        }
        let address = slot.take(previous, address);
        let key = slot.key;
        let next = slot.next;
        *context =
            Context { expected: u32::from(next), current: u32::from(index), previous: address, pc: key.pc() };
        (key, address)
    }
}

impl Slot {
    fn take(&mut self, previous: u64, told: Address) -> u64 {
        let [favoured, unfavoured] = self.guesses(previous);
        let address = match told {
            Address::Favoured => favoured,
            Address::Unfavoured => unfavoured,
            Address::FromGuess(distance) => favoured.wrapping_add(distance as u64),
            Address::FromPrevious(distance) => previous.wrapping_add(distance as u64),
        };
        if told != Address::Favoured {
            let stride = address.wrapping_sub(self.last) as i32;
            if stride == self.candidate {
                self.stride = stride;
            }
            self.candidate = stride;
            self.offset = address.wrapping_sub(previous) as i32;
            if told == Address::Unfavoured {
                self.other ^= FAVOUR_OFFSET;
            }
        }
        self.last = address;
        address
    }
}
