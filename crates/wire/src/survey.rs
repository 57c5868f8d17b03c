//! A process of a survey: what it takes to start it again.
//!
//! A survey runs a command without recording anything. Each instrumented process under it leaves a file with the extension
//! [`PROCESS_EXTENSION`], named for its number and the time it started, and a second with [`THREADS_EXTENSION`] as soon as it creates a
//! thread. The file is a list of parts, each a length (four bytes, little endian) and that number of bytes, in the order of [`ProcessRecord`].

/// The extension of what a process of a survey leaves.
pub const PROCESS_EXTENSION: &str = "process";
/// The extension of what it leaves when it creates a thread.
pub const THREADS_EXTENSION: &str = "threads";

/// A process of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRecord<'a> {
    /// The file of the program.
    pub program: &'a [u8],
    /// The directory that it was started in.
    pub directory: &'a [u8],
    /// What its standard input was, as the kernel names it: a path, or a word such as `pipe:[17]`.
    pub input: &'a [u8],
    /// The words of its command, each with a zero after it.
    pub command: &'a [u8],
    /// Its environment, `NAME=VALUE`, each with a zero after it.
    pub environment: &'a [u8],
}

impl<'a> ProcessRecord<'a> {
    /// Reads a record; none if it is cut short.
    pub fn parse(bytes: &'a [u8]) -> Option<ProcessRecord<'a>> {
        let mut rest = bytes;
        let mut part = || {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            Some(part)
        };
        Some(ProcessRecord {
            program: part()?,
            directory: part()?,
            input: part()?,
            command: part()?,
            environment: part()?,
        })
    }

    /// Writes a record, piece by piece; whether all of it could be written.
    pub fn write(&self, mut put: impl FnMut(&[u8]) -> bool) -> bool {
        let parts = [self.program, self.directory, self.input, self.command, self.environment];
        parts.iter().all(|part| {
            let length = u32::try_from(part.len()).map(u32::to_le_bytes);
            length.is_ok_and(|length| put(&length) && put(part))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written_or_not_at_all() {
        let record = ProcessRecord {
            program: b"/usr/bin/bank",
            directory: b"/",
            input: b"pipe:[17]",
            command: b"./bank\0\0-v\0",
            environment: b"HOME=/\0",
        };
        let mut bytes = Vec::new();
        assert!(record.write(|piece| {
            bytes.extend_from_slice(piece);
            true
        }));
        assert_eq!(ProcessRecord::parse(&bytes), Some(record));
        for cut in 0..bytes.len() {
            assert_eq!(ProcessRecord::parse(&bytes[..cut]), None, "{cut}");
        }
        assert!(!record.write(|piece| piece.len() < 9));
    }
}
