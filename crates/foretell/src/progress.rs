//! Progress bars: on standard error, only when it is a terminal, and not for those who want quiet.

use std::io::{self, Read, Write};

use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::Manner;

/// A bar over an amount of work that is known.
pub fn of_bytes(doing: &str, bytes: u64, manner: Manner) -> ProgressBar {
    bar(doing, bytes, "{binary_bytes}/{binary_total_bytes}, {eta} left", manner)
}

/// A bar over a number of events.
pub fn of_events(doing: &str, events: u64, manner: Manner) -> ProgressBar {
    bar(doing, events, "{human_pos}/{human_len} events, {eta} left", manner)
}

/// A sign of life where the amount of work is unknown.
pub fn of_unknown(doing: &str, manner: Manner) -> ProgressBar {
    if manner.quiet {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(doing.to_owned());
    spinner.set_style(style("{spinner} {msg} {binary_bytes}"));
    spinner
}

fn bar(doing: &str, length: u64, figures: &str, manner: Manner) -> ProgressBar {
    if manner.quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length).with_message(doing.to_owned());
    bar.set_style(style(&format!("{{msg}} [{{bar:30}}] {figures}")));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|error| unreachable!("a template of ours is malformed: {error}"))
        .progress_chars("=> ")
}

/// A reader or writer that moves a bar as bytes pass through it.
#[derive(Debug)]
pub struct Watched<T> {
    /// What is read or written.
    pub inner: T,
    /// The bar it moves.
    pub bar: ProgressBar,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
