//! Tasks of OpenMP's as we keep them ourselves: libgomp would run them where it likes, out of our sight. Here a task waits in the queue of
//! its team until a thread takes it that has nothing else to do, so the same schedule gives the same run.
//!
//! A task comes after its creation and after the tasks it depends on, and before what waits for it: `taskwait`, the end of its `taskgroup`, a
//! barrier. Everything here is for the holder of the token.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wire::{Kind, Passage, Waker};

use super::dependences::Dependences;
use super::{Data, Function, Team, blocks, log_take};
use crate::inside::{Inside, enter_point};
use crate::schedule::{End, GaveUp, Key, Slot};

/// How many tasks and groups there were.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// The number of a task or a group. It carries two orders: of its creation and of its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(u32);

impl Number {
    pub(super) fn new(_inside: &Inside) -> Number {
        Number(COUNT.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn created(self) -> u64 {
        Passage::Task(self.0 * 2).object()
    }

    pub(super) fn ended(self) -> u64 {
        Passage::Task(self.0 * 2 + 1).object()
    }
}

/// A list whose members are in blocks of ours.
pub(super) struct List<T> {
    first: Cell<*mut Member<T>>,
}

struct Member<T> {
    value: T,
    next: *mut Member<T>,
}

impl<T> List<T> {
    pub(super) const fn new() -> List<T> {
        List { first: Cell::new(ptr::null_mut()) }
    }

    pub(super) fn push(&self, inside: &Inside, value: T) {
        let member = blocks::allocate(inside, size_of::<Member<T>>()).cast::<Member<T>>();
        if !member.is_null() {
            // SAFETY: a new block of that size.
            unsafe { member.write(Member { value, next: self.first.get() }) };
            self.first.set(member);
        }
    }

    /// Takes out the newest.
    pub(super) fn pop(&self, inside: &Inside) -> Option<T> {
        let member = self.first.get();
        if member.is_null() {
            return None;
        }
        // SAFETY: members of the list are blocks of this type, which nobody else has.
        unsafe {
            let Member { value, next } = member.read();
            self.first.set(next);
            blocks::free(inside, member.cast(), size_of::<Member<T>>());
            Some(value)
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut next = self.first.get();
        // SAFETY: members stay as long as nobody takes them out, which needs the token that the caller has.
        core::iter::from_fn(move || unsafe {
            let member = next.as_ref()?;
            next = member.next;
            Some(&member.value)
        })
    }

    /// Puts all members into another list, which was empty.
    pub(super) fn move_to(&self, other: &List<T>) {
        other.first.set(self.first.replace(ptr::null_mut()));
    }
}

/// Tasks that have ended, and nobody has waited for yet.
type Ended = List<Number>;

impl Ended {
    /// What comes now comes after them. Whether there were any.
    pub(super) fn join(&self, inside: &Inside, pc: u64) -> bool {
        let mut were_some = false;
        while let Some(number) = self.pop(inside) {
            inside.simple(Kind::HappensAfter, pc, number.ended());
            were_some = true;
        }
        were_some
    }
}

/// A `taskgroup`.
pub(super) struct Group {
    outer: *const Group,
    /// How many tasks in it have not ended.
    unfinished: Cell<u32>,
    ended: Ended,
    pub(super) is_cancelled: Cell<bool>,
    /// What its tasks reduce into, as gcc describes it; null: nothing.
    pub(super) reductions: Cell<*mut u64>,
}

/// Something to run: an implicit task of a thread of a team, or one that the program created.
pub(super) struct Task {
    pub(super) function: Function,
    pub(super) data: Data,
    /// The place in the program that it begins at.
    pub(super) pc: u64,
    number: Number,
    /// The thread that created it.
    creator: Slot,
    pub(super) parent: *const Task,
    /// The group it is in, and the innermost one that it has opened.
    member_of: *const Group,
    pub(super) group: Cell<*const Group>,
    /// How many tasks that it created have not ended, and those that have.
    children: Cell<u32>,
    ended: Ended,
    /// How its children depend on each other.
    pub(super) dependences: Dependences,
    /// How many others it waits for, all that it comes after, and those that wait for it.
    blockers: Cell<u32>,
    predecessors: List<*const Task>,
    successors: List<*const Task>,
    /// Who still looks at it.
    users: Cell<u32>,
    /// It goes into the queue when it can run; otherwise a thread waits to run it in its place.
    pub(super) is_queued: Cell<bool>,
    /// The next one in the queue.
    next: Cell<*const Task>,
    /// It has got a share of a loop or of sections (implicit tasks only).
    pub(super) has_share: Cell<bool>,
    /// How many loops it has begun since the last barrier (implicit tasks that clang compiled only).
    pub(super) loops: Cell<u32>,
    pub(super) is_final: bool,
    pub(super) has_ended: Cell<bool>,
    /// It has run, but its event has not happened (`detach`).
    has_run: Cell<bool>,
    pub(super) awaits_event: Cell<bool>,
    /// The size of its block; 0: it is in somebody's frame.
    size: usize,
}

/// How a task is made.
pub(super) struct Creation {
    pub(super) function: Function,
    /// The place in the program that it begins at.
    pub(super) pc: u64,
    /// How much data it has, and how they lie.
    pub(super) size: usize,
    pub(super) alignment: usize,
    pub(super) is_final: bool,
    pub(super) awaits_event: bool,
}

/// The function of a task that has none.
///
/// # Safety
/// Any call is safe: it does nothing. It is `unsafe` for the type of a task's function.
pub(super) unsafe extern "C" fn nothing(_: Data) {}

impl Task {
    /// The implicit task of a thread of a team, for its frame.
    pub(super) fn implicit(inside: &Inside, group: &Group) -> Task {
        let creation =
            Creation { function: nothing, pc: 0, size: 0, alignment: 1, is_final: false, awaits_event: false };
        Task::new(inside, &creation, ptr::null(), group, (ptr::null_mut(), 0))
    }

    fn new(
        inside: &Inside,
        creation: &Creation,
        parent: *const Task,
        group: *const Group,
        (data, size): (Data, usize),
    ) -> Task {
        Task {
            function: creation.function,
            data,
            pc: creation.pc,
            number: Number::new(inside),
            creator: inside.thread().slot,
            parent,
            member_of: group,
            group: Cell::new(group),
            children: Cell::new(0),
            ended: List::new(),
            dependences: Dependences::new(),
            blockers: Cell::new(0),
            predecessors: List::new(),
            successors: List::new(),
            users: Cell::new(1),
            is_queued: Cell::new(false),
            next: Cell::new(ptr::null()),
            has_share: Cell::new(false),
            loops: Cell::new(0),
            is_final: creation.is_final,
            has_ended: Cell::new(false),
            has_run: Cell::new(false),
            awaits_event: Cell::new(creation.awaits_event),
            size,
        }
    }

    /// A task that this one creates; its data are still to be written. None if there is no memory.
    pub(super) fn child<'a>(&self, inside: &Inside, creation: &Creation) -> Option<&'a Task> {
        let alignment = creation.alignment.max(16);
        let padding = if alignment > blocks::ALIGNMENT { alignment } else { 0 };
        let header = size_of::<Task>().next_multiple_of(alignment.min(blocks::ALIGNMENT));
        let size = header + padding + creation.size.max(1);
        let block = blocks::allocate(inside, size);
        if block.is_null() {
            return None;
        }
        let data = (block as usize + header).next_multiple_of(alignment) as Data;
        self.users.set(self.users.get() + 1);
        self.children.set(self.children.get() + 1);
        let group = self.group.get();
        // SAFETY: a group is there as long as it has members, and the block is new and large enough.
        unsafe {
            if let Some(group) = group.as_ref() {
                group.unfinished.set(group.unfinished.get() + 1);
            }
            let task = block.cast::<Task>();
            task.write(Task::new(inside, creation, self, group, (data, size)));
            Some(&*task)
        }
    }

    /// It must not start before the other one has ended.
    pub(super) fn follow(&self, inside: &Inside, other: &Task) {
        other.hold();
        self.predecessors.push(inside, other);
        if !other.has_ended.get() {
            other.successors.push(inside, self);
            self.blockers.set(self.blockers.get() + 1);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.blockers.get() == 0
    }

    /// Notes that somebody looks at it, until [`Task::release`].
    pub(super) fn hold(&self) {
        self.users.set(self.users.get() + 1);
    }

    /// Nobody looks at it for one reason less; its memory may be gone.
    pub(super) fn release(&self, inside: &Inside) {
        self.users.set(self.users.get() - 1);
        if self.users.get() > 0 || self.size == 0 {
            return;
        }
        let (parent, size) = (self.parent, self.size);
        // SAFETY: nobody looks at it any more, and it is in a block of this size; a parent is there as long as its children are.
        unsafe {
            blocks::free(inside, ptr::from_ref(self).cast_mut().cast(), size);
            (*parent).release(inside);
        }
    }

    /// What comes now comes after the tasks it depends on.
    pub(super) fn join_predecessors(&self, inside: &Inside, pc: u64) {
        while let Some(task) = self.predecessors.pop(inside) {
            // SAFETY: it was held.
            unsafe {
                inside.simple(Kind::HappensAfter, pc, (*task).number.ended());
                (*task).release(inside);
            }
        }
    }

    /// Cancels the group that it is in, or only asks; whether it is cancelled.
    pub(super) fn cancel_group(&self, cancels: bool) -> bool {
        // SAFETY: groups are there as long as they have members.
        if let Some(group) = unsafe { self.member_of.as_ref() }.filter(|_| cancels) {
            group.is_cancelled.set(true);
        }
        self.is_cancelled()
    }

    /// Whether it, or a group around it, was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        // SAFETY: groups are there as long as they have members, and their outer ones, too.
        let mut group = unsafe { self.member_of.as_ref() };
        while let Some(inner) = group {
            if inner.is_cancelled.get() {
                return true;
            }
            // SAFETY: as above.
            group = unsafe { inner.outer.as_ref() };
        }
        false
    }

    pub(super) fn has_children(&self) -> bool {
        self.children.get() > 0
    }

    /// What comes now comes after its children that have ended.
    pub(super) fn join_children(&self, inside: &Inside, pc: u64) {
        self.ended.join(inside, pc);
    }

    /// Writes that the task is there for others to take.
    pub(super) fn log_creation(&self, inside: &Inside, pc: u64) {
        inside.simple(Kind::HappensBefore, pc, self.number.created());
    }

    /// Opens a group.
    pub(super) fn open_group(&self, inside: &Inside) {
        let group = blocks::allocate(inside, size_of::<Group>()).cast::<Group>();
        if group.is_null() {
            return;
        }
        let outer = self.group.get();
        // SAFETY: the outer group stays as long as it is the task's; the block is new.
        unsafe {
            let reductions = outer.as_ref().map_or(ptr::null_mut(), |outer| outer.reductions.get());
            group.write(Group {
                outer,
                unfinished: Cell::new(0),
                ended: List::new(),
                is_cancelled: Cell::new(false),
                reductions: Cell::new(reductions),
            });
        }
        self.group.set(group);
    }

    /// Closes the innermost group, whose tasks have all ended: what comes now comes after them.
    pub(super) fn close_group(&self, inside: &Inside, pc: u64) {
        let group = self.group.get().cast_mut();
        if group.is_null() || group.cast_const() == self.member_of {
            return;
        }
        // SAFETY: the task opened it, and nobody is in it any more.
        unsafe {
            (*group).ended.join(inside, pc);
            self.group.set((*group).outer);
            blocks::free(inside, group.cast(), size_of::<Group>());
        }
    }
}

/// The tasks of a team: those that can run, and those that have ended since the last barrier.
pub(super) struct Tasks {
    first: Cell<*const Task>,
    last: Cell<*const Task>,
    /// How many there are that have not ended.
    unfinished: Cell<usize>,
    ended: Ended,
}

/// Which tasks a waiting thread may take: at a `taskwait` its children, at the end of a group its members, at a barrier all.
#[derive(Clone, Copy)]
pub(super) enum Allowed {
    Children(*const Task),
    Members(*const Group),
    All,
}

impl Allowed {
    fn allows(self, task: &Task) -> bool {
        match self {
            Allowed::Children(parent) => task.parent == parent,
            Allowed::Members(group) => task.member_of == group,
            Allowed::All => true,
        }
    }
}

impl Tasks {
    pub(super) const fn new() -> Tasks {
        Tasks {
            first: Cell::new(ptr::null()),
            last: Cell::new(ptr::null()),
            unfinished: Cell::new(0),
            ended: List::new(),
        }
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished.get()
    }

    /// What comes now comes after all tasks that have ended. Whether there were any.
    pub(super) fn join(&self, inside: &Inside, pc: u64) -> bool {
        self.ended.join(inside, pc)
    }

    pub(super) fn count_one(&self) {
        self.unfinished.set(self.unfinished.get() + 1);
    }

    /// Puts a task at the end of the queue.
    pub(super) fn add(&self, task: &Task) {
        task.next.set(ptr::null());
        // SAFETY: tasks in the queue are there until they are taken and run.
        match unsafe { self.last.get().as_ref() } {
            Some(last) => last.next.set(task),
            None => self.first.set(task),
        }
        self.last.set(task);
    }

    /// The tasks of the queue, the first to be taken first.
    fn queued(&self) -> impl Iterator<Item = &Task> {
        // SAFETY: as for `add`.
        let next = |task: *const Task| unsafe { task.as_ref() };
        core::iter::successors(next(self.first.get()), move |task| next(task.next.get()))
    }

    /// Whether the first task that is allowed is one that this thread has created.
    fn is_own_next(&self, allowed: Allowed, thread: Slot) -> bool {
        self.queued().find(|task| allowed.allows(task)).is_some_and(|task| task.creator == thread)
    }

    /// Takes the first task that is allowed out of the queue.
    fn take<'a>(&self, allowed: Allowed) -> Option<&'a Task> {
        let mut before: *const Task = ptr::null();
        let mut next = self.first.get();
        // SAFETY: as for `add`.
        unsafe {
            while let Some(task) = next.as_ref() {
                if allowed.allows(task) {
                    match before.as_ref() {
                        Some(before) => before.next.set(task.next.get()),
                        None => self.first.set(task.next.get()),
                    }
                    if self.last.get() == next {
                        self.last.set(before);
                    }
                    return Some(task);
                }
                (before, next) = (next, task.next.get());
            }
        }
        None
    }
}

/// Runs tasks of the team until something is so, which is asked whenever a task has ended and after every wake-up. None: the runtime has
/// become passive meanwhile.
pub(super) fn run_until(
    inside: Inside,
    team: &Team,
    allowed: Allowed,
    is_over: impl Fn(&Inside) -> bool,
) -> Option<Inside> {
    let mut inside = inside;
    let mut is_idle = false;
    loop {
        if is_over(&inside) {
            return Some(inside);
        }
        if !is_idle && team.tasks.is_own_next(allowed, inside.thread().slot) {
            // Others take their part first: what the thread that has created a task does in it is in order, and shows nothing.
            inside.preempt(GaveUp::Yielding, None);
        }
        match team.tasks.take(allowed) {
            Some(task) => {
                log_take(&inside, team, task.pc);
                inside = run(inside, team, task)?;
                is_idle = false;
            }
            None if is_over(&inside) => return Some(inside),
            None => {
                inside.block(Key::address(team.place()), End::NEVER);
                is_idle = true;
            }
        }
    }
}

/// Runs a task here and now.
pub(super) fn run(inside: Inside, team: &Team, task: &Task) -> Option<Inside> {
    let pc = task.pc;
    inside.simple(Kind::HappensAfter, pc, task.number.created());
    let inside = run_in_place(inside, task, team.is_cancelled.get())?;
    if task.awaits_event.get() {
        task.has_run.set(true);
        inside.simple(Kind::HappensBefore, pc, task.number.ended());
        return Some(inside);
    }
    end(&inside, team, task);
    Some(inside)
}

/// Runs the function of a task whose end is somebody else's matter.
pub(super) fn run_in_place(inside: Inside, task: &Task, is_cancelled: bool) -> Option<Inside> {
    task.join_predecessors(&inside, task.pc);
    if is_cancelled || task.is_cancelled() {
        return Some(inside);
    }
    let outer = inside.thread().task.replace(ptr::from_ref(task).cast_mut().cast());
    drop(inside);
    // SAFETY: the function is the program's, for this data.
    unsafe { (task.function)(task.data) };
    let inside = enter_point()?;
    inside.thread().task.set(outer);
    Some(inside)
}

/// The event of a detached task has happened: if it has run, it has ended.
pub(super) fn fulfil(inside: &Inside, team: &Team, task: &Task) {
    task.awaits_event.set(false);
    if task.has_run.get() {
        end(inside, team, task);
    } else {
        // Its end comes after this, whichever thread runs it.
        inside.simple(Kind::HappensBefore, task.pc, task.number.ended());
    }
}

/// A task that was made as a pattern for others does not run.
pub(super) fn discard(inside: &Inside, task: &Task) {
    // SAFETY: parents and groups are there as long as they have children and members.
    unsafe {
        let parent = &*task.parent;
        parent.children.set(parent.children.get() - 1);
        if let Some(group) = task.member_of.as_ref() {
            group.unfinished.set(group.unfinished.get() - 1);
        }
    }
    task.release(inside);
}

/// Begins a task whose code the program calls by itself; what the thread runs apart from it.
pub(super) fn begin_in_place(inside: &Inside, task: &Task) -> Data {
    task.join_predecessors(inside, task.pc);
    inside.thread().task.replace(ptr::from_ref(task).cast_mut().cast())
}

/// A task has ended: those that wait for it can go on.
pub(super) fn end(inside: &Inside, team: &Team, task: &Task) {
    inside.simple(Kind::HappensBefore, task.pc, task.number.ended());
    task.has_ended.set(true);
    while let Some(next) = task.successors.pop(inside) {
        // SAFETY: a task that waits for another has not ended, so it is there.
        let next = unsafe { &*next };
        next.blockers.set(next.blockers.get() - 1);
        if next.is_ready() && next.is_queued.get() {
            team.tasks.add(next);
        }
    }
    task.dependences.clear(inside);
    while task.ended.pop(inside).is_some() {}
    // SAFETY: parents and groups are there as long as they have children and members.
    unsafe {
        let parent = &*task.parent;
        parent.children.set(parent.children.get() - 1);
        parent.ended.push(inside, task.number);
        if let Some(group) = task.member_of.as_ref() {
            group.unfinished.set(group.unfinished.get() - 1);
            // Nobody asks for those of a whole region here.
            if !ptr::eq(group, &team.group) {
                group.ended.push(inside, task.number);
            }
        }
    }
    team.tasks.unfinished.set(team.tasks.unfinished.get() - 1);
    team.tasks.ended.push(inside, task.number);
    task.release(inside);
    inside.wake_all(team.place(), Waker::Broadcast);
}

/// An implicit task ends with its region.
pub(super) fn end_implicit(inside: &Inside, task: &Task) {
    task.dependences.clear(inside);
    while task.ended.pop(inside).is_some() {}
}

impl Group {
    /// The group of all tasks of a region, which reduces into this; null: nothing.
    pub(super) const fn around_region(reductions: *mut u64) -> Group {
        Group {
            outer: ptr::null(),
            unfinished: Cell::new(0),
            ended: List::new(),
            is_cancelled: Cell::new(false),
            reductions: Cell::new(reductions),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unfinished.get() == 0
    }
}

