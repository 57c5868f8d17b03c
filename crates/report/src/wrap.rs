//! Prose broken into lines that fit a terminal.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// How wide prose may become.
const WIDTH: usize = 100;

/// The text in lines of at most 100 columns where its words allow it, the first indented by `first`,
/// the others by `rest` spaces. Ends with a line end.
pub fn wrapped(text: &str, first: usize, rest: usize) -> String {
    let (first, rest) = (" ".repeat(first), " ".repeat(rest));
    // Names and paths are never split, so that they can be searched and copied.
    let options = Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_and_not_too_long() {
        let text = wrapped(&"word ".repeat(40), 2, 5);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("  w") && lines[1].starts_with("     w"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH && !line.ends_with(' ')));
        assert_eq!(wrapped(&"x".repeat(200), 1, 2), format!(" {}\n", "x".repeat(200)));
        assert_eq!(wrapped("a-b c", 0, 0), "a-b c\n");
    }
}
