//! How names that hold a delimiter are spelled: `%` and two digits for the byte.
//!
//! Only these are decoded, so that a `%` in traces from elsewhere mostly stays what it is.
//! `#` is written so only where a line would start with it and be taken for a comment.

use std::borrow::Cow;

const DECODED: [(&str, char); 5] = [("%7C", '|'), ("%0A", '\n'), ("%0D", '\r'), ("%25", '%'), ("%23", '#')];

/// Whether some names of a text may have to be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Escapes {
    #[default]
    None,
    Some,
}

impl Escapes {
    /// Those of a text, which is looked at once for all of its names.
    pub(super) fn of(text: &str) -> Escapes {
        if memchr::memchr(b'%', text.as_bytes()).is_some() { Escapes::Some } else { Escapes::None }
    }

    /// The name that is spelled so in the text.
    #[inline]
    pub(super) fn decode(self, spelled: &str) -> Cow<'_, str> {
        match self {
            Escapes::None => Cow::Borrowed(spelled),
            Escapes::Some => decode(spelled),
        }
    }
}

/// The name that is spelled so.
pub(super) fn decode(spelled: &str) -> Cow<'_, str> {
    if !spelled.as_bytes().contains(&b'%') {
        return Cow::Borrowed(spelled);
    }
    let mut name = String::with_capacity(spelled.len());
    let mut rest = spelled;
    while let Some(next) = rest.chars().next() {
        let known = DECODED.iter().find(|(code, _)| rest.starts_with(code));
        let (length, meant) = known.map_or((next.len_utf8(), next), |&(code, meant)| (code.len(), meant));
        name.push(meant);
        rest = &rest[length..];
    }
    Cow::Owned(name)
}

/// Which bytes of a name cannot stand for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Ours: all but the delimiters can.
    Own,
    /// RAPID's: white space cannot either.
    Rapid,
}

impl Dialect {
    fn must_encode(self, byte: u8) -> bool {
        match byte {
            b'|' | b'\n' | b'\r' | b'%' => true,
            b' ' | b'\t' | 0x0b | 0x0c => self == Dialect::Rapid,
            _ => false,
        }
    }
}

/// Appends a name as it is spelled.
pub(super) fn encode(name: &str, dialect: Dialect, out: &mut Vec<u8>) {
    if !name.bytes().any(|byte| dialect.must_encode(byte)) {
        return out.extend_from_slice(name.as_bytes());
    }
    for byte in name.bytes() {
        if dialect.must_encode(byte) {
            encode_byte(byte, out);
        } else {
            out.push(byte);
        }
    }
}

/// Appends a name that starts a line as it is spelled.
pub(super) fn encode_first(name: &str, dialect: Dialect, out: &mut Vec<u8>) {
    match name.strip_prefix('#') {
        Some(rest) => {
            encode_byte(b'#', out);
            encode(rest, dialect, out);
        }
        None => encode(name, dialect, out),
    }
}

fn encode_byte(byte: u8, out: &mut Vec<u8>) {
    let digit = |value: u8| b"0123456789ABCDEF"[value as usize];
    out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_delimiters_are_decoded() {
        assert_eq!(decode("a%7Cb%0A%0D%25%23%"), "a|b\n\r%#%");
        assert_eq!(decode("%41 %7c %2523 %é%2"), "%41 %7c %23 %é%2");
        assert!(matches!(decode("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn decoding_undoes_encoding() {
        for name in ["", "x", "#x", "##", "a|b", "100%", "%25", "%7C", "a\r\n", "é|é"] {
            let mut spelled = Vec::new();
            encode_first(name, Dialect::Own, &mut spelled);
            let spelled = String::from_utf8(spelled).unwrap();
            assert!(!spelled.contains(['|', '\n', '\r']) && !spelled.starts_with('#'), "{spelled}");
            assert_eq!(decode(&spelled), name);
        }
    }
}
