//! `foretell.toml`: options of a project, so that nobody has to repeat them.
//!
//! Each section is called like a command, and its keys like the command's long options; `[all]` is for every command that has the option.
//! What the command line says comes first. An unknown key is an error: a misspelt one would do nothing, silently.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Command, CommandFactory};
use toml::{Table, Value};

use crate::arguments::Arguments;
use crate::diagnostics::Diagnostic;

/// The name of the file.
pub const FILE: &str = "foretell.toml";
/// The variable that names another file, or says `none`.
const VARIABLE: &str = "FORETELL_CONFIG";
/// The section for every command.
const ALL: &str = "all";
/// Commands that stand for others: what follows is not ours.
const WRAPPERS: [&str; 3] = ["cc", "c++", "fleet"];
/// Hunts in tests, so the options in [`TEST`] are for it, too.
const CARGO: &str = "cargo";
const TEST: &str = "test";

/// The arguments, with what the project's file adds to them.
pub fn with_project(arguments: Vec<OsString>) -> Result<Vec<OsString>, Diagnostic> {
    let Some(name) = arguments.get(1).and_then(|name| name.to_str()) else { return Ok(arguments) };
    if WRAPPERS.contains(&name) {
        return Ok(arguments);
    }
    let Some(file) = file() else { return Ok(arguments) };
    let command = Arguments::command();
    let Some(subcommand) = command.find_subcommand(name) else { return Ok(arguments) };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Diagnostic::from_io("read", &format!("`{}`", file.display()), &error))?;
    let added = added(&text, &command, subcommand, &arguments[2..])
        .map_err(|problem| problem.in_file(file.display().to_string()))?;
    let (before, after) = arguments.split_at(2);
    Ok(before.iter().cloned().chain(added).chain(after.iter().cloned()).collect())
}

/// The file of the project that we are in: here, or in the nearest directory above.
fn file() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(none) if none == "none" => return None,
        Some(file) => return Some(file.into()),
        None => {}
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|directory| directory.join(FILE)).find(|file| file.is_file())
}

/// The arguments that a file adds to a command with these arguments.
fn added(
    text: &str,
    command: &Command,
    subcommand: &Command,
    given: &[OsString],
) -> Result<Vec<OsString>, Diagnostic> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| malformed(text, &error))?;
    let mut added = Vec::new();
    for (section, content) in &table {
        let owner = command.find_subcommand(section).filter(|owner| !WRAPPERS.contains(&owner.get_name()));
        if owner.is_none() && section != ALL {
            let known = command.get_subcommands().map(Command::get_name).chain([ALL]);
            return Err(unknown("section", section, known));
        }
        let Value::Table(content) = content else {
            return Err(Diagnostic::new(format!("`{section}` is not a section"))
                .help(format!("write `[{section}]` on a line of its own, and the options below it")));
        };
        for (key, value) in content {
            let has = |command: &Command| option(command, key).is_some();
            let is_known = owner.map_or_else(|| command.get_subcommands().any(has), has);
            if !is_known {
                let of = owner.map_or_else(|| command.get_subcommands().collect(), |owner| vec![owner]);
                let names = of.into_iter().flat_map(Command::get_arguments).filter_map(clap::Arg::get_long);
                return Err(unknown(&format!("option in [{section}]"), key, names));
            }
            let name = subcommand.get_name();
            let is_meant = section == ALL || section == name || section == TEST && name == CARGO;
            if is_meant && has(subcommand) && !is_given(given, key) {
                added.extend(words(section, key, value, subcommand)?);
            }
        }
    }
    Ok(added)
}

fn malformed(text: &str, error: &toml::de::Error) -> Diagnostic {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    Diagnostic::new(format!("{place}{}", error.message()))
}

fn long(key: &str) -> String {
    key.replace('_', "-")
}

fn option<'c>(command: &'c Command, key: &str) -> Option<&'c clap::Arg> {
    let long = long(key);
    command.get_arguments().find(|argument| argument.get_long() == Some(&long))
}

