//! OpenMP's tasks. libgomp decides when and where a task runs; it comes after its creation and before whatever waits for it. The program's function
//! and data travel inside data of ours, which libgomp copies as it would copy the program's.

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use wire::{Kind, Passage, Waker};

use super::{Data, Function, Part, address, come_in, go_out, in_libgomp, team};
use crate::interpose::hook;
use crate::inside::{Inside, enter, enter_point};
use crate::real::real;

type Copy = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;
type Depend = *const *const c_void;

/// The most dependences of a task that are known.
const MOST: usize = 8;
/// A flag of a task: it has dependences.
const DEPENDS: c_uint = 8;

/// A task on its way through libgomp; the program's data follow it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Task {
    /// The iterations of a task of a loop: libgomp writes them where the data begin.
    iterations: [u64; 2],
    function: Function,
    /// How its data are copied, from where, how many, and how they lie.
    copy: Copy,
    source: Data,
    size: usize,
    alignment: usize,
    /// What carries its order: itself, and the task that created it.
    own: u64,
    parent: u64,
    depends: [u64; MOST],
}

impl Task {
    /// Where the data of a task lie that begins here.
    fn data(&self, start: *mut c_void) -> *mut c_void {
        let after = start as usize + size_of::<Task>();
        after.next_multiple_of(self.alignment.max(1)) as *mut c_void
    }

    /// How much room it takes with its data.
    fn room(&self) -> c_long {
        (size_of::<Task>() + self.alignment + self.size) as c_long
    }
}

/// How many tasks there were.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A number for a task, as what carries its order. For the holder of the token, so that runs have the same.
fn new_task(_inside: &Inside) -> u64 {
    Passage::Task(COUNT.fetch_add(1, Ordering::Relaxed) + 1).object()
}

/// The task that the thread runs.
fn current(inside: &Inside) -> u64 {
    let task = &inside.thread().task;
    if task.get() == 0 {
        task.set(new_task(inside));
    }
    task.get()
}

/// The addresses that a task depends on, as libgomp gets them: two layouts, told apart by the first word.
///
/// # Safety
/// The list is as gcc makes it.
unsafe fn depends_of(list: Depend) -> [u64; MOST] {
// SAFETY: as the list says itself, it has so many entries.
unsafe {
    let mut depends = [0; MOST];
    let (count, first) = match *list as usize {
        0 => (*list.add(1) as usize, 5),
        count => (count, 2),
    };
    for (index, depend) in depends.iter_mut().enumerate().take(count) {
        *depend = *list.add(first + index) as u64;
    }
    depends
}
}

fn log_all(inside: &Inside, kind: Kind, pc: u64, objects: &[u64]) {
    objects.iter().filter(|&&object| object != 0).for_each(|&object| inside.simple(kind, pc, object));
}

/// Copies a task into libgomp's memory.
///
/// # Safety
/// The source is a task, and there is room for it and its data.
unsafe extern "C" fn copy(to: *mut c_void, from: *mut c_void) {
// SAFETY: by the contract of this function; the program's data are copied as it says.
unsafe {
    let task = *from.cast::<Task>();
    to.cast::<Task>().write(task);
    let data = task.data(to);
    match task.copy {
        Some(copy) => copy(data, task.source),
        None => core::ptr::copy_nonoverlapping(task.source.cast::<u8>(), data.cast::<u8>(), task.size),
    }
}
}

/// Runs a task.
///
/// # Safety
/// It is one, copied.
unsafe extern "C" fn run(argument: *mut c_void) {
// SAFETY: by the contract of this function; the task's function is the program's, for this data.
unsafe {
    let task = *argument.cast::<Task>();
    run_with(&task, task.data(argument));
}
}

/// Runs a task of a loop, which finds its iterations at the start of its data.
///
/// # Safety
/// As for [`run`].
unsafe extern "C" fn run_loop(argument: *mut c_void) {
// SAFETY: as for `run`; data of a task of a loop begin with two words.
unsafe {
    let task = *argument.cast::<Task>();
    let data = task.data(argument);
    data.cast::<[u64; 2]>().write_unaligned(task.iterations);
    run_with(&task, data);
}
}

/// # Safety
/// As for [`run`].
unsafe fn run_with(task: &Task, data: Data) {
    let pc = task.function as usize as u64 + 1;
    come_in();
    let outer = enter().map(|inside| {
        inside.simple(Kind::HappensAfter, pc, task.own);
        log_all(&inside, Kind::HappensAfter, pc, &task.depends);
        inside.thread().task.replace(task.own)
    });
    // SAFETY: by the contract of this function.
    unsafe { (task.function)(data) };
    if let (Some(outer), Some(inside)) = (outer, enter_point()) {
        inside.simple(Kind::HappensBefore, pc, task.parent);
        log_all(&inside, Kind::HappensBefore, pc, &task.depends);
        if let Some(team) = team(&inside) {
            inside.simple(Kind::HappensBefore, pc, team.part(Part::Tasks));
        }
        inside.thread().task.set(outer);
        go_out(inside);
    }
}

