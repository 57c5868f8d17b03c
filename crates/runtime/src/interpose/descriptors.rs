//! Calls that open and copy files, and the numbers that these are given: who is given one comes after that number was closed.
//!
//! The kernel gives the lowest number that is free, so which one it is depends on what other threads have opened and closed. Programs use the
//! numbers as data: as the index of an array, for example. A replay in which threads come in another order would leave the schedule for it. So it gives
//! each thread the numbers again that it was given in the recorded run, one after the other, if they are free: the file is moved there before
//! the program learns where it is.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use wire::{Kind, Passage};

use super::clients;
use super::files::{Use, log_access, log_end, log_use, note_socket};
use super::passages::{copy_own, passage, remember_own};
use super::ranges::log_ranges;
use super::{hook, outside};
use crate::inside::enter;
use crate::program::scheduler;
use crate::real::real;
use crate::sys;

/// The number of a new file, moved to the number that the thread was given in the recorded run.
pub(super) fn as_recorded(file: c_int) -> c_int {
    match next_recorded(file) {
        Some(number) => moved(file, number),
        None => file,
    }
}

/// The same for two new files that a call made at once.
///
/// # Safety
/// Both numbers can be written.
pub(super) unsafe fn pair_as_recorded(files: *mut c_int) {
    // SAFETY: as above.
    let (one, other) = unsafe { (&mut *files, &mut *files.add(1)) };
    let numbers = (next_recorded(*one), next_recorded(*other));
    if let (Some(first), Some(second)) = numbers {
        // One of them may stand where the other goes.
        *other = moved(*other, second);
        *one = moved(*one, first);
        *other = moved(*other, second);
    }
}

/// The next of the numbers that the thread was given in the recorded run, for a file that was opened.
fn next_recorded(file: c_int) -> Option<c_int> {
    if file < 0 {
        return None;
    }
    let slot = enter()?.thread().slot;
    scheduler().with_lock(|schedule, _| schedule.next_descriptor(slot)).map(|number| number as c_int)
}

/// Whether the process may hold locks on files that it loses when it closes any of its numbers for the file.
static LOCKS_FILES: AtomicBool = AtomicBool::new(false);

/// The number of a file that was `file`: the wanted one, if that is free.
fn moved(file: c_int, wanted: c_int) -> c_int {
    if file == wanted || LOCKS_FILES.load(Ordering::Relaxed) && passage(file) == Passage::None {
        return file;
    }
    let control = |file: c_int, command: c_int, argument: c_int| {
        let arguments = [file as usize, command as usize, argument as usize, 0, 0, 0];
        // SAFETY: the kernel touches no memory for these commands.
        unsafe { sys::call(libc::SYS_fcntl, arguments) as c_int }
    };
    let closes_in_exec = control(file, libc::F_GETFD, 0) & libc::FD_CLOEXEC != 0;
    let command = if closes_in_exec { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    let copy = control(file, command, wanted);
    if copy < 0 {
        return file;
    }
    let (kept, closed) = if copy == wanted { (copy, file) } else { (file, copy) };
    sys::close(closed);
    kept
}

/// The numbers of two new files, written by a call with this result.
///
/// # Safety
/// The call was given these two numbers to write.
pub(super) unsafe fn opened_pair(result: c_int, files: *mut c_int, pc: u64) -> c_int {
    if result == 0 {
        // SAFETY: the call has written both.
        let (one, other) = unsafe { (*files, *files.add(1)) };
        opened(one, pc);
        opened(other, pc);
        log_ranges(pc, &[], &[(files as u64, 2 * size_of::<c_int>())]);
    }
    result
}

/// Two new files, of a call that nothing else is to be noted of.
///
/// # Safety
/// The call was given these two numbers to write.
pub(super) unsafe fn made_pair(result: c_int, files: *mut c_int, pc: u64) -> c_int {
    // SAFETY: the call has written both, if it says so.
    unsafe {
        if result == 0 {
            pair_as_recorded(files);
        }
        opened_pair(result, files, pc)
    }
}

/// The number of a new file: it comes after the number was closed.
pub(super) fn opened(file: c_int, pc: u64) -> c_int {
    if file >= 0 {
        log_use(Use::Takes, Passage::Descriptor(file as u32), pc);
    }
    file
}

/// A new file, of a call that nothing else is to be noted of.
fn made(file: c_int, pc: u64) -> c_int {
    opened(as_recorded(file), pc)
}

/// A number is about to be given to a copy of a file: what it stood for is closed. The number stays valid all the time, so others may use it
/// meanwhile, and programs do that on purpose; only closing it is a race.
fn replace(file: c_int, number: c_int, pc: u64) {
    log_access(Kind::Read1, file, pc);
    if file != number {
        log_access(Kind::Read1, number, pc);
        log_end(number, pc);
    }
}

/// A copy of a file was made.
fn copied(file: c_int, copy: c_int, pc: u64) -> c_int {
    copy_own(file, copy);
    clients::copied(file, copy);
    opened(copy, pc)
}

/// A copy of a file was made, at a number that the program has chosen.
fn replaced(file: c_int, copy: c_int, pc: u64) -> c_int {
    // It was in the recorded run, too.
    next_recorded(copy);
    copied(file, copy, pc)
}

/// `fcntl`: it copies numbers as `dup` does, and waiting for a file lock blocks.
fn control(file: c_int, command: c_int, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            log_access(Kind::Read1, file, pc);
            copied(file, as_recorded(really()), pc)
        }
        libc::F_SETLK => {
            LOCKS_FILES.store(true, Ordering::Relaxed);
            really()
        }
        libc::F_SETLKW => lock(really),
        libc::F_OFD_SETLKW => enter_outside(really),
        _ => really(),
    }
}

