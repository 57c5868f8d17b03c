//! What a replay has to tell: lines at the end of the file `outcome` in the run directory.
//!
//! Each is written whole and at once, so that whatever ends the program, what was told before is there. Numbers are decimal,
//! addresses and memory hexadecimal.
//!
//! ```text
//! sees T P KIND ADDRESS LENGTH PC MEMORY     T stands before this access at place P
//! nothing T P                                T does not stand before an access there
//! saw T MEMORY                               where T was last seen, memory holds this now
//! thread T STATE PLACE KEY PC                a thread at the hold; KEY: the address it waits for, or `T` and the thread it joins
//! held
//! diverged STEP T REASON PLACE KEY           the instruction with this number (from 0) could not be performed
//! freed                                      all instructions are performed
//! ```

use crate::settings::{Settings, decimal};
use crate::sys;

/// The longest line.
const LONGEST: usize = 256;
/// The most memory that is shown.
pub(super) const MOST_MEMORY: usize = 16;

/// A line in the making.
pub(super) struct Line {
    text: [u8; LONGEST],
    used: usize,
}

impl Line {
    pub(super) fn new(word: &str) -> Line {
        let mut line = Line { text: [0; LONGEST], used: 0 };
        line.put(word.as_bytes());
        line
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = (self.used + bytes.len()).min(LONGEST - 1);
        let taken = end - self.used;
        self.text[self.used..end].copy_from_slice(&bytes[..taken]);
        self.used = end;
    }

    pub(super) fn word(mut self, word: &[u8]) -> Line {
        self.put(b" ");
        self.put(word);
        self
    }

    pub(super) fn number(self, number: u64) -> Line {
        let mut digits = [0; 20];
        let digits = decimal(number, &mut digits);
        self.word(digits)
    }

    pub(super) fn address(self, address: u64) -> Line {
        let mut digits = [0; 16];
        let mut at = digits.len();
        let mut rest = address;
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
            if rest == 0 {
                break;
            }
        }
        self.word(&digits[at..])
    }

    /// What memory holds there, byte by byte; `-` if nothing can be read.
    pub(super) fn memory(mut self, address: u64, length: u64) -> Line {
        let mut bytes = [0; MOST_MEMORY];
        let length = (length as usize).min(MOST_MEMORY);
        if length == 0 || !sys::peek(address, &mut bytes[..length]) {
            return self.word(b"-");
        }
        self.put(b" ");
        for &byte in &bytes[..length] {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            self.put(&[digit(byte >> 4), digit(byte & 15)]);
        }
        self
    }

    /// Puts the line at the end of the file.
    pub(super) fn write(mut self, settings: &Settings) {
        self.text[self.used] = b'\n';
        let mut path = Settings::path_buffer();
        let path = settings.path(&mut path, &[b"outcome"]);
        let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND);
        if file >= 0 {
            sys::write_all(file, &self.text[..=self.used]);
            sys::close(file);
        }
    }
}
