//! The predictor that both sides run: which event comes next, and at which address.
//!
//! An event's *site* is its pc and kind. A site has a slot in a [`Table`] for each place that its function is called from, since what a
//! function accesses depends on who calls it; it is found by hash. It remembers which two slots came after it, so a loop predicts its
//! own sequence of sites, and three guesses at the address:
//! - a stride from the site's own last address (walking an array);
//! - an offset from the thread's previous address (fields of whatever object it is at);
//! - the distance by which the thread last went astray, from the site's own last address (fields of one of several objects, of which the
//!   first to be accessed is not predicted, and all others have moved as far).
//!
//! The guess that was right is favoured.

use core::hint::select_unpredictable;

use crate::kind::Kind;

#[cfg(test)]
mod tests;

/// Slots of a table: 128 KiB. Few of them are used, and a page without any of those is never touched.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 12;
/// How many calls a table remembers of those that have not returned.
const FRAMES: usize = 64;
/// More tables than this are never used; threads share them when there are more threads.
pub const MAX_TABLES: u64 = 1024;

/// In the top bits of [`Slot::other`]: which guess is favoured.
const FAVOUR_SHIFT: u32 = 14;
const FAVOUR_OFFSET: u16 = 1 << FAVOUR_SHIFT;
const FAVOUR_DETOUR: u16 = 2 << FAVOUR_SHIFT;
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;
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

    #[inline(always)]
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

    /// The same for the return address of a hook, which is in user space anyway: the hot path is an instruction shorter.
    #[inline(always)]
    pub fn of_hook(kind: Kind, pc: u64, branched: Branched) -> Key {
        debug_assert!(pc >> Self::PC_BITS == 0);
        Key((kind as u64) << Self::PC_BITS | branched.0 | pc)
    }

    /// The slot where the site is looked for first, in a function called from where this is the salt.
    #[inline(always)]
    fn home(self, salt: u64) -> u16 {
        ((self.0 ^ salt).wrapping_mul(HASH) >> (u64::BITS - SLOT_BITS)) as u16 & SLOT_MASK
    }

    #[inline(always)]
    fn enters(self) -> bool {
        self.code() == Kind::FunctionEntry as u8
    }

    #[inline(always)]
    fn exits(self) -> bool {
        self.code() == Kind::FunctionExit as u8
    }

    /// What distinguishes the calls of the function that the event is in. Its entry, whose address is where it is called from, is in it already.
    #[inline(always)]
    fn salt(self, context: &Context, address: u64) -> u64 {
        if self.enters() { address.wrapping_mul(HASH) } else { context.salt }
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// The slot that came the time before, and in the top bits which guess is favoured.
    other: u16,
}

/// A guess at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    Stride,
    Offset,
    Detour,
}

impl Guess {
    pub(crate) const ALL: [Guess; 3] = [Guess::Stride, Guess::Offset, Guess::Detour];

    #[inline(always)]
    fn code(self) -> u8 {
        Address::FIRST_GUESS + self as u8
    }
}

impl Slot {
    /// Whether this is the address at the favoured guess. In a loop, a processor predicts which guess that is.
    #[inline(always)]
    fn expects(&self, context: &Context, address: u64) -> bool {
        match self.other & !SLOT_MASK {
            0 => address.wrapping_sub(self.last) as i64 == i64::from(self.stride),
            FAVOUR_OFFSET => address.wrapping_sub(context.previous) as i64 == i64::from(self.offset),
            _ => self.guess(Guess::Detour, context) == address,
        }
    }

    /// The favoured guess, without branches: for what is not predicted anyway.
    #[inline(always)]
    fn favoured(&self, context: &Context) -> u64 {
        let [by_stride, by_offset, by_detour] = Guess::ALL.map(|guess| self.guess(guess, context));
        let guess = if self.other & FAVOUR_OFFSET != 0 { by_offset } else { by_stride };
        if self.other & FAVOUR_DETOUR != 0 { by_detour } else { guess }
    }

