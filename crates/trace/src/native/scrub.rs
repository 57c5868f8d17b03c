//! A native trace without the values of its environment; everything else stays, byte for byte.

use std::io::{self, Write};

use crate::native::error::ReadError;
use crate::native::layout::Tag;
use crate::native::read::{Chunks, NextChunk};
use crate::native::unpack::Unpacker;
use crate::native::write::ChunkWriter;

/// Why a trace was not scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum ScrubError {
    /// It is not a native trace, or a damaged one.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Copies a trace, and replaces the values of environment variables by their lengths; how many there were. What comes after the last
/// whole chunk of a truncated trace is left out.
pub fn scrub(bytes: &[u8], out: impl Write) -> Result<usize, ScrubError> {
    let mut chunks = Chunks::of(bytes)?;
    let mut writer = ChunkWriter::new(out)?;
    let mut unpacker = Unpacker::default();
    let mut scrubbed = 0;
    while let NextChunk::Chunk(chunk) = chunks.next()? {
        if chunk.tag != Tag::Metadata {
            writer.copy(&bytes[chunk.offset..chunks.offset()])?;
            continue;
        }
        let mut metadata = chunk.metadata(&mut unpacker)?;
        scrubbed = scrubbed.max(metadata.environment.len());
        metadata.forget_environment();
        writer.write(Tag::Metadata, 1, &serde_json::to_vec(&metadata).map_err(io::Error::from)?)?;
    }
    Ok(scrubbed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Metadata;
    use crate::native::{Writer, metadata as metadata_of, read};

    #[test]
    fn values_are_gone_and_the_rest_is_the_same() {
        let environment = vec!["TOKEN=hunter2".to_owned(), "HOME=/home/me".to_owned()];
        let command = vec!["./bank".to_owned()];
        let metadata = Metadata { environment, command: command.clone(), ..Metadata::default() };
        let trace = crate::text::read(&b"main|fork(t)|a\nt|w(x)|b\n"[..]).unwrap();
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.trace(&trace).unwrap();
        // Said twice, as a recorder does.
        writer.metadata(&metadata).unwrap();
        writer.metadata(&metadata).unwrap();
        let bytes = writer.finish().unwrap();
        let mut scrubbed = Vec::new();
        assert_eq!(scrub(&bytes, &mut scrubbed).unwrap(), 2);
        let holds = |bytes: &[u8]| bytes.windows(7).any(|part| part == b"hunter2");
        assert!(!holds(&scrubbed));
        let (again, _) = read(&scrubbed).unwrap();
        assert_eq!((again.len(), &again.metadata().command), (trace.len(), &command));
        assert_eq!(metadata_of(&scrubbed).unwrap().unwrap().command, command);
        let lengths: Vec<u64> = again.metadata().variables.iter().map(|variable| variable.length).collect();
        assert_eq!(lengths, [7, 8]);
        let mut twice = Vec::new();
        assert_eq!(scrub(&scrubbed, &mut twice).unwrap(), 0);
        assert_eq!(twice, scrubbed);
        assert!(scrub(&bytes[..bytes.len() - 5], Vec::new()).is_ok(), "a truncated one is scrubbed as well");
        assert!(scrub(b"FORETELLxxxxxxxxyyyy", Vec::new()).is_err());
    }
}
