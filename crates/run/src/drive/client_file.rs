//! The file in which a program writes what its clients send, as its launcher sees it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};
use wire::{ClientHeader, ClientRecord};

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// The file of a run.
#[derive(Debug)]
pub(crate) struct ClientFile {
    file: File,
    /// How many bytes of records were taken.
    taken: u64,
    /// What was read and not taken.
    rest: Vec<u8>,
}

impl ClientFile {
    /// Makes the file, with all the room it will ever have: a program that writes to memory without room behind it is killed.
    pub(crate) fn create(directory: &Path) -> io::Result<ClientFile> {
        let path = directory.join(wire::CLIENT_FILE);
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all_at(&ClientHeader::empty(), 0)?;
        if fallocate(&file, FallocateFlags::empty(), 0, ClientHeader::ROOM as i64).is_err() {
            let zeros = vec![0; ClientHeader::ROOM - ClientHeader::BYTES];
            file.write_all_at(&zeros, ClientHeader::BYTES as u64)?;
        }
        Ok(ClientFile { file, taken: 0, rest: Vec::new() })
    }

    /// Takes what the program has written since the last time.
    pub(super) fn take(&mut self, mut each: impl FnMut(&ClientRecord<'_>)) -> io::Result<()> {
        let Some(header) = self.header()? else { return Ok(()) };
        while self.taken < header.progress {
            let length = usize::try_from(header.progress - self.taken).map_or(PIECE, |left| left.min(PIECE));
            let start = self.rest.len();
            self.rest.resize(start + length, 0);
            self.file.read_exact_at(&mut self.rest[start..], ClientHeader::BYTES as u64 + self.taken)?;
            self.taken += length as u64;
            let mut rest = &self.rest[..];
            while let Some((record, after)) = ClientRecord::read(rest) {
                each(&record);
                rest = after;
            }
            let used = self.rest.len() - rest.len();
            self.rest.drain(..used);
        }
        Ok(())
    }

    fn header(&self) -> io::Result<Option<ClientHeader>> {
        let mut bytes = [0; ClientHeader::BYTES];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(ClientHeader::read(&bytes))
    }

    /// Tells the program that it can ask.
    pub(super) fn offer_answers(&self) -> io::Result<()> {
        self.file.write_all_at(&1u32.to_le_bytes(), ClientHeader::ANSWERS_OFFSET as u64)
    }

    /// Says how many of the program's questions are answered.
    pub(super) fn answer(&self, questions: u32) -> io::Result<()> {
        self.file.write_all_at(&questions.to_le_bytes(), ClientHeader::ANSWERED_OFFSET as u64)
    }

    /// Tells the program that nothing more will be sent unless it does something.
    pub(super) fn say_waiting(&self) -> io::Result<()> {
        self.file.write_all_at(&1u32.to_le_bytes(), ClientHeader::WAITS_OFFSET as u64)
    }
}

/// What the clients of a run sent, as far as it was written; none if nobody wrote.
pub(crate) fn content(directory: &Path) -> Option<Vec<u8>> {
    let file = File::open(directory.join(wire::CLIENT_FILE)).ok()?;
    let mut head = [0; ClientHeader::BYTES];
    file.read_exact_at(&mut head, 0).ok()?;
    let progress = usize::try_from(ClientHeader::read(&head)?.progress).ok()?;
    let mut bytes = vec![0; ClientHeader::BYTES + progress.min(ClientHeader::ROOM - ClientHeader::BYTES)];
    file.read_exact_at(&mut bytes, 0).ok()?;
    (progress > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::super::script::tests::{file, port, received, sent};
    use super::*;

    #[test]
    fn what_a_program_writes_is_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut client = ClientFile::create(directory.path()).unwrap();
        let facts = directory.path().join(wire::CLIENT_FILE).metadata().unwrap();
        assert_eq!((facts.mode() & 0o777, facts.len()), (0o600, ClientHeader::ROOM as u64));
        assert_eq!(content(directory.path()), None);
        static LONG: [u8; 3 * PIECE] = [7; 3 * PIECE];
        let records = [port(0), received(0, &LONG), sent(0, 9)];
        let mut seen = 0;
        for count in 0..=records.len() {
            let bytes = file(&records[..count]);
            client.file.write_all_at(&bytes, 0).unwrap();
            client
                .take(|record| {
                    assert_eq!(*record, records[seen]);
                    seen += 1;
                })
                .unwrap();
            assert_eq!(seen, count);
        }
        assert_eq!(content(directory.path()), Some(file(&records)));
        client.say_waiting().unwrap();
        let bytes = content(directory.path()).unwrap();
        assert_eq!(bytes[ClientHeader::WAITS_OFFSET], 1);
    }
}
