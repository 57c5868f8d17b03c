//! The functions that synchronise: each waits for its turn and goes on to ThreadSanitizer's.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use wire::SyncCall;

use crate::order::{self, Turn};
use crate::sys;

type Pointer = *mut c_void;
type Routine = unsafe extern "C-unwind" fn(Pointer) -> Pointer;

/// A function of the next library, looked up when it is first called.
struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    const fn new(name: &'static CStr) -> Real {
        Real { name, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    fn get(&self) -> Pointer {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a string with its end.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// When the next call may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overtaken {
    /// When this one is done.
    Never,
    /// At once: this one may have to wait for it.
    AtOnce,
    /// When this one is done, if it came to something; else its turn is still to come.
    IfInVain,
}

fn finish(turn: Option<Turn>, in_vain: bool) {
    match turn {
        Some(turn) if in_vain => turn.again(),
        Some(turn) => turn.done(),
        None => {}
    }
}

macro_rules! calls {
    ($($call:ident $overtaken:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            /// As for the function it stands before.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
                static REAL: Real = Real::new(
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!(),
                    },
                );
                // SAFETY: the next library's function of this name has this type.
                let real: unsafe extern "C-unwind" fn($($type),*) -> c_int = unsafe { core::mem::transmute(REAL.get()) };
                let mut turn = order::enter(SyncCall::$call);
                if Overtaken::$overtaken == Overtaken::AtOnce {
                    finish(turn.take(), false);
                }
                // SAFETY: the arguments are as the real function demands, by the contract of this one.
                let result = unsafe { real($($argument),*) };
                finish(turn, Overtaken::$overtaken == Overtaken::IfInVain && result != 0);
                result
            }
        )*
    };
}

calls! {
    Lock Never pthread_mutex_lock(mutex: Pointer);
    Lock IfInVain pthread_mutex_trylock(mutex: Pointer);
    Lock IfInVain pthread_mutex_timedlock(mutex: Pointer, time: Pointer);
    Lock IfInVain pthread_mutex_clocklock(mutex: Pointer, clock: c_int, time: Pointer);
    Unlock Never pthread_mutex_unlock(mutex: Pointer);
    Lock Never pthread_spin_lock(lock: Pointer);
    Lock IfInVain pthread_spin_trylock(lock: Pointer);
    Unlock Never pthread_spin_unlock(lock: Pointer);
    Lock Never pthread_rwlock_rdlock(lock: Pointer);
    Lock IfInVain pthread_rwlock_tryrdlock(lock: Pointer);
    Lock IfInVain pthread_rwlock_timedrdlock(lock: Pointer, time: Pointer);
    Lock IfInVain pthread_rwlock_clockrdlock(lock: Pointer, clock: c_int, time: Pointer);
    Lock Never pthread_rwlock_wrlock(lock: Pointer);
    Lock IfInVain pthread_rwlock_trywrlock(lock: Pointer);
    Lock IfInVain pthread_rwlock_timedwrlock(lock: Pointer, time: Pointer);
    Lock IfInVain pthread_rwlock_clockwrlock(lock: Pointer, clock: c_int, time: Pointer);
    Unlock Never pthread_rwlock_unlock(lock: Pointer);
    Wait AtOnce pthread_cond_wait(condition: Pointer, mutex: Pointer);
    Wait AtOnce pthread_cond_timedwait(condition: Pointer, mutex: Pointer, time: Pointer);
    Wait AtOnce pthread_cond_clockwait(condition: Pointer, mutex: Pointer, clock: c_int, time: Pointer);
    Signal Never pthread_cond_signal(condition: Pointer);
    Signal Never pthread_cond_broadcast(condition: Pointer);
    Barrier AtOnce pthread_barrier_wait(barrier: Pointer);
    Take Never sem_wait(semaphore: Pointer);
    Take IfInVain sem_trywait(semaphore: Pointer);
    Take IfInVain sem_timedwait(semaphore: Pointer, time: Pointer);
    Take IfInVain sem_clockwait(semaphore: Pointer, clock: c_int, time: Pointer);
    Post Never sem_post(semaphore: Pointer);
    Join Never pthread_join(thread: libc::pthread_t, result: Pointer);
}

/// What a new thread is to run.
struct Start {
    routine: Routine,
    argument: Pointer,
    role: Option<u32>,
}

/// # Safety
/// As for the function it stands before.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    routine: Routine,
    argument: Pointer,
) -> c_int {
    static REAL: Real = Real::new(c"pthread_create");
    type Create = unsafe extern "C-unwind" fn(*mut libc::pthread_t, *const c_void, Routine, Pointer) -> c_int;
    // SAFETY: the next library's function of this name has this type.
    let real: Create = unsafe { core::mem::transmute(REAL.get()) };
    let turn = order::enter(SyncCall::Create);
    let start: *mut Start = sys::memory(size_of::<Start>()).cast();
    if start.is_null() {
        return libc::EAGAIN;
    }
    // SAFETY: the memory is fresh; the arguments are as the real function demands, and what `run` gets is a `Start`.
    let result = unsafe {
        start.write(Start { routine, argument, role: order::child() });
        real(thread, attributes, run, start.cast())
    };
    if result == 0 {
        order::has_created();
    }
    finish(turn, result != 0);
    result
}

/// The first function of a new thread.
///
/// # Safety
/// What starts it is a [`Start`], which is this thread's alone.
unsafe extern "C-unwind" fn run(start: Pointer) -> Pointer {
    // SAFETY: it is a `Start` in a mapping of its own, which nobody uses after this.
    let Start { routine, argument, role } = unsafe {
        let start = start.cast::<Start>();
        let taken = start.read();
        sys::call(libc::SYS_munmap, [start as usize, size_of::<Start>(), 0, 0, 0, 0]);
        taken
    };
    order::begin(role);
    // SAFETY: the program gave the routine to run with this argument.
    unsafe { routine(argument) }
}

/// Programs that count their branches call this; ThreadSanitizer's library has nothing by this name.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc() {}
