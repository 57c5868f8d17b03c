//! What the launcher asks for: the run directory from the environment, and the settings in it.
//!
//! gcc's start-up object calls us before the C library has set `environ`, so the environment is read from the kernel.

pub(crate) use wire::decimal;

use crate::sys;

/// The longest name of a run directory.
const MAX_PATH: usize = 3072;

/// What the launcher asks for, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// What it asks for.
    pub(crate) asked: wire::RuntimeSettings,
    directory: [u8; MAX_PATH],
    directory_length: usize,
}

impl Settings {
    /// Nothing asked for.
    pub(crate) const NONE: Settings =
        Settings { asked: wire::RuntimeSettings::DEFAULT, directory: [0; MAX_PATH], directory_length: 0 };

    /// Fills in what the environment and the file say; whether this process was started to be recorded.
    pub(crate) fn load(&mut self) -> bool {
        const ENVIRONMENT: usize = 2 << 20;
        let start = sys::map_memory(ENVIRONMENT);
        if start.is_null() {
            return false;
        }
        // SAFETY: fresh memory that nobody else has.
        let buffer = unsafe { core::slice::from_raw_parts_mut(start, ENVIRONMENT) };
        let found = self.load_with(buffer);
        // SAFETY: the buffer is not used any more.
        unsafe { sys::unmap(start, ENVIRONMENT) };
        found
    }

    fn load_with(&mut self, buffer: &mut [u8]) -> bool {
        let Some(environment) = read(b"/proc/self/environ\0", buffer) else { return false };
        let run = environment
            .split(|&byte| byte == 0)
            .find_map(|entry| entry.strip_prefix(wire::RUN_VARIABLE.as_bytes())?.strip_prefix(b"="));
        match run {
            Some(directory) if !directory.is_empty() && directory.len() < MAX_PATH - 64 => {
                self.directory[..directory.len()].copy_from_slice(directory);
                self.directory_length = directory.len();
            }
            _ => return false,
        }
        let mut path = [0; MAX_PATH];
        if let Some(text) = read(self.path(&mut path, &[wire::SETTINGS_FILE.as_bytes()]), buffer) {
            self.asked = wire::RuntimeSettings::parse(text);
        }
        true
    }

    /// The name of a file in the run directory, with its closing zero.
    pub(crate) fn path<'a>(&self, buffer: &'a mut [u8; MAX_PATH], name: &[&[u8]]) -> &'a [u8] {
        let mut used = 0;
        let directory = &self.directory[..self.directory_length];
        for part in [directory, b"/"].iter().chain(name).chain(&[&b"\0"[..]]) {
            buffer[used..used + part.len()].copy_from_slice(part);
            used += part.len();
        }
        &buffer[..used]
    }

    /// Whether the file with this name is in the run directory.
    pub(crate) fn is_ours(&self, path: &[u8]) -> bool {
        path.starts_with(&self.directory[..self.directory_length])
    }

    /// A buffer for [`Settings::path`].
    pub(crate) fn path_buffer() -> [u8; MAX_PATH] {
        [0; MAX_PATH]
    }
}

/// What a file holds, as far as the buffer goes.
pub(crate) fn read<'a>(path: &[u8], buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = sys::open(path, libc::O_RDONLY);
    if file < 0 {
        return None;
    }
    let length = sys::read_all(file, buffer);
    sys::close(file);
    Some(&buffer[..length])
}
