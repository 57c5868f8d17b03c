//! The log: a file mapped into memory, a window at a time. Only the holder of the token writes.
//!
//! The mapping is shared, so what is written survives the program's end of any kind. The head is a mapping of its
//! own; its progress word makes a record count, with one store, after the record is whole.

use core::cell::UnsafeCell;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};

use wire::{
    Context, Header, Key, Kind, MAX_RECORD, MAX_RUN, Progress, STREAM_START, Sink, Stop, Table,
    write_detailed, write_run, write_simple, write_switch,
};

use crate::settings::{self, Settings};
use crate::sys;
use crate::thread::{Thread, gate};

/// How much of the file is mapped at a time.
const WINDOW: usize = 8 << 20;

/// The log of this process.
pub(crate) struct Writer {
    file: i32,
    head: *mut u8,
    window: *mut u8,
    /// Where in the stream the window starts.
    window_start: u64,
    /// Bytes of whole records.
    written: u64,
    /// Whose events the reader expects now.
    current: u32,
    /// Nothing is written any more.
    closed: bool,
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
    head: ptr::null_mut(),
    window: ptr::null_mut(),
    window_start: 0,
    written: 0,
    current: 0,
    closed: true,
    suffix: [b'-', b'1'],
    suffix_length: 0,
}));

