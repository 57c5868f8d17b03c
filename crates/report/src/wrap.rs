//! Prose broken into lines that a terminal shows whole.

/// How wide prose may become.
const WIDTH: usize = 100;

/// The text in lines of at most 100 characters where its words allow it, the first indented by `first`,
/// the others by `rest` spaces. Ends with a line end.
pub fn wrapped(text: &str, first: usize, rest: usize) -> String {
    let mut out = " ".repeat(first);
    let mut column = first;
    let mut at_start = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !at_start && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(rest));
            column = rest;
            at_start = true;
        }
        if !at_start {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        at_start = false;
    }
    out.push('\n');
    out
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
    }
}
