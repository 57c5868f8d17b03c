//! The format of `printf`: which arguments its conversions take.

/// What limits how much of a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Its end.
    End,
    Bytes(usize),
    /// What the last argument of the kind [`Taken::Precision`] says.
    Given,
}

/// An argument, as a conversion takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// An integer or a pointer, or the width of what follows.
    Word,
    /// The precision of what follows: none if it is negative.
    Precision,
    Floating,
    LongDouble,
    /// The address of a text, which is read.
    Text(Limit),
    /// The same, of wide characters.
    WideText(Limit),
    /// The address where the count of what is printed goes, which has this number of bytes.
    Count(usize),
}

/// The arguments that a format takes, in order. Ends at what it does not know, such as numbered arguments.
pub(crate) struct Format<'a> {
    text: &'a [u8],
    /// A conversion that has begun: its `*` have been taken.
    limit: Option<Limit>,
}

/// The modifiers of a conversion.
struct Modifiers {
    long: u32,
    short: u32,
    /// As large as a pointer: `j`, `z`, `t`.
    whole: bool,
    /// `L`: a large floating point number.
    large: bool,
}

impl<'a> Format<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Format<'a> {
        Format { text, limit: None }
    }

    fn take_if(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        match self.text {
            [first, rest @ ..] if wanted(*first) => {
                self.text = rest;
                true
            }
            _ => false,
        }
    }

    fn number(&mut self) -> usize {
        let end = self.text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.text.len());
        let (digits, rest) = self.text.split_at(end);
        self.text = rest;
        digits.iter().fold(0, |number: usize, &digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        })
    }

    fn modifiers(&mut self) -> Modifiers {
        let mut found = Modifiers { long: 0, short: 0, whole: false, large: false };
        while let [first, rest @ ..] = self.text {
            match first {
                b'l' => found.long += 1,
                b'h' => found.short += 1,
                b'q' | b'L' => found.large = true,
                b'j' | b'z' | b'Z' | b't' => found.whole = true,
                _ => break,
            }
            self.text = rest;
        }
        found
    }

    /// Goes to the next conversion, behind its flags; whether there is one.
    fn begin(&mut self) -> bool {
        let Some(at) = self.text.iter().position(|&byte| byte == b'%') else { return false };
        self.text = &self.text[at + 1..];
        while self.take_if(|byte| b"-+ #0'I".contains(&byte)) {}
        true
    }

    /// The rest of a conversion; none if it takes no argument.
    fn end(&mut self, limit: Limit) -> Result<Option<Taken>, Unknown> {
        let modifiers = self.modifiers();
        let Some((&conversion, rest)) = self.text.split_first() else { return Err(Unknown) };
        self.text = rest;
        Ok(Some(match conversion {
            b'%' | b'm' => return Ok(None),
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => Taken::Word,
            b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' if modifiers.large => Taken::LongDouble,
            b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' => Taken::Floating,
            b'S' => Taken::WideText(limit),
            b's' if modifiers.long > 0 => Taken::WideText(limit),
            b's' => Taken::Text(limit),
            b'n' if modifiers.long > 0 || modifiers.whole || modifiers.large => Taken::Count(8),
            b'n' => Taken::Count(4 >> modifiers.short.min(2)),
            _ => return Err(Unknown),
        }))
    }
}

/// A conversion that is not known.
struct Unknown;

impl Iterator for Format<'_> {
    type Item = Taken;

    fn next(&mut self) -> Option<Taken> {
        loop {
            let limit = match self.limit.take() {
                Some(limit) => limit,
                None => {
                    if !self.begin() {
                        return None;
                    }
                    if self.take_if(|byte| byte == b'*') {
                        // What follows the width comes next.
                        self.limit = Some(Limit::End);
                        return Some(Taken::Word);
                    }
                    self.number();
                    Limit::End
                }
            };
            let limit = match limit {
                Limit::End if self.take_if(|byte| byte == b'.') => {
                    if self.take_if(|byte| byte == b'*') {
                        self.limit = Some(Limit::Given);
                        return Some(Taken::Precision);
                    }
                    Limit::Bytes(self.number())
                }
                limit => limit,
            };
            match self.end(limit) {
                Ok(Some(taken)) => return Some(taken),
                Ok(None) => {}
                Err(Unknown) => {
                    self.text = &[];
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Taken::{Count, Floating, LongDouble, Precision, Text, WideText, Word};

    fn taken(format: &str) -> Vec<Taken> {
        Format::new(format.as_bytes()).collect()
    }

    #[test]
    fn each_conversion_takes_its_argument() {
        assert_eq!(taken("%d %5lu %-08x %c %p %zu %'d"), [Word; 7]);
        assert_eq!(taken("%f %.3e %Lg %lf"), [Floating, Floating, LongDouble, Floating]);
        assert_eq!(
            taken("%s %-10s %ls %S"),
            [Text(Limit::End), Text(Limit::End), WideText(Limit::End), WideText(Limit::End)]
        );
        assert_eq!(taken("%n %hn %hhn %ln %zn"), [Count(4), Count(2), Count(1), Count(8), Count(8)]);
    }

    #[test]
    fn widths_and_precisions_are_arguments_too() {
        assert_eq!(taken("%*d|%.4s|%.s"), [Word, Word, Text(Limit::Bytes(4)), Text(Limit::Bytes(0))]);
        assert_eq!(taken("%.*s %*.*s"), [Precision, Text(Limit::Given), Word, Precision, Text(Limit::Given)]);
        assert_eq!(taken("%*.2f %.*f %s"), [Word, Floating, Precision, Floating, Text(Limit::End)]);
    }

    #[test]
    fn what_takes_nothing_and_what_is_not_known() {
        assert_eq!(taken("100 %% %m %s %"), [Text(Limit::End)]);
        assert_eq!(taken("no conversion"), []);
        assert_eq!(taken("%d %2$s %s"), [Word]);
        assert_eq!(taken("%d %y %s"), [Word]);
        assert_eq!(taken("%*"), [Word]);
    }
}
