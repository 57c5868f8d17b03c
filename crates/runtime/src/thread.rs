//! A thread as the runtime knows it, and how a hook finds its own: one thread-local pointer, read in two
//! instructions.

use core::arch::{asm, global_asm};
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use wire::{Branched, Context, Table};

use crate::interpose::rust::StdActivity;
use crate::program::Program;
use crate::schedule::Slot;
use crate::token::{Seat, gate};

global_asm!(
    ".pushsection .tbss.foretell_current,\"awT\",@nobits",
    ".globl foretell_current",
    ".hidden foretell_current",
    ".type foretell_current,@object",
    ".p2align 3",
    "foretell_current:",
    ".zero 8",
    ".size foretell_current, 8",
    ".popsection",
);

/// The calling thread. None: the runtime is passive, or has not met the thread yet.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Thread> {
    let thread: *const Thread;
    // SAFETY: reads the thread's own variable; initial-exec, since the library is loaded at the start.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + foretell_current@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, readonly, preserves_flags),
        );
    }
    // SAFETY: null, or what was set: a thread, whose memory stays.
    unsafe { thread.as_ref() }
}

/// Whether the calling thread has taken a branch since this was called last.
#[inline(always)]
pub(crate) fn take_branched() -> Branched {
    let branched: u32;
    // SAFETY: reads and clears the thread's own byte.
    unsafe {
        asm!(
            "movzx {branched:e}, byte ptr fs:[{at}]",
            "mov byte ptr fs:[{at}], 0",
            branched = out(reg) branched,
            at = const wire::BRANCHED_AT,
            options(nostack, preserves_flags),
        );
    }
    Branched::from_word(branched)
}

/// The address that the calling thread's own variables lie below.
pub(crate) fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word there is its own address, by the ABI.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

/// How far below the thread pointer the thread-local variable lies.
pub(crate) fn distance_of_storage() -> usize {
    let offset: isize;
    // SAFETY: reads a word that the dynamic linker has set.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + foretell_current@GOTTPOFF]",
            out(reg) offset,
            options(nostack, readonly, preserves_flags),
        );
    }
    offset.unsigned_abs()
}

