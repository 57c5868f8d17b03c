//! Functions that change how a text is encoded: what they read and write.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use super::filled::log_fill;
use super::hook;
use super::ranges::{length, limited_length, log_ranges};
use super::wide::{Wide, characters, whole, wide_length};
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;
/// Where a text goes on; a conversion moves it.
type Position<T> = *mut T;

const POINTER: usize = size_of::<Text>();
/// What a conversion returns that has come to an invalid character.
const INVALID: usize = usize::MAX;

/// The characters that a conversion has made, and the end if there was room for it.
fn made(converted: usize, room: usize) -> usize {
    if converted == INVALID { 0 } else { converted.saturating_add(1).min(room) }
}

/// Records a conversion of a text that goes on where a pointer says. What was read and written is where the pointer was, up to where it is
/// afterwards: behind the text's end it is null.
///
/// # Safety
/// The position is one of a text, and the real function converts it.
unsafe fn log_moved<T>(
    position: Position<*mut T>,
    (to, room, unit): (Bytes, usize, usize),
    to_its_end: impl FnOnce(*mut T) -> (u64, usize),
    pc: u64,
    really: impl FnOnce() -> usize,
) -> usize {
    // SAFETY: by this function's contract.
    unsafe {
        let before = *position;
        let converted = really();
        let after = *position;
        let pointer = (position as u64, POINTER);
        if to.is_null() {
            // Nothing is converted, only counted.
            log_ranges(pc, &[pointer, to_its_end(before)], &[]);
        } else {
            let read = if after.is_null() { to_its_end(before) } else { (before as u64, after as usize - before as usize) };
            // An invalid character ends a conversion whose length is not known: nothing is said of what it has written.
            log_ranges(pc, &[pointer, read], &[(to as u64, made(converted, room).saturating_mul(unit)), pointer]);
        }
        converted
    }
}

const WIDE: usize = size_of::<u32>();

/// A text of at most this number of bytes, with its end if that is among them.
///
/// # Safety
/// The text ends with a zero, or is so long.
unsafe fn limited(text: Text, most: usize) -> (u64, usize) {
    // SAFETY: by this function's contract.
    let found = unsafe { if most == usize::MAX { length(text) } else { limited_length(text, most) } };
    (text as u64, found.saturating_add(1).min(most))
}

/// The same for wide characters.
///
/// # Safety
/// The text ends with a zero, or has this number of characters.
unsafe fn wide_limited(text: Wide, most: usize) -> (u64, usize) {
    // SAFETY: by this function's contract.
    characters(text, unsafe { wide_length(text, most) }.saturating_add(1).min(most))
}

