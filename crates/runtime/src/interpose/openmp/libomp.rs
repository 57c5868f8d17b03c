//! OpenMP as clang compiles it: the entry points of LLVM's library, libomp (Intel's has the same). As with libgomp, barriers and tasks are ours.
//!
//! OMPT, the library's interface for tools, only says what has happened. Which thread takes a task, and when a waiting one goes on, would be
//! the library's decision, and no replay could follow a schedule. So it is only asked to stay without tools: LLVM's own, Archer, annotates the
//! same orders again.

mod loops;
mod reductions;
mod tasks;
mod work;

use core::arch::naked_asm;
use core::cell::Cell;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use super::task::{self, Task};
use super::{
    Data, Outer, Team, around, begin_part, blocks, end_part, in_library, meet, pass_barrier, run_part, team, team_size,
};
use crate::inside::{enter, enter_point};
use crate::interpose::hook;
use crate::real::{Real, real};
use crate::start;

/// A place in the source, as clang describes it.
type Place = *const c_void;

/// What each thread of a region runs. It takes two pointers to numbers of the thread, and the addresses of what the region shares.
type Microtask = unsafe extern "C" fn();

/// What a region's threads are called with.
struct Call {
    microtask: Microtask,
    count: c_int,
    /// The first three arguments, and the others.
    first: *const u64,
    rest: *const u64,
}

/// Calls what a thread of a region runs.
///
/// # Safety
/// There are as many arguments as the count says, and one more word may be read after the first three.
#[unsafe(naked)]
unsafe extern "C" fn invoke(
    microtask: Microtask,
    number: *mut c_int,
    bound: *mut c_int,
    count: c_int,
    first: *const u64,
    rest: *const u64,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov r10, r8",
        "mov r11, r9",
        "movsxd rcx, ecx",
        // Two numbers and four arguments fit in the registers.
        "sub rcx, 4",
        "jle 3f",
        "test cl, 1",
        "jz 2f",
        "sub rsp, 8",
        "2:",
        "push qword ptr [r11 + rcx * 8]",
        "dec rcx",
        "jnz 2b",
        "3:",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r11]",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

impl Call {
    /// # Safety
    /// The numbers are those that libomp gives the calling thread.
    unsafe fn invoke(&self, number: *mut c_int, bound: *mut c_int) {
        // SAFETY: the arguments are those that the program passed, which stay until its call returns.
        unsafe { invoke(self.microtask, number, bound, self.count, self.first, self.rest) };
    }
}

/// A region as libomp calls it back: the numbers of the thread, and the one argument that we pass.
type Callback = unsafe extern "C" fn(*mut c_int, *mut c_int, Data);

/// # Safety
/// The argument is a team whose region begins, and whose data are a call.
unsafe extern "C" fn run_in_team(number: *mut c_int, bound: *mut c_int, argument: Data) {
    // SAFETY: the team and the call stay until the region is over.
    unsafe { run_part(&*argument.cast::<Team>(), team_size, |team| (*team.data.cast::<Call>()).invoke(number, bound)) };
}

/// The same for the threads that each begin a team of their own (`teams`).
///
/// # Safety
/// As for [`run_in_team`].
unsafe extern "C" fn run_in_league(number: *mut c_int, bound: *mut c_int, argument: Data) {
    // SAFETY: as for `run_in_team`; the function takes nothing, and libomp is there.
    unsafe {
        let size = || real!(omp_get_num_teams() -> c_int).max(1) as usize;
        run_part(&*argument.cast::<Team>(), size, |team| (*team.data.cast::<Call>()).invoke(number, bound));
    }
}

/// A region that is not recorded.
///
/// # Safety
/// The argument is a call.
unsafe extern "C" fn run_alone(number: *mut c_int, bound: *mut c_int, argument: Data) {
    // SAFETY: the call stays until the region is over.
    unsafe { (*argument.cast::<Call>()).invoke(number, bound) };
}

/// libomp's function for a region; ours calls it with one argument.
type Fork = unsafe extern "C" fn(Place, c_int, Callback, ...);

/// Runs a region.
///
/// # Safety
/// As for the real function.
unsafe fn fork(real: &Real, run: Callback, place: Place, mut call: Call, pc: u64) {
    // SAFETY: by the contract of this function.
    unsafe {
        let fork: Fork = transmute(real.get());
        let data: Data = (&raw mut call).cast();
        let Some(inside) = enter_point() else { return fork(place, 1, run_alone, data) };
        prepare();
        let mut team = Team::new(task::nothing, data, ptr::null_mut(), pc);
        around(inside, &mut team, |team| fork(place, 1, run, team));
    }
}

/// Before the first region: threads of libomp's spin for a while before they sleep. Here only one thread runs at a time, so that would only slow it
/// down. A program's own setting counts.
fn prepare() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the name is a string, and libomp takes any number; it does not wait here. The handler stays as long as the process.
    unsafe {
        if real!(getenv(c"KMP_BLOCKTIME".as_ptr() => *const c_char) -> *const c_char).is_null() {
            real!(kmp_set_blocktime(0 => c_int));
        }
        start::on_exit(Some(end_threads), ptr::null_mut());
    }
}

