//! The watchdog: a kernel thread that looks after the token now and then.
//!
//! It takes the token from a thread that makes no events and is blocked in the kernel, or burns processor time in code we
//! do not see, if others could run; and it wakes sleepers whose time has come while nobody has the token.
//! It is not a thread of the C library's: the program's last thread must stay its last. So it calls nothing but the kernel. Its
//! thread-local storage is its own and all but empty: with that of the thread that started it, a copy that the compiler makes would come to
//! our `memcpy` and be taken for that thread's.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, Ordering};

use wire::Stop;

use crate::asleep;
use crate::client_log;
use crate::inside::Inside;
use crate::interpose::{threads, timers};
use crate::kernel_status;
use crate::program::{Program, scheduler, thread_in};
use crate::schedule::{Schedule, Slot, World};
use crate::settings;
use crate::sys;
use crate::thread;
use crate::token::gate;
use crate::writer;

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
/// The same if the thread sleeps until another one of the process wakes it: all that could are held back.
const HELD_TICKS: u32 = 25;
/// The same if the launcher, which stands for the clients of a server, has nothing more to send: all that can still come is a time limit.
const SERVED_TICKS: u32 = 300;
/// The same if the thread sleeps in a library that synchronises out of our sight: it waits there for one that the schedule holds back.
const LIBRARY_TICKS: u32 = 10;
/// Ticks after which it looks whether there are other threads.
const LAST_THREAD_TICKS: u32 = 8;
const STACK: usize = 64 << 10;

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the watchdog if it does not run yet.
pub(crate) fn start(_: &Inside) {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
    // SAFETY: takes numbers.
    unsafe { sys::call(libc::SYS_membarrier, [REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) };
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
    // SAFETY: the new thread has a stack and storage of its own, and runs `watch`, which returns to nobody.
    unsafe { clone_into(flags as usize, stack.add(STACK), storage) };
    mask_signals(&before, &mut 0);
}

/// Thread-local storage with room for our own variable and nothing else; null if there is no memory.
fn make_storage() -> *mut u8 {
    const PAGE: usize = 4096;
    let below = thread::distance_of_storage().next_multiple_of(PAGE);
    let start = sys::map_memory(below + PAGE);
    if start.is_null() {
        return start;
    }
    // SAFETY: inside the mapping, which has a page from there on; nobody else uses it. By convention storage begins with its own address.
    unsafe {
        let storage = start.add(below);
        storage.cast::<*mut u8>().write(storage);
        storage
    }
}

/// The watchdog is not there after a fork.
pub(crate) fn is_gone_in_child() {
    STARTED.store(false, Ordering::Relaxed);
}

fn mask_signals(new: &u64, old: &mut u64) {
    let (new, old) = (core::ptr::from_ref(new) as usize, core::ptr::from_mut(old) as usize);
    // SAFETY: the kernel reads one mask and writes the other.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, 8, 0, 0]) };
}

/// Starts a kernel thread that runs [`watch`].
///
/// # Safety
/// The stack and the storage are the new thread's alone.
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

/// What the last tick found.
struct LastTick {
    /// Who had the token, and the log's progress.
    holder: Option<(Slot, u64)>,
    /// When the holder was first found like this.
    since: u64,
    /// The processor time that it had used then.
    processor_time: u64,
    /// Ticks without a change.
    still: u32,
    /// Ticks without a holder.
    idle: u32,
}

/// What the holder of the token is like.
struct Holder {
    slot: Slot,
    progress: u64,
    kernel_id: u32,
    is_inside: bool,
}

extern "C" fn watch() -> ! {
    thread::set_current(threads::nobody());
    let mut last = LastTick { holder: None, since: 0, processor_time: 0, still: 0, idle: 0 };
    for tick in 0u32.. {
        sys::sleep(TICK);
        look(&mut last);
        if tick % LAST_THREAD_TICKS == 0 {
            end_if_last();
        }
    }
    sys::exit_group(1)
}

fn look(last: &mut LastTick) {
    let Some(holder) = holder() else { return nobody_runs(last) };
    last.idle = 0;
    let processor_clock = processor_clock(holder.kernel_id);
    let found = Some((holder.slot, holder.progress));
    if found != last.holder {
        *last = LastTick {
            holder: found,
            since: sys::now(libc::CLOCK_MONOTONIC),
            processor_time: sys::now(processor_clock),
            still: 0,
            idle: 0,
        };
        return;
    }
    last.still += 1;
    if last.still < BLOCKED_TICKS || holder.is_inside {
        return;
    }
    if holder.kernel_id == 0 {
        // It has the token, but has not come to say who it is.
        return;
    }
    let state = state_of(holder.kernel_id);
    if matches!(state, None | Some(b'Z' | b'X')) {
        // It may have ended as threads do, and another one begun in its slot, since it was looked at.
        let kernel_id = || thread_in(holder.slot).kernel_id.load(Ordering::Relaxed);
        return scheduler().bury(holder.slot, || kernel_id() == holder.kernel_id);
    }
    let is_stuck = state == Some(b'S')
        || sys::now(processor_clock).saturating_sub(last.processor_time) > BUSY;
    if is_stuck {
        let progress = || writer::progress().map_or(0, |progress| progress.load(Ordering::SeqCst));
        scheduler().take_away(holder.slot, last.since, || progress() != holder.progress);
    }
}

fn holder() -> Option<Holder> {
    scheduler().with_lock(|schedule, _| {
        let slot = schedule.running()?;
        let thread = thread_in(slot);
        Some(Holder {
            slot,
            progress: thread.progress().load(Ordering::Relaxed),
            kernel_id: thread.kernel_id.load(Ordering::Relaxed),
            is_inside: thread.seat.presence.is_inside(),
        })
    })
}

/// Nobody has the token: everyone waits or is outside.
fn nobody_runs(last: &mut LastTick) {
    let next = scheduler().with_lock(|schedule, program| {
        if schedule.running().is_some() {
            return None;
        }
        last.idle += 1;
        let next = pick(schedule, program, last.idle);
        let is_dead = next.is_none() && schedule.outside() == 0 && schedule.someone_waits();
        if is_dead && last.idle > DEAD_TICKS && !writer::is_closed() && !timers::is_set() {
            program.deadlock(None);
        }
        next
    });
    scheduler().pass(next);
}

/// Who gets the token that no thread had for this number of ticks. A replay whose next thread stays away is given up.
fn pick(schedule: &mut Schedule, program: &Program, idle: u32) -> Option<Slot> {
    let next = schedule.pick_for_nobody(program);
    if next.is_some() || idle <= LIBRARY_TICKS {
        return next;
    }
    if !schedule.replay.is_following() {
        return next;
    }
    let is_hopeless = schedule.awaited().map(thread_in).is_some_and(|thread| {
        let kernel_id = thread.kernel_id.load(Ordering::Relaxed);
        let sleeps = || state_of(kernel_id) == Some(b'S');
        let is_held = || !timers::is_set() && asleep::waits_for_own_process(kernel_id);
        thread.gated(gate::LIBRARY) && sleeps() || idle.is_multiple_of(HELD_TICKS) && sleeps() && is_held()
    });
    let is_served = idle > SERVED_TICKS && client_log::launcher_waits();
    if is_hopeless || is_served || idle > AWAY_TICKS {
        schedule.abandon_replay(program);
        return schedule.pick_for_nobody(program);
    }
    next
}

/// The clock of the processor time of a thread.
fn processor_clock(kernel_id: u32) -> i32 {
    (!(kernel_id as i32) << 3) | 6
}

/// The state of a thread as the kernel tells it; none if the thread is gone.
fn state_of(kernel_id: u32) -> Option<u8> {
    let mut path = [0; 64];
    let mut digits = [0; 20];
    let mut used = 0;
    let kernel_id = settings::decimal(u64::from(kernel_id), &mut digits);
    for part in [b"/proc/self/task/", kernel_id, b"/stat\0"] {
        path[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    let mut text = kernel_status::buffer();
    let fields = kernel_status::read_fields(&path[..used], &mut text)?;
    fields.first().copied()
}

/// Ends the process if all its threads have ended, and only the watchdog keeps it: the first thread is still listed then, and has the
/// status that the process would have ended with.
fn end_if_last() {
    let mut text = kernel_status::buffer();
    let Some(fields) = kernel_status::read_fields(b"/proc/self/stat\0", &mut text) else { return };
    let mut fields = fields.trim_ascii().split(|&byte| byte == b' ');
    // The state is the third field, the number of threads the 20th, the status the last.
    let (state, threads, status) = (fields.next(), fields.nth(16), fields.next_back());
    let number = |field: Option<&[u8]>| field.and_then(|field| core::str::from_utf8(field).ok()?.parse::<i32>().ok());
    if state != Some(b"Z") || number(threads) != Some(2) {
        return;
    }
    let status = number(status).unwrap_or(0);
    let signal = status & 0x7f;
    let reason = if signal == 0 { Stop::Exit(status >> 8 & 0xff) } else { Stop::Killed(signal) };
    // SAFETY: there is no other thread that could have the token.
    scheduler().with_lock(|_, _| unsafe { writer::stop(None, reason) });
    if signal != 0 {
        mask_signals(&0, &mut 0);
        sys::signal_thread(sys::getpid(), sys::gettid(), signal);
    }
    sys::exit_group(status >> 8 & 0xff)
}
