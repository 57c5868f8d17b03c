//! Nidhugg, a stateless model checker, for comparison: it runs every reads-from equivalence class of a program once (`--sc --rf`), in LLVM's
//! interpreter, until one fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::manifest::Program;
use crate::search::cpu_of_children;

/// The seconds that one search may take, and the KiB of memory.
const LIMIT: &str = "60";
const MEMORY: &str = "4000000";

/// What comes before the reason for which it gives up.
const UNSUPPORTED: &str = "not supported:";

/// Included before a program: Nidhugg's `--rf` takes no function that it does not know, and what a program prints is of no interest. No header is
/// included, because some programs were preprocessed with other ones.
const SILENT: &str = "\
#ifndef __cplusplus
int silent_printf(const char *format, ...) { return 0; }
int silent_puts(const char *text) { return 0; }
int silent_putchar(int character) { return 0; }
#define printf silent_printf
#define puts silent_puts
#define putchar silent_putchar
#endif
";

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// In this trace, after this many CPU seconds, with this error.
    Failed { traces: u64, cpu: f64, error: String },
    /// All traces were run, and none failed.
    Complete { traces: u64, cpu: f64 },
    /// The time was up.
    Time,
    /// It does not accept the program.
    Refused { reason: String },
}

/// The program `nidhugg`, as the variable `NIDHUGG` names it.
pub(crate) struct Nidhugg {
    program: PathBuf,
    /// The compilers of the LLVM that it was built with: `NIDHUGG_CLANG` if that is not `clang`.
    clang: String,
}

impl Ended {
    /// The traces and the CPU seconds, as two cells of a table.
    pub(crate) fn shown(&self) -> String {
        match self {
            Ended::Failed { traces, cpu, .. } => format!("{traces} | {cpu:.2}"),
            Ended::Complete { traces, cpu } => format!("none of {traces} | {cpu:.2}"),
            Ended::Time => "- | -".to_owned(),
            Ended::Refused { reason } => format!("not taken: {reason} | -"),
        }
    }
}

impl Nidhugg {
    pub(crate) fn named() -> Option<Nidhugg> {
        let program = PathBuf::from(std::env::var_os("NIDHUGG")?);
        let clang = std::env::var("NIDHUGG_CLANG").unwrap_or("clang".to_owned());
        Some(Nidhugg { program, clang })
    }

    /// What the introduction of a table says of it.
    pub(crate) fn described() -> String {
        format!(
            "`nidhugg --sc --rf` of up to {LIMIT} s, with its transformations, on a program whose output is left out"
        )
    }

    /// Searches a program; its parts are put into this directory.
    pub(crate) fn search(&self, program: &Program, place: &Path) -> Result<Ended, String> {
        let (module, changed) = (place.join("module.ll"), place.join("changed.ll"));
        let silent = place.join("silent.h");
        std::fs::write(&silent, SILENT).map_err(|error| format!("{}: {error}", silent.display()))?;
        let _ = std::fs::remove_file(&changed);
        let [cc, cxx] = ["", "++"].map(|suffix| {
            let options = "-w -S -emit-llvm -Xclang -disable-O0-optnone -include";
            format!("{}{suffix} {options} {}", self.clang, silent.display())
        });
        if program.build(&module, &cc, &cxx).is_err() {
            return Ok(Ended::Refused { reason: "does not build as one LLVM module".to_owned() });
        }
        // Loops that only wait are ended at their first turn instead of being run forever.
        let option = format!("--transform={}", changed.display());
        let (said, _) = self.output(&[&option, &module.display().to_string()])?;
        if !changed.exists() {
            return Ok(Ended::Refused { reason: reason(&said) });
        }
        let begin = cpu_of_children()?;
        let mut arguments = vec!["--sc", "--rf", "--no-check-mutex-init"];
        let changed = changed.display().to_string();
        arguments.push(&changed);
        arguments.push("--");
        arguments.extend(program.arguments.iter().map(String::as_str));
        let (said, in_time) = self.output(&arguments)?;
        let cpu = cpu_of_children()? - begin;
        Ok(if in_time { ended(&said, cpu) } else { Ended::Time })
    }

    /// What it says, and whether it ended in time.
    fn output(&self, arguments: &[&str]) -> Result<(String, bool), String> {
        let output = Command::new("sh")
            .args(["-c", "ulimit -v \"$0\"; exec timeout \"$@\" 2>&1", MEMORY, LIMIT])
            .arg(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run nidhugg: {error}"))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code() != Some(124)))
    }
}

fn ended(said: &str, cpu: f64) -> Ended {
    let after = |start: &str| said.lines().find_map(|line| line.trim().strip_prefix(start)).map(str::trim);
    let traces = after("Trace count:").and_then(|count| count.split([' ', '(']).next()?.parse().ok());
    let error = after("Error:");
    match (traces, error) {
        (Some(traces), None) if said.contains("No errors were detected.") => Ended::Complete { traces, cpu },
        (Some(_), Some(error)) if error.contains(UNSUPPORTED) => {
            let (_, reason) = error.split_once(UNSUPPORTED).unwrap_or_default();
            Ended::Refused { reason: reason.trim().to_owned() }
        }
        (Some(traces), Some(error)) => Ended::Failed { traces, cpu, error: error.to_owned() },
        _ => Ended::Refused { reason: reason(said) },
    }
}

/// The first line that says why it gave up.
fn reason(said: &str) -> String {
    let line = said.lines().find(|line| line.to_lowercase().contains("error"));
    line.or_else(|| said.lines().last()).unwrap_or("it crashed").trim().replace('|', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_says_how_it_ended() {
        let complete = "Trace count: 23\nNo errors were detected.\n";
        assert_eq!(ended(complete, 0.5), Ended::Complete { traces: 23, cpu: 0.5 });
        let failed = "Trace count: 4 (also 2 sleepset blocked)\n\n Error detected:\n  (<0>,1)\n  Error: Assertion violation at (<0>,46): (x)\n";
        let error = "Assertion violation at (<0>,46): (x)".to_owned();
        assert_eq!(ended(failed, 0.5), Ended::Failed { traces: 4, cpu: 0.5, error });
        let refused = "Trace count: 1\n\n Error detected:\n  (<0>,1)\n  Error: Operation at (<0>,3) not supported: RFSC does not support condition variables\n";
        let reason = "RFSC does not support condition variables".to_owned();
        assert_eq!(ended(refused, 0.5), Ended::Refused { reason });
        assert_eq!(ended("", 0.5), Ended::Refused { reason: "it crashed".to_owned() });
    }
}
