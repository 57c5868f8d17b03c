//! A project's `foretell.toml`: options of commands, so that nobody has to repeat them; and what `foretell init` writes.
//!
//! Each section is called like a command, and its keys like the command's long options; [`EVERY_COMMAND`] is for every command that has
//! the option. An unknown key is an error: a misspelt one would do nothing, silently. What commands there are, and which options they
//! have, the caller says.

mod integration;
mod template;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::error::{Error, ErrorKind};
use crate::observer::Observer;

pub use integration::{Integration, IntegrationFile};
pub use template::{next_command, write_template};

/// The name of the file.
pub const FILE: &str = "foretell.toml";
/// The variable that names another file, or says `none`.
const VARIABLE: &str = "FORETELL_CONFIG";
/// The section for every command.
const EVERY_COMMAND: &str = "all";

/// A command, as the file sees it.
#[derive(Clone, Debug)]
pub struct CommandOptions {
    /// Its name.
    pub name: String,
    /// Its long options.
    pub options: Vec<CommandOption>,
}

/// A long option of a command.
#[derive(Clone, Debug)]
pub struct CommandOption {
    /// Its name, without the dashes.
    pub name: String,
    /// What follows it.
    pub value: OptionValue,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Nothing.
    None,
    /// Any text or number.
    Text,
    /// A path.
    Path,
}

/// What a command is started with.
#[derive(Clone, Copy)]
pub struct StartedCommand<'a> {
    /// The command.
    pub command: &'a CommandOptions,
    /// The sections that are for this command.
    pub sections: &'a [&'a str],
    /// Whether the user has given a long option, which then comes first.
    pub is_given: &'a dyn Fn(&str) -> bool,
}

impl CommandOptions {
    /// The option of a key.
    fn option(&self, key: &str) -> Option<&CommandOption> {
        let name = long(key);
        self.options.iter().find(|option| option.name == name)
    }
}

/// The file of a project.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    path: PathBuf,
    /// Where its paths begin, if that is not the current directory.
    root: Option<PathBuf>,
}

impl ProjectFile {
    /// The file of the project that we are in: here, or in the nearest directory above. The directories above may be anybody's (`/tmp`), and
    /// options have commands run, so a file there is used only if nobody but this user and root could have written it.
    pub fn find(observer: &mut dyn Observer) -> Option<ProjectFile> {
        match std::env::var_os(VARIABLE) {
            Some(none) if none == "none" => return None,
            Some(file) => return Some(ProjectFile::at(file.into())),
            None => {}
        }
        let here = std::env::current_dir().ok()?;
        let mut files = here.ancestors().map(|directory| directory.join(FILE)).filter(|file| file.is_file());
        let file = files.find(|file| file.parent() == Some(&here) || is_trusted(file, observer));
        file.map(ProjectFile::at)
    }

    fn at(path: PathBuf) -> ProjectFile {
        let root = path.parent().filter(|root| !is_here(root)).map(Path::to_owned);
        ProjectFile { path, root }
    }

    /// The options that the file adds to a command, as the command line has them.
    pub fn options(
        &self,
        commands: &[CommandOptions],
        started: StartedCommand<'_>,
    ) -> Result<Vec<OsString>, Error> {
        let name = self.path.display().to_string();
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| Error::io("read", format!("`{name}`"), error))?;
        added(&text, commands, started, self.root.as_deref()).map_err(|error| error.in_file(name))
    }
}

/// Whether a file above may say what to do; says so if not.
fn is_trusted(file: &Path, observer: &mut dyn Observer) -> bool {
    let Some(why) = run::directory::distrust(file) else { return true };
    observer.warning(
        problem(format!("`{}` is not used: {why}", file.display()))
            .help(format!("to use it, name it: {VARIABLE}=FILE; to be without one: {VARIABLE}=none")),
    );
    false
}

