//! The entry points of tasks, as clang asks libomp: creating them, waiting for them.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr;

use wire::Kind;

use super::{Data, Place};
use crate::inside::{Inside, enter_point};
use crate::interpose::openmp::dependences::Access;
use crate::interpose::openmp::task::{self, Allowed, Creation, Task, run_until};
use crate::interpose::openmp::tasks::{is_full, launch};
use crate::interpose::openmp::{Team, current, in_library, team};
use crate::interpose::{hook, hook_of_six, hook_of_seven};
use crate::real::real;
use crate::schedule::GaveUp;

/// The code of a task, for its number of the thread and its memory.
pub(super) type Routine = unsafe extern "C" fn(c_int, *mut Memory) -> c_int;

/// A task's memory as clang's code uses it; its private variables follow.
#[repr(C)]
pub(super) struct Memory {
    pub(super) shared: *mut c_void,
    pub(super) routine: Routine,
    part: c_int,
    /// Destroys its private variables, if its flags say so.
    destroy: Option<Routine>,
    priority: u64,
}

impl Memory {
    /// The place in the program that the task begins at.
    pub(super) fn place(&self) -> u64 {
        self.routine as usize as u64 + 1
    }
}

/// Flags of tasks, as clang sets them.
mod flag {
    use core::ffi::c_int;

    pub(super) const FINAL: c_int = 1 << 1;
    pub(super) const DESTROYS: c_int = 1 << 3;
}

/// What we keep before the memory of a task.
#[repr(C, align(16))]
pub(super) struct Header {
    pub(super) task: *const Task,
    /// How long the memory is, and where in it the addresses begin of what the task shares.
    pub(super) size: usize,
    pub(super) shared_at: usize,
    pub(super) flags: c_int,
    /// The task has asked to be called again: clang's code of one that is not tied to a thread returns at each place where it might move to another.
    /// Here it stays where it is.
    goes_on: Cell<bool>,
    /// What the thread runs apart from this task, which the program calls by itself.
    outer: Data,
    /// Says that it is a header; the last word before the memory. libomp's own tasks have other words there.
    mark: u64,
}

const _: () = assert!(core::mem::offset_of!(Header, mark) + size_of::<u64>() == size_of::<Header>());

const MARK: u64 = 0x7461_736b_206f_6621;

/// The header of a task that is ours.
///
/// # Safety
/// The memory came from libomp's function, or from ours in its place.
pub(super) unsafe fn header<'a>(memory: *mut Memory) -> Option<&'a Header> {
    // SAFETY: libomp has words of its own before the memory as well.
    unsafe {
        let mark = memory.cast::<u64>().sub(1);
        (*mark == MARK).then(|| &*memory.cast::<Header>().sub(1))
    }
}

/// Runs a task of clang's.
///
/// # Safety
/// The data are a header with a task's memory behind it.
pub(super) unsafe extern "C" fn run_memory(data: Data) {
    // SAFETY: by the contract of this function; the task's code is the program's.
    unsafe {
        let header = data.cast::<Header>();
        let memory = header.add(1).cast::<Memory>();
        let number = real!(__kmpc_global_thread_num(ptr::null() => Place) -> c_int);
        (*header).goes_on.set(true);
        while (*header).goes_on.replace(false) {
            ((*memory).routine)(number, memory);
        }
        destroy(&*header, memory, number);
    }
}

/// Destroys the private variables of a task that has run.
///
/// # Safety
/// The memory is the header's, and the task has run.
pub(super) unsafe fn destroy(header: &Header, memory: *mut Memory, number: c_int) {
    // SAFETY: by the contract of this function.
    unsafe {
        if header.flags & flag::DESTROYS != 0
            && let Some(destroy) = (*memory).destroy
        {
            destroy(number, memory);
        }
    }
}

/// A new task that the current one creates, with memory for what clang's code has of it. Null if there is no memory.
pub(super) fn create(
    inside: &Inside,
    current: &Task,
    flags: c_int,
    (size, shared): (usize, usize),
    routine: Routine,
) -> *mut Memory {
    let shared_at = size.next_multiple_of(16);
    let creation = Creation {
        function: run_memory,
        pc: routine as usize as u64 + 1,
        size: size_of::<Header>() + shared_at + shared,
        alignment: align_of::<Header>(),
        is_final: flags & flag::FINAL != 0 || current.is_final,
        awaits_event: false,
    };
    let Some(task) = current.child(inside, &creation) else { return ptr::null_mut() };
    let header = task.data.cast::<Header>();
    // SAFETY: the task's data are new, and have room for all of this.
    unsafe {
        header.write(Header { task, size: shared_at + shared, shared_at, flags, outer: ptr::null_mut(), goes_on: Cell::new(false), mark: MARK });
        let memory = header.add(1).cast::<Memory>();
        // The program fills it in, and it may have been another task's before. A schedule names it by a place of its own.
        let size = (shared_at + shared) as u64;
        inside.detailed(Kind::Allocate, creation.pc, memory as u64, &[size], b"");
        let start = memory.cast::<u8>();
        start.write_bytes(0, shared_at + shared);
        (*memory).routine = routine;
        (*memory).shared = if shared == 0 { ptr::null_mut() } else { start.add(shared_at).cast() };
        memory
    }
}