/// The log.
///
/// # Safety
/// The caller holds the token and keeps no other reference.
pub(crate) unsafe fn writer() -> &'static mut Writer {
    &mut *WRITER.0.get()
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
        let header = Header { process, progress: Progress::new(0, 0) }.to_bytes();
        // SAFETY: the head is a whole page.
        unsafe { ptr::copy_nonoverlapping(header.as_ptr(), head, header.len()) };
        *self = Writer {
            file,
            head,
            window: ptr::null_mut(),
            window_start: 0,
            written: 0,
            current: 0,
            closed: false,
            suffix: [b'-', generation],
            suffix_length: if generation == b'1' { 0 } else { 2 },
        };
        self.slide();
        !self.closed
    }

    /// Whether nothing is written any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The progress word in the head.
    pub(crate) fn progress(&self) -> *mut AtomicU64 {
        // SAFETY: inside the head's page.
        unsafe { self.head.add(Progress::OFFSET).cast() }
    }

    /// Moves the window to where the next record goes. Without room on the disk the log ends there.
    #[cold]
    fn slide(&mut self) {
        let start = self.written & !(4096 - 1);
        let offset = STREAM_START as u64 + start;
        if !self.window.is_null() {
            // SAFETY: nobody keeps a reference into the window.
            unsafe { sys::unmap(self.window, WINDOW) };
            self.window = ptr::null_mut();
        }
        // A page without room behind it would be a SIGBUS in the middle of the program.
        if sys::allocate_file(self.file, offset, WINDOW) {
            self.window = sys::map_file(self.file, offset, WINDOW);
        }
        self.window_start = start;
        self.closed = self.window.is_null();
    }

    /// Writes one record after the run of predicted events that came before.
    #[inline]
    fn record(&mut self, write: impl FnOnce(&mut Sink<'_>)) {
        if self.closed {
            return;
        }
        let at = (self.written - self.window_start) as usize;
        // SAFETY: `slide` keeps room for a record before the window's end.
        let room = unsafe { slice::from_raw_parts_mut(self.window.add(at), MAX_RECORD) };
        let mut sink = Sink::new(room);
        // SAFETY: the head is mapped while the log is open.
        let progress = unsafe { &*self.progress() };
        write_run(&mut sink, Progress(progress.load(Ordering::Relaxed)).run());
        write(&mut sink);
        let used = sink.used();
        self.written += used as u64;
        progress.store(Progress::new(self.written, 0).0, Ordering::Release);
        if at + used > WINDOW - MAX_RECORD {
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

    /// A simple event that was not predicted.
    #[inline(never)]
    pub(crate) fn missed(&mut self, table: &mut Table, context: &mut Context, key: Key, address: u64) {
        self.record(|sink| write_simple(sink, table, context, key, address));
    }

    /// Ends the run of predicted events if it gets long.
    pub(crate) fn cut_run(&mut self) {
        // SAFETY: the head is mapped while the log is open.
        if !self.closed && unsafe { run(self.progress()) } > MAX_RUN / 2 {
            self.record(|_| ());
        }
    }

    /// Writes why nothing more comes, and closes the log.
    pub(crate) fn stop(&mut self, thread: *mut Thread, reason: Stop) {
        if self.closed {
            return;
        }
        let mut context = Context::default();
        // SAFETY: the thread is the holder of the token, or null.
        let context = unsafe { thread.as_mut() }.map_or(&mut context, |thread| &mut thread.context);
        self.record(|sink| write_detailed(sink, context, Kind::Stop, 0, 0, &reason.arguments(), b""));
        sys::truncate_file(self.file, STREAM_START as u64 + self.written);
        self.closed = true;
    }

    /// Writes why nothing more will come, unless it is taken back.
    pub(crate) fn announce(&mut self, thread: *mut Thread, reason: Stop) -> Option<Mark> {
        if self.closed {
            return None;
        }
        self.record(|_| ());
        // SAFETY: the thread is the holder of the token.
        let context = unsafe { &mut (*thread).context };
        let mark = Mark { written: self.written, context: *context };
        self.record(|sink| write_detailed(sink, context, Kind::Stop, 0, 0, &reason.arguments(), b""));
        Some(mark)
    }

    /// Goes on with the log as it was before the announcement.
    pub(crate) fn take_back(&mut self, thread: *mut Thread, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        self.written = mark.written;
        // SAFETY: the thread is the holder of the token; the head is mapped while the log is open.
        unsafe {
            (*thread).context = mark.context;
            (*self.progress()).store(Progress::new(self.written, 0).0, Ordering::Release);
        }
        if self.written < self.window_start {
            self.slide();
        }
    }

    /// What its name has after the number of the process: a program that replaced another has the next name.
    pub(crate) fn suffix(&self) -> &[u8] {
        &self.suffix[..self.suffix_length]
    }

    /// Leaves the log to the parent: this is a child after `fork`.
    pub(crate) fn abandon(&mut self) {
        sys::close(self.file);
        self.closed = true;
    }
}

/// The length of the run in progress.
///
/// # Safety
/// The word is mapped.
#[inline(always)]
pub(crate) unsafe fn run(progress: *mut AtomicU64) -> u64 {
    Progress((*progress).load(Ordering::Relaxed)).run()
}

/// Makes the file, the first or another of the process. A process that replaced itself finds its own log there and takes the next name.
fn create(settings: &Settings, process: u32) -> Option<(i32, u8)> {
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(process), &mut digits);
    let mut path = Settings::path_buffer();
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    let file = sys::open(settings.path(&mut path, &[process, b".log"]), flags);
    if file >= 0 {
        return Some((file, b'1'));
    }
    (b'2'..=b'9').find_map(|digit| {
        let file = sys::open(settings.path(&mut path, &[process, b"-", &[digit], b".log"]), flags);
        (file >= 0).then_some((file, digit))
    })
}

/// Writes an event of a simple kind.
///
/// # Safety
/// The thread is the caller's and holds the token.
#[inline(always)]
pub(crate) unsafe fn simple(thread: *mut Thread, kind: Kind, pc: u64, address: u64) {
    if kind.is_schedulable() {
        (*thread).budget -= 1;
    }
    if (*thread).gated(gate::QUIET) {
        return;
    }
    let key = Key::new(kind, pc);
    if (*(*thread).table).hit(&mut (*thread).context, key, address) {
        let word = (*(*thread).progress).as_ptr();
        *word += 1;
    } else {
        writer().missed(&mut *(*thread).table, &mut (*thread).context, key, address);
    }
}

/// Writes an event with arguments.
///
/// # Safety
/// As for [`simple`].
pub(crate) unsafe fn detailed(
    thread: *mut Thread,
    kind: Kind,
    pc: u64,
    address: u64,
    arguments: &[u64],
    text: &[u8],
) {
    if kind.is_schedulable() {
        (*thread).budget -= 1;
    }
    let context = &mut (*thread).context;
    writer().record(|sink| write_detailed(sink, context, kind, pc, address, arguments, text));
}
