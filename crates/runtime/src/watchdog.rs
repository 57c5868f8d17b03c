//! The watchdog: a kernel thread that looks after the token now and then.
//!
//! It takes the token from a thread that makes no events and is blocked in the kernel, or burns processor time in code we
//! do not see, if others could run; and it wakes sleepers whose time has come while nobody has the token.
//! It is not a thread of the C library's: the program's last thread must stay its last. So it calls nothing but the kernel. Its
//! thread-local storage is its own and all but empty: with that of the thread that started it, a copy that the compiler makes would come to
//! our `memcpy` and be taken for that thread's.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::interpose::{signals, threads};
use crate::replay::replay;
use crate::scheduler::{Scheduler, pass_turn, scheduler};
use crate::settings;
use crate::sys;
use crate::thread::{self, Thread, gate};
use crate::writer::writer;

/// How often it looks, in nanoseconds.
const TICK: u64 = 4_000_000;
/// Ticks without an event after which a thread that is blocked in the kernel loses the token.
const BLOCKED_TICKS: u32 = 2;
/// Processor time without an event after which a running thread loses the token.
const BUSY: u64 = 1_000_000_000;
/// Ticks after which a program that waits for a signal and nothing else is held to be deadlocked.
const DEAD_TICKS: u32 = 750;
/// Ticks after which a schedule is given up if the thread it wants is in a call outside.
const AWAY_TICKS: u32 = 1250;
const STACK: usize = 64 << 10;

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the watchdog if it does not run yet.
///
/// # Safety
/// By the holder of the token.
pub(crate) unsafe fn start() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
    sys::call(libc::SYS_membarrier, [REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]);
    let stack = sys::map_memory(STACK);
    let storage = make_storage();
    if stack.is_null() || storage.is_null() {
        return;
    }
    let all = u64::MAX;
    let mut before = 0u64;
    mask_signals(&all, &mut before);
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SETTLS
        | libc::CLONE_SYSVSEM;
    clone_into(flags as usize, stack.add(STACK), storage);
    mask_signals(&before, &mut 0);
}

/// Thread-local storage with room for our own variable and nothing else; null if there is no memory.
unsafe fn make_storage() -> *mut u8 {
    const PAGE: usize = 4096;
    let below = thread::distance_of_storage().next_multiple_of(PAGE);
    let start = sys::map_memory(below + PAGE);
    if start.is_null() {
        return start;
    }
    let storage = start.add(below);
    // By convention it begins with its own address.
    storage.cast::<*mut u8>().write(storage);
    storage
}

/// The watchdog is not there after a fork.
pub(crate) fn is_gone_in_child() {
    STARTED.store(false, Ordering::Relaxed);
}

unsafe fn mask_signals(new: &u64, old: &mut u64) {
    let (new, old) = (core::ptr::from_ref(new) as usize, core::ptr::from_mut(old) as usize);
    sys::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, 8, 0, 0]);
}

#[unsafe(naked)]
unsafe extern "C" fn clone_into(flags: usize, stack: *mut u8, storage: *mut u8) {
    naked_asm!(
        "mov eax, 56", // clone(flags, stack, 0, 0, storage)
        "mov r8, rdx",
        "xor edx, edx",
        "xor r10d, r10d",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "xor ebp, ebp",
        "and rsp, -16",
        "call {}",
        "ud2",
        sym watch,
    );
}

/// What was seen at the last tick.
struct Seen {
    holder: *mut Thread,
    progress: u64,
    processor_time: u64,
    still: u32,
    idle: u32,
}

unsafe extern "C" fn watch() -> ! {
    thread::set_current(threads::nobody());
    let mut seen = Seen { holder: core::ptr::null_mut(), progress: 0, processor_time: 0, still: 0, idle: 0 };
    loop {
        sys::sleep(TICK);
        look(scheduler(), &mut seen);
    }
}

