//! The hooks the compiler's `-fsanitize=thread` pass calls before each access and around each function.
//!
//! A hook is a naked function: it passes on its return address, which says where in the program the access is. The hot
//! path is an access that the predictor expected, by a thread with budget left: no call, no lock, no system call.

use core::arch::naked_asm;
use core::sync::atomic::Ordering;

use wire::Kind;

use crate::inside::{Inside, enter, enter_access};
use crate::interpose::hook;
use crate::program::is_active;
use crate::thread;
use crate::token::gate;
use crate::writer;

/// An access of a simple kind.
#[inline(always)]
fn access(kind: Kind, address: u64, pc: u64) {
    let Some(thread) = thread::current() else {
        if is_active() {
            access_slowly(kind, address, pc);
        }
        return;
    };
    let presence = &thread.seat.presence;
    let reasons = presence.enter();
    let budget = thread.budget.load(Ordering::Relaxed);
    if budget <= 0 || reasons != 0 {
        presence.leave();
        return access_slowly(kind, address, pc);
    }
    thread.budget.store(budget - 1, Ordering::Relaxed);
    // SAFETY: the thread is inside without a reason to stay out, so it has the token; the pc is a return address, or was cut to one.
    unsafe { writer::access_and_leave(thread, kind, pc, address) };
}

#[cold]
#[inline(never)]
fn access_slowly(kind: Kind, address: u64, pc: u64) {
    if thread::current().is_some_and(|thread| thread.gated(gate::HIDDEN) || thread.pass_quietly()) {
        return;
    }
    if let Some(inside) = enter_access(kind, address, kind.size().into(), pc) {
        inside.simple(kind, pc, address);
    }
}

/// A function starts or ends: no position, so nobody else gets a turn.
#[inline(always)]
fn frame(kind: Kind, address: u64, pc: u64) {
    let Some(thread) = thread::current() else {
        if is_active() {
            frame_slowly(kind, address, pc);
        }
        return;
    };
    let presence = &thread.seat.presence;
    if presence.enter() != 0 || writer::run(thread.progress()) > wire::MAX_RUN / 2 {
        presence.leave();
        return frame_slowly(kind, address, pc);
    }
    // SAFETY: the thread is inside without a reason to stay out, so it has the token.
    unsafe { writer::predicted_or_written(thread, kind, pc, address) };
    presence.leave();
}

#[cold]
#[inline(never)]
fn frame_slowly(kind: Kind, address: u64, pc: u64) {
    if thread::current().is_some_and(|thread| thread.gated(gate::QUIET | gate::HIDDEN)) {
        return;
    }
    if let Some(inside) = enter() {
        inside.cut_run();
        inside.simple(kind, pc, address);
    }
}

/// An access to a range. Short ranges are simple accesses, which the predictor knows.
pub(crate) fn range(inside: &Inside, reads: bool, address: u64, length: u64, pc: u64) {
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
            return inside.detailed(kind, pc, address, &[length], b"");
        }
    };
    inside.simple(kind, pc, address);
}

#[inline(never)]
extern "C" fn read_range(address: u64, length: u64, pc: u64) {
    if let Some(inside) = enter_access(Kind::ReadRange, address, length, pc) {
        range(&inside, true, address, length, pc);
    }
}

#[inline(never)]
extern "C" fn write_range(address: u64, length: u64, pc: u64) {
    if let Some(inside) = enter_access(Kind::WriteRange, address, length, pc) {
        range(&inside, false, address, length, pc);
    }
}

macro_rules! hooks {
    ($($body:ident = $path:ident($kind:ident): $($name:ident)* ; pc: $($with_pc:ident)*;)*) => {
        $(
            extern "C" fn $body(address: u64, pc: u64) {
                $path(Kind::$kind, address, pc);
            }
            $(
                /// # Safety
                /// Called by code of the compiler, with the arguments that it gives.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    naked_asm!("mov rsi, [rsp]", "jmp {}", sym $body);
                }
            )*
            $(
                /// # Safety
                /// Called by code of the compiler, with the arguments that it gives.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $with_pc() {
                    // No address of user space has more bits.
                    naked_asm!("shl rsi, 16", "shr rsi, 16", "jmp {}", sym $body);
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

extern "C" fn function_exit(pc: u64) {
    frame(Kind::FunctionExit, 0, pc);
}

/// # Safety
/// The program is about to write this value to this address.
unsafe extern "C" fn vptr_update(address: *mut *mut u8, value: *mut u8, pc: u64) {
    // Constructors write the same pointer again and again; only a change can be a race.
    // SAFETY: the program is about to write there.
    if unsafe { *address } != value {
        access(Kind::Write8, address as u64, pc);
    }
}

macro_rules! with_caller {
    ($($name:ident => $body:ident with $register:literal;)*) => {
        $(
            /// # Safety
            /// Called by code of the compiler, with the arguments that it gives.
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

/// # Safety
/// As libtsan's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_read_range_pc() {
    naked_asm!("jmp {}", sym read_range);
}

/// # Safety
/// As libtsan's.
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
