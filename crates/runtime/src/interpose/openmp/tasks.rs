//! The entry points of OpenMP's tasks: creating them, waiting for them.

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr;

use wire::Waker;

use super::dependences::Depend;
use super::task::{self, Allowed, Creation, Task, run_until};
use super::{Data, Function, Team, current, in_library, team};
use crate::inside::{Inside, enter, enter_point};
use crate::interpose::hook;
use crate::real::real;
use crate::schedule::GaveUp;

/// Copies the program's data for a task.
type Copy = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// Flags of tasks and of loops of tasks, as gcc sets them.
pub(super) mod flag {
    use core::ffi::c_uint;

    pub(in super::super) const FINAL: c_uint = 1 << 1;
    pub(in super::super) const DEPEND: c_uint = 1 << 3;
    /// A loop counts up.
    pub(in super::super) const UP: c_uint = 1 << 8;
    pub(in super::super) const GRAIN_SIZE: c_uint = 1 << 9;
    /// Tasks of a loop may wait: there is no `if` clause that says otherwise.
    pub(in super::super) const IF: c_uint = 1 << 10;
    pub(in super::super) const NO_GROUP: c_uint = 1 << 11;
    pub(in super::super) const REDUCTION: c_uint = 1 << 12;
    pub(in super::super) const DETACH: c_uint = 1 << 13;
    pub(in super::super) const STRICT: c_uint = 1 << 14;
}

/// The most tasks of each thread that wait; further ones run at once.
const MOST: usize = 64;

/// Whether tasks run at once that may wait.
pub(super) fn is_full(team: &Team, current: &Task) -> bool {
    current.is_final || team.tasks.unfinished() > MOST * team.size.get()
}

/// Fills in the data of a task, with the program's function if it has one.
///
/// # Safety
/// The data are as the program passed them, for this task.
unsafe fn fill(inside: Inside, task: &Task, data: Data, copy: Copy, size: usize) -> Option<Inside> {
    // SAFETY: by the contract of this function.
    unsafe {
        match copy {
            Some(copy) => {
                drop(inside);
                copy(task.data, data);
                enter()
            }
            None => {
                ptr::copy_nonoverlapping(data.cast::<u8>(), task.data.cast::<u8>(), size);
                Some(inside)
            }
        }
    }
}

/// A task is there: it can run when those have ended that it depends on, or runs now.
pub(super) fn launch(inside: Inside, team: &Team, task: &Task, waits: bool) {
    let pc = task.pc;
    team.tasks.count_one();
    if waits {
        task.is_queued.set(true);
        task.log_creation(&inside, pc);
        if task.is_ready() {
            team.tasks.add(task);
            // Those who wait can run it.
            inside.wake_all(team.place(), Waker::Broadcast);
        }
        return;
    }
    let inside = run_until(inside, team, Allowed::Children(task.parent), |_| task.is_ready());
    if let Some(inside) = inside
        && let Some(inside) = task::run(inside, team, task)
    {
        inside.point();
    }
}

/// # Safety
/// See the head of the parent's parent module.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task(
    function: Function,
    data: Data,
    copied_by: Copy,
    size: c_long,
    alignment: c_long,
    condition: bool,
    flags: c_uint,
    depend: Depend,
    priority: c_int,
    detach: *mut c_void,
) {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let libgomp = || {
        real!(GOMP_task(
            function => Function, data => Data, copied_by => Copy, size => c_long, alignment => c_long, condition => bool,
            flags => c_uint, depend => Depend, priority => c_int, detach => *mut c_void
        ));
    };
    let Some(inside) = enter_point() else { return libgomp() };
    // Outside of regions tasks run at once.
    let (Some(team), Some(current)) = (team(&inside), current(&inside)) else { return in_libgomp_here(inside, libgomp) };
    let creation = Creation {
        function,
        pc: function as usize as u64 + 1,
        size: size.max(0) as usize,
        alignment: alignment.max(1) as usize,
        is_final: flags & flag::FINAL != 0 || current.is_final,
        awaits_event: flags & flag::DETACH != 0,
    };
    let waits = condition && !is_full(team, current);
    let Some(task) = current.child(&inside, &creation) else { return in_libgomp_here(inside, libgomp) };
    if creation.awaits_event {
        *detach.cast::<*const Task>() = task;
        if !data.is_null() {
            *data.cast::<*const Task>() = task;
        }
    }
    let Some(inside) = fill(inside, task, data, copied_by, creation.size) else { return };
    if flags & flag::DEPEND != 0 && !depend.is_null() {
        match waits {
            true => current.dependences.add(&inside, task, depend),
            false => current.dependences.follow(&inside, task, depend),
        }
    }
    launch(inside, team, task, waits);
}
}