    #[inline(always)]
    fn guess(&self, guess: Guess, context: &Context) -> u64 {
        let (base, step) = match guess {
            Guess::Stride => (self.last, self.stride),
            Guess::Offset => (context.previous, self.offset),
            Guess::Detour => (self.last, context.detour),
        };
        base.wrapping_add(i64::from(step) as u64)
    }
}

/// The slots. A value of zero bytes is a fresh table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    slots: [Slot; SLOTS],
    /// The salts of the functions that have called others, a ring.
    frames: [u64; FRAMES],
    depth: u32,
}

/// Where a thread stands in the prediction. A value of zero bytes is a fresh context.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// What distinguishes the calls of the function that the thread is in.
    salt: u64,
    /// How far from its site's last address the thread's last access was that was not predicted.
    detour: i32,
}

/// How the site of an event that was not predicted is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    Next,
    Other,
    Slot(u16),
    New(Key),
}

/// The codes in the tag of a record.
impl Site {
    pub(crate) const NEXT: u8 = 0;
    pub(crate) const OTHER: u8 = 1;
    pub(crate) const SLOT: u8 = 2;
    pub(crate) const NEW: u8 = 3;
}

/// How the address of an event that was not predicted is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Favoured,
    Guess(Guess),
    FromGuess(i64),
    FromPrevious(i64),
}

/// The codes in the tag of a record.
impl Address {
    pub(crate) const FAVOURED: u8 = 0;
    pub(crate) const FIRST_GUESS: u8 = 1;
    pub(crate) const FROM_GUESS: u8 = 4;
    pub(crate) const FROM_PREVIOUS: u8 = 5;

    fn code(self) -> u8 {
        match self {
            Address::Favoured => Self::FAVOURED,
            Address::Guess(guess) => guess.code(),
            Address::FromGuess(_) => Self::FROM_GUESS,
            Address::FromPrevious(_) => Self::FROM_PREVIOUS,
        }
    }
}

/// How the prediction of an event turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forecast {
    /// It was right.
    Right,
    /// The site was right, but not the address.
    OtherAddress,
    /// The site was wrong.
    OtherSite,
}

/// How an event is told whose site has a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// The code of a [`Site`], and the slot.
    pub(crate) site: u8,
    pub(crate) index: u16,
    /// The code of an [`Address`], and its distance, if it has one.
    pub(crate) address: u8,
    pub(crate) distance: i64,
}

/// A table with nothing in it.
impl Default for Table {
    fn default() -> Table {
        Table { slots: [Slot::default(); SLOTS], frames: [0; FRAMES], depth: 0 }
    }
}

impl Table {
    fn slot(&mut self, index: u16) -> &mut Slot {
        &mut self.slots[usize::from(index & SLOT_MASK)]
    }

    /// Takes the event if it is the one predicted: the writer then only counts it.
    #[inline(always)]
    pub fn hit(&mut self, context: &mut Context, key: Key, address: u64) -> bool {
        let is_hit = self.forecast(context, key, address) == Forecast::Right;
        if is_hit {
            self.pass(context, key, address);
        }
        is_hit
    }

    /// The same for an event that is neither a call nor a return; and if it was not predicted, in what. This is the hot path.
    #[inline(always)]
    pub fn forecast(&mut self, context: &mut Context, key: Key, address: u64) -> Forecast {
        let index = context.expected;
        let slot = &mut self.slots[usize::from(index as u16 & SLOT_MASK)];
        if slot.key != key {
            return Forecast::OtherSite;
        }
        if !slot.expects(context, address) {
            return Forecast::OtherAddress;
        }
        slot.last = address;
        context.previous = address;
        context.current = index;
        context.expected = u32::from(slot.next);
        Forecast::Right
    }

    /// Keeps track of calls.
    #[inline(always)]
    fn pass(&mut self, context: &mut Context, key: Key, address: u64) {
        if key.enters() {
            self.frames[self.depth as usize % FRAMES] = context.salt;
            self.depth = self.depth.wrapping_add(1);
            context.salt = key.salt(context, address);
        } else if key.exits() {
            self.depth = self.depth.wrapping_sub(1);
            context.salt = self.frames[self.depth as usize % FRAMES];
        }
    }

