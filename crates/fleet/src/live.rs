//! Text on a terminal that is drawn again and again in the same place.

use std::io;

use console::Term;

/// Text that the next text takes the place of.
#[derive(Debug)]
pub(crate) struct Live {
    terminal: Term,
    /// Lines that are there.
    lines: usize,
}

impl Live {
    /// On this terminal; none: it is a file or a pipe.
    pub(crate) fn on(terminal: Term) -> Option<Live> {
        terminal.is_term().then_some(Live { terminal, lines: 0 })
    }

    /// Draws a text over the last one. Lines are cut where the terminal ends: one that goes on in the next line could not be removed.
    pub(crate) fn draw(&mut self, text: &str) -> io::Result<()> {
        let width = usize::from(self.terminal.size().1);
        let text = fitted(text, width);
        self.terminal.clear_last_lines(self.lines)?;
        self.terminal.write_str(&text)?;
        self.terminal.flush()?;
        self.lines = text.lines().count();
        Ok(())
    }

    /// Removes it.
    pub(crate) fn clear(self) -> io::Result<()> {
        self.terminal.clear_last_lines(self.lines)
    }
}

/// The text with lines of at most this width, in colours if these are wanted.
fn fitted(text: &str, width: usize) -> String {
    let colours = console::colors_enabled();
    let cut = |line: &str| {
        let line = console::truncate_str(line, width, "…");
        let line = if colours { line } else { console::strip_ansi_codes(&line).into_owned().into() };
        format!("{line}\n")
    };
    text.lines().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_the_terminal_does() {
        let text = "\u{1b}[2mcampaign  command\u{1b}[0m\n1f3a90c2  ./tests/queue_test --all\n";
        let plain = console::strip_ansi_codes(&fitted(text, 20)).into_owned();
        assert_eq!(plain, "campaign  command\n1f3a90c2  ./tests/q…\n");
        assert_eq!(console::strip_ansi_codes(&fitted(text, 80)), console::strip_ansi_codes(text));
    }
}
