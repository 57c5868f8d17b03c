//! Fibers, as a program announces them through libtsan's interface: stacks that take turns on a thread, and move between threads.
//!
//! A fiber comes after the thread that created it, after what it did before on other threads, and after the thread that switched to it. If the program
//! says at some switch that it orders nothing, the fibers of a thread do not come in the thread's order either: the log's head says so,
//! and each fiber becomes a thread of the trace.

use core::ffi::{c_char, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wire::{Kind, Passage, Traits};

use super::safe_hook;
use crate::inside::{Inside, enter, enter_point};
use crate::writer;

type Fiber = *mut c_void;

/// How many fibers were made; a thread's own get a number when it is asked for.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A fiber's handle, which is also the object that carries its order. For the holder of the token, so that runs have the same.
fn new_fiber(_inside: &Inside) -> u64 {
    Passage::Fiber(COUNT.fetch_add(1, Ordering::Relaxed) + 1).object()
}

/// The fiber that the thread runs.
fn current(inside: &Inside) -> u64 {
    let thread = inside.thread();
    if thread.fiber.get() == 0 {
        thread.fiber.set(new_fiber(inside));
    }
    thread.fiber.get()
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_get_current_fiber() -> Fiber {
    enter().map_or(ptr::null_mut(), |inside| current(&inside) as Fiber)
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_destroy_fiber(_fiber: Fiber) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_set_fiber_name(_fiber: Fiber, _name: *const c_char) {}

/// A switch that orders nothing: a flag of `__tsan_switch_to_fiber`.
const NO_ORDER: u32 = 1 << 0;

safe_hook! {
    fn __tsan_create_fiber(_flags: u32; pc in "rsi") -> Fiber {
        let Some(inside) = enter_point() else { return ptr::null_mut() };
        let fiber = new_fiber(&inside);
        inside.simple(Kind::HappensBefore, pc, fiber);
        fiber as Fiber
    }

    fn __tsan_switch_to_fiber(fiber: Fiber, flags: u32; pc in "rdx") {
        if let Some(inside) = enter_point() {
            let (from, to) = (current(&inside), fiber as u64);
            inside.simple(Kind::HappensBefore, pc, from);
            match flags & NO_ORDER {
                0 => inside.simple(Kind::HappensBefore, pc, to),
                _ => writer::declare(Traits::FIBERS_APART),
            }
            inside.thread().fiber.set(to);
            inside.detailed(Kind::Fiber, pc, to, &[from], b"");
            inside.simple(Kind::HappensAfter, pc, to);
        }
    }
}