    /// The reader's side of [`Table::hit`]: the event that is predicted; none if the slot is empty, which a
    /// sound log never asks for.
    pub(crate) fn predicted(&mut self, context: &mut Context) -> Option<(Key, u64)> {
        let (key, address) = self.predicted_if(context, |key| key != Key::default())?;
        self.pass(context, key, address);
        Some((key, address))
    }

    /// The event that is predicted, if its site is of this sort, which is neither that of a call nor of a return. Nothing changes otherwise.
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
        let address = slot.favoured(context);
        slot.last = address;
        context.previous = address;
        context.current = index;
        context.expected = u32::from(slot.next);
        Some((slot.key, address))
    }

    /// The slot of a site: at home or next to it, if it is there.
    #[inline(always)]
    fn find(&self, key: Key, salt: u64) -> Option<u16> {
        let home = key.home(salt);
        let is_at = |index: u16| self.slots[usize::from(index)].key == key;
        if is_at(home) {
            Some(home)
        } else if is_at(neighbour(home)) {
            Some(neighbour(home))
        } else {
            None
        }
    }

    /// Gives a site a slot: at home if that is free, else next to it.
    fn add(&mut self, key: Key, salt: u64, last: u64) -> u16 {
        let home = key.home(salt);
        let is_free = self.slot(home).key == Key::default();
        let index = if is_free { home } else { neighbour(home) };
        *self.slot(index) = Slot { key, last, next: index, other: index, ..Slot::default() };
        index
    }

    /// How to tell the reader of an event that was not predicted, if its site has a slot; and what the reader learns from that
    /// ([`Table::learn`]), in one go. Nothing here can be predicted by a processor either, so there are as few branches as can be.
    #[inline(always)]
    pub(crate) fn tell(&mut self, context: &mut Context, key: Key, address: u64) -> Option<Told> {
        let index = self.find(key, key.salt(context, address))?;
        let expected = context.expected;
        let other = self.follow(context, index);
        let not_next = select_unpredictable(index == other, Site::OTHER, Site::SLOT);
        let site = select_unpredictable(u32::from(index) == expected, Site::NEXT, not_next);
        let slot = self.slot(index);
        let told = slot.describe(context, address);
        slot.settle(context, told.0, address);
        self.settle(context, index, key, address);
        Some(Told { site, index, address: told.0, distance: told.1 })
    }

    /// The same for an access of which [`Table::forecast`] said that only its address is another one.
    #[inline(always)]
    pub(crate) fn tell_address(&mut self, context: &mut Context, address: u64) -> Told {
        let index = context.expected as u16 & SLOT_MASK;
        let slot = self.slot(index);
        let told = slot.describe(context, address);
        slot.settle(context, told.0, address);
        let key = slot.key;
        self.settle_access(context, index, key, address);
        Told { site: Site::NEXT, index, address: told.0, distance: told.1 }
    }

    /// The same for an access of which it said that its site is another one, if the address is what that site expects: where the program
    /// has turned another way than the last time. This is most of what is not predicted.
    #[inline(always)]
    pub(crate) fn tell_turn(&mut self, context: &mut Context, key: Key, address: u64) -> Option<Told> {
        let index = self.find(key, context.salt)?;
        if !self.slot(index).expects(context, address) {
            return None;
        }
        let other = self.follow(context, index);
        self.slot(index).last = address;
        self.settle_access(context, index, key, address);
        let site = select_unpredictable(index == other, Site::OTHER, Site::SLOT);
        Some(Told { site, index, address: Address::FAVOURED, distance: 0 })
    }

    /// The same for a site that has no slot: how far its address is from the thread's previous one.
    #[cold]
    pub(crate) fn tell_new(&mut self, context: &mut Context, key: Key, address: u64) -> i64 {
        let distance = address.wrapping_sub(context.previous) as i64;
        self.learn(context, Site::New(key), Address::FromPrevious(distance));
        distance
    }

    /// Notes that this slot comes after the current one; which one was the other successor so far.
    #[inline(always)]
    fn follow(&mut self, context: &Context, index: u16) -> u16 {
        let before = self.slot(context.current as u16);
        let other = before.other & SLOT_MASK;
        if before.next != index {
            before.other = before.other & !SLOT_MASK | before.next;
            before.next = index;
        }
        other
    }

    /// The event in this slot was the last one.
    #[inline(always)]
    fn settle(&mut self, context: &mut Context, index: u16, key: Key, address: u64) {
        self.settle_access(context, index, key, address);
        self.pass(context, key, address);
    }

    #[inline(always)]
    fn settle_access(&mut self, context: &mut Context, index: u16, key: Key, address: u64) {
        context.expected = u32::from(self.slot(index).next);
        context.current = u32::from(index);
        context.previous = address;
        context.pc = key.pc();
    }

    /// Takes an event that was not predicted, as it was described: both sides learn the same from it.
    pub(crate) fn learn(&mut self, context: &mut Context, site: Site, address_told: Address) -> (Key, u64) {
        let previous = context.previous;
        let index = match site {
            Site::Next => context.expected as u16 & SLOT_MASK,
            Site::Other => self.slot(context.current as u16).other & SLOT_MASK,
            Site::Slot(index) => index & SLOT_MASK,
            Site::New(key) => {
                let last = match address_told {
                    Address::FromPrevious(distance) => previous.wrapping_add(distance as u64),
                    _ => previous,
                };
                self.add(key, key.salt(context, last), last)
            }
        };
        self.follow(context, index);
        let slot = self.slot(index);
        let key = slot.key;
        let address = match address_told {
            Address::Favoured => slot.favoured(context),
            Address::Guess(guess) => slot.guess(guess, context),
            Address::FromGuess(distance) => slot.favoured(context).wrapping_add(distance as u64),
            Address::FromPrevious(distance) => previous.wrapping_add(distance as u64),
        };
        slot.settle(context, address_told.code(), address);
        self.settle(context, index, key, address);
        (key, address)
    }
}

