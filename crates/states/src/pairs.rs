//! The last two threads together. Where the choice of the last but one matters to the last through its locks only, places of it that bring
//! the same locks leave the last thread the same places: what fits is found once for each such kind of place, and not once a place.

use crate::frames::Frames;
use crate::rows::{Rows, words};

/// More kinds than this are not worth keeping apart.
const MOST_KINDS: usize = 16;
/// The kind of a place that the rule never admits.
const NONE: u8 = u8::MAX;

/// The places of the last thread but one by the locks they bring.
pub(crate) struct Pairs {
    /// By place: its kind.
    kind: Vec<u8>,
    /// By kind: a place of it.
    example: Vec<u32>,
    /// By kind and word of the last thread: the places that fit, after the choices looked at last.
    fitting: Vec<u64>,
    words: usize,
}

impl Pairs {
    /// `None`: there is no such thread, its choice also bounds the last one, or its places are of too many kinds.
    pub(crate) fn new(frames: &Frames<'_>, rows: &Rows<'_>) -> Option<Pairs> {
        let level = frames.levels().checked_sub(2)?;
        if frames.bounds_later(level) {
            return None;
        }
        let (rule, thread) = (frames.rule, frames.threads[level]);
        let locks = |place| rule.sets.map_or(&[][..], |sets| sets.at(thread, place));
        let mut example: Vec<u32> = Vec::new();
        let mut kind = Vec::with_capacity(rule.loset.lengths[thread] as usize + 1);
        for place in 0..=rule.loset.lengths[thread] {
            if !rule.admits(thread, place) {
                kind.push(NONE);
                continue;
            }
            let known = example.iter().position(|&other| locks(other) == locks(place));
            kind.push(known.unwrap_or(example.len()) as u8);
            if known.is_none() {
                if example.len() == MOST_KINDS {
                    return None;
                }
                example.push(place);
            }
        }
        let fitting = vec![0; example.len() * rows.words()];
        Some(Pairs { kind, example, fitting, words: rows.words() })
    }

    /// Looks what fits after the choices made at the levels before.
    pub(crate) fn look(&mut self, frames: &mut Frames<'_>, rows: &Rows<'_>) {
        let level = frames.levels() - 2;
        let range = frames.range_after(level, level + 1);
        for (kind, &place) in self.example.iter().enumerate() {
            let allowed = frames.choose(level, place);
            for word in words(&range) {
                self.fitting[kind * self.words + word] =
                    if allowed { rows.fitting(frames, &range, word) } else { 0 };
            }
        }
    }

    /// The places of a word of the last thread that fit a place of the one before. They were looked for.
    #[inline]
    pub(crate) fn fitting(&self, place: u32, word: usize) -> u64 {
        match self.kind[place as usize] {
            NONE => 0,
            kind => self.fitting[kind as usize * self.words + word],
        }
    }
}
