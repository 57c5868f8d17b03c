//! What LLVM's C++ library, libc++, does with atomic operations in its own code, which is not instrumented: `std::call_once`, the counts of
//! `std::shared_ptr` that its headers leave to it, waiting for an atomic object, and `std::shared_mutex`, which holds threads back by a word of its own.

use core::ffi::{c_int, c_void};

use wire::{Kind, Waker};

use super::{EXCLUSIVE, LockKinds, SHARED, acquire, hook, log_limited_attempt};
use crate::inside::{Inside, enter, enter_point};
use crate::real::real;

type Object = *mut c_void;
type Routine = unsafe extern "C" fn(Object);

/// What is to be done once.
#[repr(C)]
struct Once {
    routine: Routine,
    argument: Object,
    flag: u64,
    pc: u64,
}

/// Does it, and writes that it is done. Who finds the flag set comes after that; who waits for it finds it set afterwards.
///
/// # Safety
/// The data are what is to be done once.
unsafe extern "C" fn run(data: Object) {
    // SAFETY: by the contract of this function; the routine is the program's, for this argument.
    unsafe {
        let once = data.cast::<Once>();
        ((*once).routine)((*once).argument);
        if let Some(inside) = enter_point() {
            inside.simple(Kind::AtomicWrite8, (*once).pc, (*once).flag);
        }
    }
}

/// Where the counts of owners and of observers lie in what `std::shared_ptr` shares.
const OWNERS: usize = 8;
const OBSERVERS: usize = 16;

/// Writes that a count is about to change.
fn log_count(shared: Object, offset: usize, pc: u64) {
    if let Some(inside) = enter_point() {
        inside.simple(Kind::AtomicUpdate8, pc, shared as u64 + offset as u64);
    }
}

/// Waits for an object in the library, which asks the kernel for two seconds at a time, and again.
fn wait<R>(object: Object, library: impl FnOnce() -> R) -> R {
    let set = |object: u64| {
        if let Some(inside) = enter() {
            inside.thread().waits_in_rounds.set(object);
        }
    };
    set(object as u64);
    let result = library();
    set(0);
    result
}

/// The object that the thread waits for until it changes, whatever limit it gives the kernel.
pub(crate) fn awaited(inside: &Inside) -> Option<u64> {
    Some(inside.thread().waits_in_rounds.get()).filter(|&object| object != 0)
}

/// Takes a lock by trying. The library's own lock around that is free: nobody else is in there, since it is not left with the token.
fn lock(inside: &Inside, kinds: &LockKinds, it: Object, pc: u64, attempt: impl Fn() -> bool) {
    acquire(inside, kinds, it as u64, None, pc, || if attempt() { 0 } else { libc::EBUSY });
}

fn log_try(inside: Option<Inside>, kinds: &LockKinds, it: Object, pc: u64, taken: bool) {
    if let Some(inside) = inside {
        log_limited_attempt(&inside, kinds, it as u64, pc, if taken { 0 } else { libc::EBUSY });
    }
}

fn log_unlock(inside: Option<Inside>, kind: Kind, it: Object, pc: u64) {
    if let Some(inside) = inside {
        inside.simple(kind, pc, it as u64);
        inside.wake_all(it as u64, Waker::Signal);
    }
}

// std::__1::__shared_mutex_base
hook! {
    fn _ZNSt3__119__shared_mutex_base4lockEv(it: Object; pc in "rsi") {
        match enter_point() {
            Some(inside) => lock(&inside, &EXCLUSIVE, it, pc, || {
                real!(_ZNSt3__119__shared_mutex_base8try_lockEv(it => Object) -> bool)
            }),
            None => real!(_ZNSt3__119__shared_mutex_base4lockEv(it => Object)),
        }
    }
    fn _ZNSt3__119__shared_mutex_base11lock_sharedEv(it: Object; pc in "rsi") {
        match enter_point() {
            Some(inside) => lock(&inside, &SHARED, it, pc, || {
                real!(_ZNSt3__119__shared_mutex_base15try_lock_sharedEv(it => Object) -> bool)
            }),
            None => real!(_ZNSt3__119__shared_mutex_base11lock_sharedEv(it => Object)),
        }
    }
    fn _ZNSt3__119__shared_mutex_base8try_lockEv(it: Object; pc in "rsi") -> bool {
        let inside = enter_point();
        let taken = real!(_ZNSt3__119__shared_mutex_base8try_lockEv(it => Object) -> bool);
        log_try(inside, &EXCLUSIVE, it, pc, taken);
        taken
    }
    fn _ZNSt3__119__shared_mutex_base15try_lock_sharedEv(it: Object; pc in "rsi") -> bool {
        let inside = enter_point();
        let taken = real!(_ZNSt3__119__shared_mutex_base15try_lock_sharedEv(it => Object) -> bool);
        log_try(inside, &SHARED, it, pc, taken);
        taken
    }
    fn _ZNSt3__119__shared_mutex_base6unlockEv(it: Object; pc in "rsi") {
        let inside = enter_point();
        real!(_ZNSt3__119__shared_mutex_base6unlockEv(it => Object));
        log_unlock(inside, Kind::Release, it, pc);
    }
    fn _ZNSt3__119__shared_mutex_base13unlock_sharedEv(it: Object; pc in "rsi") {
        let inside = enter_point();
        real!(_ZNSt3__119__shared_mutex_base13unlock_sharedEv(it => Object));
        log_unlock(inside, Kind::ReleaseShared, it, pc);
    }
}

hook! {
    // std::__1::__call_once(unsigned long volatile &, void *, void (*)(void *))
    fn _ZNSt3__111__call_onceERVmPvPFvS2_E(flag: *mut u64, argument: Object, routine: Routine; pc in "rcx") {
        let mut once = Once { routine, argument, flag: flag as u64, pc };
        real!(_ZNSt3__111__call_onceERVmPvPFvS2_E(flag => *mut u64, (&raw mut once).cast() => Object, run => Routine));
        if let Some(inside) = enter() {
            inside.simple(Kind::AtomicRead8, pc, flag as u64);
        }
    }
    // std::__1::__shared_weak_count::__release_weak()
    fn _ZNSt3__119__shared_weak_count14__release_weakEv(shared: Object; pc in "rsi") {
        log_count(shared, OBSERVERS, pc);
        real!(_ZNSt3__119__shared_weak_count14__release_weakEv(shared => Object));
    }
    // std::__1::__shared_weak_count::lock()
    fn _ZNSt3__119__shared_weak_count4lockEv(shared: Object; pc in "rsi") -> Object {
        log_count(shared, OWNERS, pc);
        real!(_ZNSt3__119__shared_weak_count4lockEv(shared => Object) -> Object)
    }
    // std::__1::__libcpp_atomic_wait(void const volatile *, int)
    fn _ZNSt3__120__libcpp_atomic_waitEPVKvi(object: Object, value: c_int; _pc in "rdx") {
        wait(object, || real!(_ZNSt3__120__libcpp_atomic_waitEPVKvi(object => Object, value => c_int)));
    }
    // The same for a word that the kernel can look at.
    fn _ZNSt3__120__libcpp_atomic_waitEPVKNS_17__cxx_atomic_implIiNS_22__cxx_atomic_base_implIiEEEEi(object: Object, value: c_int; _pc in "rdx") {
        wait(object, || {
            real!(_ZNSt3__120__libcpp_atomic_waitEPVKNS_17__cxx_atomic_implIiNS_22__cxx_atomic_base_implIiEEEEi(
                object => Object, value => c_int
            ));
        });
    }
}
