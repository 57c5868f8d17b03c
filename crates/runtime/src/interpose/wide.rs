//! The C library's functions on texts of wide characters.

use super::hook;
use super::ranges::log_ranges;
use crate::real::real;

/// A text of wide characters, which have four bytes each.
pub(super) type Wide = *mut u32;

/// The length of a text, in characters, if it is not longer than this.
///
/// # Safety
/// The text ends with a zero, or is so long.
pub(crate) unsafe fn wide_length(text: Wide, most: usize) -> usize {
    // SAFETY: by this function's contract.
    unsafe {
        if most == usize::MAX {
            real!(wcslen(text => Wide) -> usize)
        } else {
            real!(wcsnlen(text => Wide, most => usize) -> usize)
        }
    }
}

/// This number of characters, as a range.
pub(super) fn characters(text: Wide, count: usize) -> (u64, usize) {
    (text as u64, count.saturating_mul(size_of::<u32>()))
}

/// The characters of a text and its end.
///
/// # Safety
/// The text ends with a zero.
pub(super) unsafe fn whole(text: Wide) -> (u64, usize) {
    // SAFETY: by this function's contract.
    characters(text, unsafe { wide_length(text, usize::MAX) } + 1)
}

hook! {
    fn wcslen(text: Wide; pc in "rsi") -> usize {
        let length = wide_length(text, usize::MAX);
        log_ranges(pc, &[characters(text, length + 1)], &[]);
        length
    }
    fn wcsnlen(text: Wide, most: usize; pc in "rdx") -> usize {
        let length = wide_length(text, most);
        log_ranges(pc, &[characters(text, (length + 1).min(most))], &[]);
        length
    }
    fn wcscpy(to: Wide, from: Wide; pc in "rdx") -> Wide {
        let (_, size) = whole(from);
        log_ranges(pc, &[(from as u64, size)], &[(to as u64, size)]);
        real!(wcscpy(to => Wide, from => Wide) -> Wide)
    }
    fn wcscat(to: Wide, from: Wide; pc in "rdx") -> Wide {
        let (before, (_, size)) = (wide_length(to, usize::MAX), whole(from));
        log_ranges(pc, &[characters(to, before + 1), (from as u64, size)], &[(to.add(before) as u64, size)]);
        real!(wcscat(to => Wide, from => Wide) -> Wide)
    }
    fn wcsncat(to: Wide, from: Wide, most: usize; pc in "rcx") -> Wide {
        let (before, added) = (wide_length(to, usize::MAX), wide_length(from, most));
        let read = [characters(to, before + 1), characters(from, (added + 1).min(most))];
        log_ranges(pc, &read, &[characters(to.add(before), added + 1)]);
        real!(wcsncat(to => Wide, from => Wide, most => usize) -> Wide)
    }
    fn wcsdup(text: Wide; pc in "rsi") -> Wide {
        let (address, size) = whole(text);
        log_ranges(pc, &[(address, size)], &[]);
        let copy = real!(wcsdup(text => Wide) -> Wide);
        if !copy.is_null() {
            log_ranges(pc, &[], &[(copy as u64, size)]);
        }
        copy
    }
}
