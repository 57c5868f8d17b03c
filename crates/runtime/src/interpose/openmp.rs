//! OpenMP as gcc compiles it: the entry points of libgomp.
//!
//! libgomp waits by spinning and by system calls of its own, out of our sight. So a thread gives up the token before it goes into libgomp for
//! something that may wait, and while it is there the functions it calls are not recorded ([`gate::LIBRARY`]). The threads of a team meet in the
//! scheduler first, before and after each region and barrier: then nobody waits in libgomp for long, and the same schedule gives the same run.
//!
//! What orders threads is recorded: a region comes after what its creator did, and before what it does next; barriers are barriers; critical
//! sections and locks are locks. Who gets an iteration or a `single` is an atomic operation that orders nothing. Tasks are in `tasks`.

mod tasks;

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use wire::{Kind, Passage, Waker};

use super::{EXCLUSIVE, acquire, hook, lifetimes, log_limited_attempt, safe_hook};
use crate::inside::{Ended, Inside, enter, enter_point};
use crate::program::scheduler;
use crate::real::{Real, real};
use crate::schedule::{End, Key};
use crate::thread;
use crate::token::gate;

type Function = unsafe extern "C" fn(*mut c_void);
type Data = *mut c_void;

/// C's number of the memory order that orders nothing.
const RELAXED: u64 = 0;

/// The threads of a parallel region. It lives in the frame of the thread that made it, which waits for all others. Its fields are told apart by their
/// addresses.
#[repr(C)]
pub(crate) struct Team {
    function: Function,
    data: Data,
    /// Its number, by which its parts are recorded.
    number: u32,
    /// Where its threads meet.
    start: u8,
    end: u8,
    barrier: u8,
    passed: u8,
    /// The work that threads share out among them.
    work: u32,
    /// How many barriers all have passed.
    round: AtomicU32,
    /// Tasks were created: libgomp runs them, at its own barriers among others.
    has_tasks: AtomicBool,
}

/// What is recorded of a team.
#[derive(Clone, Copy)]
enum Part {
    /// What comes before the region, and after it.
    Fork,
    Join,
    Barrier,
    /// Data that one thread has for the others.
    Copied,
    Ordered,
    Tasks,
}

impl Team {
    /// A part of it, as an object.
    fn part(&self, part: Part) -> u64 {
        Passage::Team(self.number * 8 + part as u32).object()
    }
}

/// How many teams there were.
static TEAMS: AtomicU32 = AtomicU32::new(0);

fn address<T>(of: &T) -> u64 {
    core::ptr::from_ref(of) as u64
}

/// The team of the calling thread, if it is in a parallel region that we have seen begin.
fn team<'a>(inside: &Inside) -> Option<&'a Team> {
    // SAFETY: a team is there as long as a thread is in its region.
    unsafe { inside.thread().team.get().cast::<Team>().as_ref() }
}

fn team_size() -> usize {
    // SAFETY: takes nothing; libgomp is there, since it has called us.
    let size = unsafe { real!(omp_get_num_threads() -> c_int) };
    size.max(1) as usize
}

/// The calling thread goes into libgomp, without the token.
fn go_out(inside: Inside) {
    inside.thread().in_library.set(true);
    inside.thread().seat.presence.add(gate::LIBRARY);
    inside.leave();
}

/// It is back in the program.
fn come_in() {
    if let Some(thread) = thread::current()
        && thread.in_library.replace(false)
    {
        thread.seat.presence.remove(gate::LIBRARY);
    }
}

/// Calls libgomp for something that may wait.
fn in_libgomp<R>(inside: Inside, call: impl FnOnce() -> R) -> R {
    go_out(inside);
    let result = call();
    come_in();
    result
}

