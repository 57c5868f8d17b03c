//! The runtime's own beginning and end, and threads it meets late.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use wire::Stop;

use crate::hooks::enter;
use crate::interpose::{children, signals, threads};
use crate::modules;
use crate::policy::GaveUp;
use crate::replay::replay;
use crate::scheduler::{self, scheduler};
use crate::settings;
use crate::settings::Settings;
use crate::sys;
use crate::thread::{self, State, Thread, gate};
use crate::watchdog;
use crate::writer::writer;

static STARTED: AtomicBool = AtomicBool::new(false);
/// The program has loaded something since the modules file was written.
static MODULES_STALE: AtomicBool = AtomicBool::new(false);
/// The process whose log is open: a child after `vfork` shares our memory but not its number.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Called by each instrumented object, before any of its code.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_init() {
    init();
}

/// A program that is not instrumented has us preloaded.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: unsafe extern "C" fn() = init;

unsafe extern "C" fn init() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let this = scheduler();
    if !this.settings.load() || !is_wanted(&this.settings) {
        return;
    }
    if this.settings.replays {
        replay().load(&this.settings);
    }
    if record() {
        children::watch_forks();
        on_exit(Some(exiting), core::ptr::null_mut());
    }
}

unsafe extern "C" {
    fn on_exit(handler: Option<unsafe extern "C" fn(c_int, *mut c_void)>, argument: *mut c_void) -> c_int;
}

/// Whether this program is the one that was started, or children are wanted, too. The first process puts its number
/// into a file; a program that takes the place of the first is like a child.
fn is_wanted(settings: &Settings) -> bool {
    let mut path = Settings::path_buffer();
    let path = settings.path(&mut path, &[b"first"]);
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(sys::getpid()), &mut digits);
    let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL);
    if file >= 0 {
        sys::write_all(file, process);
        sys::close(file);
        return true;
    }
    settings.follow_children
}

/// Opens a log and starts the scheduler with the calling thread; whether that worked.
pub(crate) unsafe fn record() -> bool {
    let settings = &scheduler().settings;
    if !writer().open(settings) {
        return false;
    }
    let process = sys::getpid();
    PROCESS.store(process, Ordering::Relaxed);
    let stack = modules::write(settings, process).unwrap_or(0);
    scheduler::begin_with((stack.saturating_sub(8 << 20), stack));
    threads::watch_end();
    true
}

/// Whether this process is the one that writes the log.
pub(crate) fn is_own_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == sys::getpid()
}

/// The program is about to load or unload something: what is mapped now is written, and again when the scheduler next
/// looks.
pub(crate) unsafe fn modules_change() {
    if scheduler::is_active() && is_own_process() {
        if let Some(_inside) = enter() {
            modules::write(&scheduler().settings, sys::getpid());
        }
        MODULES_STALE.store(true, Ordering::Relaxed);
    }
}

/// Writes the modules file again if it may be old.
pub(crate) unsafe fn refresh_modules() {
    if MODULES_STALE.load(Ordering::Relaxed) && MODULES_STALE.swap(false, Ordering::Relaxed) {
        modules::write(&scheduler().settings, sys::getpid());
    }
}

/// Meets a thread that was not created through us.
#[cold]
pub(crate) unsafe fn attach() -> Option<*mut Thread> {
    // Functions of ours that the compiler calls meanwhile must not try the same.
    thread::set_current(threads::nobody());
    let this = scheduler();
    this.lock();
    let added = this.add();
    if let Some(thread) = added {
        (*thread).state = State::Outside;
        this.outside += 1;
    }
    this.unlock();
    let thread = added?;
    (*thread).kernel_id.store(sys::gettid(), Ordering::Relaxed);
    (*thread).handle = libc::pthread_self();
    (*thread).detached = true;
    (*thread).inside.store(1, Ordering::Relaxed);
    (*thread).gate.fetch_or(gate::STOLEN, Ordering::Relaxed);
    thread::set_current(thread);
    this.come_back(thread);
    // It may go on to something that blocks where we do not look.
    watchdog::start();
    scheduler::begin(thread, threads::stack_of_caller(8 << 20));
    threads::watch_end();
    (*thread).inside.store(0, Ordering::Relaxed);
    signals::attached();
    Some(thread)
}

/// Has the threads that can still run when the program ends do so for a while: what they would have done is worth seeing, and whether
/// they get to it is up to the machine anyway. Asked for when the first thread is made, so that it comes before the end of whatever
/// was there by then. Any thread with the token may call it, any number of times.
pub(crate) unsafe fn linger_at_exit() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.swap(true, Ordering::Relaxed) {
        on_exit(Some(linger), core::ptr::null_mut());
    }
}

/// How many events, and turns, the others get.
const LINGERING_EVENTS: u64 = 200_000;
const LINGERING_TURNS: u32 = 10_000;

unsafe extern "C" fn linger(_: c_int, _: *mut c_void) {
    if !scheduler::is_active() || !is_own_process() {
        return;
    }
    let Some(inside) = enter() else { return };
    let this = scheduler();
    let until = this.events + LINGERING_EVENTS;
    for _ in 0..LINGERING_TURNS {
        this.lock();
        let others = this.others_can_run(inside.0);
        this.unlock();
        if !others || this.events >= until {
            return;
        }
        this.preempt(inside.0, GaveUp::Willingly);
    }
}

/// The C library calls this with the status the program ends with. We asked before anyone else could, so
/// everyone else's handlers and destructors have run.
unsafe extern "C" fn exiting(status: c_int, _: *mut c_void) {
    end(Stop::Exit(status));
}

/// Ends the log for this reason; the runtime is passive from here on.
pub(crate) unsafe fn end(reason: Stop) {
    if !scheduler::is_active() || !is_own_process() {
        return;
    }
    let thread = thread::current();
    if !thread.is_null() {
        (*thread).inside.store(1, Ordering::Relaxed);
        if (*thread).gated(gate::STOLEN) {
            scheduler().come_back(thread);
        }
    }
    modules::write(&scheduler().settings, sys::getpid());
    writer().stop(thread, reason);
    scheduler::stop();
}
