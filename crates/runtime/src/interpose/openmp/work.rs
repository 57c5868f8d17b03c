//! How a team shares out work: loops, sections, `single`; iterations in order (`ordered`), and iterations that wait for others (`depend(sink)`).

use core::ffi::{c_int, c_uint, c_void};

use wire::{Kind, Passage};

use super::{Data, Part, Team, current, in_library, log_work, pass_barrier, team};
use crate::inside::{Inside, enter, enter_point};
use crate::interpose::{hook, hook_of_six};
use crate::real::{Real, real};
use crate::schedule::GaveUp;

/// Notes that the thread asks for its first share of some work, and returns the real function to go on with.
pub(super) extern "C" fn ask_for_work(real: &Real, pc: u64, _argument: u64) -> *mut c_void {
    if let Some(inside) = enter_point()
        && let Some(team) = team(&inside)
    {
        note_share(&inside);
        log_work(&inside, team, pc);
    }
    real.get()
}

/// Notes that the thread gets a share of some work; whether it had one of it already.
fn note_share(inside: &Inside) -> bool {
    current(inside).is_some_and(|task| task.has_share.replace(true))
}

/// The same for further shares. Others get theirs first: what one thread does is in its order, and shows nothing.
pub(super) extern "C" fn ask_for_more(real: &Real, pc: u64, _argument: u64) -> *mut c_void {
    if let Some(inside) = enter_point()
        && let Some(team) = team(&inside)
    {
        if note_share(&inside) {
            inside.preempt(GaveUp::Yielding, None);
        }
        log_work(&inside, team, pc);
    }
    real.get()
}

/// The same for the first share of a loop nest whose iterations wait for each other; the argument says how deep it is.
extern "C" fn ask_for_nest(real: &Real, pc: u64, depth: u64) -> *mut c_void {
    if let Some(inside) = enter_point()
        && let Some(team) = team(&inside)
    {
        note_share(&inside);
        log_work(&inside, team, pc);
        team.depth.set(depth as u32 as usize);
    }
    real.get()
}

/// Functions that give out work and do not wait: what is noted first, and on to the real one with the arguments as they came.
macro_rules! work {
    ($note:ident: $($name:ident)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::named(concat!(stringify!($name), "\0"));

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "push rcx",
                        "push r8",
                        "push r9",
                        "sub rsp, 8",
                        "lea rdi, [rip + {}]",
                        "mov rsi, [rsp + 56]",
                        "mov rdx, [rsp + 48]",
                        "call {}",
                        "add rsp, 8",
                        "pop r9",
                        "pop r8",
                        "pop rcx",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        sym REAL,
                        sym $note,
                    );
                }
            };
        )*
    };
}

pub(super) use work;

work! {
    ask_for_work:
    GOMP_single_start GOMP_scope_start GOMP_sections_start GOMP_sections2_start GOMP_loop_start
    GOMP_loop_ordered_start GOMP_loop_ull_start GOMP_loop_ull_ordered_start GOMP_loop_static_start
    GOMP_loop_dynamic_start GOMP_loop_guided_start GOMP_loop_runtime_start
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_guided_start
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_start
    GOMP_loop_ordered_static_start GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_guided_start
    GOMP_loop_ordered_runtime_start GOMP_loop_ull_static_start GOMP_loop_ull_dynamic_start
    GOMP_loop_ull_guided_start GOMP_loop_ull_runtime_start GOMP_loop_ull_nonmonotonic_dynamic_start
    GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_runtime_start
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_ordered_static_start
    GOMP_loop_ull_ordered_dynamic_start GOMP_loop_ull_ordered_guided_start
    GOMP_loop_ull_ordered_runtime_start
}

