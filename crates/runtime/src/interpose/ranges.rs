//! The C library's functions on memory and strings, as accesses to ranges.

use core::ffi::{c_char, c_int, c_void};

use wire::Kind;

use super::{hook, rust};
use crate::hooks::range;
use crate::inside::enter;
use crate::real::real;
use crate::program::is_following;

type Bytes = *mut c_void;
type Text = *const c_char;

/// Tells what is read and written, in this order: address, length. All of it happens at once, afterwards; only a schedule
/// that is followed may stop the thread in between.
pub(crate) fn log_ranges(pc: u64, reads: &[(u64, usize)], writes: &[(u64, usize)]) {
    // rustc calls hooks of their own from what it instruments.
    if !rust::has_hidden_std() {
        log_ranges_hooked(pc, reads, writes);
    }
}

fn log_ranges_hooked(pc: u64, reads: &[(u64, usize)], writes: &[(u64, usize)]) {
    let Some(inside) = enter() else { return };
    let reads = reads.iter().map(|&range| (Kind::ReadRange, range));
    let writes = writes.iter().map(|&range| (Kind::WriteRange, range));
    let mut first = true;
    // What is empty is no event: who stops there is not at the event after it.
    for (kind, (address, length)) in reads.chain(writes).filter(|&(_, (_, length))| length > 0) {
        if first || is_following() {
            inside.stop_before(kind, address, length as u64, pc);
        }
        first = false;
        range(&inside, kind == Kind::ReadRange, address, length as u64, pc);
    }
}

/// The length of a string; finding it records no access.
///
/// # Safety
/// The text ends with a zero.
pub(crate) unsafe fn length(text: Text) -> usize {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    real!(strlen(text => Text) -> usize)
}
}

/// # Safety
/// The text ends with a zero, or is so long.
pub(crate) unsafe fn limited_length(text: Text, most: usize) -> usize {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    real!(strnlen(text => Text, most => usize) -> usize)
}
}

/// Tells that a text of this length was copied there, if it was.
fn log_copy(to: Text, length: usize, pc: u64) -> Text {
    if !to.is_null() {
        log_ranges(pc, &[], &[(to as u64, length + 1)]);
    }
    to
}

/// How far two texts are compared: up to the first difference or the end, not further than the limit.
///
/// # Safety
/// Both texts end with a zero, or are as long as the limit.
unsafe fn compared(a: Text, b: Text, limit: usize) -> usize {
// SAFETY: nothing is read beyond the end of either text, or the limit.
unsafe {
    let mut at = 0;
    while at < limit {
        let (x, y) = (a.add(at).read(), b.add(at).read());
        at += 1;
        if x != y || x == 0 {
            break;
        }
    }
    at
}
}

