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
/// What `--help` calls values that are paths.
const PATHS: [&str; 4] = ["FILE", "DIR", "DIRECTORY", "RUN|FINDINGS"];

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
    let root = file.parent().filter(|root| !is_here(root));
    let added = added(&text, &command, subcommand, &arguments[2..], root)
        .map_err(|problem| problem.in_file(file.display().to_string()))?;
    let (before, after) = arguments.split_at(2);
    Ok(before.iter().cloned().chain(added).chain(after.iter().cloned()).collect())
}

/// The file of the project that we are in: here, or in the nearest directory above. The directories above may be anybody's (`/tmp`), and options
/// have commands run, so a file there is used only if nobody but this user and root could have written it.
fn file() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(none) if none == "none" => return None,
        Some(file) => return Some(file.into()),
        None => {}
    }
    let here = std::env::current_dir().ok()?;
    let mut files = here.ancestors().map(|directory| directory.join(FILE)).filter(|file| file.is_file());
    files.find(|file| file.parent() == Some(&here) || is_trusted(file))
}

/// Whether a file above may say what to do; says so if not.
fn is_trusted(file: &Path) -> bool {
    let Some(why) = run::directory::distrust(file) else { return true };
    Diagnostic::new(format!("`{}` is not used: {why}", file.display()))
        .help(format!("to use it, name it: {VARIABLE}=FILE; to be without one: {VARIABLE}=none"))
        .print_warning();
    false
}

/// Whether a directory is the one that we are in.
fn is_here(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || std::env::current_dir().is_ok_and(|here| here == directory)
}

/// The arguments that a file adds to a command with these arguments. The file is in `root`, if that is not where we are: its paths begin there.
fn added(
    text: &str,
    command: &Command,
    subcommand: &Command,
    given: &[OsString],
    root: Option<&Path>,
) -> Result<Vec<OsString>, Diagnostic> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| malformed(text, &error))?;
    let mut added = Vec::new();
    for (section, content) in &table {
        let owner = command.find_subcommand(section).filter(|owner| !WRAPPERS.contains(&owner.get_name()));
        if owner.is_none() && section != ALL {
            return Err(unknown_section(command, section));
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
                added.extend(words(section, key, value, subcommand, root)?);
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

/// Whether the value of an option is a path.
fn is_path(option: &clap::Arg) -> bool {
    let names = option.get_value_names().unwrap_or_default();
    names.iter().any(|name| PATHS.contains(&name.as_str()))
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
fn words(
    section: &str,
    key: &str,
    value: &Value,
    command: &Command,
    root: Option<&Path>,
) -> Result<Vec<OsString>, Diagnostic> {
    let long = long(key);
    let takes_value = option(command, key).is_some_and(|option| {
        !matches!(option.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count)
    });
    let kind = value.type_str();
    let wrong = |expected: &str| {
        Err(Diagnostic::new(format!("`{key}` in [{section}]: expected {expected}, found {kind}")))
    };
    let root = root.filter(|_| option(command, key).is_some_and(is_path));
    let with = |value: &str| {
        let mut word = OsString::from(format!("--{long}="));
        match root {
            Some(root) => word.push(root.join(value)),
            None => word.push(value),
        }
        word
    };
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

/// What stands at the top and is no section: perhaps an option whose section is missing.
fn unknown_section(command: &Command, name: &str) -> Diagnostic {
    let sections = || command.get_subcommands().map(Command::get_name).chain([ALL]);
    let options = command.get_subcommands().flat_map(Command::get_arguments).filter_map(clap::Arg::get_long);
    let (section, option) = (nearest(name, sections()), nearest(name, options));
    match option {
        Some((likeness, option)) if section.is_none_or(|section| section.0 < likeness) => {
            Diagnostic::new(format!("unknown section: `{name}`"))
                .help(format!("if you mean the option `{option}`, write it below `[{ALL}]` or the name of a command, such as `[hunt]`"))
        }
        _ => unknown("section", name, sections()),
    }
}

/// What is most like a name, if anything is, and how much it is.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<(f64, &'n str)> {
    let wanted = long(name);
    let likeness = known.map(|known| (strsim::jaro_winkler(known, &wanted), known));
    likeness.filter(|near| near.0 > 0.8).max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Something that does not exist, with what may have been meant.
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let diagnostic = Diagnostic::new(format!("unknown {what}: `{name}`"));
    match nearest(name, known) {
        Some((_, known)) => diagnostic.help(format!("did you mean `{known}`?")),
        None => diagnostic.help("keys are the long options of the command, as `--help` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_to(text: &str, name: &str, given: &[&str]) -> Result<Vec<String>, String> {
        let command = Arguments::command();
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        let added = added(text, &command, command.find_subcommand(name).unwrap(), &given, None);
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
        assert_eq!(sorted(added_to(PROJECT, "stats", &[])), ["--timeout=30"]);
        assert_eq!(sorted(added_to(PROJECT, "list", &[])), [""; 0]);
    }

    #[test]
    fn paths_begin_where_the_file_is() {
        let command = Arguments::command();
        let text = "[all]\nsuppressions = [\"ci/a.supp\", \"/b.supp\"]\nbaseline = \"ci/old.json\"\nresults = \"out\"\n\
                    html = \"report.html\"\nfirst_party_root = [\"src\"]\ndrive = \"./client 80\"\n";
        let hunt = command.find_subcommand("hunt").unwrap();
        let mut added = added(text, &command, hunt, &[], Some(Path::new("/project"))).unwrap();
        added.sort();
        let expected = [
            "--baseline=/project/ci/old.json",
            "--drive=./client 80",
            "--first-party-root=/project/src",
            "--html=/project/report.html",
            "--results=/project/out",
            "--suppressions=/b.supp",
            "--suppressions=/project/ci/a.supp",
        ];
        assert_eq!(added, expected);
    }

    #[test]
    fn what_is_not_known_is_an_error_with_a_suggestion() {
        let help = |text: &str| {
            let command = Arguments::command();
            let hunt = command.find_subcommand("hunt").unwrap();
            format!("{:?}", added(text, &command, hunt, &[], None).unwrap_err())
        };
        assert!(help("[hnut]\n").contains("did you mean `hunt`?"));
        assert!(help("[hunt]\ntimout = 3\n").contains("did you mean `timeout`?"));
        assert!(help("timeot = 3\n").contains("if you mean the option `timeout`, write it below `[all]`"));
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
