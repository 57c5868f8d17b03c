//! Functions that list files, expand patterns and match regular expressions: what they make is written.

use core::ffi::{c_char, c_int, c_void};

use super::databases::{Parts, log_name};
use super::filled::{log_fill, log_text};
use super::hook;
use super::ranges::log_ranges;
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;
type Found = *mut libc::dirent;
type List = *mut *mut Found;

/// Records that an entry of a directory was written, if there is one.
///
/// # Safety
/// The entry is null or one.
unsafe fn log_entry(entry: Found, pc: u64) -> Found {
    // SAFETY: by this function's contract.
    if let Some(&libc::dirent { d_reclen: size, .. }) = unsafe { entry.as_ref() } {
        log_fill(entry.cast(), usize::from(size), pc);
    }
    entry
}

/// Records that a list of entries was written, and where it is.
///
/// # Safety
/// The list has this number of entries.
unsafe fn log_list(list: List, count: c_int, pc: u64) -> c_int {
    let Ok(entries) = usize::try_from(count) else { return count };
    let mut parts = Parts::none();
    // SAFETY: by this function's contract.
    unsafe {
        parts.bytes(list as u64, size_of::<Bytes>());
        parts.bytes(*list as u64, entries * size_of::<Bytes>());
        for index in 0..entries {
            let entry = *(*list).add(index);
            parts.bytes(entry as u64, usize::from((*entry).d_reclen));
        }
    }
    parts.log_writes(pc);
    count
}

/// Records that texts were written, the list of them, and what says where it is.
///
/// # Safety
/// The list has this number of elements that are left out, and then of texts.
unsafe fn log_texts((result, size): (u64, usize), list: *mut Text, left_out: usize, count: usize, pc: u64) {
    let mut parts = Parts::none();
    parts.bytes(result, size);
    if !list.is_null() {
        parts.bytes(list as u64, (left_out + count + 1) * size_of::<Text>());
        for index in left_out..left_out + count {
            // SAFETY: by this function's contract.
            unsafe { parts.text(*list.add(index)) };
        }
    }
    parts.log_writes(pc);
}

/// Records what `glob` has found.
///
/// # Safety
/// As `glob` has left it.
unsafe fn log_glob(error: c_int, flags: c_int, found: *const libc::glob_t, pc: u64) -> c_int {
    if error == 0 || error == libc::GLOB_NOMATCH {
        // SAFETY: by this function's contract.
        let &libc::glob_t { gl_pathc: count, gl_pathv: list, gl_offs: offset, .. } = unsafe { &*found };
        let left_out = if flags & libc::GLOB_DOOFFS != 0 { offset } else { 0 };
        // SAFETY: the same.
        unsafe { log_texts((found as u64, size_of::<libc::glob_t>()), list, left_out, count, pc) };
    }
    error
}

/// `wordexp_t`.
#[repr(C)]
struct Words {
    count: usize,
    list: *mut Text,
    offset: usize,
}

/// `WRDE_DOOFFS`: the list begins with elements that are left out.
const HAS_OFFSET: c_int = 1;

type Expression = *mut libc::regex_t;
const EXPRESSION: usize = size_of::<libc::regex_t>();
type Match = *mut libc::regmatch_t;

/// Whether an expression was compiled to find no places, with `REG_NOSUB`: a bit of its last word.
///
/// # Safety
/// The expression was compiled.
unsafe fn finds_no_places(expression: Expression) -> bool {
    const FLAGS: usize = 56;
    const NO_PLACES: u8 = 1 << 5;
    // SAFETY: by this function's contract; the word is inside it.
    unsafe { expression.cast::<u8>().add(FLAGS).read() & NO_PLACES != 0 }
}

hook! {
    fn readdir(directory: Bytes; pc in "rsi") -> Found {
        log_entry(real!(readdir(directory => Bytes) -> Found), pc)
    }
    fn readdir64(directory: Bytes; pc in "rsi") -> Found {
        log_entry(real!(readdir64(directory => Bytes) -> Found), pc)
    }
    fn scandir(path: Text, list: List, keeps: Bytes, compare: Bytes; pc in "r8") -> c_int {
        log_name(path, pc);
        log_list(list, real!(scandir(path => Text, list => List, keeps => Bytes, compare => Bytes) -> c_int), pc)
    }
    fn scandir64(path: Text, list: List, keeps: Bytes, compare: Bytes; pc in "r8") -> c_int {
        log_name(path, pc);
        log_list(list, real!(scandir64(path => Text, list => List, keeps => Bytes, compare => Bytes) -> c_int), pc)
    }
    fn glob(pattern: Text, flags: c_int, failed: Bytes, found: *mut libc::glob_t; pc in "r8") -> c_int {
        log_name(pattern, pc);
        let error = real!(glob(pattern => Text, flags => c_int, failed => Bytes, found => *mut libc::glob_t) -> c_int);
        log_glob(error, flags, found, pc)
    }
    fn glob64(pattern: Text, flags: c_int, failed: Bytes, found: *mut libc::glob_t; pc in "r8") -> c_int {
        log_name(pattern, pc);
        let error = real!(glob64(pattern => Text, flags => c_int, failed => Bytes, found => *mut libc::glob_t) -> c_int);
        log_glob(error, flags, found, pc)
    }
    fn wordexp(text: Text, words: *mut Words, flags: c_int; pc in "rcx") -> c_int {
        log_name(text, pc);
        let error = real!(wordexp(text => Text, words => *mut Words, flags => c_int) -> c_int);
        if error == 0 {
            let &Words { count, list, offset } = &*words;
            let left_out = if flags & HAS_OFFSET != 0 { offset } else { 0 };
            log_texts((words as u64, size_of::<Words>()), list, left_out, count, pc);
        }
        error
    }
    fn regcomp(expression: Expression, pattern: Text, flags: c_int; pc in "rcx") -> c_int {
        log_name(pattern, pc);
        let error = real!(regcomp(expression => Expression, pattern => Text, flags => c_int) -> c_int);
        log_fill(expression.cast(), EXPRESSION, pc);
        error
    }
    fn regexec(expression: Expression, text: Text, count: usize, places: Match, flags: c_int; pc in "r9") -> c_int {
        log_ranges(pc, &[(expression as u64, EXPRESSION)], &[]);
        if flags & libc::REG_STARTEND == 0 {
            log_name(text, pc);
        } else {
            let part = &*places;
            log_ranges(pc, &[(places as u64, size_of::<libc::regmatch_t>())], &[]);
            log_ranges(pc, &[(text as u64 + part.rm_so as u64, (part.rm_eo - part.rm_so).max(0) as usize)], &[]);
        }
        let error = real!(regexec(
            expression => Expression, text => Text, count => usize, places => Match, flags => c_int
        ) -> c_int);
        if error == 0 && !finds_no_places(expression) {
            log_fill(places.cast(), count.saturating_mul(size_of::<libc::regmatch_t>()), pc);
        }
        error
    }
    fn regerror(error: c_int, expression: Expression, to: Text, room: usize; pc in "r8") -> usize {
        let needed = real!(regerror(error => c_int, expression => Expression, to => Text, room => usize) -> usize);
        if room > 0 {
            log_text(to, pc);
        }
        needed
    }
    fn regfree(expression: Expression; pc in "rsi") {
        log_fill(expression.cast(), EXPRESSION, pc);
        real!(regfree(expression => Expression));
    }
}