/// Whether the command line says it, too.
fn is_given(given: &[OsString], key: &str) -> bool {
    let option = format!("--{}", long(key));
    let words = given.iter().take_while(|word| *word != "--").map(|word| word.as_encoded_bytes());
    let is_it = |word: &[u8]| {
        word.strip_prefix(option.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
    };
    words.into_iter().any(is_it)
}

/// An option as the command line has it.
fn words(section: &str, key: &str, value: &Value, command: &Command) -> Result<Vec<OsString>, Diagnostic> {
    let long = long(key);
    let takes_value = option(command, key).is_some_and(|option| {
        !matches!(option.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count)
    });
    let kind = value.type_str();
    let wrong = |expected: &str| {
        Err(Diagnostic::new(format!("`{key}` in [{section}]: expected {expected}, found {kind}")))
    };
    let with = |value: &str| OsString::from(format!("--{long}={value}"));
    Ok(match value {
        Value::Boolean(true) if !takes_value => vec![OsString::from(format!("--{long}"))],
        Value::Boolean(false) if !takes_value => Vec::new(),
        _ if !takes_value => return wrong("true or false"),
        Value::String(text) => vec![with(text)],
        Value::Integer(number) => vec![with(&number.to_string())],
        Value::Float(number) => vec![with(&number.to_string())],
        Value::Array(values) => {
            let texts = values.iter().map(|value| value.as_str().map(&with)).collect::<Option<Vec<_>>>();
            match texts {
                Some(words) => words,
                None => return wrong("a list of strings"),
            }
        }
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => return wrong("a value"),
    })
}

/// Something that does not exist, with what may have been meant.
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let wanted = long(name);
    let mut near: Vec<(f64, &str)> =
        known.map(|known| (strsim::jaro_winkler(known, &wanted), known)).collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let diagnostic = Diagnostic::new(format!("unknown {what}: `{name}`"));
    match near.first() {
        Some(&(likeness, known)) if likeness > 0.8 => diagnostic.help(format!("did you mean `{known}`?")),
        _ => diagnostic.help("keys are the long options of the command, as `--help` lists them"),
    }
}

/// What a project looks like from its files: how its tests are run.
pub fn test_command(root: &Path) -> Option<&'static str> {
    let has = |name: &str| root.join(name).exists();
    match () {
        () if has("Cargo.toml") => Some("cargo test"),
        () if has("CMakeLists.txt") => Some("ctest --test-dir build"),
        () if has("meson.build") => Some("meson test -C build"),
        () if has("configure") || has("configure.ac") || has("Makefile.am") => Some("make check"),
        () if has("Makefile") => Some("make test"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_to(text: &str, name: &str, given: &[&str]) -> Result<Vec<String>, String> {
        let command = Arguments::command();
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        let added = added(text, &command, command.find_subcommand(name).unwrap(), &given);
        let text = |word: OsString| word.into_string().unwrap();
        added.map(|words| words.into_iter().map(text).collect()).map_err(|problem| problem.title().to_owned())
    }

    const PROJECT: &str = "\
[all]
suppressions = [\"a.supp\", \"b.supp\"]
timeout = 30
[hunt]
max_events = \"1M\"
quiet = true
[test]
split = true
";

    #[test]
    fn each_command_gets_its_own_options() {
        let hunt =
            ["--suppressions=a.supp", "--suppressions=b.supp", "--timeout=30", "--max-events=1M", "--quiet"];
        let sorted = |words: Result<Vec<String>, String>| {
            let mut words = words.unwrap();
            words.sort();
            words
        };
        let mut expected = hunt.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(sorted(added_to(PROJECT, "hunt", &[])), expected);
        let test = sorted(added_to(PROJECT, "test", &["--timeout", "5", "--", "--suppressions=x"]));
        assert_eq!(test, ["--split", "--suppressions=a.supp", "--suppressions=b.supp"]);
        let cargo = sorted(added_to(PROJECT, "cargo", &["test", "--timeout", "5"]));
        assert_eq!(cargo, ["--split", "--suppressions=a.supp", "--suppressions=b.supp"]);
        assert_eq!(sorted(added_to(PROJECT, "stats", &[])), [""; 0]);
    }

    #[test]
    fn what_is_not_known_is_an_error_with_a_suggestion() {
        let error = |text: &str| added_to(text, "hunt", &[]).unwrap_err();
        assert_eq!(error("[hnut]\n"), "unknown section: `hnut`");
        assert_eq!(error("[hunt]\ntimout = 3\n"), "unknown option in [hunt]: `timout`");
        assert_eq!(error("hunt = 3\n"), "`hunt` is not a section");
        assert_eq!(error("[hunt]\nquiet = 3\n"), "`quiet` in [hunt]: expected true or false, found integer");
        assert_eq!(
            error("[all]\nsuppressions = [1]\n"),
            "`suppressions` in [all]: expected a list of strings, found array"
        );
        assert!(error("[hunt]\n=\n").starts_with("line 2: "), "{}", error("[hunt]\n=\n"));
        // What is wrong is said whatever command it is for.
        assert!(added_to("[test]\nspilt = true\n", "hunt", &[]).is_err());
    }
}
