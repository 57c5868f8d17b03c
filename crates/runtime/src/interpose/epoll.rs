//! Waiting for many files with `epoll`. What is ready is reported by a word that the program chose for each file, so the files that an epoll waits
//! for are remembered with their words: a thread to which a file is reported comes after who sent something through it, and after who made it be waited for.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use wire::Passage;

use super::descriptors::{as_recorded, opened};
use super::files::{Use, log_use};
use super::passages::{passage, remember_own};
use super::readiness::{length, milliseconds};
use super::{hook, outside, outside_limited, own_files};
use crate::clock::Wait;
use crate::inside::{enter, enter_point};
use crate::program::scheduler;
use crate::real::real;
use crate::sys;

type Events = *mut libc::epoll_event;

/// A file that an epoll waits for. Files are counted from 1; 0 is a free place.
struct Registration {
    epoll: AtomicU32,
    file: AtomicU32,
    word: AtomicU64,
}

const MOST: usize = 4096;
static REGISTRATIONS: [Registration; MOST] = [const {
    Registration { epoll: AtomicU32::new(0), file: AtomicU32::new(0), word: AtomicU64::new(0) }
}; MOST];
/// How many of the places have been used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// How deep epolls that wait for epolls are looked into: as deep as the kernel allows.
const DEEPEST: u32 = 5;

impl Registration {
    /// Those that are there.
    fn all() -> impl Iterator<Item = &'static Registration> {
        let places = REGISTRATIONS[..USED.load(Ordering::Relaxed).min(MOST)].iter();
        places.filter(|place| place.file.load(Ordering::Relaxed) != 0)
    }

    fn of(epoll: c_int) -> impl Iterator<Item = &'static Registration> {
        Registration::all().filter(move |place| place.epoll.load(Ordering::Relaxed) == counted(epoll))
    }

    fn find(epoll: c_int, file: c_int) -> Option<&'static Registration> {
        Registration::of(epoll).find(|place| place.file.load(Ordering::Relaxed) == counted(file))
    }

    fn free_place() -> Option<&'static Registration> {
        let used = USED.load(Ordering::Relaxed).min(MOST);
        let is_free = |place: &&Registration| place.file.load(Ordering::Relaxed) == 0;
        REGISTRATIONS[..used].iter().find(is_free).or_else(|| {
            USED.store(used + 1, Ordering::Relaxed);
            REGISTRATIONS.get(used)
        })
    }

    fn set(&self, epoll: c_int, file: c_int, word: u64) {
        self.word.store(word, Ordering::Relaxed);
        self.epoll.store(counted(epoll), Ordering::Relaxed);
        self.file.store(counted(file), Ordering::Relaxed);
    }

    fn clear(&self) {
        self.file.store(0, Ordering::Relaxed);
    }

    fn file(&self) -> c_int {
        self.file.load(Ordering::Relaxed) as c_int - 1
    }
}

fn counted(file: c_int) -> u32 {
    (file + 1) as u32
}

/// A file is closed: nobody waits for it, and it waits for none.
pub(super) fn forget(file: c_int) {
    let is_part = |place: &&Registration| {
        [&place.epoll, &place.file].iter().any(|part| part.load(Ordering::Relaxed) == counted(file))
    };
    Registration::all().filter(is_part).for_each(Registration::clear);
}

/// The calling thread learned that something has come through a file, or through one of those that it waits for.
pub(super) fn log_arrived(file: c_int, pc: u64) {
    log_arrived_within(file, DEEPEST, pc);
}

fn log_arrived_within(file: c_int, depth: u32, pc: u64) {
    if let Some(depth) = depth.checked_sub(1) {
        Registration::of(file).for_each(|place| log_arrived_within(place.file(), depth, pc));
    }
    log_use(Use::Sees, passage(file), pc);
}

/// Records the files that these events are about, and then of the epoll: the call cannot return before something was sent, so no schedule may
/// have its first event before that.
///
/// # Safety
/// The array has this number of events.
unsafe fn log_events(epoll: c_int, events: Events, count: c_int, pc: u64) {
    const ARRIVED: c_int =
        libc::EPOLLIN | libc::EPOLLPRI | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;
    // Nothing was reported.
    let count = usize::try_from(count).unwrap_or(0);
    for index in 0..count {
        // SAFETY: the array has this number of elements.
        let event = unsafe { events.add(index).read_unaligned() };
        if event.events & ARRIVED as u32 == 0 {
            continue;
        }
        let word = event.u64;
        let is_meant = |place: &&Registration| place.word.load(Ordering::Relaxed) == word;
        let mut is_known = false;
        for place in Registration::of(epoll).filter(is_meant) {
            log_arrived(place.file(), pc);
            is_known = true;
        }
        if !is_known {
            log_use(Use::Sees, Passage::Everything, pc);
        }
    }
    if count > 0 {
        log_use(Use::Sees, passage(epoll), pc);
    }
}

