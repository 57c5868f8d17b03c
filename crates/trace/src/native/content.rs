//! The content of a names chunk, piece by piece: nothing is believed to be there before it was looked for.

use crate::native::error::Problem;
use crate::native::layout::Section;

/// What is left of a names chunk.
pub(super) struct Content<'a> {
    pub(super) rest: &'a [u8],
    /// The section being read, for errors.
    pub(super) section: Option<Section>,
}

impl<'a> Content<'a> {
    pub(super) fn bytes(&mut self, len: u64) -> Result<&'a [u8], Problem> {
        let present = self.rest.len();
        match usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len)) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(Problem::NamesEnd { section: self.section, present, expected: len }),
        }
    }

    pub(super) fn number(&mut self) -> Result<u32, Problem> {
        let bytes = self.bytes(4)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    /// This many records of a fixed size.
    pub(super) fn records<const LEN: usize>(&mut self, count: u32) -> Result<&'a [[u8; LEN]], Problem> {
        Ok(self.bytes(u64::from(count) * LEN as u64)?.as_chunks().0)
    }
}

/// The numbers a record is made of.
pub(super) fn numbers<const LEN: usize, const COUNT: usize>(record: &[u8; LEN]) -> [u32; COUNT] {
    let words = record.as_chunks::<4>().0;
    std::array::from_fn(|index| u32::from_le_bytes(words[index]))
}
