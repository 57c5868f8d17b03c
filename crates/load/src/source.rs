//! The source text at a location: the words and signs of a statement.

use std::fs;
use std::rc::Rc;

use rustc_hash::FxHashMap;

/// Files of more bytes are not read.
const MOST_BYTES: u64 = 16 << 20;
/// Lines before and after a location that may belong to its statement.
const FURTHER_LINES: usize = 3;

/// A word or a sign of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name or a number.
    Word(&'t str),
    /// `->`, `::`, or one character.
    Sign(&'t str),
}

/// The source files that were looked at.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    files: FxHashMap<String, Option<Rc<Vec<String>>>>,
}

impl SourceFiles {
    fn lines(&mut self, path: &str) -> Option<Rc<Vec<String>>> {
        let read = || {
            let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
            let text = (length <= MOST_BYTES).then(|| fs::read(path).ok())??;
            Some(Rc::new(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()))
        };
        self.files.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// A line of a file, counted from 1.
    pub(super) fn line(&mut self, path: &str, line: u32) -> Option<String> {
        self.lines(path)?.get((line as usize).checked_sub(1)?).cloned()
    }

    /// The statement that a line belongs to, as far as its punctuation says.
    pub(super) fn statement(&mut self, path: &str, line: u32) -> Option<String> {
        let lines = self.lines(path)?;
        let at = (line as usize).checked_sub(1).filter(|&at| at < lines.len())?;
        let ends = |line: &str| {
            let line = line.split("//").next().unwrap_or_default().trim_end();
            line.is_empty() || line.ends_with([';', '{', '}', ':']) || line.starts_with('#')
        };
        let start = (at.saturating_sub(FURTHER_LINES)..at).rev().find(|&before| ends(&lines[before]));
        let start = start.map_or(at.saturating_sub(FURTHER_LINES), |before| before + 1);
        let last = lines.len().min(at + 1 + FURTHER_LINES) - 1;
        let end = (at..last).find(|&after| ends(&lines[after])).unwrap_or(last);
        Some(lines[start..=end].join("\n"))
    }
}

/// The words and signs of a text. Comments and what is in quotes are left out.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let skip = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            quoted(rest)
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            end
        } else {
            let end = if rest.starts_with("->") || rest.starts_with("::") { 2 } else { first.len_utf8() };
            tokens.push(Token::Sign(&rest[..end]));
            end
        };
        rest = &rest[skip..];
    }
    tokens
}

/// The length of the text in quotes that a text starts with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words_and_signs() {
        let joined = |text| {
            let words = tokens(text).into_iter().map(|token| match token {
                Token::Word(word) | Token::Sign(word) => word,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined("c->state[i].x += 2; // c"), "c -> state [ i ] . x + = 2 ;");
        assert_eq!(joined("f(\"a \\\" b\", /* no */ x)"), "f ( , x )");
        assert_eq!(joined("auto *p = new ns::Node<int>();"), "auto * p = new ns :: Node < int > ( ) ;");
    }

    #[test]
    fn a_statement_spans_lines() {
        let mut files = SourceFiles::default();
        let text = ["int x;", "  conn *c =", "    calloc(1,", "      sizeof(conn));", "c->x = 1;"];
        files.files.insert("a.c".into(), Some(Rc::new(text.map(str::to_owned).to_vec())));
        let whole = "  conn *c =\n    calloc(1,\n      sizeof(conn));";
        assert_eq!(files.statement("a.c", 3).as_deref(), Some(whole));
        assert_eq!(files.statement("a.c", 2).as_deref(), Some(whole));
        assert_eq!(files.statement("a.c", 5).as_deref(), Some("c->x = 1;"));
        assert_eq!(files.line("a.c", 1).as_deref(), Some("int x;"));
        assert_eq!(files.line("a.c", 6), None);
    }
}
