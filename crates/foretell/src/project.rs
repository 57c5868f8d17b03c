//! What a project's `foretell.toml` adds to the arguments: see [`pipeline::project`]. What the command line says comes first.

use std::ffi::OsString;

use clap::{ArgAction, CommandFactory};
use pipeline::project::{CommandOption, CommandOptions, OptionValue, ProjectFile, StartedCommand};

use crate::arguments::Arguments;
use crate::diagnostics::Diagnostic;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;

/// Commands that stand for others: what follows is not ours.
const WRAPPERS: [&str; 3] = ["cc", "c++", "fleet"];
/// What `--help` calls values that are paths.
const PATHS: [&str; 4] = ["FILE", "DIR", "DIRECTORY", "RUN|FINDINGS"];

/// The arguments, with what the project's file adds to them.
pub fn with_project(arguments: Vec<OsString>) -> Result<Vec<OsString>, Diagnostic> {
    let Some(name) = arguments.get(1).and_then(|name| name.to_str()) else { return Ok(arguments) };
    if WRAPPERS.contains(&name) {
        return Ok(arguments);
    }
    let observer = &mut TerminalObserver::new(OutputMode::default());
    let Some(file) = ProjectFile::find(observer) else { return Ok(arguments) };
    let commands = commands();
    let Some(command) = commands.iter().find(|command| command.name == name) else { return Ok(arguments) };
    let (before, after) = arguments.split_at(2);
    let is_given = |option: &str| is_given(after, option);
    let started = StartedCommand { command, sections: &sections(name), is_given: &is_given };
    let added = file.options(&commands, started)?;
    Ok(before.iter().cloned().chain(added).chain(after.iter().cloned()).collect())
}

/// The sections for a command. `cargo` hunts in tests, so the options of `test` are for it, too.
fn sections(name: &str) -> Vec<&str> {
    if name == "cargo" { vec![name, "test"] } else { vec![name] }
}

/// The commands that can have a section, and their options.
fn commands() -> Vec<CommandOptions> {
    let of = |command: &clap::Command| CommandOptions {
        name: command.get_name().to_owned(),
        options: command.get_arguments().filter_map(option).collect(),
    };
    let arguments = Arguments::command();
    let commands = arguments.get_subcommands().filter(|command| !WRAPPERS.contains(&command.get_name()));
    commands.map(of).collect()
}

fn option(argument: &clap::Arg) -> Option<CommandOption> {
    let names = argument.get_value_names().unwrap_or_default();
    let value = match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => OptionValue::None,
        _ if names.iter().any(|name| PATHS.contains(&name.as_str())) => OptionValue::Path,
        _ => OptionValue::Text,
    };
    Some(CommandOption { name: argument.get_long()?.to_owned(), value })
}

/// Whether the command line says it, too.
fn is_given(given: &[OsString], option: &str) -> bool {
    let option = format!("--{option}");
    let words = given.iter().take_while(|word| *word != "--").map(|word| word.as_encoded_bytes());
    let is_it = |word: &[u8]| {
        word.strip_prefix(option.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
    };
    words.into_iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_what_help_says() {
        let commands = commands();
        let value = |command: &str, option: &str| {
            let command = commands.iter().find(|known| known.name == command)?;
            command.options.iter().find(|known| known.name == option).map(|option| option.value)
        };
        for option in ["suppressions", "baseline", "results", "html", "first-party-root"] {
            assert_eq!(value("hunt", option), Some(OptionValue::Path), "{option}");
        }
        for option in ["timeout", "drive", "max-events"] {
            assert_eq!(value("hunt", option), Some(OptionValue::Text), "{option}");
        }
        assert_eq!(value("hunt", "quiet"), Some(OptionValue::None));
        assert_eq!(value("cargo", "split"), Some(OptionValue::None), "`[test]` is for `cargo`, too");
        assert_eq!(value("list", "suppressions"), None);
        assert!(commands.iter().all(|command| !WRAPPERS.contains(&command.name.as_str())));
    }

    #[test]
    fn what_follows_two_dashes_is_not_given() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(is_given(&words("--timeout 5 -- x"), "timeout"));
        assert!(is_given(&words("--timeout=5"), "timeout"));
        assert!(!is_given(&words("-- --timeout 5"), "timeout"));
        assert!(!is_given(&words("--timeouts 5"), "timeout"));
    }
}
