//! The bytes of a file, mapped into memory where it can be.
//!
//! Only a regular file with a known size can be mapped. A pipe, a device, an empty file and those
//! that claim to be empty (`/proc`) are read to their end instead; the caller sees bytes either way.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file.
#[derive(Debug)]
pub struct Mapping(Bytes);

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

impl Mapping {
    /// Whether the bytes are the file's own pages rather than a copy of them.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, Bytes::Mapped(_))
    }
}

/// The bytes of the file at this path.
///
/// The file must not be shortened while the mapping lives: touching a page that is gone kills the
/// process (`SIGBUS`). Bytes that change under a reader cannot break memory safety beyond that,
/// since the readers copy what they check before they use it.
pub fn map_file(path: impl AsRef<Path>) -> io::Result<Mapping> {
    let mut file = File::open(path)?;
    let facts = file.metadata()?;
    if facts.is_file()
        && facts.len() > 0
        && let Ok(map) = map(&file)
    {
        return Ok(Mapping(Bytes::Mapped(map)));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Mapping(Bytes::Read(bytes)))
}

#[expect(unsafe_code, reason = "mapping a file is unsafe because others may change it")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only. What remains is that another process changes the
    // file meanwhile; `map_file` states that as its caller's duty.
    let map = unsafe { Mmap::map(file) }?;
    // Advice only: the readers go through the file once, from front to back.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_with(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("it can be written");
        file
    }

    #[test]
    fn a_regular_file_is_mapped() {
        let file = file_with(b"some bytes");
        let mapping = map_file(file.path()).unwrap();
        assert!(mapping.is_mapped());
        assert_eq!(&*mapping, b"some bytes");
    }

    #[test]
    fn an_empty_file_is_no_bytes() {
        let mapping = map_file(file_with(b"").path()).unwrap();
        assert!(!mapping.is_mapped());
        assert_eq!(&*mapping, b"");
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let gone = file_with(b"").into_temp_path().to_path_buf();
        assert_eq!(map_file(gone).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_directory_is_an_error() {
        assert!(map_file(tempfile::tempdir().unwrap().path()).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_has_no_size_is_read() {
        assert_eq!(&*map_file("/dev/null").unwrap(), b"");
        let status = map_file("/proc/self/status").unwrap();
        assert!(!status.is_mapped());
        assert!(status.starts_with(b"Name:"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, vec![7u8; 100_000])
        });
        assert_eq!(&*map_file(&pipe).unwrap(), &vec![7u8; 100_000][..]);
        writer.join().unwrap().unwrap();
    }
}
