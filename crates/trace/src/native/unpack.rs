//! Stored bytes to content.

use crate::native::error::Problem;
use crate::native::layout::Codec;

/// Turns stored bytes into content, reusing what it allocated.
#[derive(Default)]
pub(super) struct Unpacker {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    buffer: Vec<u8>,
}

impl Unpacker {
    /// The content of a chunk, of exactly the length its header states.
    pub(super) fn unpack<'b>(
        &'b mut self,
        codec: Codec,
        stored: &'b [u8],
        raw_len: u32,
    ) -> Result<&'b [u8], Problem> {
        match codec {
            Codec::Stored => Ok(stored),
            Codec::Zstd => self.decompress(stored, raw_len),
        }
    }

    fn decompress(&mut self, stored: &[u8], raw_len: u32) -> Result<&[u8], Problem> {
        let failed = |error: std::io::Error| Problem::Compression { why: error.to_string() };
        let len = raw_len as usize;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(failed)?),
        };
        let buffer = &mut self.buffer[..len];
        let found = decompressor.decompress_to_buffer(stored, buffer).map_err(failed)?;
        if found != len {
            return Err(Problem::RawLength { found, expected: raw_len });
        }
        Ok(buffer)
    }
}
