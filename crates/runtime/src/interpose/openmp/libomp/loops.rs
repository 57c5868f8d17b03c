//! Loops of tasks, as clang asks libomp: a task that is the pattern, and copies of it with a part of the iterations each.

use core::ffi::c_int;
use core::ptr;

use super::Place;
use super::tasks::{Header, Memory, begin_group, create, destroy, end_group, header, run_memory};
use crate::inside::{Inside, enter, enter_point};
use crate::interpose::openmp::task;
use crate::interpose::openmp::tasks::{Split, flag, is_full, launch};
use crate::interpose::openmp::{Team, current, team};
use crate::real::real;

/// Copies the private variables of a task from a pattern; the number says whether the task has the last iteration.
type Duplicate = Option<unsafe extern "C" fn(*mut Memory, *mut Memory, c_int)>;

/// How many tasks a loop becomes for each thread if the program does not say.
const TASKS: u64 = 10;

/// How the iterations become tasks, by clang's numbers.
mod schedule {
    use core::ffi::c_int;

    pub(super) const GRAIN_SIZE: c_int = 1;
    pub(super) const COUNT: c_int = 2;
}

/// A loop, whose first and last iteration are words in the memory of the pattern.
struct Loop {
    first: *mut u64,
    last: *mut u64,
    step: i64,
    schedule: c_int,
    asked: u64,
    is_strict: bool,
    duplicate: Duplicate,
    /// Its tasks may run later.
    waits: bool,
}

impl Loop {
    /// # Safety
    /// The pattern is there.
    unsafe fn iterations(&self) -> u64 {
        // SAFETY: by the contract of this function.
        let (first, last) = unsafe { (*self.first, *self.last) };
        let distance = if self.step < 0 { first.wrapping_sub(last) } else { last.wrapping_sub(first) };
        (distance / self.step.unsigned_abs().max(1)).wrapping_add(1)
    }

    fn split(&self, iterations: u64, threads: usize) -> Split {
        let strict = if self.is_strict { flag::STRICT } else { 0 };
        match self.schedule {
            schedule::GRAIN_SIZE => Split::new(iterations, flag::GRAIN_SIZE | strict, self.asked, threads),
            schedule::COUNT => Split::new(iterations, 0, self.asked, threads),
            _ => Split::new(iterations, 0, TASKS * threads as u64, threads),
        }
    }
}

/// A task for a part of the loop.
///
/// # Safety
/// The pattern is a task's memory, and its routine's.
unsafe fn copy(inside: Inside, pattern: &Header, range: &Loop, part: (u64, u64), is_last: bool) -> Option<(Inside, *mut Memory)> {
    // SAFETY: by the contract of this function; the copy is as long as the pattern.
    unsafe {
        let memory = ptr::from_ref(pattern).add(1).cast::<Memory>().cast_mut();
        let sizes = (pattern.shared_at, pattern.size - pattern.shared_at);
        let new = create(&inside, current(&inside)?, pattern.flags, sizes, (*memory).routine);
        if new.is_null() {
            return None;
        }
        let shared = (*new).shared;
        ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), pattern.size);
        (*new).shared = shared;
        let bound = |word: *mut u64| new.byte_add(word.byte_offset_from(memory) as usize).cast::<u64>();
        let at = |iteration: u64| (*range.first).wrapping_add(iteration.wrapping_mul(range.step as u64));
        *bound(range.first) = at(part.0);
        *bound(range.last) = at(part.1 - 1);
        let Some(duplicate) = range.duplicate else { return Some((inside, new)) };
        drop(inside);
        duplicate(new, memory, c_int::from(is_last));
        Some((enter()?, new))
    }
}

/// Creates the tasks of a loop. None: there is no memory, or the runtime has become passive.
///
/// # Safety
/// As for [`copy`].
unsafe fn create_all(mut inside: Inside, team: &Team, pattern: &Header, range: &Loop) -> Option<Inside> {
    // SAFETY: by the contract of this function.
    unsafe {
        let split = range.split(range.iterations(), team.size.get());
        for index in 0..split.tasks {
            let waits = range.waits && !is_full(team, current(&inside)?);
            let (entered, new) = copy(inside, pattern, range, split.part(index), index + 1 == split.tasks)?;
            launch(entered, team, &*header(new)?.task, waits);
            inside = enter_point()?;
        }
        Some(inside)
    }
}

/// Runs a loop of tasks.
///
/// # Safety
/// As for the real function.
unsafe fn run(place: Place, number: c_int, memory: *mut Memory, range: &Loop, has_group: bool, libomp: impl FnOnce()) {
    // SAFETY: by the contract of this function.
    unsafe {
        let Some(pattern) = header(memory) else { return libomp() };
        if has_group {
            begin_group(place, number);
        }
        let inside = enter_point();
        match inside.as_ref().and_then(team) {
            Some(team) => {
                if let Some(inside) = inside.and_then(|inside| create_all(inside, team, pattern, range)) {
                    drop(inside);
                    destroy(pattern, memory, number);
                }
                if let Some(inside) = enter() {
                    task::discard(&inside, &*pattern.task);
                }
            }
            // Nothing is recorded any more: the pattern has all iterations.
            None => run_memory(ptr::from_ref(pattern).cast_mut().cast()),
        }
        if has_group {
            end_group(place, number, (*memory).place());
        }
    }
}

/// # Safety
/// See the head of `interpose`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_taskloop(
    place: Place,
    number: c_int,
    memory: *mut Memory,
    condition: c_int,
    first: *mut u64,
    last: *mut u64,
    step: i64,
    without_group: c_int,
    schedule: c_int,
    asked: u64,
    duplicate: Duplicate,
) {
    // SAFETY: the arguments are as the real function demands them, by the contract of this one.
    unsafe {
        let waits = condition != 0;
        let range = Loop { first, last, step, schedule, asked, is_strict: false, duplicate, waits };
        run(place, number, memory, &range, without_group == 0, || {
            real!(__kmpc_taskloop(
                place => Place, number => c_int, memory => *mut Memory, condition => c_int, first => *mut u64,
                last => *mut u64, step => i64, without_group => c_int, schedule => c_int, asked => u64,
                duplicate => Duplicate
            ));
        });
    }
}

/// # Safety
/// See the head of `interpose`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_taskloop_5(
    place: Place,
    number: c_int,
    memory: *mut Memory,
    condition: c_int,
    first: *mut u64,
    last: *mut u64,
    step: i64,
    without_group: c_int,
    schedule: c_int,
    asked: u64,
    modifier: c_int,
    duplicate: Duplicate,
) {
    // SAFETY: the arguments are as the real function demands them, by the contract of this one.
    unsafe {
        let waits = condition != 0;
        let range = Loop { first, last, step, schedule, asked, is_strict: modifier != 0, duplicate, waits };
        run(place, number, memory, &range, without_group == 0, || {
            real!(__kmpc_taskloop_5(
                place => Place, number => c_int, memory => *mut Memory, condition => c_int, first => *mut u64,
                last => *mut u64, step => i64, without_group => c_int, schedule => c_int, asked => u64,
                modifier => c_int, duplicate => Duplicate
            ));
        });
    }
}