/// Locks a file, which may block.
fn lock(really: impl FnOnce() -> c_int) -> c_int {
    LOCKS_FILES.store(true, Ordering::Relaxed);
    enter_outside(really)
}

fn enter_outside(really: impl FnOnce() -> c_int) -> c_int {
    match enter() {
        Some(inside) => outside(inside, really),
        None => really(),
    }
}

type Path = *const c_char;

// The mode, which is there only if a file may be created, is passed on as it came.
hook! {
    fn open(path: Path, flags: c_int, mode: u32; pc in "rcx") -> c_int {
        made(real!(open(path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn open64(path: Path, flags: c_int, mode: u32; pc in "rcx") -> c_int {
        made(real!(open64(path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn openat(directory: c_int, path: Path, flags: c_int, mode: u32; pc in "r8") -> c_int {
        made(real!(openat(directory => c_int, path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn openat64(directory: c_int, path: Path, flags: c_int, mode: u32; pc in "r8") -> c_int {
        made(real!(openat64(directory => c_int, path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn creat(path: Path, mode: u32; pc in "rdx") -> c_int {
        made(real!(creat(path => Path, mode => u32) -> c_int), pc)
    }
    fn socket(domain: c_int, kind: c_int, protocol: c_int; pc in "rcx") -> c_int {
        note_socket();
        made(real!(socket(domain => c_int, kind => c_int, protocol => c_int) -> c_int), pc)
    }
    fn timerfd_create(clock: c_int, flags: c_int; pc in "rdx") -> c_int {
        made(real!(timerfd_create(clock => c_int, flags => c_int) -> c_int), pc)
    }
    fn memfd_create(name: Path, flags: c_uint; pc in "rdx") -> c_int {
        made(real!(memfd_create(name => Path, flags => c_uint) -> c_int), pc)
    }
    fn inotify_init(; pc in "rdi") -> c_int {
        made(real!(inotify_init() -> c_int), pc)
    }
    fn inotify_init1(flags: c_int; pc in "rsi") -> c_int {
        made(real!(inotify_init1(flags => c_int) -> c_int), pc)
    }
    fn signalfd(file: c_int, mask: *const c_void, flags: c_int; pc in "rcx") -> c_int {
        let new = real!(signalfd(file => c_int, mask => *const c_void, flags => c_int) -> c_int);
        // It changes a file that there is, unless it is given none.
        if file == -1 { made(new, pc) } else { new }
    }
    fn eventfd(value: u32, flags: c_int; pc in "rdx") -> c_int {
        let file = as_recorded(real!(eventfd(value => u32, flags => c_int) -> c_int));
        remember_own(file, Passage::Counter);
        opened(file, pc)
    }
    fn pipe(files: *mut c_int; pc in "rsi") -> c_int {
        made_pair(real!(pipe(files => *mut c_int) -> c_int), files, pc)
    }
    fn pipe2(files: *mut c_int, flags: c_int; pc in "rdx") -> c_int {
        made_pair(real!(pipe2(files => *mut c_int, flags => c_int) -> c_int), files, pc)
    }
    fn dup(file: c_int; pc in "rsi") -> c_int {
        log_access(Kind::Read1, file, pc);
        copied(file, as_recorded(real!(dup(file => c_int) -> c_int)), pc)
    }
    fn dup2(file: c_int, number: c_int; pc in "rdx") -> c_int {
        replace(file, number, pc);
        replaced(file, real!(dup2(file => c_int, number => c_int) -> c_int), pc)
    }
    fn dup3(file: c_int, number: c_int, flags: c_int; pc in "rcx") -> c_int {
        replace(file, number, pc);
        replaced(file, real!(dup3(file => c_int, number => c_int, flags => c_int) -> c_int), pc)
    }
    fn lockf(file: c_int, operation: c_int, length: c_long; _pc in "rcx") -> c_int {
        lock(|| real!(lockf(file => c_int, operation => c_int, length => c_long) -> c_int))
    }
    fn fcntl(file: c_int, command: c_int, argument: usize; pc in "rcx") -> c_int {
        control(file, command, pc, || real!(fcntl(file => c_int, command => c_int, argument => usize) -> c_int))
    }
    fn fcntl64(file: c_int, command: c_int, argument: usize; pc in "rcx") -> c_int {
        control(file, command, pc, || real!(fcntl64(file => c_int, command => c_int, argument => usize) -> c_int))
    }
}