/// Where a site goes whose own slot another one has: in the same line of the processor's cache.
#[inline(always)]
fn neighbour(index: u16) -> u16 {
    index ^ 1
}

impl Slot {
    /// How to tell the reader of this address: the code of an [`Address`], and its distance.
    #[inline(always)]
    fn describe(&self, context: &Context, address: u64) -> (u8, i64) {
        let from_guess = address.wrapping_sub(self.favoured(context)) as i64;
        let from_previous = address.wrapping_sub(context.previous) as i64;
        let is_nearer = from_previous.unsigned_abs() < from_guess.unsigned_abs();
        let mut code = select_unpredictable(is_nearer, Address::FROM_PREVIOUS, Address::FROM_GUESS);
        for guess in Guess::ALL.into_iter().rev() {
            code = select_unpredictable(self.guess(guess, context) == address, guess.code(), code);
        }
        code = select_unpredictable(from_guess == 0, Address::FAVOURED, code);
        (code, select_unpredictable(is_nearer, from_previous, from_guess))
    }

    /// Learns from an address that was told like this.
    #[inline(always)]
    fn settle(&mut self, context: &mut Context, told: u8, address: u64) {
        if told != Address::FAVOURED {
            let stride = address.wrapping_sub(self.last) as i32;
            self.stride = select_unpredictable(stride == self.candidate, stride, self.stride);
            self.candidate = stride;
            self.offset = address.wrapping_sub(context.previous) as i32;
            context.detour = stride;
            let favours = u16::from(told.wrapping_sub(Address::FIRST_GUESS)) << FAVOUR_SHIFT;
            let favours = favours | self.other & SLOT_MASK;
            self.other = select_unpredictable(told < Address::FROM_GUESS, favours, self.other);
        }
        self.last = address;
    }
}