/// Ends libomp's threads when the program ends. Its destructor would do that in our sight: its threads wait out of it.
extern "C" fn end_threads(_status: c_int, _: *mut c_void) {
    const HARD: c_int = 2;
    static REAL: Real = Real::named("omp_pause_resource_all\0");
    let Some(inside) = enter_point() else { return };
    if REAL.get().is_null() || team(&inside).is_some() {
        return;
    }
    // SAFETY: libomp has this function, of this type.
    let pause: unsafe extern "C" fn(c_int) -> c_int = unsafe { transmute(REAL.get()) };
    // SAFETY: the thread is in no region, and a later one would start libomp again.
    in_library(inside, || unsafe { pause(HARD) });
}

/// The entry points of regions, which take any number of arguments.
macro_rules! forks {
    ($($name:ident runs $run:ident;)*) => {
        $(
            const _: () = {
                /// # Safety
                /// As for the real function: the arguments are in the two places.
                unsafe extern "C" fn body(
                    place: Place, count: c_int, microtask: Microtask, first: *const u64, rest: *const u64, pc: u64,
                ) {
                    static REAL: Real = Real::named(concat!(stringify!($name), "\0"));
                    // SAFETY: by the contract of this function.
                    unsafe { fork(&REAL, $run, place, Call { microtask, count, first, rest }, pc) };
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    naked_asm!(
                        ".cfi_startproc",
                        "push r9",
                        ".cfi_adjust_cfa_offset 8",
                        "push r8",
                        ".cfi_adjust_cfa_offset 8",
                        "push rcx",
                        ".cfi_adjust_cfa_offset 8",
                        "mov rcx, rsp",
                        "lea r8, [rsp + 32]",
                        "mov r9, [rsp + 24]",
                        "call {}",
                        "add rsp, 24",
                        ".cfi_adjust_cfa_offset -24",
                        "ret",
                        ".cfi_endproc",
                        sym body,
                    );
                }
            };
        )*
    };
}

forks! {
    __kmpc_fork_call runs run_in_team;
    __kmpc_fork_teams runs run_in_league;
}

/// A region that the thread runs alone, in the function that contains it.
struct Serial {
    team: Team,
    task: Task,
    outer: Outer,
}

hook! {
    fn __kmpc_serialized_parallel(place: Place, number: c_int; pc in "rdx") {
        real!(__kmpc_serialized_parallel(place => Place, number => c_int));
        let Some(inside) = enter_point() else { return };
        let block = blocks::allocate(&inside, size_of::<Serial>()).cast::<Serial>();
        if block.is_null() {
            return;
        }
        (&raw mut (*block).team).write(Team::new(task::nothing, ptr::null_mut(), ptr::null_mut(), pc));
        (*block).team.is_serial.set(true);
        (&raw mut (*block).task).write(Task::implicit(&inside, &(*block).team.group));
        (&raw mut (*block).outer).write(begin_part(&inside, &(*block).team, &(*block).task));
    }
    fn __kmpc_end_serialized_parallel(place: Place, number: c_int; pc in "rdx") {
        if let Some(inside) = enter_point()
            && let Some(team) = team(&inside).filter(|team| team.is_serial.get())
            && let Some(inside) = meet(inside, team, &team.end, pc)
        {
            let block = ptr::from_ref(team).cast_mut().cast::<Serial>();
            task::end_implicit(&inside, &(*block).task);
            end_part(&inside, (*block).outer);
            blocks::free(&inside, block.cast(), size_of::<Serial>());
        }
        real!(__kmpc_end_serialized_parallel(place => Place, number => c_int));
    }
    fn __kmpc_barrier(place: Place, number: c_int; pc in "rdx") {
        let libomp = || real!(__kmpc_barrier(place => Place, number => c_int));
        let Some(inside) = enter_point() else { return libomp() };
        if team(&inside).is_some() {
            pass_barrier(inside, pc);
        }
    }
    fn __kmpc_global_thread_num(place: Place; _pc in "rsi") -> c_int {
        // The first call makes libomp look at the machine, and at the program's environment.
        let _inside = enter();
        real!(__kmpc_global_thread_num(place => Place) -> c_int)
    }
}

/// What a tool says of itself.
#[repr(C)]
struct Tool {
    initialise: extern "C" fn(*const c_void, c_int, *mut c_void) -> c_int,
    finalise: extern "C" fn(*mut c_void),
    data: Cell<u64>,
}

// SAFETY: libomp alone uses the word of data, which means nothing.
unsafe impl Sync for Tool {}

/// A tool that asks for nothing.
static NO_TOOL: Tool = Tool { initialise, finalise, data: Cell::new(0) };

extern "C" fn initialise(_look_up: *const c_void, _device: c_int, _data: *mut c_void) -> c_int {
    1
}

extern "C" fn finalise(_data: *mut c_void) {}

/// libomp asks for a tool when it starts. It would go on to Archer if there were none here. A tool that the user has asked for comes first.
///
/// # Safety
/// Any call is safe.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompt_start_tool(_version: c_uint, _library: *const c_char) -> *const Tool {
    // SAFETY: the name is a string.
    let libraries = unsafe { real!(getenv(c"OMP_TOOL_LIBRARIES".as_ptr() => *const c_char) -> *const c_char) };
    if libraries.is_null() { &raw const NO_TOOL } else { ptr::null() }
}
