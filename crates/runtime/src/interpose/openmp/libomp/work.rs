//! How a team shares out work, as clang asks libomp: loops, `single`, iterations in order (`ordered`), iterations that wait for others, critical
//! sections, reductions, cancellation.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;

use wire::{Kind, Waker};

use super::Place;
use crate::inside::{Inside, enter, enter_point};
use crate::interpose::openmp::locks::{lock, unlock};
use crate::interpose::openmp::work::{ask_for_more, ask_for_work, await_iteration, indices, log_post, work};
use crate::interpose::openmp::{Data, Part, Team, current, in_library, log_work, pass_barrier, team};
use crate::interpose::{hook, hook_of_seven, hook_of_six};
use crate::real::{Real, real};

type Word = *const AtomicU32;

work! {
    ask_for_work: __kmpc_single
}

work! {
    ask_for_more:
    __kmpc_dispatch_next_4 __kmpc_dispatch_next_4u __kmpc_dispatch_next_8 __kmpc_dispatch_next_8u
}

/// How many loops a thread may be ahead of the slowest one of its team before libomp lets it wait.
const AHEAD: u32 = 7;

/// Begins a loop. libomp has room for some that not all threads have finished yet; only then it may let the thread wait.
fn begin_loop(inside: Inside, pc: u64, begin: impl FnOnce()) {
    let Some(team) = team(&inside) else {
        drop(inside);
        return begin();
    };
    log_work(&inside, team, pc);
    let loops = current(&inside).map_or(0, |task| task.loops.replace(task.loops.get() + 1));
    if loops + 1 < AHEAD {
        begin();
    } else {
        in_library(inside, begin);
    }
}

macro_rules! loops {
    ($($begin:ident $finish:ident;)*) => {
        // The bounds are passed on as they are, whatever their type.
        hook_of_seven! {
            $(
                fn $begin(place: u64, number: u64, schedule: u64, begin: u64, end: u64, step: u64; pc, chunk: u64) -> () {
                    let libomp = || {
                        real!($begin(
                            place => u64, number => u64, schedule => u64, begin => u64, end => u64, step => u64,
                            chunk => u64
                        ))
                    };
                    match enter_point() {
                        Some(inside) => begin_loop(inside, pc, libomp),
                        None => libomp(),
                    }
                }
            )*
        }
        hook! {
            $(
                fn $finish(place: Place, number: c_int; _pc in "rdx") {
                    // An iteration of a loop in order that left its ordered part out waits here for its turn.
                    let libomp = || real!($finish(place => Place, number => c_int));
                    match enter_point() {
                        Some(inside) => in_library(inside, libomp),
                        None => libomp(),
                    }
                }
            )*
        }
    };
}

loops! {
    __kmpc_dispatch_init_4 __kmpc_dispatch_fini_4;
    __kmpc_dispatch_init_4u __kmpc_dispatch_fini_4u;
    __kmpc_dispatch_init_8 __kmpc_dispatch_fini_8;
    __kmpc_dispatch_init_8u __kmpc_dispatch_fini_8u;
}

/// What is cancelled, by clang's numbers.
mod cancelled {
    use core::ffi::c_int;

    pub(super) const PARALLEL: c_int = 1;
    pub(super) const TASKGROUP: c_int = 4;
}

/// Cancels something if that is allowed, or only asks; whether it is cancelled.
fn cancel(inside: &Inside, team: &Team, which: c_int, cancels: bool) -> bool {
    match which {
        cancelled::TASKGROUP => {
            current(inside).is_some_and(|task| task.cancel_group(cancels)) || team.is_cancelled.get()
        }
        cancelled::PARALLEL => {
            if cancels {
                team.is_cancelled.set(true);
                inside.wake_all(team.place(), Waker::Broadcast);
            }
            team.is_cancelled.get()
        }
        // Loops and sections: the next barrier is behind them.
        _ => {
            let this = Some(team.barrier.round.get());
            if cancels {
                team.cancelled_before.set(this);
            }
            team.cancelled_before.get() == this
        }
    }
}

/// Ends what a reduction does with what all threads share.
unsafe fn end_reduction(inside: &Inside, word: Word, pc: u64) {
    // SAFETY: the word is the program's, for this purpose alone.
    unlock(inside, unsafe { &*word }, pc);
}

