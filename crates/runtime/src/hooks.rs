//! The hooks the compiler's `-fsanitize=thread` pass calls before each access and around each function.
//!
//! A hook is a naked function: it passes on its return address, which says where in the program the access is. The hot
//! path is an access that the predictor expected, by a thread with budget left: no call, no lock, no system call.

use core::arch::naked_asm;
use core::sync::atomic::{Ordering, compiler_fence};

use wire::{Key, Kind};

use crate::interpose::{hook, signals};
use crate::policy::GaveUp;
use crate::scheduler::{self, scheduler};
use crate::sys;
use crate::thread::{self, Pending, Thread, gate};
use crate::writer::{self, writer};

/// Keeps the thread inside the runtime. While it lives, functions of ours that are called go straight to the
/// real ones, and signals are put off.
pub(crate) struct Inside(pub(crate) *mut Thread);

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the thread is the caller's.
        unsafe {
            compiler_fence(Ordering::SeqCst);
            (*self.0).inside.store(0, Ordering::Relaxed);
            if (*self.0).gated(gate::SIGNALS) {
                signals::deliver_outside(self.0);
            }
        }
    }
}

/// Enters the runtime with the token, from a function that stands before a real one. None: the runtime is passive or
/// already inside, so the real function is all that is wanted.
#[inline]
pub(crate) unsafe fn enter() -> Option<Inside> {
    let thread = thread::current();
    if thread.is_null() || (*thread).inside.load(Ordering::Relaxed) != 0 {
        return enter_unknown(thread);
    }
    let inside = come_in(thread)?;
    Some(inside)
}

/// Enters, and lets others run first if the thread's time is over: before anything that counts as a place.
#[inline]
pub(crate) unsafe fn enter_point() -> Option<Inside> {
    let inside = enter()?;
    point(inside.0);
    Some(inside)
}

/// The same before an access, which is told to whoever looks at the thread while others run.
#[inline]
pub(crate) unsafe fn enter_access(kind: Kind, address: u64, length: u64, pc: u64) -> Option<Inside> {
    let inside = enter()?;
    stop_before(inside.0, kind, address, length, pc);
    Some(inside)
}

/// Lets others run if the thread's time is over; what it is about to do is told.
#[inline]
pub(crate) unsafe fn stop_before(thread: *mut Thread, kind: Kind, address: u64, length: u64, pc: u64) {
    if (*thread).budget <= 0 {
        let place = (*thread).place();
        (*thread).stands_before = Pending { place, kind: kind as u8, address, length, pc };
        scheduler().preempt(thread, GaveUp::Quantum);
    }
}

#[cold]
unsafe fn enter_unknown(thread: *mut Thread) -> Option<Inside> {
    if !thread.is_null() || !scheduler::is_active() {
        return None;
    }
    crate::start::attach().and_then(|thread| come_in(thread))
}

#[inline(always)]
unsafe fn come_in(thread: *mut Thread) -> Option<Inside> {
    (*thread).inside.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if (*thread).gate.load(Ordering::Relaxed) != 0 && !pass_gate(thread) {
        (*thread).inside.store(0, Ordering::Relaxed);
        return None;
    }
    Some(Inside(thread))
}

/// Deals with every reason to leave the hot path; whether the event is to be written or scheduled.
#[cold]
unsafe fn pass_gate(thread: *mut Thread) -> bool {
    if (*thread).gated(gate::PASSIVE) || (*thread).gated(gate::SHARED) && !is_itself(thread) {
        return false;
    }
    if (*thread).gated(gate::STOLEN) {
        scheduler().come_back(thread);
    }
    if (*thread).gated(gate::SIGNALS) {
        signals::deliver(thread);
    }
    if (*thread).gated(gate::BRANCHES) {
        (*thread).gate.fetch_and(!gate::BRANCHES, Ordering::Relaxed);
        let count = core::mem::take(&mut (*thread).branches);
        writer::detailed(thread, Kind::Branches, 0, 0, &[count], b"");
    }
    true
}

/// Whether the caller is this thread, and not another that shares its memory.
unsafe fn is_itself(thread: *mut Thread) -> bool {
    (*thread).kernel_id.load(Ordering::Relaxed) == sys::gettid()
}

