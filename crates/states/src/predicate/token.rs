//! The words of a predicate and where they stand.

use std::ops::Range;

use super::PredicateError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Number(i64),
    /// An operator or punctuation, as it is written.
    Sign(&'static str),
    End,
}

/// Longer ones first: `<=` is not `<`.
const SIGNS: [&str; 16] =
    ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "(", ")", ",", ":"];

/// All tokens, each with its bytes; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, PredicateError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else if c == '"' {
            quoted(rest, at)?
        } else if c.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..length].parse();
            let number =
                number.map_err(|_| PredicateError::new(at..at + length, "this number is too large"))?;
            (Token::Number(number), length)
        } else if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else {
            let error = PredicateError::new(at..at + c.len_utf8(), format!("`{c}` means nothing here"));
            return Err(match c {
                '=' => error.help("equality is `==`"),
                '&' | '|' => error.help("`and` is `&&`, `or` is `||`"),
                '\'' => error.help("text is put in double quotes"),
                _ => error,
            });
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

/// Text in double quotes, in which `\` takes the next character as it is.
fn quoted(rest: &str, at: usize) -> Result<(Token, usize), PredicateError> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, c)) = characters.next() {
        match c {
            '"' => return Ok((Token::Text(text), index + 1)),
            '\\' => text.extend(characters.next().map(|(_, c)| c)),
            _ => text.push(c),
        }
    }
    Err(PredicateError::new(at..at + rest.len(), "this text is never closed").help("add a `\"`"))
}