hook! {
    fn __kmpc_critical(place: Place, number: c_int, word: Word; pc in "rcx") {
        match enter_point() {
            Some(inside) => lock(&inside, &*word, pc),
            None => real!(__kmpc_critical(place => Place, number => c_int, word => Word)),
        }
    }
    fn __kmpc_critical_with_hint(place: Place, number: c_int, word: Word, hint: c_int; pc in "r8") {
        match enter_point() {
            Some(inside) => lock(&inside, &*word, pc),
            None => real!(__kmpc_critical_with_hint(place => Place, number => c_int, word => Word, hint => c_int)),
        }
    }
    fn __kmpc_end_critical(place: Place, number: c_int, word: Word; pc in "rcx") {
        match enter_point() {
            Some(inside) => unlock(&inside, &*word, pc),
            None => real!(__kmpc_end_critical(place => Place, number => c_int, word => Word)),
        }
    }
    fn __kmpc_end_reduce_nowait(place: Place, number: c_int, word: Word; pc in "rcx") {
        match enter_point() {
            Some(inside) => end_reduction(&inside, word, pc),
            None => real!(__kmpc_end_reduce_nowait(place => Place, number => c_int, word => Word)),
        }
    }
    fn __kmpc_end_reduce(place: Place, number: c_int, word: Word; pc in "rcx") {
        match enter_point() {
            Some(inside) => {
                end_reduction(&inside, word, pc);
                pass_barrier(inside, pc);
            }
            None => real!(__kmpc_end_reduce(place => Place, number => c_int, word => Word)),
        }
    }
    fn __kmpc_ordered(place: Place, number: c_int; pc in "rdx") {
        let libomp = || real!(__kmpc_ordered(place => Place, number => c_int));
        let Some(inside) = enter_point() else { return libomp() };
        let team = team(&inside);
        in_library(inside, libomp);
        if let (Some(team), Some(inside)) = (team, enter()) {
            inside.simple(Kind::HappensAfter, pc, team.part(Part::Ordered));
        }
    }
    fn __kmpc_end_ordered(place: Place, number: c_int; pc in "rdx") {
        if let Some(inside) = enter_point()
            && let Some(team) = team(&inside)
        {
            inside.simple(Kind::HappensBefore, pc, team.part(Part::Ordered));
        }
        real!(__kmpc_end_ordered(place => Place, number => c_int));
    }
    fn __kmpc_doacross_init(place: Place, number: c_int, depth: c_int, dimensions: *const c_void; pc in "r8") {
        let libomp = || {
            real!(__kmpc_doacross_init(place => Place, number => c_int, depth => c_int, dimensions => *const c_void));
        };
        let Some(inside) = enter_point() else { return libomp() };
        if let Some(team) = team(&inside) {
            team.depth.set(depth.max(0) as usize);
        }
        begin_loop(inside, pc, libomp);
    }
    fn __kmpc_doacross_post(place: Place, number: c_int, vector: *const i64; pc in "rcx") {
        if let Some(inside) = enter_point() {
            log_post(&inside, indices(&inside, vector), pc);
        }
        real!(__kmpc_doacross_post(place => Place, number => c_int, vector => *const i64));
    }
    fn __kmpc_doacross_wait(place: Place, number: c_int, vector: *const i64; pc in "rcx") {
        let libomp = || real!(__kmpc_doacross_wait(place => Place, number => c_int, vector => *const i64));
        let Some(inside) = enter_point() else { return libomp() };
        let indices = indices(&inside, vector);
        await_iteration(inside, indices, pc, libomp);
    }
    fn __kmpc_cancel(place: Place, number: c_int, which: c_int; _pc in "rcx") -> c_int {
        let libomp = || real!(__kmpc_cancel(place => Place, number => c_int, which => c_int) -> c_int);
        let Some(inside) = enter_point() else { return libomp() };
        let is_possible = real!(omp_get_cancellation() -> c_int) != 0;
        match team(&inside) {
            Some(team) => c_int::from(is_possible && cancel(&inside, team, which, true)),
            None => libomp(),
        }
    }
    fn __kmpc_cancellationpoint(place: Place, number: c_int, which: c_int; _pc in "rcx") -> c_int {
        let libomp = || real!(__kmpc_cancellationpoint(place => Place, number => c_int, which => c_int) -> c_int);
        let Some(inside) = enter_point() else { return libomp() };
        match team(&inside) {
            Some(team) => c_int::from(cancel(&inside, team, which, false)),
            None => libomp(),
        }
    }
    fn __kmpc_cancel_barrier(place: Place, number: c_int; pc in "rdx") -> c_int {
        let libomp = || real!(__kmpc_cancel_barrier(place => Place, number => c_int) -> c_int);
        let Some(inside) = enter_point() else { return libomp() };
        match team(&inside) {
            Some(_) => c_int::from(pass_barrier(inside, pc)),
            None => libomp(),
        }
    }
}

/// Copies what one thread has for another: to the first place from the second.
type CopyAll = unsafe extern "C" fn(Data, Data);

hook_of_six! {
    fn __kmpc_copyprivate(place: Place, number: c_int, size: usize, data: Data, copy: CopyAll, is_source: c_int; pc) -> () {
        let libomp = || {
            real!(__kmpc_copyprivate(
                place => Place, number => c_int, size => usize, data => Data, copy => CopyAll, is_source => c_int
            ))
        };
        let Some(inside) = enter_point() else { return libomp() };
        let Some(team) = team(&inside) else { return in_library(inside, libomp) };
        if is_source != 0 {
            team.copied[0].set(data);
        }
        pass_barrier(inside, pc);
        if is_source == 0 {
            copy(data, team.copied[0].get());
        }
        // The source's data are its own again only when all have copied them.
        if let Some(inside) = enter_point() {
            pass_barrier(inside, pc);
        }
    }
}

/// What clang's code does after it has asked how to reduce: combine its part with that of all, in a critical section.
const ALONE: c_int = 1;

type Reducer = *const c_void;

macro_rules! reductions {
    ($($name:ident)*) => {
        hook_of_seven! {
            $(
                fn $name(place: Place, number: c_int, count: c_int, size: usize, data: Data, reducer: Reducer; pc, word: Word) -> c_int {
                    match enter_point() {
                        Some(inside) => {
                            lock(&inside, &*word, pc);
                            ALONE
                        }
                        None => real!($name(
                            place => Place, number => c_int, count => c_int, size => usize, data => Data,
                            reducer => Reducer, word => Word
                        ) -> c_int),
                    }
                }
            )*
        }
    };
}

reductions! {
    __kmpc_reduce __kmpc_reduce_nowait
}
