//! Allocation. The real functions are called by glibc's own names, so there is no lookup, which could itself
//! allocate and call us back.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::ptr;

use wire::Kind;

use super::signals::log_allocation_in_handler;
use super::{hook, rust};
use crate::inside::{Inside, enter};
use crate::modules::is_c_library;
use crate::program::is_following;
use crate::schedule::NEVER;
use crate::thread::{self, Caller};
use crate::token::gate;

type Block = *mut c_void;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> Block;
    fn __libc_calloc(count: usize, size: usize) -> Block;
    fn __libc_realloc(block: Block, size: usize) -> Block;
    fn __libc_memalign(alignment: usize, size: usize) -> Block;
    fn __libc_free(block: Block);
}

/// Where the program asked for the memory: `operator new` has noted its caller, since it calls `malloc` itself.
fn site(inside: &Inside, pc: u64) -> u64 {
    match inside.thread().caller.take() {
        Caller { pc: 0, .. } => pc,
        caller => caller.pc,
    }
}

/// Whether memory is managed for the C library's or Rust's own output, by the first thread that needs it.
fn is_private(inside: &Inside, pc: u64) -> bool {
    let thread = inside.thread();
    is_c_library(pc) || thread.std_activity.get().prints() || thread.gated(gate::HIDDEN)
}

/// A schedule that is followed may stop the thread before it allocates; the C library is not stopped, since it may hold locks
/// we do not see.
fn may_stop(pc: u64) {
    if is_following()
        && !is_c_library(pc)
        && let Some(inside) = enter()
    {
        inside.point();
    }
}

/// Writes that a block is there. Nobody else gets a turn here: the C library may hold locks we do not see.
pub(crate) fn log_allocation(block: Block, size: usize, pc: u64) -> Block {
    if !block.is_null()
        && let Some(inside) = enter()
    {
        let pc = site(&inside, pc);
        log_allocation_in_handler(&inside, pc);
        let kind = if is_private(&inside, pc) { Kind::AllocateInside } else { Kind::Allocate };
        inside.detailed(kind, pc, block as u64, &[size as u64], b"");
        go_on_outside(inside, pc);
    }
    forget_caller();
    block
}

/// What `operator new` or `delete` asked for is done, also if it was nothing.
fn forget_caller() {
    if let Some(thread) = thread::current() {
        thread.caller.take();
    }
}

/// A thread of the C library's own, such as the one that waits for timers, has no places to stop at: it goes on without the token, and waits
/// for it when it comes to the program's code.
fn go_on_outside(inside: Inside, pc: u64) {
    if inside.thread().is_foreign() && is_c_library(pc) {
        inside.leave(NEVER);
    }
}

/// Writes that a new block holds zeroes. In C, `calloc` is also a way not to say what belongs there; in Rust it is asked for.
fn log_zeroed(block: Block, size: usize, pc: u64) {
    if !block.is_null()
        && let Some(inside) = enter()
    {
        let kind = if rust::has_hidden_std() { Kind::Zeroed } else { Kind::Cleared };
        inside.detailed(kind, pc, block as u64, &[size as u64], b"");
    }
}

/// Writes that a block is going.
pub(crate) fn log_free(block: Block, pc: u64) {
    if !block.is_null()
        && let Some(inside) = enter()
    {
        let pc = site(&inside, pc);
        log_allocation_in_handler(&inside, pc);
        let own = is_private(&inside, pc);
        if !own && is_following() {
            inside.point();
        }
        inside.simple(if own { Kind::FreeInside } else { Kind::Free }, pc, block as u64);
        go_on_outside(inside, pc);
    }
    forget_caller();
}

hook! {
    fn malloc(size: usize; pc in "rsi") -> Block {
        may_stop(pc);
        log_allocation(__libc_malloc(size), size, pc)
    }
    fn calloc(count: usize, size: usize; pc in "rdx") -> Block {
        may_stop(pc);
        let block = log_allocation(__libc_calloc(count, size), count.wrapping_mul(size), pc);
        log_zeroed(block, count.wrapping_mul(size), pc);
        block
    }
    fn realloc(block: Block, size: usize; pc in "rdx") -> Block {
        may_stop(pc);
        if block.is_null() {
            return log_allocation(__libc_malloc(size), size, pc);
        }
        if size == 0 {
            log_free(block, pc);
            return __libc_realloc(block, 0);
        }
        let new = __libc_realloc(block, size);
        if !new.is_null() {
            log_free(block, pc);
            log_allocation(new, size, pc);
        }
        new
    }
    fn reallocarray(block: Block, count: usize, size: usize; pc in "rcx") -> Block {
        let Some(bytes) = count.checked_mul(size) else {
            *libc::__errno_location() = libc::ENOMEM;
            return ptr::null_mut();
        };
        let new = __libc_realloc(block, bytes);
        if !new.is_null() || bytes == 0 {
            log_free(block, pc);
            log_allocation(new, bytes, pc);
        }
        new
    }
    fn memalign(alignment: usize, size: usize; pc in "rdx") -> Block {
        log_allocation(__libc_memalign(alignment, size), size, pc)
    }
    fn aligned_alloc(alignment: usize, size: usize; pc in "rdx") -> Block {
        may_stop(pc);
        log_allocation(__libc_memalign(alignment, size), size, pc)
    }
    fn posix_memalign(result: *mut Block, alignment: usize, size: usize; pc in "rcx") -> c_int {
        may_stop(pc);
        if !alignment.is_power_of_two() || alignment < size_of::<Block>() {
            return libc::EINVAL;
        }
        let block = __libc_memalign(alignment, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        *result = log_allocation(block, size, pc);
        0
    }
    fn valloc(size: usize; pc in "rsi") -> Block {
        log_allocation(__libc_memalign(4096, size), size, pc)
    }
    fn pvalloc(size: usize; pc in "rsi") -> Block {
        let size = size.next_multiple_of(4096);
        log_allocation(__libc_memalign(4096, size), size, pc)
    }
    fn free(block: Block; pc in "rsi") {
        log_free(block, pc);
        __libc_free(block);
    }
    fn cfree(block: Block; pc in "rsi") {
        log_free(block, pc);
        __libc_free(block);
    }
}

/// Between two of the operators on the stack there is no more than this, if one calls the other: `new (std::nothrow)` calls `new`.
const MOST_BETWEEN: u64 = 512;

/// Notes who called `operator new` or `delete`, and returns the real one to go on with.
extern "C" fn note_caller(real: &crate::real::Real, pc: u64, stack: u64) -> *mut c_void {
    if let Some(thread) = thread::current() {
        let outer = thread.caller.get();
        let is_nested = outer.pc != 0 && stack < outer.stack && outer.stack - stack <= MOST_BETWEEN;
        if !is_nested {
            thread.caller.set(Caller { pc, stack });
        }
    }
    real.get()
}

/// C++'s allocation functions: note the caller, and on to the real one with the arguments as they came.
macro_rules! operators {
    ($($name:ident)*) => {
        $(
            const _: () = {
                static REAL: crate::real::Real = crate::real::Real::named(concat!(stringify!($name), "\0"));

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    naked_asm!(
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "lea rdi, [rip + {}]",
                        "mov rsi, [rsp + 24]",
                        "lea rdx, [rsp + 24]",
                        "call {}",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        sym REAL,
                        sym note_caller,
                    );
                }
            };
        )*
    };
}

operators! {
    _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
    _ZnwmSt11align_val_t _ZnamSt11align_val_t
    _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
    _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}
