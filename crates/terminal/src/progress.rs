//! Progress bars: on standard error, only when it is a terminal, and not for those who want quiet.

use std::fmt;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::mode::OutputMode;

/// A bar over an amount of work that is known.
pub fn of_bytes(doing: &str, bytes: u64, mode: OutputMode) -> ProgressBar {
    bar(doing, bytes, "{binary_bytes}/{binary_total_bytes}, {eta} left", mode)
}

/// A bar over a number of events.
pub fn of_events(doing: &str, events: u64, mode: OutputMode) -> ProgressBar {
    bar(doing, events, "{human_pos}/{human_len} events, {eta} left", mode)
}

/// A sign of life where the amount of work is unknown.
pub fn of_unknown(doing: &str, mode: OutputMode) -> ProgressBar {
    if mode.quiet {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(doing.to_owned());
    spinner.set_style(style("{spinner} {msg} {binary_bytes}"));
    spinner
}

/// A stage that nobody knows the length of.
pub fn of_stage(doing: &str, mode: OutputMode) -> ProgressBar {
    let bar = if mode.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    bar.set_style(style("{spinner} {msg}, {elapsed}"));
    bar.set_message(doing.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}

/// A stage over a number of things of a kind.
pub fn of_items(count: u64, kind: &str, mode: OutputMode) -> ProgressBar {
    let bar = if mode.quiet { ProgressBar::hidden() } else { ProgressBar::new(count) };
    let template = format!("{{spinner}} {{msg}} [{{bar:30}}] {{pos}}/{{len}} {kind}s, {{elapsed}}{{left}}");
    bar.set_style(style(&template).with_key("left", write_left));
    bar.enable_steady_tick(TICK);
    bar
}

/// How long the rest takes, once something is done that tells.
fn write_left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if 0 < state.pos() && Some(state.pos()) < state.len() {
        let _ = write!(out, ", about {} left", HumanDuration(state.eta()));
    }
}

/// Says something on standard error, if anybody is there to hear it.
pub fn say(what: &str) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// How often a sign of life moves.
const TICK: Duration = Duration::from_millis(100);

/// A bar over states, whose number is not known: it shows how many were looked at, how fast, and how long the
/// rest may take. It appears only once the work has proved to be long.
#[derive(Debug)]
pub struct StatesBar {
    bar: ProgressBar,
    doing: String,
    started: Instant,
    shown: bool,
}

/// What takes no longer needs no bar.
const SHOWN_AFTER: Duration = Duration::from_millis(500);
/// The length of a bar over a share.
const WHOLE: u64 = 10_000;

impl StatesBar {
    /// Starts the clock.
    pub fn new(doing: &str, mode: OutputMode) -> Self {
        let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::hidden());
        bar.set_style(style("{msg}"));
        StatesBar { bar, doing: doing.to_owned(), started: Instant::now(), shown: mode.quiet }
    }

    /// The number of states that were visited, and the share of the work that is done, if it is known.
    pub fn update(&mut self, looked: u64, share: Option<f64>) {
        let elapsed = self.started.elapsed();
        if elapsed < SHOWN_AFTER {
            return;
        }
        if !self.shown {
            self.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            if share.is_some() {
                self.bar.set_style(style("{msg} [{bar:30}] {percent} %"));
            }
        }
        let share = share.map(|share| share.clamp(0.0, 1.0));
        self.bar.set_position((share.unwrap_or(0.0) * WHOLE as f64) as u64);
        self.bar.set_message(how_far(&self.doing, looked, elapsed, share));
    }

    /// Takes it away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `counting 12,000,000 states, 24,000,000/s, about 3 minutes left`.
fn how_far(doing: &str, looked: u64, elapsed: Duration, share: Option<f64>) -> String {
    let rate = (looked as f64 / elapsed.as_secs_f64()) as u64;
    let told = format!("{doing} {} states, {}/s", HumanCount(looked), HumanCount(rate));
    // So little tells nothing.
    let Some(share) = share.filter(|&share| share > 1e-4) else { return told };
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    match Duration::try_from_secs_f64(left) {
        Ok(left) => format!("{told}, about {} left", HumanDuration(left)),
        Err(_) => told,
    }
}

fn bar(doing: &str, length: u64, figures: &str, mode: OutputMode) -> ProgressBar {
    if mode.quiet {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_fast_and_how_long() {
        let after = |seconds, share| how_far("counting", 10_000_000, Duration::from_secs(seconds), share);
        assert_eq!(after(2, Some(0.25)), "counting 10,000,000 states, 5,000,000/s, about 6 seconds left");
        assert_eq!(after(4, Some(0.0)), "counting 10,000,000 states, 2,500,000/s");
        assert_eq!(after(4, None), "counting 10,000,000 states, 2,500,000/s");
    }
}
