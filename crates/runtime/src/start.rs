//! The runtime's own beginning and end, and threads it meets late.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use wire::{Kind, Stop};

use crate::client_log;
use crate::inside::{Inside, enter};
use crate::interpose::{children, failures, signals, threads};
use crate::kernel_status;
use crate::modules;
use crate::program::{self, is_active, scheduler};
use crate::replay;
use crate::requests::{self, Requests};
use crate::schedule::GaveUp;
use crate::settings;
use crate::settings::Settings;
use crate::survey;
use crate::sys;
use crate::thread::{self, Thread};
use crate::token::gate;
use crate::watchdog;
use crate::writer;

/// What the launcher asks for: written once, before there are threads.
struct SettingsCell(UnsafeCell<Settings>);

// SAFETY: `init` writes it once, in the process's only thread and before anyone reads; from then on it is read only.
unsafe impl Sync for SettingsCell {}

static SETTINGS: SettingsCell = SettingsCell(UnsafeCell::new(Settings::NONE));

/// What the launcher asks for.
pub(crate) fn settings() -> &'static Settings {
    // SAFETY: nobody writes it any more; see `SettingsCell`.
    unsafe { &*SETTINGS.0.get() }
}

static STARTED: AtomicBool = AtomicBool::new(false);
/// The program has loaded something since the modules file was written.
static MODULES_STALE: AtomicBool = AtomicBool::new(false);
/// The process whose log is open: a child after `vfork` shares our memory but not its number.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Called by each instrumented object, before any of its code.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    init();
}

/// A program that is not instrumented has us preloaded.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

extern "C" fn init() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: this runs once, before the program's own code, so there is one thread, and nobody has asked for the settings yet.
    if !unsafe { (*SETTINGS.0.get()).load() } {
        return;
    }
    if settings().asked.mode == wire::Mode::Survey {
        survey::leave_record(settings());
        return;
    }
    if !is_wanted(settings()) {
        return;
    }
    client_log::open(settings());
    if settings().asked.mode == wire::Mode::Replay
        && let Some(replay) = replay::load(settings())
    {
        scheduler().with_lock(|schedule, _| schedule.replay = replay);
    }
    // SAFETY: there is one thread, and the loader is done with the program. Nothing that its functions do is recorded yet.
    let requests = unsafe { Requests::ask() };
    // SAFETY: there is one thread.
    if unsafe { record() } {
        // SAFETY: there is one thread.
        unsafe { requests.write(settings()) };
        children::watch_forks();
        failures::watch();
        // SAFETY: the handler stays as long as the process.
        unsafe { on_exit(Some(exiting), core::ptr::null_mut()) };
        // SAFETY: there is one thread.
        unsafe { requests::on_initialize() };
    }
}

unsafe extern "C" {
    pub(crate) fn on_exit(handler: Option<extern "C" fn(c_int, *mut c_void)>, argument: *mut c_void) -> c_int;
}

/// Whether this program is the one that was started, or children are wanted, too. The first process puts its number
/// into a file; a program that takes the place of the first is like a child.
fn is_wanted(settings: &Settings) -> bool {
    let mut path = Settings::path_buffer();
    let path = settings.path(&mut path, &[wire::FIRST_FILE.as_bytes()]);
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(sys::getpid()), &mut digits);
    let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL);
    if file >= 0 {
        IS_FIRST.store(true, Ordering::Relaxed);
        // A replay without this number has no log, and says so.
        sys::write_all(file, process);
        sys::close(file);
        return true;
    }
    let is_followed = settings.asked.children == wire::Children::Follow;
    if !is_followed {
        note_unrecorded();
    }
    is_followed
}

/// This process, or the one that it was forked from, is the one that was started.
static IS_FIRST: AtomicBool = AtomicBool::new(false);

/// What the clocks show. A program that was executed later begins when it does.
pub(crate) fn clock() -> wire::Clock {
    match settings().asked.clock {
        wire::Clock::Virtual(_) if !IS_FIRST.load(Ordering::Relaxed) => wire::Clock::VIRTUAL,
        clock => clock,
    }
}

/// This process is a child that is not recorded and has not said so.
static UNNOTICED: AtomicBool = AtomicBool::new(false);

/// This process is the child of a recorded one, and is not recorded itself.
pub(crate) fn is_unrecorded() {
    UNNOTICED.store(true, Ordering::Relaxed);
}

/// This process starts a thread: if nobody records it, the launcher should know.
pub(crate) fn starts_thread() {
    survey::starts_thread();
    if UNNOTICED.load(Ordering::Relaxed) && UNNOTICED.swap(false, Ordering::Relaxed) {
        note_unrecorded();
    }
}

fn note_unrecorded() {
    let mut path = Settings::path_buffer();
    let path = settings().path(&mut path, &[wire::UNRECORDED_FILE.as_bytes()]);
    let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND);
    sys::write_all(file, b".");
    sys::close(file);
}

/// Opens a log and starts the scheduler with the calling thread; whether that worked.
///
/// # Safety
/// The process has one thread.
pub(crate) unsafe fn record() -> bool {
    // SAFETY: there is one thread.
    if !unsafe { writer::with(|writer| writer.open(settings())) } {
        return false;
    }
    let process = sys::getpid();
    PROCESS.store(process, Ordering::Relaxed);
    // SAFETY: there is one thread.
    unsafe {
        let end = modules::write(settings(), process).unwrap_or(0);
        let stack = kernel_status::start_of_stack().filter(|&start| start <= end).unwrap_or(end);
        program::begin((stack.saturating_sub(8 << 20), stack));
    }
    threads::watch_end();
    true
}

