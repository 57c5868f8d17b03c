//! `foretell list`, `clean` and `open`: the runs that are kept.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use pipeline::runs::{KeptRun, prune, runs};
use pipeline::saved;
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::output;
use crate::table::{Align, Table, bytes, counted, name};

/// List the hunts and suites that are kept.
#[derive(Debug, Args)]
pub struct List {
    /// Where results are kept.
    #[arg(long, value_name = "DIRECTORY", default_value = ".foretell")]
    results: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report {
    schema: u32,
    runs: Vec<KeptRun>,
}

impl List {
    /// Lists them, the newest last.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let runs = runs(&self.results)?;
        if self.mode.json {
            output::print_json(&Report { schema: 1, runs })?;
            return Ok(Exit::Nothing);
        }
        if runs.is_empty() {
            output::print(&format!("no runs in {}\n", self.results.display()))?;
            return Ok(Exit::Nothing);
        }
        let mut table = Table::new(&[
            ("run", Align::Right),
            ("age", Align::Right),
            ("size", Align::Right),
            ("findings", Align::Right),
            ("command", Align::Left),
        ]);
        for run in &runs {
            let findings = run.findings.map_or("interrupted".to_owned(), |count| count.to_string());
            let tests = run.tests.map(|tests| format!(" ({})", counted(tests as u64, "test")));
            let command = name(&run.command) + &tests.unwrap_or_default();
            table.row([run.number.to_string(), age(run.seconds_ago), bytes(run.bytes), findings, command]);
        }
        output::print(&table.render())?;
        Ok(Exit::Nothing)
    }
}

/// `12 s`, `5 min`, `3 h`, `2 days`.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => counted(seconds / 86_400, "day"),
    }
}

/// Remove the results of old hunts and suites; the newest are kept.
#[derive(Debug, Args)]
pub struct Clean {
    /// How many runs to keep.
    #[arg(long, value_name = "N", default_value_t = 1)]
    keep: usize,
    /// Where results are kept.
    #[arg(long, value_name = "DIRECTORY", default_value = ".foretell")]
    results: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
}

impl Clean {
    /// Removes them, and says what that freed.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let removed = prune(&self.results, self.keep)?;
        let freed: u64 = removed.iter().map(|run| run.bytes).sum();
        if self.mode.json {
            output::print_json(&Report { schema: 1, runs: removed })?;
        } else if !self.mode.quiet {
            let runs = counted(removed.len() as u64, "run");
            output::print(&format!("removed {runs}, {}\n", bytes(freed)))?;
        }
        Ok(Exit::Nothing)
    }
}

/// Open the report of a run in a browser.
#[derive(Debug, Args)]
pub struct Open {
    /// The directory of a hunt or a suite.
    #[arg(value_name = "RUN", default_value = saved::LATEST)]
    run: PathBuf,
}

impl Open {
    /// Has the system open the page.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let page = self.run.join("report.html");
        if !page.is_file() {
            return Err(Diagnostic::new(format!("there is no report in `{}`", self.run.display())).help(
                "`foretell list` shows the runs; `foretell report RUN --html report.html` writes a page",
            ));
        }
        let opener = std::env::var_os("BROWSER").unwrap_or_else(|| OsString::from("xdg-open"));
        let status = Command::new(&opener).arg(&page).status();
        match status {
            Ok(status) if status.success() => Ok(Exit::Nothing),
            _ => Err(Diagnostic::new(format!("`{}` could not open the report", opener.to_string_lossy()))
                .help(format!("set BROWSER, or open {} yourself", page.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_as_people_say_them() {
        let said = [0, 59, 60, 7199, 7200, 86_400, 200_000].map(age);
        assert_eq!(said, ["0 s", "59 s", "1 min", "1 h", "2 h", "1 day", "2 days"]);
    }
}