work! {
    ask_for_more:
    GOMP_sections_next GOMP_loop_static_next GOMP_loop_dynamic_next GOMP_loop_guided_next
    GOMP_loop_runtime_next GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_next GOMP_loop_ordered_dynamic_next GOMP_loop_ordered_guided_next
    GOMP_loop_ordered_runtime_next GOMP_loop_ull_static_next GOMP_loop_ull_dynamic_next
    GOMP_loop_ull_guided_next GOMP_loop_ull_runtime_next GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_ull_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next GOMP_loop_ull_ordered_static_next
    GOMP_loop_ull_ordered_dynamic_next GOMP_loop_ull_ordered_guided_next GOMP_loop_ull_ordered_runtime_next
}

work! {
    ask_for_nest:
    GOMP_loop_doacross_start GOMP_loop_ull_doacross_start GOMP_loop_doacross_static_start
    GOMP_loop_doacross_dynamic_start GOMP_loop_doacross_guided_start GOMP_loop_doacross_runtime_start
    GOMP_loop_ull_doacross_static_start GOMP_loop_ull_doacross_dynamic_start
    GOMP_loop_ull_doacross_guided_start GOMP_loop_ull_doacross_runtime_start
}

/// How many nested loops are looked at.
const DEPTH: usize = 6;

/// What carries the order of an iteration of a loop nest. Two iterations may share one, which orders more than the program does.
fn iteration(team: &Team, indices: &[i64]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let start = mix(1, u64::from(team.number));
    let hash = indices.iter().take(team.depth.get()).fold(start, |hash, &index| mix(hash, index as u64));
    Passage::Iteration((hash >> 32) as u32).object()
}

/// Writes that an iteration has come so far that others may go on.
pub(super) fn log_post(inside: &Inside, indices: &[i64], pc: u64) {
    if let Some(team) = team(inside) {
        inside.simple(Kind::HappensBefore, pc, iteration(team, indices));
    }
}

/// Waits for an iteration in libgomp.
pub(super) fn await_iteration(inside: Inside, indices: &[i64], pc: u64, libgomp: impl FnOnce()) {
    let team = team(&inside);
    in_library(inside, libgomp);
    if let (Some(team), Some(inside)) = (team, enter()) {
        inside.simple(Kind::HappensAfter, pc, iteration(team, indices));
    }
}

/// The indices of an iteration.
///
/// # Safety
/// There are as many as the loop nest of the team is deep.
pub(super) unsafe fn indices<'a>(inside: &Inside, first: *const i64) -> &'a [i64] {
    let depth = team(inside).map_or(0, |team| team.depth.get().min(DEPTH));
    // SAFETY: by the contract of this function.
    unsafe { core::slice::from_raw_parts(first, depth) }
}