/// Lets others run if the thread's time is over.
#[inline(always)]
pub(crate) unsafe fn point(thread: *mut Thread) {
    if (*thread).budget <= 0 {
        scheduler().preempt(thread, GaveUp::Quantum);
    }
}

/// An access of a simple kind.
#[inline(always)]
unsafe fn access(kind: Kind, address: u64, pc: u64) {
    let thread = thread::current();
    if thread.is_null() {
        if scheduler::is_active() {
            access_slowly(kind, address, pc);
        }
        return;
    }
    (*thread).inside.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if (*thread).budget <= 0 || (*thread).gate.load(Ordering::Relaxed) != 0 {
        (*thread).inside.store(0, Ordering::Relaxed);
        return access_slowly(kind, address, pc);
    }
    (*thread).budget -= 1;
    count_or_write(thread, kind, address, pc);
    compiler_fence(Ordering::SeqCst);
    (*thread).inside.store(0, Ordering::Relaxed);
}

#[inline(always)]
unsafe fn count_or_write(thread: *mut Thread, kind: Kind, address: u64, pc: u64) {
    let key = Key::new(kind, pc);
    if (*(*thread).table).hit(&mut (*thread).context, key, address) {
        *(*(*thread).progress).as_ptr() += 1;
    } else {
        write_missed(thread, key, address);
    }
}

#[inline(never)]
unsafe fn write_missed(thread: *mut Thread, key: Key, address: u64) {
    writer().missed(&mut *(*thread).table, &mut (*thread).context, key, address);
}

#[cold]
#[inline(never)]
unsafe fn access_slowly(kind: Kind, address: u64, pc: u64) {
    if let Some(inside) = enter_access(kind, address, kind.size().into(), pc) {
        writer::simple(inside.0, kind, pc, address);
    }
}

/// A function starts or ends: no place, so nobody else gets a turn.
#[inline(always)]
unsafe fn frame(kind: Kind, address: u64, pc: u64) {
    let thread = thread::current();
    if thread.is_null() {
        if scheduler::is_active() {
            frame_slowly(kind, address, pc);
        }
        return;
    }
    (*thread).inside.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if (*thread).gate.load(Ordering::Relaxed) != 0 || writer::run((*thread).progress) > wire::MAX_RUN / 2 {
        (*thread).inside.store(0, Ordering::Relaxed);
        return frame_slowly(kind, address, pc);
    }
    count_or_write(thread, kind, address, pc);
    compiler_fence(Ordering::SeqCst);
    (*thread).inside.store(0, Ordering::Relaxed);
}

#[cold]
#[inline(never)]
unsafe fn frame_slowly(kind: Kind, address: u64, pc: u64) {
    if let Some(inside) = enter() {
        writer().cut_run();
        writer::simple(inside.0, kind, pc, address);
    }
}

/// An access to a range. Short ranges are simple accesses, which the predictor knows.
pub(crate) unsafe fn range(thread: *mut Thread, reads: bool, address: u64, length: u64, pc: u64) {
    let kind = match (length, reads) {
        (0, _) => return,
        (1, true) => Kind::Read1,
        (2, true) => Kind::Read2,
        (4, true) => Kind::Read4,
        (8, true) => Kind::Read8,
        (16, true) => Kind::Read16,
        (1, false) => Kind::Write1,
        (2, false) => Kind::Write2,
        (4, false) => Kind::Write4,
        (8, false) => Kind::Write8,
        (16, false) => Kind::Write16,
        _ => {
            let kind = if reads { Kind::ReadRange } else { Kind::WriteRange };
            return writer::detailed(thread, kind, pc, address, &[length], b"");
        }
    };
    writer::simple(thread, kind, pc, address);
}

#[inline(never)]
unsafe extern "C" fn read_range(address: u64, length: u64, pc: u64) {
    if let Some(inside) = enter_access(Kind::ReadRange, address, length, pc) {
        range(inside.0, true, address, length, pc);
    }
}

#[inline(never)]
unsafe extern "C" fn write_range(address: u64, length: u64, pc: u64) {
    if let Some(inside) = enter_access(Kind::WriteRange, address, length, pc) {
        range(inside.0, false, address, length, pc);
    }
}

