//! Pages of the documentation whose commands are run by tests as they stand there.
//!
//! A command is an indented line that begins with `$ `; the indented lines after it are what it prints, `..` standing for any others. A comment before a
//! fenced block says what the block is: `<!-- file: PATH -->` its content, `<!-- patch -->` a change to apply. Other comments of the form
//! `<!-- test: WORDS -->` are for the test.

/// What a page says is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// A command is run.
    Command {
        /// The command.
        command: String,
        /// The lines that it prints.
        expected: Vec<String>,
    },
    /// A file is written.
    File {
        /// Its path.
        path: String,
        /// Its content.
        content: String,
    },
    /// A patch is applied.
    Patch(String),
    /// Something that the test knows how to do.
    Test(String),
}

/// The steps of a page, in its order.
///
/// # Panics
///
/// If a comment is not followed by a fenced block.
pub fn steps(page: &str) -> Vec<SessionStep> {
    let mut steps: Vec<SessionStep> = Vec::new();
    let mut lines = page.lines();
    let mut open = false;
    while let Some(line) = lines.next() {
        let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        match comment.map(|comment| comment.split_once(": ").unwrap_or((comment, ""))) {
            Some(("file", path)) => {
                steps.push(SessionStep::File { path: path.to_owned(), content: fenced(&mut lines) });
            }
            Some(("patch", "")) => steps.push(SessionStep::Patch(fenced(&mut lines))),
            Some(("test", words)) => steps.push(SessionStep::Test(words.to_owned())),
            _ => {}
        }
        match (line.strip_prefix("    "), steps.last_mut()) {
            (None, _) => open = open && line.is_empty(),
            (Some(line), _) if line.starts_with("$ ") => {
                open = true;
                steps.push(SessionStep::Command { command: line[2..].to_owned(), expected: Vec::new() });
            }
            (Some(line), Some(SessionStep::Command { expected, .. })) if open => {
                expected.push(line.to_owned())
            }
            _ => {}
        }
    }
    steps
}

/// The content of the fenced block that comes next.
fn fenced<'l>(lines: &mut impl Iterator<Item = &'l str>) -> String {
    let opening = lines.find(|line| !line.is_empty());
    assert!(opening.is_some_and(|line| line.starts_with("```")), "a fenced block, not {opening:?}");
    lines.take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect()
}

/// Whether this is what was to be printed; if not, the first line that was not.
pub fn compare(expected: &[String], printed: &str) -> Result<(), String> {
    let mut lines = printed.lines();
    let mut any = false;
    for line in expected {
        if line == ".." {
            any = true;
            continue;
        }
        let found = if any { lines.any(|printed| printed == line) } else { lines.next() == Some(line) };
        if !found {
            return Err(format!("it does not print: {line}"));
        }
        any = false;
    }
    match lines.next().filter(|_| !any) {
        Some(more) => Err(format!("it also prints: {more}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_in_its_order() {
        let page = "Text.\n\n    $ one\n    printed\n\n    more\n\nText\n\n    not a command\n\n<!-- file: a/b.c -->\n```c\nint x;\n```\n\
                    <!-- patch -->\n\n```diff\n-a\n```\n<!-- test: the job fails -->\n    $ two\n";
        let command = |command: &str, expected: &[&str]| SessionStep::Command {
            command: command.to_owned(),
            expected: expected.iter().map(|&line| line.to_owned()).collect(),
        };
        let expected = [
            command("one", &["printed", "more"]),
            SessionStep::File { path: "a/b.c".to_owned(), content: "int x;\n".to_owned() },
            SessionStep::Patch("-a\n".to_owned()),
            SessionStep::Test("the job fails".to_owned()),
            command("two", &[]),
        ];
        assert_eq!(steps(page), expected);
    }

    #[test]
    fn dots_stand_for_any_lines() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(compare(&lines("..\nb\n.."), "a\nb\nc\n"), Ok(()));
        assert_eq!(compare(&lines("a\n..\nc"), "a\nc\n"), Ok(()));
        assert_eq!(compare(&lines("..\nc"), "a\nb\n"), Err("it does not print: c".to_owned()));
        assert_eq!(compare(&lines("a"), "a\nb\n"), Err("it also prints: b".to_owned()));
        assert!(compare(&lines("b"), "a\nb\n").is_err());
    }
}
