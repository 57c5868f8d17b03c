//! Where a line is cut into its fields.
//!
//! A line of ordinary length is looked at as four words, whose bytes are all compared at once; how long its fields are decides no
//! branch. Longer lines are searched.

use memchr::memchr2;

/// Where an event's line is cut into its three fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) start: usize,
    /// The bar after the thread.
    pub(super) first: usize,
    /// The bar after the operation.
    pub(super) second: usize,
    /// The end of the location.
    pub(super) stop: usize,
    /// The line end.
    pub(super) end: usize,
}

/// How many bytes are looked at together.
const WINDOW: usize = 32;

/// Where the line that starts here is cut, if it is an event's: two bars, no comment.
#[inline]
pub(super) fn cut_event(bytes: &[u8], start: usize) -> Option<Cut> {
    if bytes[start] == b'#' {
        return None;
    }
    let near =
        bytes.get(start..).and_then(<[u8]>::first_chunk).and_then(|window| lowest_three(marks(window)));
    let (first, second, end) = match near {
        Some((first, second, end)) => (start + first, start + second, start + end),
        None => search(bytes, start)?,
    };
    if bytes[first] != b'|' || bytes[second] != b'|' || bytes[end] != b'\n' {
        return None;
    }
    let stop = end - usize::from(bytes[end - 1] == b'\r');
    Some(Cut { start, first, second, stop, end })
}

/// The next three bars or line ends, if there are three.
#[cold]
fn search(bytes: &[u8], start: usize) -> Option<(usize, usize, usize)> {
    let next = |from: usize| memchr2(b'|', b'\n', &bytes[from..]).map(|length| from + length);
    let first = next(start)?;
    let second = next(first + 1)?;
    Some((first, second, next(second + 1)?))
}

/// The lowest three bits that are set, if three are.
#[inline]
fn lowest_three(marks: u32) -> Option<(usize, usize, usize)> {
    let after_one = marks & marks.wrapping_sub(1);
    let after_two = after_one & after_one.wrapping_sub(1);
    let lowest = |marks: u32| marks.trailing_zeros() as usize;
    (after_two != 0).then(|| (lowest(marks), lowest(after_one), lowest(after_two)))
}

/// A bit for each of the bytes: whether it is a bar or a line end.
#[inline]
fn marks(window: &[u8; WINDOW]) -> u32 {
    let (words, _) = window.as_chunks::<8>();
    let of_word = |index: usize| marks_of_word(u64::from_le_bytes(words[index])) << (8 * index);
    of_word(0) | of_word(1) | of_word(2) | of_word(3)
}

#[inline]
fn marks_of_word(word: u64) -> u32 {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    // The high bit of each byte that is not zero.
    let differs = |byte: u8| {
        let difference = word ^ u64::from_ne_bytes([byte; 8]);
        (difference & LOW).wrapping_add(LOW) | difference
    };
    let found = !(differs(b'|') & differs(b'\n') | LOW) >> 7;
    // One bit a byte, gathered in the highest byte: each factor's bit moves one of them there, and no two meet.
    (found.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: byte by byte.
    fn naive(bytes: &[u8], start: usize) -> Option<Cut> {
        let end = start + bytes[start..].iter().position(|&byte| byte == b'\n')?;
        let bars: Vec<usize> = (start..end).filter(|&at| bytes[at] == b'|').collect();
        let [first, second] = bars[..] else { return None };
        let stop = if bytes[end - 1] == b'\r' { end - 1 } else { end };
        (bytes[start] != b'#').then_some(Cut { start, first, second, stop, end })
    }

    proptest! {
        #[test]
        fn lines_are_cut_where_the_naive_twin_cuts_them(
            lines in prop::collection::vec("(#|[a-d|é\r\u{0}\u{7c}\u{fc}\u{8a}]){0,14}([a{é]{0,14}\\|){0,3}[a-c]{0,20}\r?", 1..6),
        ) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut start = 0;
            for line in &lines {
                prop_assert_eq!(cut_event(text.as_bytes(), start), naive(text.as_bytes(), start), "{:?}", line);
                start += line.len() + 1;
            }
        }
    }
}