/// Whether a directory is the one that we are in.
fn is_here(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || std::env::current_dir().is_ok_and(|here| here == directory)
}

fn problem(title: String) -> Error {
    ErrorKind::Project(title).into()
}

/// The options that a text adds to a command; its paths begin in `root`.
fn added(
    text: &str,
    commands: &[CommandOptions],
    started: StartedCommand<'_>,
    root: Option<&Path>,
) -> Result<Vec<OsString>, Error> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| malformed(text, &error))?;
    let mut added = Vec::new();
    for (section, content) in &table {
        let owner = commands.iter().find(|command| command.name == *section);
        if owner.is_none() && section != EVERY_COMMAND {
            return Err(unknown_section(commands, section));
        }
        let Value::Table(content) = content else {
            return Err(problem(format!("`{section}` is not a section"))
                .help(format!("write `[{section}]` on a line of its own, and the options below it")));
        };
        let owners = owner.map_or(commands, std::slice::from_ref);
        let is_meant = section == EVERY_COMMAND || started.sections.contains(&section.as_str());
        for (key, value) in content {
            if owners.iter().all(|owner| owner.option(key).is_none()) {
                return Err(unknown(&format!("option in [{section}]"), key, options_of(owners)));
            }
            let option = started.command.option(key).filter(|option| !(started.is_given)(&option.name));
            if let Some(option) = option.filter(|_| is_meant) {
                added.extend(words(section, key, value, option, root)?);
            }
        }
    }
    Ok(added)
}

fn malformed(text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    problem(format!("{place}{}", error.message()))
}

/// The long option of a key.
fn long(key: &str) -> String {
    key.replace('_', "-")
}

fn options_of(commands: &[CommandOptions]) -> impl Iterator<Item = &str> {
    commands.iter().flat_map(|command| &command.options).map(|option| option.name.as_str())
}

/// An option as the command line has it.
fn words(
    section: &str,
    key: &str,
    value: &Value,
    option: &CommandOption,
    root: Option<&Path>,
) -> Result<Vec<OsString>, Error> {
    let found = value.type_str();
    let wrong =
        |expected: &str| Err(problem(format!("`{key}` in [{section}]: expected {expected}, found {found}")));
    let flag = OsString::from(format!("--{}", option.name));
    let root = root.filter(|_| option.value == OptionValue::Path);
    let with = |value: &str| {
        let mut word = flag.clone();
        word.push("=");
        match root {
            Some(root) => word.push(root.join(value)),
            None => word.push(value),
        }
        word
    };
    Ok(match (option.value, value) {
        (OptionValue::None, Value::Boolean(true)) => vec![flag],
        (OptionValue::None, Value::Boolean(false)) => Vec::new(),
        (OptionValue::None, _) => return wrong("true or false"),
        (_, Value::String(text)) => vec![with(text)],
        (_, Value::Integer(number)) => vec![with(&number.to_string())],
        (_, Value::Float(number)) => vec![with(&number.to_string())],
        (_, Value::Array(values)) => {
            let texts = values.iter().map(|value| value.as_str().map(&with)).collect::<Option<Vec<_>>>();
            match texts {
                Some(words) => words,
                None => return wrong("a list of strings"),
            }
        }
        (_, Value::Boolean(_) | Value::Datetime(_) | Value::Table(_)) => return wrong("a value"),
    })
}