macro_rules! hooks {
    ($($body:ident = $path:ident($kind:ident): $($name:ident)* ; pc: $($with_pc:ident)*;)*) => {
        $(
            unsafe extern "C" fn $body(address: u64, pc: u64) {
                $path(Kind::$kind, address, pc);
            }
            $(
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    naked_asm!("mov rsi, [rsp]", "jmp {}", sym $body);
                }
            )*
            $(
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $with_pc() {
                    naked_asm!("jmp {}", sym $body);
                }
            )*
        )*
    };
}

hooks! {
    read1 = access(Read1): __tsan_read1 __tsan_volatile_read1 ; pc: __tsan_read1_pc;
    read2 = access(Read2): __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2
        __tsan_unaligned_volatile_read2 ; pc: __tsan_read2_pc __tsan_unaligned_read2_pc;
    read4 = access(Read4): __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4
        __tsan_unaligned_volatile_read4 ; pc: __tsan_read4_pc __tsan_unaligned_read4_pc;
    read8 = access(Read8): __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8
        __tsan_unaligned_volatile_read8 __tsan_vptr_read ; pc: __tsan_read8_pc __tsan_unaligned_read8_pc;
    read16 = access(Read16): __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16
        __tsan_unaligned_volatile_read16 ; pc: __tsan_read16_pc __tsan_unaligned_read16_pc;
    write1 = access(Write1): __tsan_write1 __tsan_volatile_write1 ; pc: __tsan_write1_pc;
    write2 = access(Write2): __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2
        __tsan_unaligned_volatile_write2 ; pc: __tsan_write2_pc __tsan_unaligned_write2_pc;
    write4 = access(Write4): __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4
        __tsan_unaligned_volatile_write4 ; pc: __tsan_write4_pc __tsan_unaligned_write4_pc;
    write8 = access(Write8): __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8
        __tsan_unaligned_volatile_write8 ; pc: __tsan_write8_pc __tsan_unaligned_write8_pc;
    write16 = access(Write16): __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16
        __tsan_unaligned_volatile_write16 ; pc: __tsan_write16_pc __tsan_unaligned_write16_pc;
    read_write1 = access(ReadWrite1): __tsan_read_write1 ; pc: ;
    read_write2 = access(ReadWrite2): __tsan_read_write2 __tsan_unaligned_read_write2 ; pc: ;
    read_write4 = access(ReadWrite4): __tsan_read_write4 __tsan_unaligned_read_write4 ; pc: ;
    read_write8 = access(ReadWrite8): __tsan_read_write8 __tsan_unaligned_read_write8 ; pc: ;
    read_write16 = access(ReadWrite16): __tsan_read_write16 __tsan_unaligned_read_write16 ; pc: ;
    function_entry = frame(FunctionEntry): __tsan_func_entry ; pc: ;
}

unsafe extern "C" fn function_exit(pc: u64) {
    frame(Kind::FunctionExit, 0, pc);
}

unsafe extern "C" fn vptr_update(address: *mut *mut u8, value: *mut u8, pc: u64) {
    // Constructors write the same pointer again and again; only a change can be a race.
    if *address != value {
        access(Kind::Write8, address as u64, pc);
    }
}

macro_rules! with_caller {
    ($($name:ident => $body:ident with $register:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $body);
            }
        )*
    };
}

with_caller! {
    __tsan_func_exit => function_exit with "rdi";
    __tsan_vptr_update => vptr_update with "rdx";
    __tsan_read_range => read_range with "rdx";
    __tsan_write_range => write_range with "rdx";
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_read_range_pc() {
    naked_asm!("jmp {}", sym read_range);
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_write_range_pc() {
    naked_asm!("jmp {}", sym write_range);
}

/// Functions that a program calls to read and write memory at any address.
macro_rules! unaligned {
    ($($load:ident $store:ident $type:ident $read:ident $write:ident;)*) => {
        $(hook! {
            fn $load(address: *const $type; pc in "rsi") -> $type {
                access(Kind::$read, address as u64, pc);
                address.read_unaligned()
            }
            fn $store(address: *mut $type, value: $type; pc in "rdx") {
                access(Kind::$write, address as u64, pc);
                address.write_unaligned(value);
            }
        })*
    };
}

unaligned! {
    __sanitizer_unaligned_load16 __sanitizer_unaligned_store16 u16 Read2 Write2;
    __sanitizer_unaligned_load32 __sanitizer_unaligned_store32 u32 Read4 Write4;
    __sanitizer_unaligned_load64 __sanitizer_unaligned_store64 u64 Read8 Write8;
}
