//! The format of `scanf`: what its conversions fill.

/// What a conversion fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// This number of bytes.
    Bytes(usize),
    /// A text, up to its end.
    Text,
}

/// A conversion of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) filled: Filled,
    /// Whether the result of the call counts it.
    pub(crate) is_counted: bool,
}

/// The conversions of a format that fill something. Ends at what it does not know.
pub(crate) struct Conversions<'a>(pub(crate) &'a [u8]);

impl Conversions<'_> {
    fn first(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> &[u8] {
        let end = self.0.iter().position(|&byte| !wanted(byte)).unwrap_or(self.0.len());
        let (skipped, rest) = self.0.split_at(end);
        self.0 = rest;
        skipped
    }

    /// Goes behind a set of characters, whose opening bracket is behind already.
    fn skip_set(&mut self) {
        self.skip(|byte| byte == b'^');
        self.0 = self.0.get(1..).unwrap_or(&[]);
        self.skip(|byte| byte != b']');
        self.0 = self.0.get(1..).unwrap_or(&[]);
    }
}

impl Iterator for Conversions<'_> {
    type Item = Conversion;

    fn next(&mut self) -> Option<Conversion> {
        loop {
            self.skip(|byte| byte != b'%');
            self.0 = self.0.get(1..)?;
            if self.first() == b'%' {
                self.0 = &self.0[1..];
                continue;
            }
            let is_dropped = !self.skip(|byte| byte == b'*').is_empty();
            let digits = self.skip(|byte| byte.is_ascii_digit());
            let width = digits.iter().fold(0_usize, |width, &digit| {
                width.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
            });
            let is_allocated = !self.skip(|byte| byte == b'm').is_empty();
            let (mut long, mut short, mut other) = (0, 0, false);
            for &byte in self.skip(|byte| b"hlLqjzt".contains(&byte)) {
                match byte {
                    b'l' => long += 1,
                    b'h' => short += 1,
                    _ => other = true,
                }
            }
            let wide = if long > 0 { 4 } else { 1 };
            let conversion = self.first();
            self.0 = self.0.get(1..)?;
            let filled = match conversion {
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => {
                    Filled::Bytes(if long > 0 || other { 8 } else { 4 >> short })
                }
                b'p' => Filled::Bytes(8),
                b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' => Filled::Bytes(match (other, long) {
                    (true, _) => 16,
                    (false, 0) => 4,
                    _ => 8,
                }),
                b'c' => Filled::Bytes(width.max(1) * wide),
                b's' if wide == 1 => Filled::Text,
                b'[' if wide == 1 => {
                    self.skip_set();
                    Filled::Text
                }
                _ => return None,
            };
            if !is_dropped {
                let filled = if is_allocated { Filled::Bytes(8) } else { filled };
                return Some(Conversion { filled, is_counted: conversion != b'n' });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(format: &str) -> Vec<Filled> {
        Conversions(format.as_bytes()).map(|conversion| conversion.filled).collect()
    }

    #[test]
    fn numbers_are_as_long_as_their_modifiers_say() {
        let sizes = |format| -> Vec<usize> {
            let size = |filled| match filled {
                Filled::Bytes(size) => size,
                Filled::Text => 0,
            };
            filled(format).into_iter().map(size).collect()
        };
        assert_eq!(sizes("%d %hd %hhd %ld %lld %zu %jx %p"), [4, 2, 1, 8, 8, 8, 8, 8]);
        assert_eq!(sizes("%f,%lf,%Lf"), [4, 8, 16]);
        assert_eq!(sizes("%c%3c%5d"), [1, 3, 4]);
    }

    #[test]
    fn texts_sets_and_what_is_dropped() {
        assert_eq!(filled("%s %% %*d %[^]a-z] %9[abc]x"), [Filled::Text; 3]);
        assert_eq!(filled("%ms %d"), [Filled::Bytes(8), Filled::Bytes(4)]);
        assert_eq!(filled("%d%"), [Filled::Bytes(4)]);
        assert_eq!(filled("%1$d %d"), []);
        assert_eq!(filled("no %"), []);
    }

    #[test]
    fn a_count_is_not_counted() {
        let counted: Vec<bool> = Conversions(b"%d%n").map(|conversion| conversion.is_counted).collect();
        assert_eq!(counted, [true, false]);
    }
}