/// What stands at the top and is no section: perhaps an option whose section is missing.
fn unknown_section(commands: &[CommandOptions], name: &str) -> Error {
    let sections = || commands.iter().map(|command| command.name.as_str()).chain([EVERY_COMMAND]);
    let (section, option) = (nearest(name, sections()), nearest(name, options_of(commands)));
    match option {
        Some((likeness, option)) if section.is_none_or(|section| section.0 < likeness) => {
            problem(format!("unknown section: `{name}`"))
                .help(format!("if you mean the option `{option}`, write it below `[{EVERY_COMMAND}]` or the name of a command, such as `[hunt]`"))
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
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let problem = problem(format!("unknown {what}: `{name}`"));
    match nearest(name, known) {
        Some((_, known)) => problem.help(format!("did you mean `{known}`?")),
        None => problem.help("keys are the long options of the command, as `--help` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few of the commands.
    fn commands() -> Vec<CommandOptions> {
        use OptionValue::{None, Path, Text};
        let command = |name: &str, options: &[(&str, OptionValue)]| CommandOptions {
            name: name.to_owned(),
            options: options
                .iter()
                .map(|&(name, value)| CommandOption { name: name.to_owned(), value })
                .collect(),
        };
        let reports =
            [("suppressions", Path), ("timeout", Text), ("quiet", None), ("baseline", Path), ("drive", Text)];
        vec![
            command("hunt", &[&reports[..], &[("max-events", Text)]].concat()),
            command("test", &[&reports[..], &[("split", None)]].concat()),
            command("cargo", &[&reports[..], &[("split", None)]].concat()),
            command("stats", &[("timeout", Text)]),
            command("list", &[]),
        ]
    }

    fn added_to(text: &str, sections: &[&str], given: &[&str]) -> Result<Vec<String>, Error> {
        added_in(text, sections, given, None)
    }

    fn added_in(
        text: &str,
        sections: &[&str],
        given: &[&str],
        root: Option<&Path>,
    ) -> Result<Vec<String>, Error> {
        let commands = commands();
        let command = commands.iter().find(|command| command.name == sections[0]).unwrap();
        let is_given = |option: &str| given.contains(&option);
        let mut words =
            added(text, &commands, StartedCommand { command, sections, is_given: &is_given }, root)?;
        words.sort();
        Ok(words.into_iter().map(|word| word.into_string().unwrap()).collect())
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
            ["--max-events=1M", "--quiet", "--suppressions=a.supp", "--suppressions=b.supp", "--timeout=30"];
        assert_eq!(added_to(PROJECT, &["hunt"], &[]).unwrap(), hunt);
        let test = ["--split", "--suppressions=a.supp", "--suppressions=b.supp"];
        assert_eq!(added_to(PROJECT, &["test"], &["timeout"]).unwrap(), test);
        assert_eq!(added_to(PROJECT, &["cargo", "test"], &["timeout"]).unwrap(), test);
        assert_eq!(added_to(PROJECT, &["stats"], &[]).unwrap(), ["--timeout=30"]);
        assert_eq!(added_to(PROJECT, &["list"], &[]).unwrap(), [""; 0]);
    }

    #[test]
    fn paths_begin_where_the_file_is() {
        let text = "[all]\nsuppressions = [\"ci/a.supp\", \"/b.supp\"]\nbaseline = \"ci/old.json\"\ndrive = \"./client 80\"\n";
        let expected = [
            "--baseline=/project/ci/old.json",
            "--drive=./client 80",
            "--suppressions=/b.supp",
            "--suppressions=/project/ci/a.supp",
        ];
        assert_eq!(added_in(text, &["hunt"], &[], Some(Path::new("/project"))).unwrap(), expected);
    }

    #[test]
    fn what_is_not_known_is_an_error_with_a_suggestion() {
        let help = |text: &str| added_to(text, &["hunt"], &[]).unwrap_err().advice().join("");
        assert_eq!(help("[hnut]\n"), "did you mean `hunt`?");
        assert_eq!(help("[hunt]\ntimout = 3\n"), "did you mean `timeout`?");
        assert!(
            help("timeot = 3\n").contains("if you mean the option `timeout`, write it below `[all]`"),
            "{}",
            help("timeot = 3\n")
        );
        let error = |text: &str| added_to(text, &["hunt"], &[]).unwrap_err().to_string();
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
        assert!(added_to("[test]\nspilt = true\n", &["hunt"], &[]).is_err());
    }
}
