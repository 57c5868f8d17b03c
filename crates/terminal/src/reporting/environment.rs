//! `FORETELL_OPTIONS`: settings from the environment, in the syntax of TSAN_OPTIONS: `key=value` set apart by spaces, commas,
//! colons or line ends; a value with such characters stands in quotes. What the command line says comes first.
//!
//! Then comes what the user has set for ThreadSanitizer: `TSAN_OPTIONS`, and what the program's `__tsan_default_options` returns. Of
//! these only what says which reports are wanted is of use here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use report::ReportFlag;
use trace::Metadata;

use super::Outputs;
use crate::diagnostics::Diagnostic;

/// The variable.
const NAME: &str = "FORETELL_OPTIONS";
const TSAN_NAME: &str = "TSAN_OPTIONS";
const KNOWN: &str = "suppressions, print_suppressions, exitcode, html, sarif, junit, markdown, perfetto";

/// Fills in what the command line left open.
pub(super) fn fill(outputs: &mut Outputs, metadata: &Metadata) -> Result<(), Diagnostic> {
    fill_from_own(outputs)?;
    // The later ones give way to the earlier.
    let environment = std::env::var(TSAN_NAME).unwrap_or_default();
    let mut options = pairs_before_mistake(&environment);
    options.extend(pairs_before_mistake(&metadata.tsan_options));
    let mut seen: Vec<&str> = Vec::new();
    for (key, value) in &options {
        if seen.contains(&key.as_str()) {
            continue;
        }
        seen.push(key);
        fill_from_tsan(outputs, key, value, metadata);
    }
    Ok(())
}

/// One of ThreadSanitizer's own options. Most of them mean nothing here, and mistakes in them are ThreadSanitizer's to report.
fn fill_from_tsan(outputs: &mut Outputs, key: &str, value: &str, metadata: &Metadata) {
    match key {
        "suppressions" if !value.is_empty() => {
            if outputs.suppressions.is_empty() {
                outputs.suppressions.push(beside_program(value, metadata));
            }
        }
        "exitcode" => {
            if let Ok(status) = value.parse() {
                outputs.exit_code.get_or_insert(status);
            }
        }
        _ => {
            let value = truth(key, value).ok();
            outputs.off.extend(value.and_then(|value| ReportFlag::turned_off_by(key, value)));
        }
    }
}

/// A file as it is named, or in the directory of the program, where ThreadSanitizer looks as well.
fn beside_program(name: &str, metadata: &Metadata) -> PathBuf {
    let named = PathBuf::from(name);
    let program = metadata.binary.as_ref().map(|binary| Path::new(&binary.path));
    match program.and_then(Path::parent).map(|directory| directory.join(name)) {
        Some(in_directory) if !named.exists() && in_directory.exists() => in_directory,
        _ => named,
    }
}

/// An unknown key gets a warning and is ignored: the variable may be meant for another version of the program.
fn fill_from_own(outputs: &mut Outputs) -> Result<(), Diagnostic> {
    let Some(text) = std::env::var_os(NAME) else { return Ok(()) };
    let text = text.into_string().map_err(|_| Diagnostic::new(format!("{NAME} is not UTF-8")))?;
    for (key, value) in pairs(&text)? {
        let file = |target: &mut Option<OsString>| {
            target.get_or_insert_with(|| value.clone().into());
        };
        match &*key {
            "suppressions" => {
                if outputs.suppressions.is_empty() {
                    outputs.suppressions.push(value.into());
                }
            }
            "print_suppressions" => outputs.print_suppressions |= truth(&key, &value)?,
            "exitcode" | "exit_code" => {
                let status = value.parse().map_err(|_| wrong(&key, &value, "a number from 0 to 255"))?;
                outputs.exit_code.get_or_insert(status);
            }
            "html" => file(&mut outputs.html),
            "sarif" => file(&mut outputs.sarif),
            "junit" => file(&mut outputs.junit),
            "markdown" => file(&mut outputs.markdown),
            "perfetto" => file(&mut outputs.perfetto),
            unknown => Diagnostic::new(format!("{NAME}: unknown option `{unknown}` ignored"))
                .help(format!("known options: {KNOWN}"))
                .print_warning(),
        }
    }
    Ok(())
}

fn truth(key: &str, value: &str) -> Result<bool, Diagnostic> {
    match value {
        "1" | "yes" | "true" => Ok(true),
        "0" | "no" | "false" => Ok(false),
        _ => Err(wrong(key, value, "0 or 1")),
    }
}

fn wrong(key: &str, value: &str, expected: &str) -> Diagnostic {
    Diagnostic::new(format!("{NAME}: `{key}={value}`: expected {expected}"))
}

/// The keys and values in order, as far as they can be read.
fn pairs_before_mistake(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let _ = read_pairs(text, &mut found);
    found
}

/// The keys and values in order.
fn pairs(text: &str) -> Result<Vec<(String, String)>, Diagnostic> {
    let mut found = Vec::new();
    read_pairs(text, &mut found)?;
    Ok(found)
}

fn read_pairs(text: &str, found: &mut Vec<(String, String)>) -> Result<(), Diagnostic> {
    let apart = |c: char| " ,:\n\t\r".contains(c);
    let mut rest = text.trim_start_matches(apart);
    while !rest.is_empty() {
        let expected = || {
            let word = rest.split(apart).next().unwrap_or(rest);
            Diagnostic::new(format!("{NAME}: expected `key=value`, found `{word}`"))
        };
        let (key, value) = rest.split_once('=').ok_or_else(expected)?;
        if key.contains(apart) {
            return Err(expected());
        }
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => value[1..]
                .split_once(quote)
                .ok_or_else(|| Diagnostic::new(format!("{NAME}: the quote after `{key}=` is not closed")))?,
            None => value.split_at(value.find(apart).unwrap_or(value.len())),
        };
        found.push((key.to_owned(), value.to_owned()));
        rest = after.trim_start_matches(apart);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_tsan_options_are() {
        let read = |text: &str| {
            let pairs = pairs(text).map_err(|_| ())?;
            Ok(pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(";"))
        };
        assert_eq!(read(""), Ok(String::new()));
        assert_eq!(read("exitcode=3:suppressions=a.txt"), Ok("exitcode=3;suppressions=a.txt".to_owned()));
        assert_eq!(read(" a=1, b='x:y z'\n c=\"\""), Ok("a=1;b=x:y z;c=".to_owned()));
        assert_eq!(read("a"), Err(()));
        assert_eq!(read("a b=1"), Err(()));
        assert_eq!(read("a='x"), Err(()));
    }
}
