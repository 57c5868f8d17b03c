//! OpenMP as gcc and clang compile it: the entry points of libgomp, and of libomp ([`libomp`]). What both need is here.
//!
//! The library makes the threads and shares out loops. Its waiting is out of our sight, by spinning and by system calls of its own, so barriers and
//! tasks are ours: threads of a team wait in the scheduler, and run tasks from a queue of ours meanwhile. Then the same schedule gives the same run.
//! A thread gives up the token before it goes into the library for something that may wait all the same, and while it is there the functions it
//! calls are not recorded ([`gate::LIBRARY`]).
//!
//! What orders threads is recorded: a region comes after what its creator did, and before what it does next; barriers are barriers; critical
//! sections and locks are locks. Who gets an iteration, a task or a `single` is an atomic operation that orders nothing.

mod blocks;
mod dependences;
mod libomp;
mod locks;
mod reductions;
mod task;
mod tasks;
mod work;

use core::cell::Cell;
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wire::{Kind, Passage, Waker};

use self::task::{Allowed, Group, Task, Tasks, run_until};
use super::hook;
use crate::inside::{Ended, Inside, enter, enter_point};
use crate::program::scheduler;
use crate::real::real;
use crate::schedule::{End, Key, NEVER};
use crate::thread;
use crate::token::gate;

type Function = unsafe extern "C" fn(*mut c_void);
type Data = *mut c_void;

/// C's number of the memory order that orders nothing.
const RELAXED: u64 = 0;

/// Where the threads of a team meet: how many are there, and how often all were.
struct Meeting {
    arrived: Cell<usize>,
    round: Cell<usize>,
}

impl Meeting {
    const fn new() -> Meeting {
        Meeting { arrived: Cell::new(0), round: Cell::new(0) }
    }
}

/// The threads of a parallel region. It lives in the frame of the thread that made it, which waits for all others. Its fields are the holder's of
/// the token.
#[repr(C)]
pub(crate) struct Team {
    /// What the region reduces into, as gcc describes it; null: nothing. libgomp looks for it at the start of what it gets.
    reductions: *mut u64,
    function: Function,
    data: Data,
    /// The place in the program where its threads begin and end.
    pc: u64,
    /// Its number, by which its parts are recorded.
    number: u32,
    size: Cell<usize>,
    /// Where its threads meet at the start; where they wait later on.
    start: u8,
    place: u8,
    /// The loops and sections that threads share out among them, and the queue of tasks, as variables.
    work: u32,
    queue: u32,
    barrier: Meeting,
    end: Meeting,
    tasks: Tasks,
    /// What the reductions of the region are about, for all tasks in it.
    group: Group,
    /// What one thread has for the others, at even barriers and odd ones.
    copied: [Cell<Data>; 2],
    /// How many loops are nested in the current one whose iterations wait for each other.
    depth: Cell<usize>,
    is_cancelled: Cell<bool>,
    /// A loop or sections were cancelled after this many barriers (clang only: libgomp keeps that by itself).
    cancelled_before: Cell<Option<usize>>,
    /// One thread runs the region in the function that contains it (clang only).
    is_serial: Cell<bool>,
}

/// What is recorded of a team.
#[derive(Clone, Copy)]
enum Part {
    /// What comes before the region, and after it.
    Fork,
    Join,
    Barrier,
    /// Data that one thread has for the others.
    Ordered,
    Tasks,
}

impl Team {
    fn new(function: Function, data: Data, reductions: *mut u64, pc: u64) -> Team {
        Team {
            reductions,
            function,
            data,
            pc,
            number: TEAMS.fetch_add(1, Ordering::Relaxed) + 1,
            size: Cell::new(1),
            start: 0,
            place: 0,
            work: 0,
            queue: 0,
            barrier: Meeting::new(),
            end: Meeting::new(),
            tasks: Tasks::new(),
            group: Group::around_region(reductions),
            copied: [const { Cell::new(ptr::null_mut()) }; 2],
            depth: Cell::new(0),
            is_cancelled: Cell::new(false),
            cancelled_before: Cell::new(None),
            is_serial: Cell::new(false),
        }
    }

    /// A part of it, as an object.
    fn part(&self, part: Part) -> u64 {
        Passage::Team(self.number * 8 + part as u32).object()
    }