hook! {
    fn mbstowcs(to: Wide, from: Text, room: usize; pc in "rcx") -> usize {
        // Each character has a byte or more.
        log_ranges(pc, &[limited(from, if to.is_null() { usize::MAX } else { room })], &[]);
        let converted = real!(mbstowcs(to => Wide, from => Text, room => usize) -> usize);
        log_fill(to.cast(), made(converted, room).saturating_mul(WIDE), pc);
        converted
    }
    fn wcstombs(to: Text, from: Wide, room: usize; pc in "rcx") -> usize {
        log_ranges(pc, &[wide_limited(from, if to.is_null() { usize::MAX } else { room })], &[]);
        let converted = real!(wcstombs(to => Text, from => Wide, room => usize) -> usize);
        log_fill(to.cast(), made(converted, room), pc);
        converted
    }
    fn mbsrtowcs(to: Wide, from: Position<Text>, room: usize, state: Bytes; pc in "r8") -> usize {
        log_moved(from, (to.cast(), room, WIDE), |text| limited(text, usize::MAX), pc, || {
            real!(mbsrtowcs(to => Wide, from => Position<Text>, room => usize, state => Bytes) -> usize)
        })
    }
    fn mbsnrtowcs(to: Wide, from: Position<Text>, size: usize, room: usize, state: Bytes; pc in "r9") -> usize {
        log_moved(from, (to.cast(), room, WIDE), |text| limited(text, size), pc, || {
            real!(mbsnrtowcs(to => Wide, from => Position<Text>, size => usize, room => usize, state => Bytes) -> usize)
        })
    }
    fn wcsrtombs(to: Text, from: Position<Wide>, room: usize, state: Bytes; pc in "r8") -> usize {
        log_moved(from, (to.cast(), room, 1), |text| whole(text), pc, || {
            real!(wcsrtombs(to => Text, from => Position<Wide>, room => usize, state => Bytes) -> usize)
        })
    }
    fn wcsnrtombs(to: Text, from: Position<Wide>, count: usize, room: usize, state: Bytes; pc in "r9") -> usize {
        log_moved(from, (to.cast(), room, 1), |text| wide_limited(text, count), pc, || {
            real!(wcsnrtombs(to => Text, from => Position<Wide>, count => usize, room => usize, state => Bytes) -> usize)
        })
    }
    fn wctomb(to: Text, character: u32; pc in "rdx") -> c_int {
        let size = real!(wctomb(to => Text, character => u32) -> c_int);
        if size > 0 {
            log_fill(to.cast(), size as usize, pc);
        }
        size
    }
    fn wcrtomb(to: Text, character: u32, state: Bytes; pc in "rcx") -> usize {
        let size = real!(wcrtomb(to => Text, character => u32, state => Bytes) -> usize);
        if size != INVALID {
            log_fill(to.cast(), size, pc);
        }
        size
    }
    fn iconv(how: Bytes, from: Position<Text>, left: *mut usize, to: Position<Text>, room: *mut usize; pc in "r9") -> usize {
        let at = |position: Position<Text>| if position.is_null() { ptr::null_mut() } else { *position };
        let (from_before, to_before) = (at(from), at(to));
        let result = real!(iconv(
            how => Bytes, from => Position<Text>, left => *mut usize, to => Position<Text>, room => *mut usize
        ) -> usize);
        let taken = |before: Text, after: Text| (before as u64, (after as usize).wrapping_sub(before as usize));
        let (read, written) = (taken(from_before, at(from)), taken(to_before, at(to)));
        // What says how far it has come is read and written, if it is there.
        let mut places = [(0, 0); 4];
        if !from_before.is_null() {
            places[0] = (from as u64, POINTER);
            places[1] = (left as u64, size_of::<usize>());
        }
        if !to_before.is_null() {
            places[2] = (to as u64, POINTER);
            places[3] = (room as u64, size_of::<usize>());
        }
        let [a, b, c, d] = places;
        log_ranges(pc, &[a, b, c, d, read], &[written, a, b, c, d]);
        result
    }
    fn wcsxfrm(to: Wide, from: Wide, room: usize; pc in "rcx") -> usize {
        log_ranges(pc, &[whole(from)], &[]);
        let needed = real!(wcsxfrm(to => Wide, from => Wide, room => usize) -> usize);
        log_fill(to.cast(), transformed(needed, room) * WIDE, pc);
        needed
    }
    fn wcsxfrm_l(to: Wide, from: Wide, room: usize, locale: Bytes; pc in "r8") -> usize {
        log_ranges(pc, &[whole(from)], &[]);
        let needed = real!(wcsxfrm_l(to => Wide, from => Wide, room => usize, locale => Bytes) -> usize);
        log_fill(to.cast(), transformed(needed, room) * WIDE, pc);
        needed
    }
    fn strxfrm_l(to: Text, from: Text, room: usize, locale: Bytes; pc in "r8") -> usize {
        log_ranges(pc, &[limited(from, usize::MAX)], &[]);
        let needed = real!(strxfrm_l(to => Text, from => Text, room => usize, locale => Bytes) -> usize);
        log_fill(to.cast(), transformed(needed, room), pc);
        needed
    }
}

/// What is written of a text that needs this room, and its end.
fn transformed(needed: usize, room: usize) -> usize {
    if needed < room { needed + 1 } else { 0 }
}
