//! Telling contents apart.

/// A number that differs between contents (FNV-1a); no protection against those who want it not to.
pub(crate) fn of<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const FACTOR: u64 = 0x0100_0000_01b3;
    bytes.into_iter().fold(START, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FACTOR))
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_the_published_function() {
        assert_eq!(super::of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::of(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
