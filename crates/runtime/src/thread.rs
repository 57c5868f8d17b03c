//! A thread as the runtime knows it, and how a hook finds its own: one thread-local pointer, read in two
//! instructions.

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use wire::{Context, Table, Waker};

use crate::interpose::rust::InStd;

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

/// The calling thread, or null: the runtime is passive, or has not met the thread yet.
#[inline(always)]
pub(crate) fn current() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread's own variable; initial-exec, since the library is loaded at the start.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + foretell_current@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, readonly, preserves_flags),
        );
    }
    thread
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
pub(crate) fn set_current(thread: *mut Thread) {
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

/// Reasons for a hook to leave the hot path.
pub(crate) mod gate {
    /// The watchdog took the token away.
    pub(crate) const STOLEN: u32 = 1;
    /// Branches were counted and not yet written.
    pub(crate) const BRANCHES: u32 = 2;
    /// Nothing is written any more; the scheduler goes on.
    pub(crate) const QUIET: u32 = 4;
    /// Signals arrived inside the runtime.
    pub(crate) const SIGNALS: u32 = 8;
    /// The thread has ended, or the program is past its end: hooks return at once.
    pub(crate) const PASSIVE: u32 = 16;
    /// A process was made that shares the thread's memory, this value included.
    pub(crate) const SHARED: u32 = 32;
}

/// What a thread is doing. Changed under the scheduler's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// Could run.
    Ready,
    /// Has the token.
    Running,
    /// Waits for a wake-up on its key, or until its deadline.
    Waiting,
    /// Runs without the token: in a call that blocks.
    Outside,
    /// Has ended.
    Finished,
}

/// No deadline.
pub(crate) const NEVER: u64 = u64::MAX;
/// The most signals that can be put off.
pub(crate) const PUT_OFF: usize = 16;

/// The C function a thread runs.
pub(crate) type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// An access that a thread stands before, its budget used up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// Its place in the thread.
    pub(crate) place: u64,
    /// The number of its kind.
    pub(crate) kind: u8,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) pc: u64,
}

/// A thread. A value of zero bytes is not one; see [`Thread::reset`].
#[repr(C, align(64))]
pub(crate) struct Thread {
    // What the hot path touches, together.
    /// Schedulable events the thread may still perform before the scheduler is asked.
    pub(crate) budget: i64,
    /// Not 0 while the thread is inside the runtime.
    pub(crate) inside: AtomicU32,
    /// Reasons to leave the hot path.
    pub(crate) gate: AtomicU32,
    /// The log's progress word.
    pub(crate) progress: *mut AtomicU64,
    pub(crate) table: *mut Table,
    pub(crate) context: Context,
    pub(crate) branches: u64,
    /// Where the program called an allocating function that calls another one; 0: nowhere.
    pub(crate) caller: u64,

    // The rest.
    pub(crate) number: u32,
    pub(crate) table_number: u32,
    /// The place at which the budget was granted, and how much that was.
    place_at_grant: u64,
    granted: i64,

    pub(crate) state: State,
    /// What a waiting thread waits for: an address, or 0.
    pub(crate) key: u64,
    /// Until when it waits, in virtual nanoseconds.
    pub(crate) deadline: u64,
    /// The same in real nanoseconds.
    pub(crate) real_deadline: u64,
    /// When it began to wait: the first comes first.
    pub(crate) since: u64,
    /// What ended the wait for a condition variable.
    pub(crate) woken: Waker,
    /// Whether the wait ended because its time ran out.
    pub(crate) timed_out: bool,
    /// Whether the thread got the token to sleep out its time, since nobody else could run.
    pub(crate) sleeps_out: bool,
    /// 0: not this thread's turn; 1: it is; 2: it is not and the thread sleeps.
    pub(crate) turn: AtomicU32,
    pub(crate) priority: u64,

    pub(crate) kernel_id: AtomicU32,
    pub(crate) handle: u64,
    pub(crate) detached: bool,
    /// Whether someone asked for the thread's end.
    pub(crate) cancelled: bool,
    pub(crate) began: bool,
    pub(crate) routine: Option<Routine>,
    pub(crate) argument: *mut c_void,
    pub(crate) stack_size: u64,
    /// The signal mask it starts with.
    pub(crate) mask: u64,
    /// How often the thread-specific destructor has been put off.
    pub(crate) endings: u32,

    /// Its number in the table of threads of a schedule that is followed, if it is there.
    pub(crate) role: Option<u32>,
    /// How many threads it has created.
    pub(crate) children: u32,
    /// What it stands before; it counts if its place is the thread's.
    pub(crate) stands_before: Pending,

    /// What it does in Rust's std.
    pub(crate) in_std: InStd,

    pub(crate) pending: [libc::siginfo_t; PUT_OFF],
    pub(crate) pending_count: AtomicU32,
}

impl Thread {
    /// Makes this memory the thread with this number. The table and what the predictor knows stay.
    ///
    /// # Safety
    /// The memory is ours and nobody uses it.
    pub(crate) unsafe fn reset(this: *mut Thread, number: u32, progress: *mut AtomicU64) {
        let (table, table_number) = ((*this).table, (*this).table_number);
        ptr::write_bytes(this.cast::<u8>(), 0, size_of::<Thread>());
        (*this).table = table;
        (*this).table_number = table_number;
        (*this).number = number;
        (*this).progress = progress;
        (*this).deadline = NEVER;
        (*this).real_deadline = NEVER;
        (*this).stands_before.place = u64::MAX;
        (*this).role = None;
    }

    /// Where the function starts that the thread runs, as a return address would say it; 0 if that is not known.
    pub(crate) fn start(&self) -> u64 {
        self.routine.map_or(0, |routine| routine as usize as u64 + 1)
    }

    /// How many schedulable events the thread has performed.
    pub(crate) fn place(&self) -> u64 {
        self.place_at_grant + self.used()
    }

    /// How much of its budget the thread has used.
    pub(crate) fn used(&self) -> u64 {
        (self.granted - self.budget) as u64
    }

    /// Lets the thread perform so many events before the scheduler is asked again.
    pub(crate) fn grant(&mut self, events: i64) {
        self.place_at_grant = self.place();
        self.granted = events;
        self.budget = events;
    }

    /// Whether any of these reasons to leave the hot path holds.
    pub(crate) fn gated(&self, reasons: u32) -> bool {
        self.gate.load(Ordering::Relaxed) & reasons != 0
    }
}
