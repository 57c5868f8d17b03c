//! All states of a class, written as they are found: there may be more than memory holds.

use std::io::{self, Write};
use std::ops::ControlFlow;

use report::SCHEMA;
use states::{Exhausted, walk_on_all_cores};

use super::{StatesQuery, text};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;

/// How a list ended.
pub(super) struct Ending {
    pub(super) listed: u64,
    /// All states of the class were listed.
    pub(super) whole: bool,
    exhausted: Option<Exhausted>,
}

/// States in a row, made ready for writing.
#[derive(Default)]
struct Written {
    text: Vec<u8>,
    /// Where each state ends.
    ends: Vec<usize>,
}

impl Written {
    /// The most that are listed.
    fn first(&self, most: u64) -> (&[u8], u64) {
        let count = (self.ends.len() as u64).min(most);
        let end = count.checked_sub(1).map_or(0, |last| self.ends[last as usize]);
        (&self.text[..end], count)
    }
}

impl StatesQuery<'_> {
    /// Writes all states, or as many as were asked for.
    pub(super) fn list(&self) -> Result<Exit, Diagnostic> {
        let json = self.states.mode.json;
        let end = output::to_stdout(|out| self.write_list(out));
        let Some(ending) = end? else { return Ok(Exit::Nothing) };
        if !self.states.mode.quiet && !json {
            eprintln!("{}", text::listed(&ending, self.class()));
        }
        match ending.exhausted {
            Some(exhausted) => super::told_exhausted(exhausted),
            None => Ok(Exit::Nothing),
        }
    }

    fn write_list(&self, out: &mut dyn Write) -> io::Result<Ending> {
        let json = self.states.mode.json;
        let columns = text::Columns::new(self.trace, &self.loset);
        if json {
            write!(out, "{}", self.json_before_states()?)?;
        } else {
            writeln!(out, "{}", columns.heading())?;
        }
        let most = self.states.limit.unwrap_or(u64::MAX);
        let write_one = |written: &mut Written, state: &[u32]| {
            if written.ends.len() as u64 > most {
                return ControlFlow::Break(());
            }
            // Writing to memory does not fail.
            let _ = match json {
                true => write!(written.text, ",{}", serde_json::json!(state)),
                false => writeln!(written.text, "{}", columns.row(state)),
            };
            written.ends.push(written.text.len());
            ControlFlow::Continue(())
        };
        let mut bar = self.progress("listing");
        let (mut listed, mut more, mut result) = (0u64, false, Ok(()));
        let walked = walk_on_all_cores(
            self.trace,
            &self.loset,
            self.class(),
            self.limits,
            write_one,
            |written, at| {
                let (text, count) = written.first(most - listed);
                more = count < written.ends.len() as u64;
                // Of the states of JSON, the first has none before it.
                let text = if json && listed == 0 { text.get(1..).unwrap_or_default() } else { text };
                result = out.write_all(text);
                listed += count;
                bar.update(at);
                if more || result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        bar.finish();
        result?;
        let ending =
            Ending { listed, whole: walked == Ok(ControlFlow::Continue(())), exhausted: walked.err() };
        if json {
            writeln!(out, "{}", self.json_after_states(&ending))?;
        }
        Ok(ending)
    }

    /// Everything before the states themselves.
    fn json_before_states(&self) -> serde_json::Result<String> {
        let class = report::plain_json(&self.states.class)?;
        let threads: Vec<&str> = self.trace.symbols().threads.iter().collect();
        let threads = report::plain_json(&threads)?;
        Ok(format!("{{\"schema\":{SCHEMA},\"class\":{class},\"threads\":{threads},\"states\":["))
    }

    fn json_after_states(&self, ending: &Ending) -> String {
        let count = serde_json::json!(self.count_of_listed(ending));
        let exhausted = serde_json::json!(ending.exhausted.map(|exhausted| exhausted.to_string()));
        format!(
            "],\"count\":{count},\"cut\":null,\"holds\":null,\"path\":null,\"schedule\":null,\"exhausted\":{exhausted}}}"
        )
    }

    /// How many there are if they were all listed, and else as far as they can be counted.
    fn count_of_listed(&self, ending: &Ending) -> Option<String> {
        if ending.whole {
            return Some(ending.listed.to_string());
        }
        let mut bar = self.progress("counting");
        let count = states::count(self.trace, &self.loset, self.class(), self.limits, |at| bar.update(at));
        bar.finish();
        count.ok().map(|count| count.to_string())
    }
}