/// Calls libgomp for something that runs the program's code at once.
fn in_libgomp_here(inside: Inside, libgomp: impl FnOnce()) {
    drop(inside);
    libgomp();
}

/// How the iterations of a loop become tasks.
pub(super) struct Split {
    pub(super) tasks: u64,
    /// What each has, and how many of the first have one more.
    each: u64,
    larger: u64,
    /// What the last has; it takes the rest if sizes are strict.
    total: u64,
}

impl Split {
    pub(super) fn new(total: u64, flags: c_uint, asked: u64, threads: usize) -> Split {
        let is_size = flags & flag::GRAIN_SIZE != 0;
        if is_size && flags & flag::STRICT != 0 {
            let each = asked.max(1);
            return Split { tasks: total.div_ceil(each), each, larger: 0, total };
        }
        let tasks = match asked {
            _ if is_size => total / asked.max(1),
            0 => threads as u64,
            count => count,
        };
        let tasks = tasks.clamp(1, total.max(1));
        Split { tasks, each: total / tasks, larger: total % tasks, total }
    }

    /// The first iteration of a task, and the one after its last.
    pub(super) fn part(&self, index: u64) -> (u64, u64) {
        let begin = |index: u64| (index * self.each + index.min(self.larger)).min(self.total);
        (begin(index), if index + 1 == self.tasks { self.total } else { begin(index + 1) })
    }
}

/// A loop of tasks: its numbers as they are, whatever their type.
struct Loop {
    begin: i128,
    end: i128,
    step: i128,
}

impl Loop {
    fn iterations(&self) -> u64 {
        let distance = (self.end - self.begin) * self.step.signum();
        let step = self.step.abs().max(1);
        if distance <= 0 { 0 } else { ((distance + step - 1) / step) as u64 }
    }

    /// Where an iteration begins, as the program's number.
    fn at(&self, iteration: u64) -> u64 {
        (self.begin + self.step * i128::from(iteration)) as u64
    }
}

/// Creates the tasks of a loop.
///
/// # Safety
/// As for the real function.
unsafe fn task_loop(
    inside: Inside,
    (team, current): (&Team, &Task),
    creation: &Creation,
    (data, copy, flags): (Data, Copy, c_uint),
    range: &Loop,
    split: &Split,
) {
// SAFETY: by the contract of this function; data of a task of a loop begin with two words for its iterations.
unsafe {
    let mut inside = inside;
    for index in 0..split.tasks {
        let waits = flags & flag::IF != 0 && !is_full(team, current);
        let Some(task) = current.child(&inside, creation) else { return };
        let Some(filled) = fill(inside, task, data, copy, creation.size) else { return };
        let (from, to) = split.part(index);
        let last = if to >= range.iterations() { range.end as u64 } else { range.at(to) };
        task.data.cast::<[u64; 2]>().write_unaligned([range.at(from), last]);
        launch(filled, team, task, waits);
        let Some(next) = enter_point() else { return };
        inside = next;
    }
}
}

macro_rules! taskloops {
    ($($name:ident($number:ty, $signed:ty);)*) => {
        $(
            /// # Safety
            /// See the head of the parent's parent module.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                function: Function, data: Data, copied_by: Copy, size: c_long, alignment: c_long, flags: c_uint,
                count: c_ulong, priority: c_int, begin: $number, end: $number, step: $number,
            ) {
            // SAFETY: the arguments are as the real function demands them, by the contract of this one.
            unsafe {
                let libgomp = || {
                    real!($name(
                        function => Function, data => Data, copied_by => Copy, size => c_long, alignment => c_long,
                        flags => c_uint, count => c_ulong, priority => c_int, begin => $number, end => $number,
                        step => $number
                    ))
                };
                let Some(inside) = enter_point() else { return libgomp() };
                let (Some(team), Some(current)) = (team(&inside), current(&inside)) else {
                    return in_libgomp_here(inside, libgomp);
                };
                // Unsigned loops count down by a step that is a large number.
                let step = if flags & flag::UP != 0 { i128::from(step) } else { i128::from(step as $signed) };
                let range = Loop { begin: begin.into(), end: end.into(), step };
                let is_group = flags & flag::NO_GROUP == 0;
                let pc = function as usize as u64 + 1;
                if is_group {
                    real!(GOMP_taskgroup_start());
                    current.open_group(&inside);
                }
                let mut inside = Some(inside);
                if range.iterations() > 0 {
                    if is_group && flags & flag::REDUCTION != 0 {
                        inside = None;
                        let description = *data.cast::<*mut u64>().add(2);
                        super::reductions::register(description);
                    }
                    let Some(entered) = inside.or_else(enter) else { return };
                    let creation = Creation {
                        function,
                        pc,
                        size: size.max(0) as usize,
                        alignment: alignment.max(8) as usize,
                        is_final: flags & flag::FINAL != 0 || current.is_final,
                        awaits_event: false,
                    };
                    let split = Split::new(range.iterations(), flags, count, team.size.get());
                    task_loop(entered, (team, current), &creation, (data, copied_by, flags), &range, &split);
                } else {
                    drop(inside);
                }
                if is_group && let Some(inside) = enter_point() {
                    end_group(inside, team, current, pc);
                }
            }
            }
        )*
    };
}