    /// Where its threads wait.
    fn place(&self) -> u64 {
        address(&self.place)
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

/// The task that the thread runs.
fn current<'a>(inside: &Inside) -> Option<&'a Task> {
    // SAFETY: a task is there as long as it runs.
    unsafe { inside.thread().task.get().cast::<Task>().as_ref() }
}

fn team_size() -> usize {
    // SAFETY: takes nothing; libgomp is there, since it has called us.
    let size = unsafe { real!(omp_get_num_threads() -> c_int) };
    size.max(1) as usize
}

/// The calling thread goes into the library, without the token.
fn go_out(inside: Inside) {
    inside.thread().in_library.set(true);
    inside.thread().seat.presence.add(gate::LIBRARY);
    inside.leave(NEVER);
}

/// It is back in the program.
fn come_in() {
    if let Some(thread) = thread::current()
        && thread.in_library.replace(false)
    {
        thread.seat.presence.remove(gate::LIBRARY);
    }
}

/// Calls the library for something that may wait.
fn in_library<R>(inside: Inside, call: impl FnOnce() -> R) -> R {
    go_out(inside);
    let result = call();
    come_in();
    result
}

/// Creates a thread for the library, at a place of the program's: where the region begins that it is for. The thread starts in the library, and gives
/// the token up until it comes to the program's code.
pub(crate) fn while_creating(pc: u64, create: impl FnOnce(u64) -> c_int) -> c_int {
    let creator = thread::current().filter(|thread| thread.in_library.get());
    let Some(creator) = creator else { return create(pc) };
    come_in();
    if let Some(inside) = enter() {
        inside.thread().creates_for_library.set(true);
    }
    let place = creator.region.get();
    let result = create(if place == 0 { pc } else { place });
    if let Some(inside) = enter() {
        inside.thread().creates_for_library.set(false);
        go_out(inside);
    }
    result
}

/// Where the threads of the library's gather before a region: each is there before any other goes on.
const POOL: u64 = Passage::Team(0).object();

/// The calling thread was created by the library.
pub(crate) fn begin_in_library(inside: Inside) {
    inside.simple(Kind::HappensBefore, inside.thread().start(), POOL);
    go_out(inside);
}

/// A thread of the library's ends.
pub(crate) fn end_in_library() {
    come_in();
}

/// Waits until all threads of a team are there, so that what follows is up to the scheduler and not to the library. A replay says itself who runs when, and
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
    unsafe { run_part(&*argument.cast::<Team>(), team_size, |team| (team.function)(team.data)) };
}

/// The part of the calling thread in a region, from the library's code and back to it.
fn run_part(team: &Team, size: impl FnOnce() -> usize, call: impl FnOnce(&Team)) {
    let pc = team.pc;
    come_in();
    let Some(inside) = enter() else { return call(team) };
    let own = Task::implicit(&inside, &team.group);
    let outer = begin_part(&inside, team, &own);
    team.size.set(size());
    gather(&inside, address(&team.start), team.size.get());
    inside.simple(Kind::HappensAfter, pc, POOL);
    inside.simple(Kind::HappensAfter, pc, team.part(Part::Fork));
    drop(inside);
    call(team);
    let Some(inside) = enter_point() else { return };
    inside.simple(Kind::HappensBefore, pc, team.part(Part::Join));
    // The library has a barrier of its own behind ours: every thread that is released here must get there.
    let set_leaving = |leaves| {
        let own = thread::current().map(|thread| thread.slot);
        scheduler().with_lock(|schedule, _| own.into_iter().for_each(|own| schedule.set_leaving(own, leaves)));
    };
    set_leaving(true);
    let inside = meet(inside, team, &team.end, pc);
    set_leaving(false);
    let Some(inside) = inside else { return };
    task::end_implicit(&inside, &own);
    end_part(&inside, outer);
    go_out(inside);
}

/// The team and the task that a thread had before it became one of another team.
#[derive(Clone, Copy)]
struct Outer {
    team: Data,
    task: Data,
}

/// The calling thread is one of this team from now on, and runs this implicit task.
fn begin_part(inside: &Inside, team: &Team, own: &Task) -> Outer {
    Outer {
        team: inside.thread().team.replace(ptr::from_ref(team).cast_mut().cast()),
        task: inside.thread().task.replace(ptr::from_ref(own).cast_mut().cast()),
    }
}

fn end_part(inside: &Inside, outer: Outer) {
    inside.thread().team.set(outer.team);
    inside.thread().task.set(outer.task);
}

/// Runs a parallel region: calls libgomp with what its threads run.
fn region(function: Function, data: Data, libgomp: impl FnOnce(Function, Data) -> c_uint) -> c_uint {
    region_with(function, data, ptr::null_mut(), libgomp)
}

/// The same for a region that reduces into something.
fn region_with(
    function: Function,
    data: Data,
    reductions: *mut u64,
    libgomp: impl FnOnce(Function, Data) -> c_uint,
) -> c_uint {
    let Some(inside) = enter_point() else { return libgomp(function, data) };
    let mut team = Team::new(function, data, reductions, function as usize as u64 + 1);
    around(inside, &mut team, |team| libgomp(run, team))
}

/// Calls the library for a region of this team, which comes after what the thread did and before what it does next.
fn around<R>(inside: Inside, team: &mut Team, library: impl FnOnce(Data) -> R) -> R {
    let (pc, join, tasks) = (team.pc, team.part(Part::Join), team.part(Part::Tasks));
    inside.simple(Kind::HappensBefore, pc, team.part(Part::Fork));
    let outer = inside.thread().region.replace(pc);
    let result = in_library(inside, || library(ptr::from_mut(team).cast()));
    if let Some(inside) = enter() {
        inside.thread().region.set(outer);
        inside.simple(Kind::HappensAfter, pc, join);
        inside.simple(Kind::HappensAfter, pc, tasks);
    }
    result
}

/// Waits until all threads of the team are here and all its tasks have ended, and runs tasks meanwhile. Who comes last sees to it that the others
/// come after the tasks, too.
fn meet(inside: Inside, team: &Team, meeting: &Meeting, pc: u64) -> Option<Inside> {
    let round = meeting.round.get();
    meeting.arrived.set(meeting.arrived.get() + 1);
    run_until(inside, team, Allowed::All, |inside| {
        if meeting.arrived.get() >= team.size.get() && team.tasks.unfinished() == 0 && meeting.round.get() == round {
            meeting.arrived.set(0);
            meeting.round.set(round + 1);
            // Without tasks nothing is written here, so it does not matter who comes last.
            if team.tasks.join(inside, pc) {
                inside.simple(Kind::HappensBefore, pc, team.part(Part::Tasks));
            }
            inside.wake_all(team.place(), Waker::Broadcast);
        }
        meeting.round.get() != round || team.is_cancelled.get() && core::ptr::eq(meeting, &team.barrier)
    })
}

/// A barrier of the team. Whether its region was cancelled.
fn pass_barrier(inside: Inside, pc: u64) -> bool {
    let Some(team) = team(&inside) else { return false };
    let barrier = team.part(Part::Barrier);
    inside.simple(Kind::BarrierEnter, pc, barrier);
    let Some(inside) = meet(inside, team, &team.barrier, pc) else { return false };
    if team.is_cancelled.get() {
        return true;
    }
    inside.point();
    inside.simple(Kind::BarrierExit, pc, barrier);
    inside.simple(Kind::HappensAfter, pc, team.part(Part::Tasks));
    if let Some(task) = current(&inside) {
        task.loops.set(0);
    }
    false
}

/// Writes that the thread has asked for work, or been the first at some.
fn log_work(inside: &Inside, team: &Team, pc: u64) {
    log_update(inside, address(&team.work), pc);
}

/// Writes that the thread has taken a task.
fn log_take(inside: &Inside, team: &Team, pc: u64) {
    log_update(inside, address(&team.queue), pc);
}

fn log_update(inside: &Inside, variable: u64, pc: u64) {
    inside.simple(Kind::Order, pc, RELAXED);
    inside.simple(Kind::AtomicUpdate4, pc, variable);
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

hook! {
    fn GOMP_parallel(function: Function, data: Data, threads: c_uint, flags: c_uint; _pc in "r8") {
        region(function, data, |function, data| {
            real!(GOMP_parallel(function => Function, data => Data, threads => c_uint, flags => c_uint));
            0
        });
    }
    fn GOMP_parallel_reductions(function: Function, data: Data, threads: c_uint, flags: c_uint; _pc in "r8") -> c_uint {
        region_with(function, data, *data.cast::<*mut u64>(), |function, data| {
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
    fn GOMP_barrier(; pc in "rdi") {
        match enter_point() {
            Some(inside) => drop(pass_barrier(inside, pc)),
            None => real!(GOMP_barrier()),
        }
    }
    fn GOMP_barrier_cancel(; pc in "rdi") -> bool {
        match enter_point() {
            Some(inside) => pass_barrier(inside, pc),
            None => real!(GOMP_barrier_cancel() -> bool),
        }
    }
}