/// Creates a thread for libgomp. It starts there, and gives the token up until it comes to the program's code.
pub(crate) fn while_creating(create: impl FnOnce() -> c_int) -> c_int {
    let is_in_library = thread::current().is_some_and(|thread| thread.in_library.get());
    if !is_in_library {
        return create();
    }
    come_in();
    if let Some(inside) = enter() {
        inside.thread().creates_for_library.set(true);
    }
    let result = create();
    if let Some(inside) = enter() {
        inside.thread().creates_for_library.set(false);
        go_out(inside);
    }
    result
}

/// Where the threads of libgomp's gather before a region: each is there before any other goes on.
const POOL: u64 = Passage::Team(0).object();

/// The calling thread was created by libgomp.
pub(crate) fn begin_in_library(inside: Inside) {
    inside.simple(Kind::HappensBefore, inside.thread().start(), POOL);
    go_out(inside);
}

/// A thread of libgomp's ends.
pub(crate) fn end_in_library() {
    come_in();
}

/// Waits until all threads of a team are there, so that what follows is up to the scheduler and not to libgomp. A replay says itself who runs when, and
/// knows nothing of this.
fn gather(inside: &Inside, place: u64, size: usize) {
    if scheduler().with_lock(|schedule, _| schedule.is_replaying()) {
        return;
    }
    if inside.waiters(place) + 1 >= size {
        inside.wake_all(place, Waker::Broadcast);
    } else {
        while inside.block(Key::address(place), End::NEVER) == Ended::Interrupted {}
    }
}

/// What each thread of a team runs.
///
/// # Safety
/// The argument is a team whose region begins.
unsafe extern "C" fn run(argument: Data) {
// SAFETY: the team is there until all its threads have met at the end; its function is the program's, for this data.
unsafe {
    let team = &*argument.cast::<Team>();
    let pc = team.function as usize as u64 + 1;
    come_in();
    let Some(inside) = enter() else { return (team.function)(team.data) };
    let outer = inside.thread().team.replace(argument);
    let outer_task = inside.thread().task.replace(0);
    let size = team_size();
    gather(&inside, address(&team.start), size);
    inside.simple(Kind::HappensAfter, pc, POOL);
    inside.simple(Kind::HappensAfter, pc, team.part(Part::Fork));
    drop(inside);
    (team.function)(team.data);
    let Some(inside) = enter_point() else { return };
    inside.simple(Kind::HappensBefore, pc, team.part(Part::Join));
    gather(&inside, address(&team.end), size);
    inside.thread().team.set(outer);
    inside.thread().task.set(outer_task);
    go_out(inside);
}
}

/// Runs a parallel region: calls libgomp with what its threads run.
fn region(function: Function, data: Data, libgomp: impl FnOnce(Function, Data) -> c_uint) -> c_uint {
    let Some(inside) = enter_point() else { return libgomp(function, data) };
    let pc = function as usize as u64 + 1;
    let mut team = Team {
        function,
        data,
        number: TEAMS.fetch_add(1, Ordering::Relaxed) + 1,
        start: 0,
        end: 0,
        barrier: 0,
        passed: 0,
        work: 0,
        round: AtomicU32::new(0),
        has_tasks: AtomicBool::new(false),
    };
    let (join, tasks) = (team.part(Part::Join), team.part(Part::Tasks));
    inside.simple(Kind::HappensBefore, pc, team.part(Part::Fork));
    let result = in_libgomp(inside, || libgomp(run, (&raw mut team).cast()));
    if let Some(inside) = enter() {
        inside.simple(Kind::HappensAfter, pc, join);
        inside.simple(Kind::HappensAfter, pc, tasks);
    }
    result
}

