//! Reductions over tasks: each thread has its own copy of what is reduced, and a task finds the copy of the thread that runs it. libgomp looks in
//! the group of its own task, and knows nothing of ours.

use core::ffi::c_int;

use super::{Data, current};
use crate::inside::enter;
use crate::interpose::hook;
use crate::real::real;

/// Where gcc's description of reductions has what: how many there are, the size of a thread's copies, where the copies begin and end, the next
/// description, and the first of its entries (the original, and where its copy lies).
const COUNT: usize = 0;
const SIZE: usize = 1;
const COPIES: usize = 2;
const NEXT: usize = 4;
const END: usize = 6;
const ENTRIES: usize = 7;
const ENTRY: usize = 3;

/// The original and the copy of the thread for something that is reduced: by the original, or by any thread's copy.
///
/// # Safety
/// The description is one that libgomp has completed.
unsafe fn find(mut description: *const u64, wanted: u64, thread: u64) -> Option<(u64, u64)> {
// SAFETY: by the contract of this function.
unsafe {
    while !description.is_null() {
        let field = |index: usize| *description.add(index);
        for index in 0..field(COUNT) as usize {
            let (original, offset) = (field(ENTRIES + index * ENTRY), field(ENTRIES + index * ENTRY + 1));
            let is_copy = (field(COPIES)..field(END)).contains(&wanted)
                && (wanted - field(COPIES)).checked_rem(field(SIZE)) == Some(offset);
            if wanted == original || is_copy {
                return Some((original, field(COPIES) + thread * field(SIZE) + offset));
            }
        }
        description = field(NEXT) as *const u64;
    }
    None
}
}

/// Describes what the tasks of the innermost group reduce into.
///
/// # Safety
/// As for the real function.
pub(super) unsafe fn register(description: *mut u64) {
// SAFETY: by the contract of this function.
unsafe {
        real!(GOMP_taskgroup_reduction_register(description => *mut u64));
        if let Some(inside) = enter()
            && let Some(task) = current(&inside)
            && let Some(group) = task.group.get().as_ref()
        {
            // libgomp goes on to that of its own task.
            if (*description.add(NEXT)) == 0 {
                *description.add(NEXT) = group.reductions.get() as u64;
            }
            group.reductions.set(description);
        }
}
}

hook! {
    fn GOMP_taskgroup_reduction_register(description: *mut u64; _pc in "rsi") {
        register(description);
    }
    fn GOMP_task_reduction_remap(count: usize, originals: usize, pointers: *mut Data; _pc in "rcx") {
        let libgomp = || real!(GOMP_task_reduction_remap(count => usize, originals => usize, pointers => *mut Data));
        let Some(inside) = enter() else { return libgomp() };
        let group = current(&inside).and_then(|task| task.group.get().as_ref());
        let Some(description) = group.map(|group| group.reductions.get()).filter(|found| !found.is_null()) else {
            drop(inside);
            return libgomp();
        };
        let thread = real!(omp_get_thread_num() -> c_int) as u64;
        for index in 0..count {
            let pointer = pointers.add(index);
            let Some((original, copy)) = find(description, *pointer as u64, thread) else { continue };
            *pointer = copy as Data;
            if index < originals {
                *pointers.add(count + index) = original as Data;
            }
        }
    }
}