/// What a task does with an address, as clang lays it out.
#[repr(C)]
struct Dependence {
    address: u64,
    length: usize,
    flags: u8,
}

/// A list of dependences: how many there are, and the first one.
type Dependences = (c_int, *const Dependence);

/// # Safety
/// The list is as clang makes it.
unsafe fn each((count, first): Dependences, mut visit: impl FnMut(u64, Access)) {
    const IN: u8 = 1;
    const INOUTSET: u8 = 8;
    for index in 0..count.max(0) as usize {
        // SAFETY: by the contract of this function.
        let dependence = unsafe { &*first.add(index) };
        let access = match dependence.flags {
            IN => Access::In,
            INOUTSET => Access::InOutSet,
            _ => Access::Out,
        };
        visit(dependence.address, access);
    }
}

/// A task is complete, and starts when it can.
///
/// # Safety
/// The memory is a task's, and the lists are as clang makes them.
unsafe fn start(memory: *mut Memory, lists: [Dependences; 2], libomp: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe {
        let Some(header) = header(memory) else { return libomp() };
        let inside = enter_point();
        let known = inside.as_ref().and_then(|inside| Some((team(inside)?, current(inside)?)));
        let (Some(inside), Some((team, current))) = (inside, known) else {
            // Nothing is recorded any more, and libomp does not know the task.
            run_memory(ptr::from_ref(header).cast_mut().cast());
            return 0;
        };
        let task = &*header.task;
        if ptr::eq(task, current) {
            header.goes_on.set(true);
            return 0;
        }
        let waits = !is_full(team, current);
        for list in lists {
            each(list, |address, access| match waits {
                true => current.dependences.add_one(&inside, task, address, access),
                false => current.dependences.follow_one(&inside, task, address, access),
            });
        }
        launch(inside, team, task, waits);
        0
    }
}

const NONE: Dependences = (0, ptr::null());

/// Waits until the tasks have ended that something with these dependences would come after.
///
/// # Safety
/// The lists are as clang makes them.
unsafe fn await_dependences(lists: [Dependences; 2], pc: u64, libomp: impl FnOnce()) {
    let Some(inside) = enter_point() else { return libomp() };
    let (Some(team), Some(current)) = (team(&inside), current(&inside)) else { return in_library(inside, libomp) };
    // It stands for a task that does nothing, with these dependences.
    let waiter = Task::implicit(&inside, &team.group);
    for list in lists {
        // SAFETY: by the contract of this function.
        unsafe { each(list, |address, access| current.dependences.follow_one(&inside, &waiter, address, access)) };
    }
    let inside = run_until(inside, team, Allowed::Children(current), |_| waiter.is_ready());
    if let Some(inside) = inside {
        waiter.join_predecessors(&inside, pc);
    }
}

/// Waits for the children of the current task.
fn await_children(pc: u64, libomp: impl FnOnce()) {
    let Some(inside) = enter_point() else { return libomp() };
    let (Some(team), Some(current)) = (team(&inside), current(&inside)) else { return in_library(inside, libomp) };
    let inside = run_until(inside, team, Allowed::Children(current), |_| !current.has_children());
    if let Some(inside) = inside {
        current.join_children(&inside, pc);
    }
}

/// Waits for the tasks of the innermost group of the current task, and closes it.
pub(super) fn await_group(inside: Inside, team: &Team, current: &Task, pc: u64) -> Option<Inside> {
    let group = current.group.get();
    // SAFETY: the group is there until the task closes it.
    let is_over = |_: &Inside| unsafe { group.as_ref() }.is_none_or(|group| group.is_empty());
    let inside = run_until(inside, team, Allowed::Members(group), is_over)?;
    current.close_group(&inside, pc);
    Some(inside)
}

/// Ends the innermost group, in libomp as well, where it has no tasks: what is left is to reduce.
///
/// # Safety
/// As for the real function.
pub(super) unsafe fn end_group(place: Place, number: c_int, pc: u64) {
    if let Some(inside) = enter_point()
        && let (Some(team), Some(current)) = (team(&inside), current(&inside))
    {
        drop(await_group(inside, team, current, pc));
    }
    // SAFETY: by the contract of this function.
    unsafe { real!(__kmpc_end_taskgroup(place => Place, number => c_int)) };
}

/// # Safety
/// As for the real function.
pub(super) unsafe fn begin_group(place: Place, number: c_int) {
    let inside = enter_point();
    if let Some(inside) = &inside
        && let Some(current) = current(inside)
    {
        current.open_group(inside);
    }
    // SAFETY: by the contract of this function; libomp does not wait here.
    unsafe { real!(__kmpc_taskgroup(place => Place, number => c_int)) };
}