hook! {
    fn memcpy(to: Bytes, from: Bytes, size: usize; pc in "rcx") -> Bytes {
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(memcpy(to => Bytes, from => Bytes, size => usize) -> Bytes)
    }
    fn __tsan_memcpy(to: Bytes, from: Bytes, size: usize; pc in "rcx") -> Bytes {
        log_ranges_hooked(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(memcpy(to => Bytes, from => Bytes, size => usize) -> Bytes)
    }
    fn memmove(to: Bytes, from: Bytes, size: usize; pc in "rcx") -> Bytes {
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(memmove(to => Bytes, from => Bytes, size => usize) -> Bytes)
    }
    fn __tsan_memmove(to: Bytes, from: Bytes, size: usize; pc in "rcx") -> Bytes {
        log_ranges_hooked(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(memmove(to => Bytes, from => Bytes, size => usize) -> Bytes)
    }
    fn mempcpy(to: Bytes, from: Bytes, size: usize; pc in "rcx") -> Bytes {
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(mempcpy(to => Bytes, from => Bytes, size => usize) -> Bytes)
    }
    fn memset(to: Bytes, byte: c_int, size: usize; pc in "rcx") -> Bytes {
        log_ranges(pc, &[], &[(to as u64, size)]);
        real!(memset(to => Bytes, byte => c_int, size => usize) -> Bytes)
    }
    fn __tsan_memset(to: Bytes, byte: c_int, size: usize; pc in "rcx") -> Bytes {
        log_ranges_hooked(pc, &[], &[(to as u64, size)]);
        real!(memset(to => Bytes, byte => c_int, size => usize) -> Bytes)
    }
    fn memcmp(a: Bytes, b: Bytes, size: usize; pc in "rcx") -> c_int {
        log_ranges(pc, &[(a as u64, size), (b as u64, size)], &[]);
        real!(memcmp(a => Bytes, b => Bytes, size => usize) -> c_int)
    }
    fn bcmp(a: Bytes, b: Bytes, size: usize; pc in "rcx") -> c_int {
        log_ranges(pc, &[(a as u64, size), (b as u64, size)], &[]);
        real!(memcmp(a => Bytes, b => Bytes, size => usize) -> c_int)
    }
    fn memchr(text: Bytes, byte: c_int, size: usize; pc in "rcx") -> Bytes {
        let found = real!(memchr(text => Bytes, byte => c_int, size => usize) -> Bytes);
        let seen = if found.is_null() { size } else { found as usize - text as usize + 1 };
        log_ranges(pc, &[(text as u64, seen)], &[]);
        found
    }
    fn strlen(text: Text; pc in "rsi") -> usize {
        let length = length(text);
        log_ranges(pc, &[(text as u64, length + 1)], &[]);
        length
    }
    fn strcpy(to: Text, from: Text; pc in "rdx") -> Text {
        let size = length(from) + 1;
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(strcpy(to => Text, from => Text) -> Text)
    }
    fn strncpy(to: Text, from: Text, size: usize; pc in "rcx") -> Text {
        let read = limited_length(from, size);
        log_ranges(pc, &[(from as u64, (read + 1).min(size))], &[(to as u64, size)]);
        real!(strncpy(to => Text, from => Text, size => usize) -> Text)
    }
    fn strcat(to: Text, from: Text; pc in "rdx") -> Text {
        let (before, size) = (length(to), length(from) + 1);
        log_ranges(pc, &[(to as u64, before + 1), (from as u64, size)], &[(to as u64 + before as u64, size)]);
        real!(strcat(to => Text, from => Text) -> Text)
    }
    fn stpcpy(to: Text, from: Text; pc in "rdx") -> Text {
        let size = length(from) + 1;
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(stpcpy(to => Text, from => Text) -> Text)
    }
    fn strncat(to: Text, from: Text, size: usize; pc in "rcx") -> Text {
        let (before, added) = (length(to), limited_length(from, size));
        let read = (added + 1).min(size);
        log_ranges(pc, &[(to as u64, before + 1), (from as u64, read)], &[(to as u64 + before as u64, added + 1)]);
        real!(strncat(to => Text, from => Text, size => usize) -> Text)
    }
    fn strdup(text: Text; pc in "rsi") -> Text {
        log_ranges(pc, &[(text as u64, length(text) + 1)], &[]);
        log_copy(real!(strdup(text => Text) -> Text), length(text), pc)
    }
    fn strndup(text: Text, size: usize; pc in "rdx") -> Text {
        let taken = limited_length(text, size);
        log_ranges(pc, &[(text as u64, (taken + 1).min(size))], &[]);
        log_copy(real!(strndup(text => Text, size => usize) -> Text), taken, pc)
    }
    fn strnlen(text: Text, size: usize; pc in "rdx") -> usize {
        let length = limited_length(text, size);
        log_ranges(pc, &[(text as u64, (length + 1).min(size))], &[]);
        length
    }
    fn strstr(text: Text, part: Text; pc in "rdx") -> Text {
        let found = real!(strstr(text => Text, part => Text) -> Text);
        let sought = length(part);
        let seen = if found.is_null() { length(text) + 1 } else { found as usize - text as usize + sought };
        log_ranges(pc, &[(text as u64, seen), (part as u64, sought + 1)], &[]);
        found
    }
    fn strcasecmp(a: Text, b: Text; pc in "rdx") -> c_int {
        let seen = compared(a, b, usize::MAX);
        log_ranges(pc, &[(a as u64, seen), (b as u64, seen)], &[]);
        real!(strcasecmp(a => Text, b => Text) -> c_int)
    }
    fn strncasecmp(a: Text, b: Text, size: usize; pc in "rcx") -> c_int {
        let seen = compared(a, b, size);
        log_ranges(pc, &[(a as u64, seen), (b as u64, seen)], &[]);
        real!(strncasecmp(a => Text, b => Text, size => usize) -> c_int)
    }
    fn memrchr(text: Bytes, byte: c_int, size: usize; pc in "rcx") -> Bytes {
        log_ranges(pc, &[(text as u64, size)], &[]);
        real!(memrchr(text => Bytes, byte => c_int, size => usize) -> Bytes)
    }
    fn bzero(to: Bytes, size: usize; pc in "rdx") {
        log_ranges(pc, &[], &[(to as u64, size)]);
        real!(bzero(to => Bytes, size => usize));
    }
    fn explicit_bzero(to: Bytes, size: usize; pc in "rdx") {
        log_ranges(pc, &[], &[(to as u64, size)]);
        real!(explicit_bzero(to => Bytes, size => usize));
    }
    fn bcopy(from: Bytes, to: Bytes, size: usize; pc in "rcx") {
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(bcopy(from => Bytes, to => Bytes, size => usize));
    }
    fn qsort(array: Bytes, count: usize, size: usize, compare: Bytes; pc in "r8") {
        let all = (array as u64, count.saturating_mul(size));
        log_ranges(pc, &[all], &[all]);
        real!(qsort(array => Bytes, count => usize, size => usize, compare => Bytes));
    }
    fn qsort_r(array: Bytes, count: usize, size: usize, compare: Bytes, argument: Bytes; pc in "r9") {
        let all = (array as u64, count.saturating_mul(size));
        log_ranges(pc, &[all], &[all]);
        real!(qsort_r(array => Bytes, count => usize, size => usize, compare => Bytes, argument => Bytes));
    }
    fn strcmp(a: Text, b: Text; pc in "rdx") -> c_int {
        let seen = compared(a, b, usize::MAX);
        log_ranges(pc, &[(a as u64, seen), (b as u64, seen)], &[]);
        real!(strcmp(a => Text, b => Text) -> c_int)
    }
    fn strncmp(a: Text, b: Text, size: usize; pc in "rcx") -> c_int {
        let seen = compared(a, b, size);
        log_ranges(pc, &[(a as u64, seen), (b as u64, seen)], &[]);
        real!(strncmp(a => Text, b => Text, size => usize) -> c_int)
    }
    fn strchr(text: Text, byte: c_int; pc in "rdx") -> Text {
        let found = real!(strchr(text => Text, byte => c_int) -> Text);
        let seen = if found.is_null() { length(text) + 1 } else { found as usize - text as usize + 1 };
        log_ranges(pc, &[(text as u64, seen)], &[]);
        found
    }
    fn strrchr(text: Text, byte: c_int; pc in "rdx") -> Text {
        log_ranges(pc, &[(text as u64, length(text) + 1)], &[]);
        real!(strrchr(text => Text, byte => c_int) -> Text)
    }
}

/// Functions that write text and bytes to a stream: what they are given is read.
mod streams {
    use super::{Bytes, Text, c_int, hook, length, log_ranges};
    use crate::real::real;

    hook! {
        fn puts(text: Text; pc in "rsi") -> c_int {
            log_ranges(pc, &[(text as u64, length(text) + 1)], &[]);
            real!(puts(text => Text) -> c_int)
        }
        fn fputs(text: Text, stream: Bytes; pc in "rdx") -> c_int {
            log_ranges(pc, &[(text as u64, length(text) + 1)], &[]);
            real!(fputs(text => Text, stream => Bytes) -> c_int)
        }
        fn fwrite(from: Bytes, size: usize, count: usize, stream: Bytes; pc in "r8") -> usize {
            log_ranges(pc, &[(from as u64, size.saturating_mul(count))], &[]);
            real!(fwrite(from => Bytes, size => usize, count => usize, stream => Bytes) -> usize)
        }
        fn fread(to: Bytes, size: usize, count: usize, stream: Bytes; pc in "r8") -> usize {
            let read = real!(fread(to => Bytes, size => usize, count => usize, stream => Bytes) -> usize);
            log_ranges(pc, &[], &[(to as u64, size.saturating_mul(read))]);
            read
        }
    }
}