taskloops! {
    GOMP_taskloop(c_long, c_long);
    GOMP_taskloop_ull(u64, i64);
}

/// Waits for the tasks of the innermost group of the current task.
fn end_group(inside: Inside, team: &Team, current: &Task, pc: u64) {
    let group = current.group.get();
    // SAFETY: the group is there until the task closes it.
    let inside = run_until(inside, team, Allowed::Members(group), |_| unsafe { group.as_ref() }.is_none_or(|group| group.is_empty()));
    if let Some(inside) = inside {
        current.close_group(&inside, pc);
        // SAFETY: libgomp's own group has no tasks, and ends at once.
        unsafe { real!(GOMP_taskgroup_end()) };
        inside.point();
    }
}

hook! {
    fn GOMP_taskwait(; pc in "rdi") {
        let libgomp = || real!(GOMP_taskwait());
        let Some(inside) = enter_point() else { return libgomp() };
        let (Some(team), Some(current)) = (team(&inside), current(&inside)) else { return in_library(inside, libgomp) };
        let inside = run_until(inside, team, Allowed::Children(current), |_| !current.has_children());
        if let Some(inside) = inside {
            current.join_children(&inside, pc);
        }
    }
    fn GOMP_taskwait_depend(depend: Depend; pc in "rsi") {
        let libgomp = || real!(GOMP_taskwait_depend(depend => Depend));
        let Some(inside) = enter_point() else { return libgomp() };
        let (Some(team), Some(current)) = (team(&inside), current(&inside)) else { return in_library(inside, libgomp) };
        // It stands for a task that does nothing, with these dependences.
        let waiter = Task::implicit(&inside, &team.group);
        current.dependences.follow(&inside, &waiter, depend);
        let inside = run_until(inside, team, Allowed::Children(current), |_| waiter.is_ready());
        if let Some(inside) = inside {
            waiter.join_predecessors(&inside, pc);
        }
    }
    fn GOMP_taskgroup_start(; _pc in "rdi") {
        if let Some(inside) = enter_point()
            && let Some(current) = current(&inside)
        {
            current.open_group(&inside);
        }
        real!(GOMP_taskgroup_start());
    }
    fn GOMP_taskgroup_end(; pc in "rdi") {
        let libgomp = || real!(GOMP_taskgroup_end());
        let Some(inside) = enter_point() else { return libgomp() };
        match (team(&inside), current(&inside)) {
            (Some(team), Some(current)) => end_group(inside, team, current, pc),
            _ => in_library(inside, libgomp),
        }
    }
    fn GOMP_taskyield(; _pc in "rdi") {
        match enter_point() {
            Some(inside) => inside.preempt(GaveUp::Yielding, None),
            None => real!(GOMP_taskyield()),
        }
    }
    fn omp_fulfill_event(event: *const c_void; _pc in "rsi") {
        let Some(inside) = enter_point() else { return };
        if let Some(team) = team(&inside) {
            task::fulfil(&inside, team, &*event.cast::<Task>());
        }
    }
    fn omp_in_final(; _pc in "rdi") -> c_int {
        let inside = enter();
        match inside.as_ref().and_then(current) {
            Some(task) => c_int::from(task.is_final),
            None => {
                drop(inside);
                real!(omp_in_final() -> c_int)
            }
        }
    }
}
