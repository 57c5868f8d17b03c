//! What a program prints, in a file of bounded size: a program that prints in a loop must not fill the disk.
//!
//! The program writes to the file itself, so that it notices nothing. While it runs, the middle of a file that has grown too long is
//! given back to the system ([`OutputFile::trim`]). At the end the beginning and the end are put together, with a line in between that
//! says what is missing.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};

/// How much of the beginning, and of the end, is kept.
const KEPT: u64 = 4 << 20;
/// How much has to be too much before some of it is given back.
const SLACK: u64 = 16 << 20;

/// The file that a program's output goes to.
#[derive(Debug)]
pub(crate) struct OutputFile {
    file: File,
    /// Up to where the middle has been given back.
    trimmed: u64,
}

impl OutputFile {
    /// A new file that nobody else can read.
    pub(crate) fn create(path: &Path) -> io::Result<OutputFile> {
        let file =
            File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(OutputFile { file, trimmed: KEPT })
    }

    /// For the program to write to.
    pub(crate) fn for_program(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives back what nobody will read, if that is much. Without a file system that can, the file is only shortened at the end.
    pub(crate) fn trim(&mut self) {
        let length = self.file.metadata().map_or(0, |facts| facts.len());
        if length <= self.trimmed + KEPT + SLACK {
            return;
        }
        let end = (length - KEPT) & !0xfff;
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let _ = fallocate(&self.file, flags, self.trimmed as i64, (end - self.trimmed) as i64);
        self.trimmed = end;
    }

    /// Leaves the beginning and the end of what was printed, if all of it is too long.
    pub(crate) fn finish(self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length <= 2 * KEPT {
            return Ok(());
        }
        let mut end = vec![0; KEPT as usize];
        self.file.read_exact_at(&mut end, length - KEPT)?;
        let note = format!("\n[foretell: {} bytes of output are left out here]\n", length - 2 * KEPT);
        self.file.set_len(KEPT)?;
        self.file.write_all_at(note.as_bytes(), KEPT)?;
        self.file.write_all_at(&end, KEPT + note.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    fn printed(megabytes: usize) -> (Vec<u8>, u64) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output");
        let mut output = OutputFile::create(&path).unwrap();
        let mut program = output.for_program().unwrap();
        let mut most = 0;
        for number in 0..megabytes {
            program.write_all(&vec![b'0' + (number % 10) as u8; 1 << 20]).unwrap();
            output.trim();
            most = most.max(path.metadata().unwrap().blocks() * 512);
        }
        output.finish().unwrap();
        (std::fs::read(&path).unwrap(), most)
    }

    #[test]
    fn short_output_is_as_it_was_printed() {
        let (output, _) = printed(8);
        assert_eq!(output.len(), 8 << 20);
        assert_eq!(output[7 << 20], b'7');
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end_and_takes_little_room() {
        let (output, most) = printed(100);
        let note = b"\n[foretell: 96468992 bytes of output are left out here]\n";
        assert_eq!(output.len(), (8 << 20) + note.len());
        assert_eq!((output[0], output[(4 << 20) - 1]), (b'0', b'3'));
        assert_eq!(&output[4 << 20..][..note.len()], note);
        assert_eq!((output[(4 << 20) + note.len()], output.last()), (b'6', Some(&b'9')));
        assert!(most < 40 << 20, "{most} bytes on the disk at a time");
    }
}