hook! {
    fn GOMP_loop_end(; pc in "rdi") {
        match enter_point() {
            // What is left to libgomp is to forget the loop.
            Some(inside) => {
                real!(GOMP_loop_end_nowait());
                pass_barrier(inside, pc);
            }
            None => real!(GOMP_loop_end()),
        }
    }
    fn GOMP_loop_end_cancel(; pc in "rdi") -> bool {
        match enter_point() {
            Some(inside) => {
                real!(GOMP_loop_end_nowait());
                pass_barrier(inside, pc)
            }
            None => real!(GOMP_loop_end_cancel() -> bool),
        }
    }
    fn GOMP_sections_end(; pc in "rdi") {
        match enter_point() {
            Some(inside) => {
                real!(GOMP_sections_end_nowait());
                pass_barrier(inside, pc);
            }
            None => real!(GOMP_sections_end()),
        }
    }
    fn GOMP_sections_end_cancel(; pc in "rdi") -> bool {
        match enter_point() {
            Some(inside) => {
                real!(GOMP_sections_end_nowait());
                pass_barrier(inside, pc)
            }
            None => real!(GOMP_sections_end_cancel() -> bool),
        }
    }
    fn GOMP_cancel(which: c_int, cancels: bool; _pc in "rdx") -> bool {
        const PARALLEL: c_int = 1;
        const TASKGROUP: c_int = 8;
        let libgomp = || real!(GOMP_cancel(which => c_int, cancels => bool) -> bool);
        let Some(inside) = enter_point() else { return libgomp() };
        let is_possible = real!(omp_get_cancellation() -> c_int) != 0;
        match (which, team(&inside), current(&inside)) {
            (TASKGROUP, Some(_), Some(task)) if is_possible => {
                task.cancel_group(cancels)
            }
            (PARALLEL, Some(team), _) if is_possible && cancels => {
                team.is_cancelled.set(true);
                inside.wake_all(team.place(), wire::Waker::Broadcast);
                drop(inside);
                libgomp()
            }
            _ => {
                drop(inside);
                libgomp()
            }
        }
    }
    fn GOMP_cancellation_point(which: c_int; _pc in "rsi") -> bool {
        const TASKGROUP: c_int = 8;
        let libgomp = || real!(GOMP_cancellation_point(which => c_int) -> bool);
        let Some(inside) = enter_point() else { return libgomp() };
        match current(&inside) {
            Some(task) if which == TASKGROUP => task.is_cancelled() || team(&inside).is_some_and(|team| team.is_cancelled.get()),
            _ => {
                drop(inside);
                libgomp()
            }
        }
    }
    fn GOMP_single_copy_start(; pc in "rdi") -> Data {
        let libgomp = || real!(GOMP_single_copy_start() -> Data);
        let Some(inside) = enter_point() else { return libgomp() };
        let Some(team) = team(&inside) else { return in_library(inside, libgomp) };
        log_work(&inside, team, pc);
        if real!(GOMP_single_start() -> bool) {
            return core::ptr::null_mut();
        }
        let round = team.barrier.round.get();
        pass_barrier(inside, pc);
        team.copied[round % 2].get()
    }
    fn GOMP_single_copy_end(data: Data; pc in "rsi") {
        let libgomp = || real!(GOMP_single_copy_end(data => Data));
        let Some(inside) = enter_point() else { return libgomp() };
        let Some(team) = team(&inside) else { return in_library(inside, libgomp) };
        team.copied[team.barrier.round.get() % 2].set(data);
        pass_barrier(inside, pc);
    }
    fn GOMP_ordered_start(; pc in "rdi") {
        let libgomp = || real!(GOMP_ordered_start());
        let Some(inside) = enter_point() else { return libgomp() };
        let team = team(&inside);
        in_library(inside, libgomp);
        if let (Some(team), Some(inside)) = (team, enter()) {
            inside.simple(Kind::HappensAfter, pc, team.part(Part::Ordered));
        }
    }
    fn GOMP_ordered_end(; pc in "rdi") {
        if let Some(inside) = enter_point()
            && let Some(team) = team(&inside)
        {
            inside.simple(Kind::HappensBefore, pc, team.part(Part::Ordered));
        }
        real!(GOMP_ordered_end());
    }
    fn GOMP_doacross_post(counts: *const i64; pc in "rsi") {
        if let Some(inside) = enter_point() {
            log_post(&inside, indices(&inside, counts), pc);
        }
        real!(GOMP_doacross_post(counts => *const i64));
    }
    fn GOMP_doacross_ull_post(counts: *const i64; pc in "rsi") {
        if let Some(inside) = enter_point() {
            log_post(&inside, indices(&inside, counts), pc);
        }
        real!(GOMP_doacross_ull_post(counts => *const i64));
    }
}

// These take as many arguments as the loop nest is deep; registers that hold none do no harm.
hook_of_six! {
    fn GOMP_doacross_wait(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64; pc) -> c_uint {
        let libgomp = || real!(GOMP_doacross_wait(a => i64, b => i64, c => i64, d => i64, e => i64, f => i64));
        match enter_point() {
            Some(inside) => await_iteration(inside, &[a, b, c, d, e, f], pc, libgomp),
            None => libgomp(),
        }
        0
    }
    fn GOMP_doacross_ull_wait(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64; pc) -> c_uint {
        let libgomp = || real!(GOMP_doacross_ull_wait(a => i64, b => i64, c => i64, d => i64, e => i64, f => i64));
        match enter_point() {
            Some(inside) => await_iteration(inside, &[a, b, c, d, e, f], pc, libgomp),
            None => libgomp(),
        }
        0
    }
}