/// Milliseconds of a limit that are left since a time; none for a limit that never ends.
fn left(limit: c_int, since: u64) -> c_int {
    let passed = (sys::now(libc::CLOCK_MONOTONIC) - since) / 1_000_000;
    if limit < 0 { limit } else { limit - passed.min(limit as u64) as c_int }
}

/// Waits for events. They are taken with the token, so that no other thread takes what made them meanwhile: who waits outside only learns that
/// there are some.
fn wait(epoll: c_int, limit: c_int, really: impl Fn(c_int) -> c_int) -> c_int {
    let since = sys::now(libc::CLOCK_MONOTONIC);
    let mut inside = enter_point();
    let end = inside.as_ref().and_then(|inside| Some(milliseconds(limit)?.end(inside.now())));
    loop {
        let Some(within) = inside else { return really(limit) };
        let (result, left) = (really(0), left(limit, since));
        if result != 0 || left == 0 {
            if let Some(end) = end.filter(|_| result == 0) {
                scheduler().with_lock(|schedule, _| schedule.pass_until(end));
            }
            return result;
        }
        if limit > 0 && waits_for_own_files(epoll) {
            let left = Wait::For(end.unwrap_or(0).saturating_sub(within.now()));
            return own_files::wait(&within, left, || really(0));
        }
        let mut what = libc::pollfd { fd: epoll, events: libc::POLLIN, revents: 0 };
        let told = outside(within, || {
            // SAFETY: the kernel writes into what we own.
            unsafe { real!(poll(&raw mut what => *mut libc::pollfd, 1 => libc::nfds_t, left => c_int) -> c_int) }
        });
        if told < 0 {
            return told;
        }
        inside = enter();
    }
}

/// Whether all files of an epoll are known, and made ready by this process alone.
fn waits_for_own_files(epoll: c_int) -> bool {
    USED.load(Ordering::Relaxed) < MOST
        && own_files::may_wait(Registration::of(epoll).map(Registration::file))
}

/// Waits with a mask of signals: waiting and letting signals in are one call.
fn wait_masked(limit: Option<Wait>, really: impl FnOnce() -> c_int) -> c_int {
    match enter_point() {
        Some(inside) => outside_limited(inside, limit, really, |&result| result == 0),
        None => really(),
    }
}

hook! {
    fn epoll_create(size: c_int; pc in "rsi") -> c_int {
        created(real!(epoll_create(size => c_int) -> c_int), pc)
    }
    fn epoll_create1(flags: c_int; pc in "rsi") -> c_int {
        created(real!(epoll_create1(flags => c_int) -> c_int), pc)
    }
    fn epoll_ctl(epoll: c_int, operation: c_int, file: c_int, event: Events; pc in "r8") -> c_int {
        log_use(Use::Sends, passage(epoll), pc);
        let result = real!(epoll_ctl(epoll => c_int, operation => c_int, file => c_int, event => Events) -> c_int);
        if result == 0 {
            own_files::used();
            let known = Registration::find(epoll, file);
            match operation {
                libc::EPOLL_CTL_DEL => known.into_iter().for_each(Registration::clear),
                _ => {
                    let place = known.or_else(Registration::free_place);
                    place.into_iter().for_each(|place| place.set(epoll, file, event.read_unaligned().u64));
                }
            }
        }
        result
    }
    fn epoll_wait(epoll: c_int, events: Events, count: c_int, limit: c_int; pc in "r8") -> c_int {
        let result = wait(epoll, limit, |limit| {
            real!(epoll_wait(epoll => c_int, events => Events, count => c_int, limit => c_int) -> c_int)
        });
        log_events(epoll, events, result, pc);
        result
    }
    fn epoll_pwait(epoll: c_int, events: Events, count: c_int, limit: c_int, mask: *mut c_void; pc in "r9") -> c_int {
        let really = |limit| {
            real!(epoll_pwait(
                epoll => c_int, events => Events, count => c_int, limit => c_int, mask => *mut c_void
            ) -> c_int)
        };
        let result = if mask.is_null() { wait(epoll, limit, really) } else { wait_masked(milliseconds(limit), || really(limit)) };
        log_events(epoll, events, result, pc);
        result
    }
    fn epoll_pwait2(epoll: c_int, events: Events, count: c_int, limit: *const libc::timespec, mask: *mut c_void; pc in "r9") -> c_int {
        let result = wait_masked(length(limit), || {
            real!(epoll_pwait2(
                epoll => c_int, events => Events, count => c_int, limit => *const libc::timespec, mask => *mut c_void
            ) -> c_int)
        });
        log_events(epoll, events, result, pc);
        result
    }
}

/// An epoll that was made.
fn created(file: c_int, pc: u64) -> c_int {
    let file = as_recorded(file);
    remember_own(file, Passage::Interest);
    opened(file, pc)
}
