//! The file that says which file is mapped where: without it a pc is a number.

use crate::settings::{self, Settings};
use crate::sys;

const MAPS: usize = 4 << 20;

/// Writes the modules file anew, and returns where the first thread's stack ends.
pub(crate) fn write(settings: &Settings, process: u32) -> Option<u64> {
    let memory = sys::map_memory(2 * MAPS);
    if memory.is_null() {
        return None;
    }
    // SAFETY: fresh memory that nobody else has.
    let buffer = unsafe { core::slice::from_raw_parts_mut(memory, 2 * MAPS) };
    let (maps, out) = buffer.split_at_mut(MAPS);
    let maps = sys::open(b"/proc/self/maps\0", libc::O_RDONLY).and_read(maps);
    let mut used = 0;
    let mut stack = None;
    for line in maps.split(|&byte| byte == b'\n') {
        // start-end rights offset device inode path
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let range = fields.next().unwrap_or_default();
        let offset = fields.nth(1).unwrap_or_default();
        let path = fields.nth(2).unwrap_or_default().trim_ascii();
        let dash = range.iter().position(|&byte| byte == b'-').unwrap_or(0);
        let (start, end) = (&range[..dash], range.get(dash + 1..).unwrap_or_default());
        if path == b"[stack]" {
            stack = hexadecimal(end);
        }
        if path.first() == Some(&b'/') {
            for part in [start, b" ", end, b" ", offset, b" ", path, b"\n"] {
                if let Some(place) = out.get_mut(used..used + part.len()) {
                    place.copy_from_slice(part);
                    used += part.len();
                }
            }
        }
    }
    let mut digits = [0; 20];
    let process = settings::decimal(u64::from(process), &mut digits);
    let mut path = Settings::path_buffer();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    let file = sys::open(settings.path(&mut path, &[process, b".modules"]), flags);
    if file >= 0 {
        sys::write_all(file, &out[..used]);
        sys::close(file);
    }
    // SAFETY: the buffer is not used any more.
    unsafe { sys::unmap(memory, 2 * MAPS) };
    stack
}

trait AndRead {
    fn and_read(self, buffer: &mut [u8]) -> &[u8];
}

impl AndRead for i32 {
    fn and_read(self, buffer: &mut [u8]) -> &[u8] {
        if self < 0 {
            return &[];
        }
        let length = sys::read_all(self, buffer);
        sys::close(self);
        &buffer[..length]
    }
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok()
}
