//! What the launcher asks for: the run directory from the environment, and the file `settings` in it.
//!
//! gcc's start-up object calls us before the C library has set `environ`, so the environment is read from the kernel.

use crate::sys;

/// The longest name of a run directory.
const MAX_PATH: usize = 3072;

/// How the next thread is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyName {
    Random,
    Pct,
    RoundRobin,
    Os,
}

/// What the launcher asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) policy: PolicyName,
    /// Mean number of events between switches; 0: the runtime's own choice.
    pub(crate) quantum: u64,
    /// Recording stops after so many schedulable events.
    pub(crate) max_events: u64,
    /// Whether child processes are recorded, too.
    pub(crate) follow_children: bool,
    /// Whether a program in which no thread can go on is ended.
    pub(crate) stop_at_deadlock: bool,
    /// Whether a schedule is to be followed.
    pub(crate) replays: bool,
    directory: [u8; MAX_PATH],
    directory_length: usize,
}

impl Settings {
    /// Nothing asked for.
    pub(crate) const NONE: Settings = Settings {
        seed: 0,
        policy: PolicyName::Random,
        quantum: 0,
        max_events: u64::MAX,
        follow_children: false,
        stop_at_deadlock: true,
        replays: false,
        directory: [0; MAX_PATH],
        directory_length: 0,
    };

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
        let run = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(b"FORETELL_RUN="));
        match run {
            Some(directory) if !directory.is_empty() && directory.len() < MAX_PATH - 64 => {
                self.directory[..directory.len()].copy_from_slice(directory);
                self.directory_length = directory.len();
            }
            _ => return false,
        }
        let mut path = [0; MAX_PATH];
        if let Some(text) = read(self.path(&mut path, &[b"settings"]), buffer) {
            for line in text.split(|&byte| byte == b'\n') {
                if let Some(equals) = line.iter().position(|&byte| byte == b'=') {
                    self.set(line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
                }
            }
        }
        true
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"seed" => self.seed = number(value).unwrap_or(0),
            b"quantum" => self.quantum = number(value).unwrap_or(0),
            b"max-events" => self.max_events = number(value).filter(|&n| n > 0).unwrap_or(u64::MAX),
            b"children" => self.follow_children = value == b"follow",
            b"mode" => self.replays = value == b"replay",
            b"deadlock" => self.stop_at_deadlock = value != b"hang",
            b"policy" => {
                self.policy = match value {
                    b"pct" => PolicyName::Pct,
                    b"round-robin" => PolicyName::RoundRobin,
                    b"os" => PolicyName::Os,
                    _ => PolicyName::Random,
                }
            }
            _ => {}
        }
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

fn read<'a>(path: &[u8], buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = sys::open(path, libc::O_RDONLY);
    if file < 0 {
        return None;
    }
    let length = sys::read_all(file, buffer);
    sys::close(file);
    Some(&buffer[..length])
}

/// The decimal number that is this text.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &digit| {
        number
            .checked_mul(10)?
            .checked_add(u64::from(digit.wrapping_sub(b'0')))
            .filter(|_| digit.is_ascii_digit())
    })
}

/// The number as text.
pub(crate) fn decimal(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}