unsafe fn look(scheduler: &mut Scheduler, seen: &mut Seen) {
    let holder = core::ptr::read_volatile(&raw const scheduler.running);
    if holder.is_null() {
        return nobody_runs(scheduler, seen);
    }
    seen.idle = 0;
    let progress = (*(*holder).progress).load(Ordering::Relaxed);
    let kernel_id = (*holder).kernel_id.load(Ordering::Relaxed);
    if holder != seen.holder || progress != seen.progress {
        let processor_time = sys::now(processor_clock(kernel_id));
        *seen = Seen { holder, progress, processor_time, still: 0, idle: 0 };
        return;
    }
    seen.still += 1;
    if seen.still < BLOCKED_TICKS || (*holder).inside.load(Ordering::Relaxed) != 0 {
        return;
    }
    let stuck = is_blocked(kernel_id)
        || sys::now(processor_clock(kernel_id)).saturating_sub(seen.processor_time) > BUSY;
    if stuck {
        take_away(scheduler, holder, progress);
    }
}

/// Nobody has the token: everyone waits or is outside.
unsafe fn nobody_runs(scheduler: &mut Scheduler, seen: &mut Seen) {
    scheduler.lock();
    let mut next = core::ptr::null_mut();
    if scheduler.running.is_null() {
        next = scheduler.pick_for_nobody();
        seen.idle += 1;
        if next.is_null() && seen.idle > AWAY_TICKS && replay().is_following() {
            replay().give_up(scheduler);
            next = scheduler.pick_for_nobody();
        }
        let waits = next.is_null() && scheduler.outside == 0 && scheduler.someone_waits();
        if waits && seen.idle > DEAD_TICKS && !writer().is_closed() && !signals::timer_is_set() {
            scheduler.deadlock(core::ptr::null_mut());
        }
    }
    scheduler.unlock();
    pass_turn(next);
}

/// Takes the token away, unless the thread is inside the runtime: after the barrier it sees the gate at its next
/// hook, or we see it inside.
unsafe fn take_away(scheduler: &mut Scheduler, holder: *mut Thread, progress: u64) {
    const PRIVATE_EXPEDITED: usize = 1 << 3;
    scheduler.lock();
    let mut next = core::ptr::null_mut();
    if scheduler.running == holder {
        scheduler.catch_up();
    }
    if scheduler.running == holder && scheduler.others_can_run(holder) {
        (*holder).gate.fetch_or(gate::STOLEN, Ordering::SeqCst);
        sys::call(libc::SYS_membarrier, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]);
        let moved = (*(*holder).progress).load(Ordering::SeqCst) != progress;
        if moved || (*holder).inside.load(Ordering::SeqCst) != 0 {
            (*holder).gate.fetch_and(!gate::STOLEN, Ordering::SeqCst);
        } else {
            next = scheduler.take_away(holder);
        }
    }
    scheduler.unlock();
    pass_turn(next);
}

/// The clock of the processor time of a thread.
fn processor_clock(kernel_id: u32) -> i32 {
    (!(kernel_id as i32) << 3) | 6
}

/// Whether the thread sleeps in the kernel, as the kernel tells it.
fn is_blocked(kernel_id: u32) -> bool {
    let mut path = [0; 64];
    let mut digits = [0; 20];
    let mut used = 0;
    let kernel_id = settings::decimal(u64::from(kernel_id), &mut digits);
    for part in [b"/proc/self/task/", kernel_id, b"/stat\0"] {
        path[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    let file = sys::open(&path[..used], libc::O_RDONLY);
    if file < 0 {
        return false;
    }
    let mut text = [0; 256];
    let length = sys::read_all(file, &mut text);
    sys::close(file);
    // The state comes after the name, which is in brackets and may hold brackets.
    let after = text[..length].iter().rposition(|&byte| byte == b')').map_or(length, |at| at + 2);
    text.get(after) == Some(&b'S')
}