/// A task that the thread creates.
fn created(
    inside: &Inside,
    (function, data, copy): (Function, Data, Copy),
    (size, alignment): (c_long, c_long),
    depends: [u64; MOST],
    pc: u64,
) -> Task {
    let (own, parent) = (new_task(inside), current(inside));
    inside.simple(Kind::HappensBefore, pc, own);
    if let Some(team) = team(inside) {
        team.has_tasks.store(true, Ordering::Relaxed);
        // Those who wait at a barrier can run it.
        inside.wake_all(address(&team.barrier), Waker::Broadcast);
    }
    let (size, alignment) = (size.max(0) as usize, alignment.max(8) as usize);
    Task { iterations: [0; 2], function, copy, source: data, size, alignment, own, parent, depends }
}

type Plain = unsafe extern "C" fn(*mut c_void, *mut c_void);

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
// SAFETY: the arguments are as the real function demands them, by the contract of this one; ours is a task with its data.
unsafe {
    let Some(inside) = enter_point() else {
        return real!(GOMP_task(
            function => Function, data => Data, copied_by => Copy, size => c_long, alignment => c_long, condition => bool,
            flags => c_uint, depend => Depend, priority => c_int, detach => *mut c_void
        ));
    };
    let depends = if flags & DEPENDS != 0 && !depend.is_null() { depends_of(depend) } else { [0; MOST] };
    let pc = function as usize as u64 + 1;
    let mut task = created(&inside, (function, data, copied_by), (size, alignment), depends, pc);
    let alignment = (task.alignment as c_long).max(16);
    in_libgomp(inside, || {
        real!(GOMP_task(
            run => Function, (&raw mut task).cast() => Data, copy => Plain, task.room() => c_long, alignment => c_long,
            condition => bool, flags => c_uint, depend => Depend, priority => c_int, detach => *mut c_void
        ));
    });
}
}

macro_rules! taskloops {
    ($($name:ident($number:ty);)*) => {
        $(
            /// # Safety
            /// See the head of the parent's parent module.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                function: Function, data: Data, copied_by: Copy, size: c_long, alignment: c_long, flags: c_uint,
                count: c_ulong, priority: c_int, begin: $number, end: $number, step: $number,
            ) {
            // SAFETY: the arguments are as the real function demands them, by the contract of this one; ours is a task with its data.
            unsafe {
                let Some(inside) = enter_point() else {
                    return real!($name(
                        function => Function, data => Data, copied_by => Copy, size => c_long, alignment => c_long,
                        flags => c_uint, count => c_ulong, priority => c_int, begin => $number, end => $number,
                        step => $number
                    ));
                };
                let pc = function as usize as u64 + 1;
                let mut task = created(&inside, (function, data, copied_by), (size, alignment), [0; MOST], pc);
                let alignment = (task.alignment as c_long).max(16);
                let (own, parent) = (task.own, task.parent);
                in_libgomp(inside, || {
                    real!($name(
                        run_loop => Function, (&raw mut task).cast() => Data, copy => Plain, task.room() => c_long,
                        alignment => c_long, flags => c_uint, count => c_ulong, priority => c_int, begin => $number,
                        end => $number, step => $number
                    ));
                });
                // Unless it says `nogroup`, it has waited for its tasks.
                const NO_GROUP: c_uint = 1 << 11;
                if let Some(inside) = enter().filter(|_| flags & NO_GROUP == 0) {
                    log_all(&inside, Kind::HappensAfter, pc, &[own, parent]);
                }
            }
            }
        )*
    };
}

taskloops! {
    GOMP_taskloop(c_long);
    GOMP_taskloop_ull(u64);
}

hook! {
    fn GOMP_taskwait(; pc in "rdi") {
        let libgomp = || real!(GOMP_taskwait());
        let Some(inside) = enter_point() else { return libgomp() };
        let own = current(&inside);
        in_libgomp(inside, libgomp);
        if let Some(inside) = enter() {
            inside.simple(Kind::HappensAfter, pc, own);
        }
    }
    fn GOMP_taskwait_depend(depend: Depend; pc in "rsi") {
        let libgomp = || real!(GOMP_taskwait_depend(depend => Depend));
        let Some(inside) = enter_point() else { return libgomp() };
        in_libgomp(inside, libgomp);
        if let Some(inside) = enter() {
            log_all(&inside, Kind::HappensAfter, pc, &depends_of(depend));
        }
    }
    fn GOMP_taskgroup_end(; pc in "rdi") {
        let libgomp = || real!(GOMP_taskgroup_end());
        let Some(inside) = enter_point() else { return libgomp() };
        let team = team(&inside);
        let own = current(&inside);
        in_libgomp(inside, libgomp);
        if let Some(inside) = enter() {
            inside.simple(Kind::HappensAfter, pc, own);
            if let Some(team) = team {
                inside.simple(Kind::HappensAfter, pc, team.part(Part::Tasks));
            }
        }
    }
    fn GOMP_taskyield(; _pc in "rdi") {
        let libgomp = || real!(GOMP_taskyield());
        match enter_point() {
            Some(inside) => in_libgomp(inside, libgomp),
            None => libgomp(),
        }
    }
}
