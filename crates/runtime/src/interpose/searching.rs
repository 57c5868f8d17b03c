//! Functions of the C library that look for something in a text, or cut it up.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::hook;
use super::ranges::{length, log_ranges};
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;

/// How much of a text was read by a search that ended where it found something, which has this number of bytes, or at the text's end.
///
/// # Safety
/// The text ends with a zero; what was found is in it, or null.
unsafe fn searched(text: Text, found: Text, size: usize) -> usize {
    if found.is_null() {
        // SAFETY: by this function's contract.
        return unsafe { length(text) } + 1;
    }
    found as usize - text as usize + size
}

/// Where the next call of `strtok` goes on.
static NEXT: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Cuts the next piece off a text and tells what was read and written.
///
/// # Safety
/// As for `strtok_r`.
unsafe fn cut(text: Text, delimiters: Text, next: *mut Text, pc: u64) -> Text {
    // SAFETY: by this function's contract: the text, or where the last call ended, has its end.
    unsafe {
        let start = if text.is_null() { *next } else { text };
        // Nothing is left of a text that was never given.
        let size = if start.is_null() { 0 } else { length(start) + 1 };
        let piece = real!(strtok_r(text => Text, delimiters => Text, next => *mut Text) -> Text);
        let around = (delimiters as u64, length(delimiters) + 1);
        if piece.is_null() {
            log_ranges(pc, &[(start as u64, size), around], &[]);
            return piece;
        }
        // It ends at a delimiter, which is overwritten and skipped, or at the end of the text.
        let end = piece.add(length(piece));
        let is_cut = *next != end;
        let read = end as usize - start as usize + 1;
        log_ranges(pc, &[(start as u64, read), around], &[(end as u64, usize::from(is_cut))]);
        piece
    }
}

hook! {
    fn strspn(text: Text, set: Text; pc in "rdx") -> usize {
        let size = real!(strspn(text => Text, set => Text) -> usize);
        log_ranges(pc, &[(text as u64, size + 1), (set as u64, length(set) + 1)], &[]);
        size
    }
    fn strcspn(text: Text, set: Text; pc in "rdx") -> usize {
        let size = real!(strcspn(text => Text, set => Text) -> usize);
        log_ranges(pc, &[(text as u64, size + 1), (set as u64, length(set) + 1)], &[]);
        size
    }
    fn strpbrk(text: Text, set: Text; pc in "rdx") -> Text {
        let found = real!(strpbrk(text => Text, set => Text) -> Text);
        log_ranges(pc, &[(text as u64, searched(text, found, 1)), (set as u64, length(set) + 1)], &[]);
        found
    }
    fn strcasestr(text: Text, part: Text; pc in "rdx") -> Text {
        let found = real!(strcasestr(text => Text, part => Text) -> Text);
        let sought = length(part);
        log_ranges(pc, &[(text as u64, searched(text, found, sought)), (part as u64, sought + 1)], &[]);
        found
    }
    fn strchrnul(text: Text, byte: c_int; pc in "rdx") -> Text {
        let found = real!(strchrnul(text => Text, byte => c_int) -> Text);
        log_ranges(pc, &[(text as u64, searched(text, found, 1))], &[]);
        found
    }
    fn memmem(text: Bytes, size: usize, part: Bytes, sought: usize; pc in "r8") -> Bytes {
        let found = real!(memmem(text => Bytes, size => usize, part => Bytes, sought => usize) -> Bytes);
        log_ranges(pc, &[(text as u64, size), (part as u64, sought)], &[]);
        found
    }
    fn strtok_r(text: Text, delimiters: Text, next: *mut Text; pc in "rcx") -> Text {
        let place = (next as u64, size_of::<Text>());
        if text.is_null() {
            log_ranges(pc, &[place], &[]);
        }
        let piece = cut(text, delimiters, next, pc);
        log_ranges(pc, &[], &[place]);
        piece
    }
    // What the C library remembers between two calls is its own, and cannot be read; so it is remembered here.
    fn strtok(text: Text, delimiters: Text; pc in "rdx") -> Text {
        let mut next = NEXT.load(Ordering::Relaxed);
        let piece = cut(text, delimiters, &raw mut next, pc);
        NEXT.store(next, Ordering::Relaxed);
        piece
    }
}
