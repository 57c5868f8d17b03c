//! The file that says which file is mapped where: without it a pc is a number.

use core::cell::UnsafeCell;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};

use wire::Losses;

use crate::losses;
use crate::settings::{self, Settings};
use crate::sys;
use crate::writer;

const MAPS: usize = 4 << 20;

/// What was written already: lines are added, never taken away, so that code that was unloaded keeps its name.
struct Written {
    memory: *mut u8,
    used: usize,
    process: u32,
}

struct Cell(UnsafeCell<Written>);

// SAFETY: only the holder of the token, or the process's only thread, writes the file.
unsafe impl Sync for Cell {}

static WRITTEN: Cell = Cell(UnsafeCell::new(Written { memory: ptr::null_mut(), used: 0, process: 0 }));

/// Where some code lies.
struct Range {
    start: AtomicU64,
    end: AtomicU64,
}

impl Range {
    const fn nowhere() -> Range {
        Range { start: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    fn contains(&self, pc: u64) -> bool {
        (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)).contains(&pc)
    }

    fn include(&self, start: u64, end: u64) {
        let first = self.start.load(Ordering::Relaxed);
        self.start.store(if first == 0 { start } else { first.min(start) }, Ordering::Relaxed);
        self.end.fetch_max(end, Ordering::Relaxed);
    }
}

static C_LIBRARY: Range = Range::nowhere();
/// What loads libraries. It allocates with its lock held, and other threads need that lock to start.
static LOADER: Range = Range::nowhere();

/// Whether this is the code of the C library or of the loader.
pub(crate) fn is_c_library(pc: u64) -> bool {
    C_LIBRARY.contains(pc) || LOADER.contains(pc)
}

/// How many modules are looked at when a program starts, at most.
const MODULES: usize = 128;

/// What nobody can write in the modules that the program starts with, and that stay as long as it runs.
static CONSTANTS: [Range; MODULES] = [const { Range::nowhere() }; MODULES];

/// Whether this is a constant of the program, or its code.
pub(crate) fn is_constant(address: u64) -> bool {
    let mut known = CONSTANTS.iter().take_while(|range| range.end.load(Ordering::Relaxed) != 0);
    known.any(|range| range.contains(address))
}

/// Finds the constants; those of a module that lie side by side are one range.
fn find_constants(maps: &[u8]) {
    let mut ranges = CONSTANTS.iter();
    let mut last: Option<&Range> = None;
    for mapping in maps.split(|&byte| byte == b'\n').filter_map(Mapping::parse) {
        if !mapping.is_constant() {
            continue;
        }
        let (Some(start), Some(end)) = (hexadecimal(mapping.start), hexadecimal(mapping.end)) else { continue };
        if last.is_none_or(|range| range.end.load(Ordering::Relaxed) != start) {
            last = ranges.next();
        }
        match last {
            Some(range) => range.include(start, end),
            None => return,
        }
    }
}

fn find_c_library(maps: &[u8]) {
    // A function that we do not intercept.
    let inside = libc::__errno_location as *const () as u64;
    let lines = || maps.split(|&byte| byte == b'\n').filter_map(Mapping::parse);
    let range = |mapping: &Mapping<'_>| Some((hexadecimal(mapping.start)?, hexadecimal(mapping.end)?));
    let own =
        lines().find(|mapping| range(mapping).is_some_and(|(start, end)| (start..end).contains(&inside)));
    for mapping in lines() {
        let Some((start, end)) = range(&mapping) else { continue };
        if own.as_ref().is_some_and(|own| own.path == mapping.path) {
            C_LIBRARY.include(start, end);
        }
        if mapping.file_name().starts_with(b"ld-") {
            LOADER.include(start, end);
        }
    }
}

/// Brings the modules file up to date, and returns where the first thread's stack ends.
///
/// # Safety
/// As for [`writer::with`]: the caller has the token, or is the process's only thread.
pub(crate) unsafe fn write(settings: &Settings, process: u32) -> Option<u64> {
    // SAFETY: by this function's contract nobody else is here, and nothing below comes back.
    let written = unsafe { &mut *WRITTEN.0.get() };
    if written.memory.is_null() {
        written.memory = sys::map_memory(2 * MAPS);
        if written.memory.is_null() {
            return None;
        }
    }
    if written.process != process {
        (written.process, written.used) = (process, 0);
    }
    // SAFETY: the mapping is so long, stays, and is used here alone.
    let memory = unsafe { slice::from_raw_parts_mut(written.memory, 2 * MAPS) };
    let (maps, lines) = memory.split_at_mut(MAPS);
    let before = written.used;
    let mut stack = None;
    let maps = read_maps(maps);
    if C_LIBRARY.end.load(Ordering::Relaxed) == 0 {
        find_c_library(maps);
        find_constants(maps);
    }
    for line in maps.split(|&byte| byte == b'\n') {
        let Some(mapping) = Mapping::parse(line) else { continue };
        if mapping.path == b"[stack]" {
            stack = hexadecimal(mapping.end);
        } else if mapping.path.first() == Some(&b'/') && !settings.is_ours(mapping.path) {
            written.used = mapping.add(lines, written.used);
        }
    }
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(process), &mut digits);
    let mut path = Settings::path_buffer();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND;
    // SAFETY: by this function's contract.
    let file = unsafe {
        writer::with(|writer| {
            sys::open(settings.path(&mut path, &[process, writer.suffix(), b".", wire::MODULES_EXTENSION.as_bytes()]), flags)
        })
    };
    let is_whole = file >= 0 && sys::write_all(file, &lines[before..written.used]);
    sys::close(file);
    if !is_whole {
        losses::note(Losses::OTHER_FILE);
    }
    stack
}

/// A line of the kernel's: start-end rights offset device inode path.
struct Mapping<'a> {
    start: &'a [u8],
    end: &'a [u8],
    rights: &'a [u8],
    offset: &'a [u8],
    path: &'a [u8],
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a [u8]) -> Option<Mapping<'a>> {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let range = fields.next()?;
        let rights = fields.next()?;
        let offset = fields.next()?;
        let path = fields.nth(2)?.trim_ascii();
        let dash = range.iter().position(|&byte| byte == b'-')?;
        Some(Mapping { start: &range[..dash], end: &range[dash + 1..], rights, offset, path })
    }

    /// Whether it is a file's, which nobody can write.
    fn is_constant(&self) -> bool {
        self.path.first() == Some(&b'/') && self.rights.first() == Some(&b'r') && self.rights.get(1) == Some(&b'-')
    }

    fn file_name(&self) -> &'a [u8] {
        let slash = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[slash.map_or(0, |slash| slash + 1)..]
    }

    /// Adds it to the lines unless it is there; how long they are then.
    fn add(&self, lines: &mut [u8], used: usize) -> usize {
        let parts = [self.start, b" ", self.end, b" ", self.offset, b" ", self.path, b"\n"];
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if used + length > lines.len() {
            return used;
        }
        let mut end = used;
        for part in parts {
            lines[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        let (old, new) = lines.split_at(used);
        let is_old = old.split_inclusive(|&byte| byte == b'\n').any(|line| line == &new[..length]);
        if is_old { used } else { end }
    }
}

fn read_maps(buffer: &mut [u8]) -> &[u8] {
    let file = sys::open(b"/proc/self/maps\0", libc::O_RDONLY);
    if file < 0 {
        return &[];
    }
    let length = sys::read_all(file, buffer);
    sys::close(file);
    &buffer[..length]
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok()
}
