//! JSON in which what cannot be seen is spelled out (`\u202e`): the same values to a program, and no tricks on a terminal or in a viewer.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::words::is_hidden;

/// Writes a value as JSON on one line.
pub fn write_plain_json(out: &mut dyn Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, SpelledOut))
}

/// The same as text.
pub fn plain_json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|json| spelled_out(&json))
}

/// The same of JSON that is there. All that is not in a string is visible, or a line break.
pub(crate) fn spelled_out(json: &str) -> String {
    let mut text = Vec::with_capacity(json.len());
    // Memory takes all that is written.
    let _ = write_spelled_out(&mut text, json);
    String::from_utf8_lossy(&text).into_owned()
}

struct SpelledOut;

impl Formatter for SpelledOut {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        write_spelled_out(out, fragment)
    }
}

fn write_spelled_out<W: ?Sized + Write>(out: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, hidden)) = rest.char_indices().find(|&(_, c)| c != '\n' && is_hidden(c)) {
        out.write_all(&rest.as_bytes()[..at])?;
        for unit in hidden.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = &rest[at + hidden.len_utf8()..];
    }
    out.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_spelled_out_and_means_the_same() {
        let names = ["x\u{202e}y", "\u{9b}2J", "a\nb\u{1b}", "\u{e0041}", "é 名", "\u{7f}"];
        let mut json = Vec::new();
        write_plain_json(&mut json, &names).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json, r#"["x\u202ey","\u009b2J","a\nb\u001b","\udb40\udc41","é 名","\u007f"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), names);
        let pretty = spelled_out(&serde_json::to_string_pretty(&names).unwrap());
        assert_eq!(serde_json::from_str::<Vec<String>>(&pretty).unwrap(), names);
        assert!(!pretty.chars().any(|c| c != '\n' && is_hidden(c)), "{pretty:?}");
    }
}