/// A barrier of the team. It is libgomp's own if that has something to do: to finish a loop or sections, or to run tasks, which a thread that waits
/// there does at any time. Otherwise libgomp has no part in it.
fn pass_barrier(inside: Inside, pc: u64, ends_work: bool, libgomp: impl FnOnce()) {
    let Some(team) = team(&inside) else { return in_libgomp(inside, libgomp) };
    let (size, barrier) = (team_size(), team.part(Part::Barrier));
    inside.simple(Kind::BarrierEnter, pc, barrier);
    if !ends_work && wait_for_all(&inside, team, size) {
        inside.point();
        inside.simple(Kind::BarrierExit, pc, barrier);
        return;
    }
    in_libgomp(inside, libgomp);
    if let Some(inside) = enter() {
        gather(&inside, address(&team.passed), size);
        inside.simple(Kind::BarrierExit, pc, barrier);
        inside.simple(Kind::HappensAfter, pc, team.part(Part::Tasks));
    }
}

/// Waits until all threads of the team are at the barrier; false as soon as there are tasks, which libgomp must run.
fn wait_for_all(inside: &Inside, team: &Team, size: usize) -> bool {
    let (place, round) = (address(&team.barrier), team.round.load(Ordering::Relaxed));
    while team.round.load(Ordering::Relaxed) == round {
        if team.has_tasks.load(Ordering::Relaxed) {
            return false;
        }
        if inside.waiters(place) + 1 >= size {
            team.round.store(round + 1, Ordering::Relaxed);
            inside.wake_all(place, Waker::Broadcast);
        } else {
            inside.block(Key::address(place), End::NEVER);
        }
    }
    true
}

/// The lock of the critical sections without a name, and that of atomic operations that need one. 0: it is free.
#[unsafe(export_name = "omp_unnamed_critical")]
static UNNAMED: AtomicU32 = AtomicU32::new(0);
#[unsafe(export_name = "omp_atomic")]
static ATOMIC: AtomicU32 = AtomicU32::new(0);

/// Enters a critical section, whose lock is this word.
fn lock(inside: &Inside, word: &AtomicU32, pc: u64) {
    acquire(inside, &EXCLUSIVE, address(word), None, pc, || match word.swap(1, Ordering::Relaxed) {
        0 => 0,
        _ => libc::EBUSY,
    });
}

fn unlock(inside: &Inside, word: &AtomicU32, pc: u64) {
    word.store(0, Ordering::Relaxed);
    inside.simple(Kind::Release, pc, address(word));
    inside.wake_all(address(word), Waker::Signal);
}

/// Writes that the thread has asked for work, or been the first at some.
fn log_work(inside: &Inside, pc: u64) {
    if let Some(team) = team(inside) {
        inside.simple(Kind::Order, pc, RELAXED);
        inside.simple(Kind::AtomicUpdate4, pc, address(&team.work));
    }
}

/// Notes that the thread asks for work, and returns the real function to go on with.
extern "C" fn ask_for_work(real: &Real, pc: u64) -> *mut c_void {
    if let Some(inside) = enter_point() {
        log_work(&inside, pc);
    }
    real.get()
}

/// Functions that give out work and do not wait: on to the real one with the arguments as they came.
macro_rules! work {
    ($($name:ident)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::new(
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!(),
                    },
                );

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
                        sym ask_for_work,
                    );
                }
            };
        )*
    };
}

work! {
    GOMP_single_start GOMP_scope_start
    GOMP_sections_start GOMP_sections2_start GOMP_sections_next
    GOMP_loop_start GOMP_loop_ordered_start GOMP_loop_ull_start GOMP_loop_ull_ordered_start
    GOMP_loop_static_start GOMP_loop_static_next GOMP_loop_dynamic_start GOMP_loop_dynamic_next
    GOMP_loop_guided_start GOMP_loop_guided_next GOMP_loop_runtime_start GOMP_loop_runtime_next
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_start GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_guided_start
    GOMP_loop_ordered_runtime_start
    GOMP_loop_ull_static_start GOMP_loop_ull_static_next GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next
    GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next
    GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next
}

