//! The lives of locks, condition variables, barriers and semaphores: when they are initialised and destroyed.
//!
//! Both are writes of the object, and each use of it is a read, as in ThreadSanitizer: a thread that may destroy a lock while another uses it
//! races. Giving a lock back is a use, too, before it is given back: the thread that destroys it may do so once it has taken it afterwards. An object that is never initialised by a call, as most static ones, has nobody who could race with its uses; they are not recorded.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use wire::{Kind, Refusal};

use super::{annotations, hook, safe_hook};
use crate::inside::{Inside, enter, enter_access};
use crate::modules::is_c_library;
use crate::numbers::Numbers;
use crate::real::real;

/// The objects that were initialised or destroyed. Beyond these, uses are not recorded.
static OBJECTS: Numbers<{ 1 << 16 }> = Numbers::new();
static ARE_THERE: AtomicBool = AtomicBool::new(false);

fn is_known(object: u64) -> bool {
    ARE_THERE.load(Ordering::Relaxed) && OBJECTS.get(object).is_some()
}

/// Enters the runtime for a call that uses an object, and lets others run first if the thread's time is over.
#[inline]
pub(crate) fn enter_use(object: u64, pc: u64) -> Option<Inside> {
    let inside = enter()?;
    if is_known(object) && !is_c_library(pc) {
        inside.stop_before(Kind::Read1, object, 1, pc);
        inside.simple(Kind::Read1, pc, object);
    }
    inside.point();
    Some(inside)
}

/// Writes that a call was refused, if it was.
pub(crate) fn log_refusal(inside: &Inside, object: u64, pc: u64, result: c_int) -> c_int {
    let why = match result {
        libc::EDEADLK => Refusal::Deadlock,
        libc::EPERM => Refusal::NotHeld,
        libc::EBUSY => Refusal::Busy,
        libc::EINVAL => Refusal::Invalid,
        _ => return result,
    };
    inside.detailed(Kind::Refused, pc, object, &[why.code()], b"");
    result
}

/// Enters to change the life of an object: none if the C library does it for itself.
fn enter_change(object: u64, pc: u64) -> Option<Inside> {
    if is_c_library(pc) {
        return None;
    }
    // Known before the change: a replay stops here, and another thread's use is then an event as it was in the recorded run.
    know(object, &enter()?);
    enter_access(Kind::Write1, object, 1, pc)
}

fn know(object: u64, _inside: &Inside) {
    OBJECTS.set(object, 1);
    ARE_THERE.store(true, Ordering::Relaxed);
}

fn log_change(inside: &Inside, object: u64, pc: u64) {
    know(object, inside);
    inside.simple(Kind::Write1, pc, object);
}

/// Initialises an object: a write of it, if the call goes well.
pub(crate) fn initialise(object: u64, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    let Some(inside) = enter_change(object, pc) else { return really() };
    let result = really();
    if result == 0 {
        log_change(&inside, object, pc);
    }
    result
}

/// Destroys an object: a write of it, if the call goes well. That threads wait for it is noted: the real object does not know.
pub(crate) fn destroy(object: u64, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    let Some(inside) = enter_change(object, pc) else { return really() };
    let is_waited_for = inside.waiters(object) > 0;
    let result = really();
    if result == 0 {
        log_change(&inside, object, pc);
        inside.simple(Kind::Destroyed, pc, object);
    }
    log_refusal(&inside, object, pc, if is_waited_for { libc::EBUSY } else { result });
    result
}

/// Flags of `__tsan_mutex_..`: the lock is made by the linker, or may be used after its destructor has run.
const LINKER_INIT: c_uint = 1;
const NOT_STATIC: c_uint = 1 << 8;

/// Locks that the linker has made: they are there as long as the program, and to destroy one is nothing.
static STATIC: Numbers<1024> = Numbers::new();

fn note_static(object: u64) {
    if let Some(_inside) = enter() {
        STATIC.set(object, 1);
    }
}

fn is_static(object: u64) -> bool {
    enter().is_some_and(|_inside| STATIC.get(object).is_some())
}

type Object = *mut c_void;
type Attributes = *const c_void;

/// Functions that destroy an object.
macro_rules! destroyers {
    ($($name:ident)*) => {
        hook! {
            $(fn $name(object: Object; pc in "rsi") -> c_int {
                destroy(object as u64, pc, || real!($name(object => Object) -> c_int))
            })*
        }
    };
}

destroyers! { pthread_mutex_destroy pthread_rwlock_destroy pthread_cond_destroy pthread_spin_destroy pthread_barrier_destroy sem_destroy }

hook! {
    fn pthread_mutex_init(object: Object, attributes: Attributes; pc in "rdx") -> c_int {
        initialise(object as u64, pc, || {
            real!(pthread_mutex_init(object => Object, attributes => Attributes) -> c_int)
        })
    }
    fn pthread_rwlock_init(object: Object, attributes: Attributes; pc in "rdx") -> c_int {
        initialise(object as u64, pc, || {
            real!(pthread_rwlock_init(object => Object, attributes => Attributes) -> c_int)
        })
    }
    fn pthread_cond_init(object: Object, attributes: Attributes; pc in "rdx") -> c_int {
        initialise(object as u64, pc, || {
            real!(pthread_cond_init(object => Object, attributes => Attributes) -> c_int)
        })
    }
    fn pthread_spin_init(object: Object, shared: c_int; pc in "rdx") -> c_int {
        initialise(object as u64, pc, || {
            real!(pthread_spin_init(object => Object, shared => c_int) -> c_int)
        })
    }
}

safe_hook! {
    fn __tsan_mutex_create(object: Object, flags: c_uint; pc in "rdx") {
        annotations::note_flags(object as u64, flags);
        if flags & LINKER_INIT != 0 {
            note_static(object as u64);
        }
        initialise(object as u64, pc, || 0);
    }
    fn __tsan_mutex_destroy(object: Object, flags: c_uint; pc in "rdx") {
        if flags & (LINKER_INIT | NOT_STATIC) == 0 && !is_static(object as u64) {
            destroy(object as u64, pc, || 0);
        }
    }
    fn AnnotateRWLockCreate(_file: Attributes, _line: c_int, object: Object; pc in "rcx") {
        initialise(object as u64, pc, || 0);
    }
    fn AnnotateRWLockCreateStatic(_file: Attributes, _line: c_int, object: Object; _pc in "rcx") {
        note_static(object as u64);
    }
    fn AnnotateRWLockDestroy(_file: Attributes, _line: c_int, object: Object; pc in "rcx") {
        if !is_static(object as u64) {
            destroy(object as u64, pc, || 0);
        }
    }
}
