//! The log: a file mapped into memory, a window at a time. Only the holder of the token writes, or who has the scheduler's lock while
//! nobody has the token; [`with`] makes the only references to the writer, and they do not outlive it.
//!
//! The mapping is shared, so what is written survives the program's end of any kind. The head is a mapping of its
//! own; its progress word makes a record count, with one store, after the record is whole.

use core::cell::UnsafeCell;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use wire::{
    Context, Forecast, Header, Key, Kind, Losses, MAX_RECORD, MAX_RUN, LogProgress, SHORT_RUN, STREAM_START, Sink, Stop, Traits,
    write_detailed, write_other_address, write_other_site, write_run, write_short_run, write_simple, write_switch,
};

use crate::losses;
use crate::start::Failing;
use crate::settings::{self, Settings};
use crate::sys;
use crate::thread::{self, Thread};

/// How much of the file is mapped at a time: little at first, since most runs of a hunt are short and room on the disk costs time, then
/// more and more; and how little if the disk has no room for more.
const FIRST_WINDOW: usize = 128 << 10;
const LARGEST_WINDOW: usize = 8 << 20;
const SMALLEST_WINDOW: usize = 16 << 10;

/// The log of this process.
pub(crate) struct Writer {
    file: i32,
    window: *mut u8,
    window_length: usize,
    /// Where in the stream the window starts.
    window_start: u64,
    /// Bytes of whole records.
    written: u64,
    /// Whose events the reader expects now.
    current: u32,
    suffix: [u8; 2],
    suffix_length: usize,
}

/// Where a log was.
pub(crate) struct Mark {
    written: u64,
    context: Context,
}

struct Cell(UnsafeCell<Writer>);

// SAFETY: only the holder of the token, or the process's only thread, uses the writer.
unsafe impl Sync for Cell {}

static WRITER: Cell = Cell(UnsafeCell::new(Writer {
    file: -1,
    window: ptr::null_mut(),
    window_length: 0,
    window_start: 0,
    written: 0,
    current: 0,
    suffix: [b'-', b'1'],
    suffix_length: 0,
}));

/// Nothing is written any more.
static CLOSED: AtomicBool = AtomicBool::new(true);
/// The progress word, in the file's head: a mapping of its own that stays.
static PROGRESS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// The word of traits, in the same mapping.
static TRAITS: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Notes in the log's head what a reader has to know before the first event.
pub(crate) fn declare(traits: Traits) {
    // SAFETY: null, or in a mapping that stays.
    if let Some(known) = unsafe { TRAITS.load(Ordering::Relaxed).as_ref() } {
        known.fetch_or(traits.0, Ordering::Relaxed);
    }
}

/// Uses the log.
///
/// # Safety
/// The caller has the token, or the scheduler's lock while nobody has the token, or is the process's only thread; and `act` does not
/// come here again.
#[inline(always)]
pub(crate) unsafe fn with<R>(act: impl FnOnce(&mut Writer) -> R) -> R {
    // SAFETY: by this function's contract nobody else has a reference to the writer now.
    act(unsafe { &mut *WRITER.0.get() })
}

/// Writes why nothing more comes, as the event of this thread if it is one's, and closes the log.
///
/// # Safety
/// As for [`with`]; the thread is the one that has the token or had it last.
pub(crate) unsafe fn stop(thread: Option<&Thread>, reason: Stop) {
    let write = |context: &mut Context| {
        // SAFETY: by this function's contract.
        unsafe { with(|writer| writer.stop(context, reason)) };
    };
    match thread {
        // SAFETY: by this function's contract nobody else uses the thread's context.
        Some(thread) => unsafe { thread.with_predictor(|_, context| write(context)) },
        None => write(&mut Context::default()),
    }
}

/// Writes that the thread is about to end the program.
///
/// # Safety
/// As for [`with`]; the thread is the one that has the token.
pub(crate) unsafe fn fail(thread: &Thread, failing: &Failing<'_>) {
    let &Failing { pc, address, message } = failing;
    // SAFETY: by this function's contract nobody else uses the log or the thread's context.
    unsafe {
        thread.with_predictor(|_, context| {
            with(|writer| writer.detailed(context, Kind::Failing, (pc, address), &[], message));
        });
    }
}

/// Whether nothing is written any more.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Nothing is written from now on.
pub(crate) fn close() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// The progress word; none before the first log.
pub(crate) fn progress() -> Option<&'static AtomicU64> {
    // SAFETY: null, or in a mapping that stays.
    unsafe { PROGRESS.load(Ordering::Relaxed).as_ref() }
}

/// The length of the run of predicted events in progress.
#[inline(always)]
pub(crate) fn run(progress: &AtomicU64) -> u64 {
    LogProgress(progress.load(Ordering::Relaxed)).run()
}

