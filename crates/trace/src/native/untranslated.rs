//! Recordings that are not translated yet. The file holds the raw log as the recorder wrote it, which is a fraction of
//! the trace: a loop of a million accesses is a few bytes. A reader of such a file translates it first; that is the
//! `load` crate's task, since names come from the program's debug information.

use std::io::{self, Write};

use crate::metadata::Metadata;
use crate::native::error::{Problem, ReadError};
use crate::native::layout::{MAX_RAW_LEN, Tag};
use crate::native::read::{Chunks, NextChunk};
use crate::native::unpack::Unpacker;
use crate::native::write::ChunkWriter;

/// What a recorder leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untranslated {
    /// How and where the run was recorded, with the modules as they were then.
    pub metadata: Metadata,
    /// The list of the files that were mapped, as the recorder wrote it.
    pub modules: String,
    /// The raw log, whole or up to where the file was cut.
    pub log: Vec<u8>,
}

impl Untranslated {
    /// Writes a recording as it is.
    pub fn write(metadata: &Metadata, modules: &str, log: &[u8], out: impl Write) -> io::Result<()> {
        let mut writer = ChunkWriter::new(out)?;
        writer.write(Tag::Metadata, 1, &serde_json::to_vec(metadata)?)?;
        writer.write(Tag::RawModules, 1, modules.as_bytes())?;
        // The log is compact already: compressing it takes longer than writing it.
        for part in log.chunks(MAX_RAW_LEN) {
            writer.store(Tag::RawLog, 1, part)?;
        }
        writer.write(Tag::End, 1, &0u64.to_le_bytes())
    }

    /// Reads a recording; none if the file holds a trace. What follows the last whole chunk of a truncated file is left out.
    pub fn read(bytes: &[u8]) -> Result<Option<Untranslated>, ReadError> {
        if !is_untranslated(bytes) {
            return Ok(None);
        }
        let mut chunks = Chunks::of(bytes)?;
        let mut unpacker = Unpacker::default();
        let mut read = Untranslated::default();
        while let NextChunk::Chunk(chunk) = chunks.next()? {
            if chunk.tag == Tag::Metadata {
                read.metadata = chunk.metadata(&mut unpacker)?;
                continue;
            }
            let raw = unpacker.unpack(chunk.codec, chunk.stored, chunk.header.raw_len);
            let raw = raw.map_err(|problem| problem.at(chunk.offset))?;
            match chunk.tag {
                Tag::RawModules => {
                    let text = std::str::from_utf8(raw);
                    read.modules = text.map_err(|_| Problem::ModulesNotUtf8.at(chunk.offset))?.to_owned();
                }
                Tag::RawLog => read.log.extend_from_slice(raw),
                Tag::End => {
                    chunks.expect_nothing()?;
                    break;
                }
                Tag::Metadata | Tag::Names | Tag::Events | Tag::Orders | Tag::Notes => {
                    return Err(Problem::EventsBesideLog.at(chunk.offset));
                }
            }
        }
        Ok(Some(read))
    }
}

/// Whether this is a native file that has a raw log instead of events.
pub fn is_untranslated(bytes: &[u8]) -> bool {
    let Ok(mut chunks) = Chunks::of(bytes) else { return false };
    while let Ok(NextChunk::Chunk(chunk)) = chunks.next_unchecked() {
        match chunk.tag {
            Tag::Metadata => {}
            tag => return matches!(tag, Tag::RawModules | Tag::RawLog),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native;

    fn recording() -> (Untranslated, Vec<u8>) {
        let recording = Untranslated {
            metadata: Metadata { command: vec!["./bank".to_owned()], ..Metadata::default() },
            modules: "1000 2000 0 /bin/bank\n".to_owned(),
            // More than one chunk.
            log: (0..MAX_RAW_LEN + 5).map(|index| (index % 251) as u8).collect(),
        };
        let mut bytes = Vec::new();
        Untranslated::write(&recording.metadata, &recording.modules, &recording.log, &mut bytes).unwrap();
        (recording, bytes)
    }

    #[test]
    fn a_recording_reads_back() {
        let (recording, bytes) = recording();
        assert!(is_untranslated(&bytes));
        assert_eq!(Untranslated::read(&bytes).unwrap(), Some(recording.clone()));
        assert_eq!(native::metadata(&bytes).unwrap(), Some(recording.metadata));
        let refused = native::read(&bytes).unwrap_err().to_string();
        assert!(refused.contains("not translated"), "{refused}");
    }

    #[test]
    fn a_trace_is_no_recording() {
        let trace = crate::text::read(&b"main|w(x)|a\n"[..]).unwrap();
        let mut bytes = Vec::new();
        native::write(&trace, &mut bytes).unwrap();
        assert_eq!(Untranslated::read(&bytes).unwrap(), None);
        assert!(!is_untranslated(b"") && !is_untranslated(b"main|w(x)|a\n"));
    }

    #[test]
    fn a_truncated_recording_reads_up_to_its_last_chunk_and_a_damaged_one_is_refused() {
        let (recording, mut bytes) = recording();
        let cut = Untranslated::read(&bytes[..bytes.len() - 40]).unwrap().unwrap();
        assert_eq!(cut.log, recording.log[..MAX_RAW_LEN]);
        bytes[1000] ^= 1;
        assert!(Untranslated::read(&bytes).is_err());
    }

    #[test]
    fn events_beside_a_log_are_refused() {
        let mut writer = ChunkWriter::new(Vec::new()).unwrap();
        writer.store(Tag::RawLog, 1, b"log").unwrap();
        writer.store(Tag::Events, 0, b"").unwrap();
        let error = Untranslated::read(&writer.into_out()).unwrap_err().to_string();
        assert!(error.contains("both a log and events"), "{error}");
    }
}