/// Sets what [`current`] returns.
pub(crate) fn set_current(thread: Option<&'static Thread>) {
    let thread: *const Thread = thread.map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: writes the thread's own variable.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + foretell_current@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// The most signals that can be put off.
pub(crate) const PUT_OFF: usize = 16;

/// The C function a thread runs.
pub(crate) type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Where an allocating function was called; zero: nowhere.
#[derive(Clone, Copy, Default)]
pub(crate) struct Caller {
    /// Where it returns to.
    pub(crate) pc: u64,
    /// Where on the stack that is written.
    pub(crate) stack: u64,
}

/// A thread, as far as the scheduler's decisions do not need it: those are about an [`Entry`](crate::schedule::Entry).
///
/// # Who may use what
///
/// Words and atomics are everybody's. Cells are the holder's of the token, whichever thread it is: the token's way from one thread to the
/// next orders what they do. The thread itself uses `caller` and `pending` without the token, and nobody else does.
///
/// Zero bytes are a thread; [`Thread::reset`] makes it one with a number. The memory is never given back, but is another thread's
/// after this one is forgotten.
#[repr(C, align(64))]
pub(crate) struct Thread {
    // What the hot path touches, together.
    /// Schedulable events the thread may still perform before the scheduler is asked.
    pub(crate) budget: AtomicI64,
    pub(crate) seat: Seat<Program>,
    /// The log's progress word.
    progress: *const AtomicU64,
    table: *mut Table,
    context: UnsafeCell<Context>,
    /// Who called an allocating function that calls another one.
    pub(crate) caller: Cell<Caller>,

    // The rest.
    pub(crate) slot: Slot,
    /// Its number in the log.
    pub(crate) number: u32,
    pub(crate) table_number: u32,
    pub(crate) kernel_id: AtomicU32,
    pub(crate) handle: AtomicU64,
    pub(crate) detached: Cell<bool>,
    /// Whether someone asked for the thread's end.
    pub(crate) cancelled: AtomicBool,
    pub(crate) routine: Cell<Option<Routine>>,
    pub(crate) argument: Cell<*mut c_void>,
    pub(crate) stack_size: Cell<u64>,
    /// The signal mask it starts with.
    pub(crate) mask: Cell<u64>,
    /// How often the thread-specific destructor has been put off.
    pub(crate) endings: Cell<u32>,
    /// What it does in Rust's std.
    pub(crate) std_activity: Cell<StdActivity>,
    /// What it last loaded atomically, if it has not exchanged anything since.
    pub(crate) loaded: Cell<u64>,
    /// Where on the stack the handler of a signal is called that came from outside; 0: none is running.
    pub(crate) handler_frame: Cell<u64>,
    /// A call that its last signals have interrupted goes on after their handlers.
    pub(crate) restarts: Cell<bool>,
    /// The thread is in a library that synchronises out of our sight, and a new thread begins there, too.
    pub(crate) in_library: Cell<bool>,
    pub(crate) creates_for_library: Cell<bool>,
    pub(crate) begins_in_library: Cell<bool>,
    /// Where the region of OpenMP's begins that it is starting; 0: none.
    pub(crate) region: Cell<u64>,
    /// The team of OpenMP's that it is in; null: none.
    pub(crate) team: Cell<*mut c_void>,
    /// The task of OpenMP's that it runs; null: none.
    pub(crate) task: Cell<*mut c_void>,
    /// What it waits for in libc++, which waits again when the limit is over; 0: nothing.
    pub(crate) waits_in_rounds: Cell<u64>,
    /// How many locks that the program announces it is inside, and how often it has touched memory there.
    pub(crate) locks_inside: Cell<u32>,
    pub(crate) tries: Cell<u32>,
    /// Whether it is inside to signal, not to lock.
    pub(crate) signals: Cell<bool>,
    /// The fiber that runs; 0: the thread's own.
    pub(crate) fiber: Cell<u64>,
    pub(crate) pending: Cell<[libc::siginfo_t; PUT_OFF]>,
    pub(crate) pending_count: AtomicU32,
}

impl Thread {
    /// Makes zeroed memory, or that of a thread that is gone, the thread with this number. The table and what the predictor knows stay.
    ///
    /// # Safety
    /// The memory is a thread's and nobody uses it; the table is set.
    pub(crate) unsafe fn reset(this: *mut Thread, slot: Slot, number: u32, progress: *const AtomicU64) {
        // SAFETY: nobody else uses the memory, and zero bytes are a thread.
        unsafe {
            let (table, table_number) = ((*this).table, (*this).table_number);
            this.write_bytes(0, 1);
            (*this).table = table;
            (*this).table_number = table_number;
            (*this).slot = slot;
            (*this).number = number;
            (*this).progress = progress;
        }
    }

    /// Gives zeroed memory its predictor table.
    ///
    /// # Safety
    /// Nobody uses the memory; the table is one, for good, and is used by holders of the token alone.
    pub(crate) unsafe fn set_table(this: *mut Thread, table: *mut Table, number: u32) {
        // SAFETY: nobody else uses the memory.
        unsafe {
            (*this).table = table;
            (*this).table_number = number;
        }
    }

    /// Its predictor table.
    pub(crate) fn table(&self) -> *mut Table {
        self.table
    }

    /// The log's progress word.
    #[inline(always)]
    pub(crate) fn progress(&self) -> &AtomicU64 {
        // SAFETY: it was set to the log's word, whose page is never unmapped.
        unsafe { &*self.progress }
    }

    /// Uses the thread's predictor.
    ///
    /// # Safety
    /// The caller has the token, and `act` does not come here again.
    #[inline(always)]
    pub(crate) unsafe fn with_predictor<R>(&self, act: impl FnOnce(&mut Table, &mut Context) -> R) -> R {
        // SAFETY: tables and contexts are used by the holder of the token alone, and not twice at a time, by this function's contract.
        unsafe { act(&mut *self.table, &mut *self.context.get()) }
    }

    /// Where the function starts that the thread runs, as a return address would say it; 0 if that is not known.
    pub(crate) fn start(&self) -> u64 {
        self.routine.get().map_or(0, |routine| routine as usize as u64 + 1)
    }

    /// Whether a library has started it out of our sight.
    pub(crate) fn is_foreign(&self) -> bool {
        self.detached.get() && self.routine.get().is_none()
    }

    /// Whether any of these reasons to leave the hot path holds.
    #[inline(always)]
    pub(crate) fn gated(&self, reasons: u32) -> bool {
        self.seat.presence.has(reasons)
    }

    /// Counts an access of a thread with budget left if nothing is recorded any more; whether that was so.
    #[inline]
    pub(crate) fn pass_quietly(&self) -> bool {
        let budget = self.budget.load(Ordering::Relaxed);
        let passes = self.seat.presence.enter() == gate::QUIET && budget > 0;
        if passes {
            self.budget.store(budget - 1, Ordering::Relaxed);
        }
        self.seat.presence.leave();
        passes
    }

    /// Changes what is known of what it does in Rust's std.
    pub(crate) fn change_std_activity(&self, change: impl FnOnce(&mut StdActivity)) {
        let mut std_activity = self.std_activity.get();
        change(&mut std_activity);
        self.std_activity.set(std_activity);
    }
}
