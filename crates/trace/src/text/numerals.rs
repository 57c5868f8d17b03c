//! A cache in front of a table of names for the plainest of them: a number, or a letter and a number, as in `7`, `T12` and `x6320`.
//!
//! Most names of most text traces are such. Their ids stand in an array at the number: four bytes a name, where any table that
//! holds the names themselves takes ten times as much and is no longer in the nearest cache by the time it is asked again.
//! Names are known as they are spelled, so `x1` and `x01` are two, and only one spelling of a number has a place here.
//! An array grows with the number of failed lookups, not with the largest number: its memory is bounded by the text read.

/// The name of a place in the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numeral {
    /// The letter before the number, any ASCII character that is neither a digit nor zero; 0 if there is none.
    letter: u8,
    number: u32,
}

/// A name is looked at as one word, so a number has at most seven digits.
const MOST_DIGITS: usize = 7;

/// `byte` in every byte.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Numeral {
    /// What the name at the start of these bytes, this long, is as a numeral. No branch depends on how long the number is.
    #[inline]
    pub(super) fn of(bytes: [u8; 8], length: usize) -> Option<Numeral> {
        let first = bytes[0];
        let has_letter = !first.is_ascii_digit();
        let digits = length.wrapping_sub(usize::from(has_letter));
        if digits.wrapping_sub(1) >= MOST_DIGITS || !first.is_ascii() || first == 0 {
            return None;
        }
        let text = u64::from_le_bytes(bytes) >> (8 * u32::from(has_letter));
        // The digits at the end of the word, in the order they are written; what is before them counts as zeroes.
        let free = 64 - 8 * digits as u32;
        let values = (text ^ all(b'0')) << free;
        let beyond_nine = (values.wrapping_add(all(0x7f - 9)) | values) & all(0x80);
        let leading_zero = text as u8 == b'0' && digits > 1;
        if beyond_nine != 0 || leading_zero {
            return None;
        }
        Some(Numeral { letter: if has_letter { first } else { 0 }, number: number_of(values) })
    }
}

/// The number that eight digits are, the first in the lowest byte: pairs are made of them, of those quadruples, of those the number.
#[inline]
fn number_of(digits: u64) -> u32 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let quadruples = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    (quadruples.wrapping_mul(10_000).wrapping_add(quadruples >> 32) & 0xffff_ffff) as u32
}

/// The ids of numerals.
#[derive(Debug)]
pub(super) struct NumeralIds {
    /// By letter, then by number: the id and one, or 0 if it is not known.
    ids: Vec<Vec<u32>>,
    /// No array is longer.
    longest: usize,
}

/// How long an array may be at first.
const FEWEST: usize = 64;
/// How much it grows with each failed lookup.
const GROWTH: usize = 4;

impl Default for NumeralIds {
    fn default() -> Self {
        NumeralIds { ids: vec![Vec::new(); 128], longest: FEWEST }
    }
}

impl NumeralIds {
    /// The id of a numeral, if it is known.
    #[inline]
    pub(super) fn get(&self, numeral: Numeral) -> Option<u32> {
        let ids = self.ids.get(usize::from(numeral.letter))?;
        ids.get(numeral.number as usize)?.checked_sub(1)
    }

    /// Notes the id of a numeral that was not known, if there is room.
    #[cold]
    pub(super) fn learn(&mut self, numeral: Numeral, id: u32) {
        self.longest += GROWTH;
        let number = numeral.number as usize;
        if number < self.longest {
            let ids = &mut self.ids[usize::from(numeral.letter)];
            if ids.len() <= number {
                ids.resize(number + 1, 0);
            }
            ids[number] = id + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: the letter is cut off, and what is left is a number in its only spelling.
    fn naive(name: &str) -> Option<Numeral> {
        let letter =
            name.chars().next().filter(|&first| first.is_ascii() && !first.is_ascii_digit() && first != '\0');
        let digits = letter.map_or(name, |_| &name[1..]);
        let number: u32 = digits.parse().ok()?;
        let is_plain = number.to_string() == digits && digits.len() <= MOST_DIGITS;
        is_plain.then_some(Numeral { letter: letter.map_or(0, |letter| letter as u8), number })
    }

    fn numeral(name: &str, after: u8) -> Option<Numeral> {
        let mut bytes = [after; 8];
        let length = name.len().min(8);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        Numeral::of(bytes, name.len())
    }

    #[test]
    fn numerals_are_numbers_with_or_without_a_letter() {
        for (name, expected) in [
            ("0", Some((0, 0))),
            ("7", Some((0, 7))),
            ("x6320", Some((b'x', 6320))),
            ("T9999999", Some((b'T', 9_999_999))),
            ("9999999", Some((0, 9_999_999))),
            ("%41", Some((b'%', 41))),
            ("99999999", None),
            ("x01", None),
            ("00", None),
            ("x", None),
            ("xy1", None),
            ("x1y", None),
            ("x1:", None),
            ("x1/", None),
            ("é1", None),
            ("\u{0}1", None),
            ("", None),
        ] {
            let expected = expected.map(|(letter, number)| Numeral { letter, number });
            assert_eq!(numeral(name, b'9'), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn numerals_are_those_of_the_naive_twin(name in "[x/:9é\u{0}-]?[0-9/:x]{0,9}", after: u8) {
            prop_assert_eq!(numeral(&name, after), naive(&name), "{}", name);
        }

        #[test]
        fn what_was_learned_is_known_or_forgotten(names in prop::collection::vec("[xy\u{0}]?[0-9]{1,4}", 1..300)) {
            let mut cache = NumeralIds::default();
            let mut twin = std::collections::HashMap::new();
            for (id, name) in names.iter().enumerate() {
                let Some(numeral) = numeral(name, 0) else { continue };
                let known = cache.get(numeral);
                prop_assert!(known.is_none() || known == twin.get(name).copied());
                if known.is_none() {
                    let id = *twin.entry(name.clone()).or_insert(id as u32);
                    cache.learn(numeral, id);
                }
                let length: usize = cache.ids.iter().map(Vec::len).max().unwrap_or(0);
                prop_assert!(length <= FEWEST + GROWTH * names.len());
            }
        }
    }
}
