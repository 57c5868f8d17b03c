//! Child processes, and programs that replace this one.
//!
//! A child that copies our memory gets its own log or none, before any of the program's code runs in it. A child
//! that shares our memory is not recorded: what it does on behalf of the thread that created it is left out.

use core::ffi::{c_char, c_int, c_long, c_void};

use wire::Stop;

use super::variadic::{Arguments, variadic};
use crate::inside::{enter, enter_point};
use crate::real::real;
use crate::program;
use crate::start;
use crate::sys;
use crate::token::gate;
use crate::watchdog;
use crate::writer;

unsafe extern "C" {
    /// What `pthread_atfork` is made of; handlers that belong to no library stay for good.
    fn __register_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<extern "C" fn()>,
        library: *mut c_void,
    ) -> c_int;
}

/// Asks to be called in each child that the C library forks, whatever code forks, and before the program's own handlers.
pub(crate) fn watch_forks() {
    // SAFETY: the handler stays as long as the process.
    unsafe { __register_atfork(None, None, Some(in_child), core::ptr::null_mut()) };
}

/// The child has one thread and a copy of the parent's memory. It gets a log of its own or none.
pub(crate) extern "C" fn in_child() {
    watchdog::is_gone_in_child();
    // SAFETY: the child has one thread.
    unsafe {
        writer::with(|writer| writer.abandon());
        program::stop_in_child();
        if start::settings().asked.children == wire::Children::Follow {
            start::record();
        } else {
            start::is_unrecorded();
        }
    }
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    // With the token, but not inside: handlers that the program asked to be called at a fork have events of their own.
    drop(enter());
    real!(fork() -> libc::pid_t)
}
}

/// A child that borrows its parent's memory would act as the parent's thread; with a copy it behaves as it should.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> libc::pid_t {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    fork()
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> libc::pid_t {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    // No handlers are called, ours neither.
    let recorded = enter().is_some();
    let child = real!(_Fork() -> libc::pid_t);
    if child == 0 && recorded {
        in_child();
    }
    child
}
}

/// A program that goes into the background goes on in its child, and its parent ends. The recorder waits for the parent and ends what is
/// left, so a program that it has started itself stays in the foreground.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn daemon(keeps_directory: c_int, keeps_files: c_int) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    if enter().is_none() || !is_first_process() {
        return real!(daemon(keeps_directory => c_int, keeps_files => c_int) -> c_int);
    }
    if keeps_directory == 0 && libc::chdir(c"/".as_ptr()) != 0 {
        return -1;
    }
    if keeps_files == 0 {
        let nothing = sys::open(b"/dev/null\0", libc::O_RDWR);
        if nothing < 0 {
            *libc::__errno_location() = -nothing;
            return -1;
        }
        for file in 0..=2 {
            libc::dup2(nothing, file);
        }
        if nothing > 2 {
            sys::close(nothing);
        }
    }
    0
}
}

/// Whether this process was started by the recorder, and not by another program: it ends when that does, which no child inherits.
fn is_first_process() -> bool {
    let mut signal: c_int = 0;
    // SAFETY: the kernel writes the number of a signal.
    let known = unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
    known == 0 && signal == libc::SIGKILL
}

/// A system call that makes a process; whether it is one, and copies our memory.
pub(crate) fn copies(number: c_long, flags: usize) -> bool {
    match number {
        libc::SYS_fork => true,
        libc::SYS_clone => flags & libc::CLONE_VM as usize == 0,
        _ => false,
    }
}

/// Makes a process by a system call of the program's own.
pub(crate) fn call_copying(really: impl FnOnce() -> c_long) -> c_long {
    let recorded = enter().is_some();
    let child = really();
    if child == 0 && recorded {
        in_child();
    }
    child
}

type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What a child that copies our memory starts with: the copy of this is on its parent's stack.
struct First {
    routine: Start,
    argument: *mut c_void,
}

/// # Safety
/// What is first is a [`First`].
unsafe extern "C" fn start_child(first: *mut c_void) -> c_int {
// SAFETY: it is a `First`, whose routine is the program's for this argument.
unsafe {
    in_child();
    let First { routine, argument } = *first.cast::<First>();
    routine(argument)
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn clone(
    routine: Start,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut c_void,
    storage: *mut c_void,
    child_id: *mut c_void,
) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = |routine: Start, argument: *mut c_void| {
        real!(clone(
            routine => Start, stack => *mut c_void, flags => c_int, argument => *mut c_void,
            parent_id => *mut c_void, storage => *mut c_void, child_id => *mut c_void
        ) -> c_int)
    };
    let Some(inside) = enter_point() else { return really(routine, argument) };
    if flags & libc::CLONE_VM != 0 {
        // It has our memory and, if it does not bring its own, our thread-local storage.
        if flags & libc::CLONE_SETTLS == 0 {
            inside.thread().seat.presence.add(gate::SHARED);
        }
        drop(inside);
        return really(routine, argument);
    }
    drop(inside);
    let mut first = First { routine, argument };
    really(start_child, (&raw mut first).cast())
}
}

/// Puts another program in this one's place. If that fails the log goes on.
fn call_replacing(really: impl FnOnce() -> c_int) -> c_int {
    let Some(inside) = enter_point() else { return really() };
    start::write_modules(&inside);
    let before = inside.announce(Stop::Exec);
    let result = really();
    inside.take_back(before);
    result
}

type Text = *const c_char;
type Texts = *const Text;

macro_rules! replacing {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            /// See the head of `interpose`.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: see the head of `interpose`.
                call_replacing(|| unsafe { real!($name($($argument => $type),*) -> c_int) })
            }
        )*
    };
}

replacing! {
    fn execv(path: Text, arguments: Texts);
    fn execve(path: Text, arguments: Texts, environment: Texts);
    fn execvp(file: Text, arguments: Texts);
    fn execvpe(file: Text, arguments: Texts, environment: Texts);
    fn fexecve(file: c_int, arguments: Texts, environment: Texts);
    fn execveat(directory: c_int, path: Text, arguments: Texts, environment: Texts, flags: c_int);
}

/// The arguments from the given one up to the null that ends them, as a list; in memory that is never given back, since
/// the program is replaced.
///
/// # Safety
/// The list of arguments ends with a null.
unsafe fn listed(first: Text, rest: &mut Arguments) -> Texts {
// SAFETY: the list is fresh memory, filled up to its length; the arguments are there up to their null.
unsafe {
    const ROOM: usize = 1 << 20;
    let list: *mut Text = sys::map_memory(ROOM).cast();
    let mut next = first;
    for index in 0..ROOM / size_of::<Text>() - 1 {
        if list.is_null() || next.is_null() {
            break;
        }
        list.add(index).write(next);
        next = rest.next() as Text;
    }
    list
}
}

variadic! {
    fn execl([path: Text, first: Text], rest, _pc) -> c_int {
        let arguments = listed(first, &mut *rest);
        call_replacing(|| real!(execv(path => Text, arguments => Texts) -> c_int))
    }
    fn execlp([file: Text, first: Text], rest, _pc) -> c_int {
        let arguments = listed(first, &mut *rest);
        call_replacing(|| real!(execvp(file => Text, arguments => Texts) -> c_int))
    }
    fn execle([path: Text, first: Text], rest, _pc) -> c_int {
        let arguments = listed(first, &mut *rest);
        let environment = (*rest).next() as Texts;
        call_replacing(|| real!(execve(path => Text, arguments => Texts, environment => Texts) -> c_int))
    }
}