/// The regions that start with a loop: function, data, threads, begin, end, step, and what else they take.
macro_rules! loop_regions {
    ($($name:ident($($rest:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            /// See the head of the parent module.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                function: Function, data: Data, threads: c_uint, begin: c_long, end: c_long, step: c_long, $($rest: $type),*
            ) {
                region(function, data, |function, data| {
                    // SAFETY: see the head of the parent module.
                    unsafe {
                        real!($name(
                            function => Function, data => Data, threads => c_uint, begin => c_long, end => c_long,
                            step => c_long, $($rest => $type),*
                        ));
                    }
                    0
                });
            }
        )*
    };
}

loop_regions! {
    GOMP_parallel_loop_static(chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_guided(chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_guided(chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_runtime(flags: c_uint);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(flags: c_uint);
}

type Word = *const AtomicU32;
type Lock = *mut c_void;

hook! {
    fn GOMP_parallel(function: Function, data: Data, threads: c_uint, flags: c_uint; _pc in "r8") {
        region(function, data, |function, data| {
            real!(GOMP_parallel(function => Function, data => Data, threads => c_uint, flags => c_uint));
            0
        });
    }
    fn GOMP_parallel_reductions(function: Function, data: Data, threads: c_uint, flags: c_uint; _pc in "r8") -> c_uint {
        region(function, data, |function, data| {
            real!(GOMP_parallel_reductions(function => Function, data => Data, threads => c_uint, flags => c_uint) -> c_uint)
        })
    }
    fn GOMP_parallel_sections(function: Function, data: Data, threads: c_uint, count: c_uint, flags: c_uint; _pc in "r9") {
        region(function, data, |function, data| {
            real!(GOMP_parallel_sections(
                function => Function, data => Data, threads => c_uint, count => c_uint, flags => c_uint
            ));
            0
        });
    }
    fn GOMP_critical_name_start(word: Word; pc in "rsi") {
        match enter_point() {
            Some(inside) => lock(&inside, &*word, pc),
            None => real!(GOMP_critical_name_start(word => Word)),
        }
    }
    fn GOMP_critical_name_end(word: Word; pc in "rsi") {
        match enter_point() {
            Some(inside) => unlock(&inside, &*word, pc),
            None => real!(GOMP_critical_name_end(word => Word)),
        }
    }
    fn GOMP_barrier(; pc in "rdi") {
        let libgomp = || real!(GOMP_barrier());
        match enter_point() {
            Some(inside) => pass_barrier(inside, pc, false, libgomp),
            None => libgomp(),
        }
    }
    fn GOMP_loop_end(; pc in "rdi") {
        let libgomp = || real!(GOMP_loop_end());
        match enter_point() {
            Some(inside) => pass_barrier(inside, pc, true, libgomp),
            None => libgomp(),
        }
    }
    fn GOMP_sections_end(; pc in "rdi") {
        let libgomp = || real!(GOMP_sections_end());
        match enter_point() {
            Some(inside) => pass_barrier(inside, pc, true, libgomp),
            None => libgomp(),
        }
    }
    fn GOMP_single_copy_start(; pc in "rdi") -> Data {
        let libgomp = || real!(GOMP_single_copy_start() -> Data);
        let Some(inside) = enter_point() else { return libgomp() };
        let Some(team) = team(&inside) else { return in_libgomp(inside, libgomp) };
        log_work(&inside, pc);
        let result = in_libgomp(inside, libgomp);
        // Those who get the data come after who has it.
        if let Some(inside) = enter().filter(|_| !result.is_null()) {
            inside.simple(Kind::HappensAfter, pc, team.part(Part::Copied));
        }
        result
    }
    fn GOMP_single_copy_end(data: Data; pc in "rsi") {
        let libgomp = || real!(GOMP_single_copy_end(data => Data));
        let Some(inside) = enter_point() else { return libgomp() };
        if let Some(team) = team(&inside) {
            inside.simple(Kind::HappensBefore, pc, team.part(Part::Copied));
        }
        in_libgomp(inside, libgomp);
    }
    fn GOMP_ordered_start(; pc in "rdi") {
        let libgomp = || real!(GOMP_ordered_start());
        let Some(inside) = enter_point() else { return libgomp() };
        let team = team(&inside);
        in_libgomp(inside, libgomp);
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
    fn omp_init_lock(lock: Lock; pc in "rsi") {
        lifetimes::initialise(lock as u64, pc, || {
            real!(omp_init_lock(lock => Lock));
            0
        });
    }
    fn omp_init_nest_lock(lock: Lock; pc in "rsi") {
        lifetimes::initialise(lock as u64, pc, || {
            real!(omp_init_nest_lock(lock => Lock));
            0
        });
    }
    fn omp_destroy_lock(lock: Lock; pc in "rsi") {
        lifetimes::destroy(lock as u64, pc, || {
            real!(omp_destroy_lock(lock => Lock));
            0
        });
    }
    fn omp_destroy_nest_lock(lock: Lock; pc in "rsi") {
        lifetimes::destroy(lock as u64, pc, || {
            real!(omp_destroy_nest_lock(lock => Lock));
            0
        });
    }
    fn omp_set_lock(lock: Lock; pc in "rsi") {
        let Some(inside) = lifetimes::enter_use(lock as u64, pc) else { return real!(omp_set_lock(lock => Lock)) };
        acquire(&inside, &EXCLUSIVE, lock as u64, None, pc, || result_of(real!(omp_test_lock(lock => Lock) -> c_int)));
    }
    fn omp_set_nest_lock(lock: Lock; pc in "rsi") {
        let Some(inside) = lifetimes::enter_use(lock as u64, pc) else { return real!(omp_set_nest_lock(lock => Lock)) };
        acquire(&inside, &EXCLUSIVE, lock as u64, None, pc, || result_of(real!(omp_test_nest_lock(lock => Lock) -> c_int)));
    }
    fn omp_test_lock(lock: Lock; pc in "rsi") -> c_int {
        let inside = lifetimes::enter_use(lock as u64, pc);
        let result = real!(omp_test_lock(lock => Lock) -> c_int);
        if let Some(inside) = inside {
            log_limited_attempt(&inside, &EXCLUSIVE, lock as u64, pc, result_of(result));
        }
        result
    }
    fn omp_test_nest_lock(lock: Lock; pc in "rsi") -> c_int {
        let inside = lifetimes::enter_use(lock as u64, pc);
        let result = real!(omp_test_nest_lock(lock => Lock) -> c_int);
        if let Some(inside) = inside {
            log_limited_attempt(&inside, &EXCLUSIVE, lock as u64, pc, result_of(result));
        }
        result
    }
    fn omp_unset_lock(lock: Lock; pc in "rsi") {
        let inside = enter_point();
        real!(omp_unset_lock(lock => Lock));
        if let Some(inside) = inside {
            log_unset(&inside, lock, pc);
        }
    }
    fn omp_unset_nest_lock(lock: Lock; pc in "rsi") {
        let inside = enter_point();
        real!(omp_unset_nest_lock(lock => Lock));
        if let Some(inside) = inside {
            log_unset(&inside, lock, pc);
        }
    }
}

/// What a function that tries to take a lock would have returned in C's threads.
fn result_of(taken: c_int) -> c_int {
    if taken == 0 { libc::EBUSY } else { 0 }
}

fn log_unset(inside: &Inside, lock: Lock, pc: u64) {
    inside.simple(Kind::Release, pc, lock as u64);
    inside.wake_all(lock as u64, Waker::Signal);
}

safe_hook! {
    fn GOMP_critical_start(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            lock(&inside, &UNNAMED, pc);
        }
    }
    fn GOMP_critical_end(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            unlock(&inside, &UNNAMED, pc);
        }
    }
    fn GOMP_atomic_start(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            lock(&inside, &ATOMIC, pc);
        }
    }
    fn GOMP_atomic_end(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            unlock(&inside, &ATOMIC, pc);
        }
    }
}