/// Whether this process is the one that writes the log.
pub(crate) fn is_own_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == sys::getpid()
}

/// The program is about to load or unload something: what is mapped now is written, and again when the scheduler next
/// looks.
pub(crate) fn modules_change() {
    if is_active() && is_own_process() {
        if let Some(inside) = enter() {
            write_modules(&inside);
        }
        MODULES_STALE.store(true, Ordering::Relaxed);
    }
}

/// Writes the modules file again if it may be old.
pub(crate) fn refresh_modules(inside: &Inside) {
    if MODULES_STALE.load(Ordering::Relaxed) && MODULES_STALE.swap(false, Ordering::Relaxed) {
        write_modules(inside);
    }
}

/// Brings the modules file up to date.
pub(crate) fn write_modules(_: &Inside) {
    // SAFETY: the calling thread has the token.
    unsafe { modules::write(settings(), sys::getpid()) };
}

/// Meets a thread that was not created through us.
#[cold]
pub(crate) fn attach() -> Option<&'static Thread> {
    // Functions of ours that the compiler calls meanwhile must not try the same.
    thread::set_current(threads::nobody());
    let slot = scheduler().with_lock(|schedule, program| {
        let slot = schedule.attach(program)?;
        program::thread_in(slot).seat.presence.add(gate::AWAY);
        Some(slot)
    })?;
    let thread = program::thread_in(slot);
    thread.kernel_id.store(sys::gettid(), Ordering::Relaxed);
    // SAFETY: takes nothing, touches nothing.
    thread.handle.store(unsafe { libc::pthread_self() }, Ordering::Relaxed);
    thread.seat.presence.enter();
    thread::set_current(Some(thread));
    scheduler().come_back(slot);
    thread.detached.set(true);
    // SAFETY: the thread is inside, and has the token now.
    let inside = unsafe { Inside::assume(thread) };
    // It may go on to something that blocks where we do not look.
    watchdog::start(&inside);
    program::begin_thread(&inside, threads::stack_of_caller(8 << 20));
    threads::watch_end();
    drop(inside);
    signals::log_attachment();
    Some(thread)
}

/// Has the threads that can still run when the program ends do so for a while: what they would have done is worth seeing, and whether
/// they get to it is up to the machine anyway. Asked for when the first thread is made, so that it comes before the end of whatever
/// was there by then. Any thread with the token may call it, any number of times.
pub(crate) fn linger_at_exit() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler stays as long as the process.
        unsafe { on_exit(Some(linger), core::ptr::null_mut()) };
    }
}

/// How many events, and turns, the others get.
const LINGERING_EVENTS: u64 = 200_000;
const LINGERING_TURNS: u32 = 10_000;

extern "C" fn linger(_: c_int, _: *mut c_void) {
    if !is_active() || !is_own_process() {
        return;
    }
    let Some(inside) = enter() else { return };
    inside.simple(Kind::Exiting, inside.thread().start(), 0);
    let own = inside.thread().slot;
    let look =
        || scheduler().with_lock(|schedule, _| (schedule.others_can_run(own), schedule.events()));
    let until = look().1 + LINGERING_EVENTS;
    for _ in 0..LINGERING_TURNS {
        let (others, events) = look();
        if !others || events >= until {
            return;
        }
        inside.preempt(GaveUp::Willingly, None);
    }
}

/// The C library calls this with the status the program ends with. We asked before anyone else could, so
/// everyone else's handlers and destructors have run.
extern "C" fn exiting(status: c_int, _: *mut c_void) {
    if is_active() && is_own_process() {
        requests::on_finalize();
    }
    end(Stop::Exit(status));
}

/// What a thread that fails has to say.
pub(crate) struct Failing<'a> {
    /// Where it fails.
    pub(crate) pc: u64,
    /// The address whose access failed; 0: no access failed.
    pub(crate) address: u64,
    /// The message; empty: there is none.
    pub(crate) message: &'a [u8],
}

/// Ends the log with a failure of the calling thread; the runtime is passive from here on.
pub(crate) fn fail(reason: Stop, failing: &Failing<'_>) {
    finish(reason, Some(failing));
}

/// Ends the log for this reason; the runtime is passive from here on.
pub(crate) fn end(reason: Stop) {
    finish(reason, None);
}

fn finish(reason: Stop, failing: Option<&Failing<'_>>) {
    if !is_active() || !is_own_process() {
        return;
    }
    // One that has ended, and gives back its memory, is none of those that the log knows.
    let ended = threads::nobody().map(core::ptr::from_ref);
    let thread = thread::current().filter(|&thread| ended != Some(core::ptr::from_ref(thread)));
    if let Some(thread) = thread {
        // One that fails inside the runtime, on memory that the program gave it, has the token.
        if !thread.seat.presence.is_inside() {
            thread.seat.presence.enter();
        }
        if thread.gated(gate::AWAY) {
            scheduler().come_back(thread.slot);
        }
        if matches!(reason, Stop::Exit(_)) && program::is_following() {
            // What a replay was to show may end here.
            // SAFETY: the thread is inside and has the token.
            unsafe { Inside::borrow(thread, Inside::point) };
        }
    }
    // SAFETY: the calling thread has the token, or is not known and the process is about to end whatever others do.
    unsafe {
        modules::write(settings(), sys::getpid());
        if let (Some(thread), Some(failing)) = (thread, failing) {
            writer::fail(thread, failing);
        }
        writer::stop(thread, reason);
    }
    program::stop();
}