impl Writer {
    /// Starts a new log for this process; whether that worked.
    pub(crate) fn open(&mut self, settings: &Settings) -> bool {
        let process = sys::getpid();
        let Some((file, generation)) = create(settings, process) else { return false };
        if !sys::allocate_file(file, 0, STREAM_START) {
            return false;
        }
        let head = sys::map_file(file, 0, STREAM_START);
        if head.is_null() {
            return false;
        }
        losses::watch_head(file, head);
        let header = Header::new(process, LogProgress::new(0, 0)).to_bytes();
        // SAFETY: the head is a whole page.
        unsafe { ptr::copy_nonoverlapping(header.as_ptr(), head, header.len()) };
        // SAFETY: inside the head's page.
        PROGRESS.store(unsafe { head.add(LogProgress::OFFSET) }.cast(), Ordering::Relaxed);
        // SAFETY: inside the head's page.
        TRAITS.store(unsafe { head.add(Traits::OFFSET) }.cast(), Ordering::Relaxed);
        *self = Writer {
            file,
            window: ptr::null_mut(),
            window_length: 0,
            window_start: 0,
            written: 0,
            current: 0,
            suffix: [b'-', generation],
            suffix_length: if generation == b'1' { 0 } else { 2 },
        };
        self.slide();
        !is_closed()
    }

    /// Moves the window to where the next record goes. Without room on the disk the log ends there.
    #[cold]
    fn slide(&mut self) {
        let start = self.written & !(4096 - 1);
        let offset = STREAM_START as u64 + start;
        if !self.window.is_null() {
            losses::watch_window(ptr::null_mut(), 0);
            // SAFETY: nobody keeps a reference into the window.
            unsafe { sys::unmap(self.window, self.window_length) };
            self.window = ptr::null_mut();
        }
        self.window_length = (2 * self.window_length).clamp(FIRST_WINDOW, LARGEST_WINDOW);
        // A page without room behind it would be a SIGBUS in the middle of the program.
        while !sys::allocate_file(self.file, offset, self.window_length) {
            self.window_length /= 2;
            if self.window_length < SMALLEST_WINDOW {
                return losses::end_log(Losses::NO_ROOM);
            }
        }
        self.window = sys::map_file(self.file, offset, self.window_length);
        if self.window.is_null() {
            return losses::end_log(Losses::NO_ROOM);
        }
        losses::watch_window(self.window, self.window_length);
        self.window_start = start;
        CLOSED.store(false, Ordering::Relaxed);
    }

