//! Numbers of variable length: LEB128, differences zigzagged.

/// A difference as a number that is small when the difference is.
#[inline]
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// What [`zigzag`] was given.
#[inline]
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// How many bytes the number takes.
#[inline]
pub(crate) fn length(number: u64) -> u32 {
    (70 - (number | 1).leading_zeros()) / 7
}

/// A number and the bytes after it; `None` where the bytes end first or the number has more than 64 bits.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        let shift = 7 * index as u32;
        let part = u64::from(byte & 0x7f);
        if index == 9 && part > 1 {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}