hook! {
    fn __kmpc_omp_task(place: Place, number: c_int, memory: *mut Memory; _pc in "rcx") -> c_int {
        start(memory, [NONE; 2], || {
            real!(__kmpc_omp_task(place => Place, number => c_int, memory => *mut Memory) -> c_int)
        })
    }
    fn __kmpc_omp_task_begin_if0(place: Place, number: c_int, memory: *mut Memory; _pc in "rcx") {
        let Some(header) = header(memory) else {
            return real!(__kmpc_omp_task_begin_if0(place => Place, number => c_int, memory => *mut Memory));
        };
        if let Some(inside) = enter_point()
            && let Some(team) = team(&inside)
        {
            team.tasks.count_one();
            let header = ptr::from_ref(header).cast_mut();
            (*header).outer = task::begin_in_place(&inside, &*(*header).task);
        }
    }
    fn __kmpc_omp_task_complete_if0(place: Place, number: c_int, memory: *mut Memory; _pc in "rcx") {
        let Some(header) = header(memory) else {
            return real!(__kmpc_omp_task_complete_if0(place => Place, number => c_int, memory => *mut Memory));
        };
        while header.goes_on.replace(false) {
            ((*memory).routine)(number, memory);
        }
        destroy(header, memory, number);
        if let Some(inside) = enter_point()
            && let Some(team) = team(&inside)
        {
            inside.thread().task.set(header.outer);
            task::end(&inside, team, &*header.task);
        }
    }
    fn __kmpc_omp_taskwait(place: Place, number: c_int; pc in "rdx") -> c_int {
        await_children(pc, || {
            real!(__kmpc_omp_taskwait(place => Place, number => c_int) -> c_int);
        });
        0
    }
    fn __kmpc_omp_taskwait_51(place: Place, number: c_int, without_wait: c_int; pc in "rcx") -> c_int {
        await_children(pc, || {
            real!(__kmpc_omp_taskwait_51(place => Place, number => c_int, without_wait => c_int) -> c_int);
        });
        0
    }
    fn __kmpc_omp_taskyield(place: Place, number: c_int, part: c_int; _pc in "rcx") -> c_int {
        match enter_point() {
            Some(inside) => {
                inside.preempt(GaveUp::Yielding, None);
                0
            }
            None => real!(__kmpc_omp_taskyield(place => Place, number => c_int, part => c_int) -> c_int),
        }
    }
    fn __kmpc_taskgroup(place: Place, number: c_int; _pc in "rdx") {
        begin_group(place, number);
    }
    fn __kmpc_end_taskgroup(place: Place, number: c_int; pc in "rdx") {
        end_group(place, number, pc);
    }
    fn __kmpc_task_allow_completion_event(place: Place, number: c_int, memory: *mut Memory; _pc in "rcx") -> *const c_void {
        match header(memory) {
            Some(header) => {
                (*header.task).awaits_event.set(true);
                header.task.cast()
            }
            None => real!(__kmpc_task_allow_completion_event(
                place => Place, number => c_int, memory => *mut Memory
            ) -> *const c_void),
        }
    }
}

hook_of_six! {
    fn __kmpc_omp_task_alloc(place: Place, number: c_int, flags: c_int, size: usize, shared: usize, routine: Routine; _pc) -> *mut Memory {
        let inside = enter_point();
        let creator = inside.as_ref().filter(|inside| team(inside).is_some()).and_then(current);
        if let (Some(inside), Some(current)) = (&inside, creator) {
            return create(inside, current, flags, (size, shared), routine);
        }
        drop(inside);
        real!(__kmpc_omp_task_alloc(
            place => Place, number => c_int, flags => c_int, size => usize, shared => usize, routine => Routine
        ) -> *mut Memory)
    }
    fn __kmpc_omp_wait_deps(place: Place, number: c_int, one: c_int, list: *const Dependence, other: c_int, rest: *const Dependence; pc) -> () {
        await_dependences([(one, list), (other, rest)], pc, || {
            real!(__kmpc_omp_wait_deps(
                place => Place, number => c_int, one => c_int, list => *const Dependence, other => c_int,
                rest => *const Dependence
            ));
        });
    }
}

hook_of_seven! {
    fn __kmpc_omp_task_with_deps(place: Place, number: c_int, memory: *mut Memory, one: c_int, list: *const Dependence, other: c_int; _pc, rest: *const Dependence) -> c_int {
        start(memory, [(one, list), (other, rest)], || {
            real!(__kmpc_omp_task_with_deps(
                place => Place, number => c_int, memory => *mut Memory, one => c_int, list => *const Dependence,
                other => c_int, rest => *const Dependence
            ) -> c_int)
        })
    }
    fn __kmpc_omp_taskwait_deps_51(place: Place, number: c_int, one: c_int, list: *const Dependence, other: c_int, rest: *const Dependence; pc, without_wait: c_int) -> () {
        await_dependences([(one, list), (other, rest)], pc, || {
            real!(__kmpc_omp_taskwait_deps_51(
                place => Place, number => c_int, one => c_int, list => *const Dependence, other => c_int,
                rest => *const Dependence, without_wait => c_int
            ));
        });
    }
}