    /// Writes one record after the run of predicted events that came before.
    #[inline]
    fn record(&mut self, write: impl FnOnce(&mut Sink<'_>)) {
        if is_closed() {
            return;
        }
        let Some(progress) = progress() else { return };
        self.append(progress, |sink| {
            write_run(sink, run(progress));
            write(sink);
        });
    }

    /// The same for an access: these are half of what recording costs.
    #[inline(always)]
    fn access(&mut self, thread: &Thread, write: impl FnOnce(&mut Sink<'_>)) {
        let progress = thread.progress();
        if run(progress) > SHORT_RUN {
            self.end_run();
        }
        if is_closed() {
            return;
        }
        self.append(progress, |sink| {
            write_short_run(sink, run(progress));
            write(sink);
        });
    }

    /// Writes the run of predicted events that came before.
    #[cold]
    #[inline(never)]
    fn end_run(&mut self) {
        self.record(|_| ());
    }

    /// Appends a record to a log that is open.
    #[inline(always)]
    fn append(&mut self, progress: &AtomicU64, write: impl FnOnce(&mut Sink<'_>)) {
        let at = (self.written - self.window_start) as usize;
        // SAFETY: `slide` keeps room for a record before the window's end.
        let room = unsafe { slice::from_raw_parts_mut(self.window.add(at), MAX_RECORD) };
        let mut sink = Sink::new(room);
        write(&mut sink);
        let used = sink.used();
        self.written += used as u64;
        progress.store(LogProgress::new(self.written, 0).0, Ordering::Release);
        if at + used > self.window_length - MAX_RECORD {
            self.slide();
        }
    }

    /// The events that follow are this thread's.
    pub(crate) fn switch(&mut self, thread: u32) {
        if self.current != thread {
            self.record(|sink| write_switch(sink, thread));
            self.current = thread;
        }
    }

    /// Ends the run of predicted events if it gets long.
    pub(crate) fn cut_run(&mut self) {
        if !is_closed() && progress().is_some_and(|progress| run(progress) > MAX_RUN / 2) {
            self.record(|_| ());
        }
    }

    /// Writes why nothing more comes, and closes the log.
    fn stop(&mut self, context: &mut Context, reason: Stop) {
        if is_closed() {
            return;
        }
        self.record(|sink| write_detailed(sink, context, Kind::Stop, 0, 0, &reason.arguments(), b""));
        sys::truncate_file(self.file, STREAM_START as u64 + self.written);
        CLOSED.store(true, Ordering::Relaxed);
    }

    /// Writes why nothing more will come, unless it is taken back.
    pub(crate) fn announce(&mut self, context: &mut Context, reason: Stop) -> Option<Mark> {
        if is_closed() {
            return None;
        }
        self.record(|_| ());
        let mark = Mark { written: self.written, context: *context };
        self.record(|sink| write_detailed(sink, context, Kind::Stop, 0, 0, &reason.arguments(), b""));
        Some(mark)
    }

    /// Goes on with the log as it was before the announcement.
    pub(crate) fn take_back(&mut self, context: &mut Context, mark: Mark) {
        self.written = mark.written;
        *context = mark.context;
        if let Some(progress) = progress() {
            progress.store(LogProgress::new(self.written, 0).0, Ordering::Release);
        }
        if self.written < self.window_start {
            self.slide();
        }
    }

    /// Writes an event with arguments.
    pub(crate) fn detailed(
        &mut self,
        context: &mut Context,
        kind: Kind,
        (pc, address): (u64, u64),
        arguments: &[u64],
        text: &[u8],
    ) {
        self.record(|sink| write_detailed(sink, context, kind, pc, address, arguments, text));
    }

    /// What its name has after the number of the process: a program that replaced another has the next name.
    pub(crate) fn suffix(&self) -> &[u8] {
        &self.suffix[..self.suffix_length]
    }

    /// Leaves the log to the parent: this is a child after `fork`.
    pub(crate) fn abandon(&mut self) {
        sys::close(self.file);
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Makes the file, the first or another of the process. A process that replaced itself finds its own log there and takes the next name.
fn create(settings: &Settings, process: u32) -> Option<(i32, u8)> {
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(process), &mut digits);
    let mut path = Settings::path_buffer();
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    let file = sys::open(settings.path(&mut path, &[process, b".", wire::LOG_EXTENSION.as_bytes()]), flags);
    if file >= 0 {
        return Some((file, b'1'));
    }
    (b'2'..=b'9').find_map(|digit| {
        let file = sys::open(settings.path(&mut path, &[process, b"-", &[digit], b".", wire::LOG_EXTENSION.as_bytes()]), flags);
        (file >= 0).then_some((file, digit))
    })
}

/// Writes an event of a simple kind: the run grows by it if it was predicted.
///
/// # Safety
/// The thread is the caller's and has the token.
#[inline(always)]
pub(crate) unsafe fn predicted_or_written(thread: &Thread, kind: Kind, pc: u64, address: u64) {
    let key = Key::new(kind, pc).after(thread::take_branched());
    // SAFETY: the thread has the token, by this function's contract; the predictor does not come here again.
    let is_predicted = unsafe { thread.with_predictor(|table, context| table.hit(context, key, address)) };
    if is_predicted {
        count(thread);
    } else {
        // SAFETY: by this function's contract.
        unsafe { write_unpredicted(thread, key, address) };
    }
}

/// The same for a plain access that a hook has been called for; the thread leaves the runtime.
///
/// # Safety
/// The thread is the caller's and has the token; the pc is an address in user space.
#[inline(always)]
pub(crate) unsafe fn access_and_leave(thread: &Thread, kind: Kind, pc: u64, address: u64) {
    let key = Key::of_hook(kind, pc, thread::take_branched());
    // SAFETY: the thread has the token, by this function's contract; the predictor does not come here again.
    let forecast = unsafe { thread.with_predictor(|table, context| table.forecast(context, key, address)) };
    match forecast {
        Forecast::Right => {
            count(thread);
            thread.seat.presence.leave();
        }
        // SAFETY: by this function's contract.
        Forecast::OtherAddress => unsafe { write_address_and_leave(thread, address) },
        // SAFETY: by this function's contract.
        Forecast::OtherSite => unsafe { write_site_and_leave(thread, key, address) },
    }
}

/// One more event was predicted.
#[inline(always)]
fn count(thread: &Thread) {
    let progress = thread.progress();
    progress.store(progress.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Writes an event that was not predicted.
///
/// # Safety
/// The thread is the caller's and has the token.
#[inline(never)]
unsafe fn write_unpredicted(thread: &Thread, key: Key, address: u64) {
    // SAFETY: the thread has the token, by this function's contract; neither the predictor nor the log come here again.
    unsafe {
        thread.with_predictor(|table, context| {
            with(|writer| writer.record(|sink| write_simple(sink, table, context, key, address)));
        });
    }
}

/// Writes an access whose address was not predicted, and leaves the runtime. The hot path ends with a jump here or to the next one.
///
/// # Safety
/// The thread is the caller's and has the token.
#[inline(never)]
unsafe fn write_address_and_leave(thread: &Thread, address: u64) {
    // SAFETY: the thread has the token, by this function's contract; neither the predictor nor the log come here again.
    unsafe {
        thread.with_predictor(|table, context| {
            with(|writer| writer.access(thread, |sink| write_other_address(sink, table, context, address)));
        });
    }
    thread.seat.presence.leave();
}

/// The same for one whose site was not predicted.
///
/// # Safety
/// The thread is the caller's and has the token.
#[inline(never)]
unsafe fn write_site_and_leave(thread: &Thread, key: Key, address: u64) {
    // SAFETY: as above.
    unsafe {
        thread.with_predictor(|table, context| {
            with(|writer| {
                writer.access(thread, |sink| write_other_site(sink, table, context, key, address));
            });
        });
    }
    thread.seat.presence.leave();
}
