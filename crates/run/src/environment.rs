//! The environment of a program that is recorded or replayed.
//!
//! A trace has the names of the variables and how much memory the whole took, not their values. A replay takes the values from its
//! own environment, and adds a variable that does nothing but take up the difference: where things lie on the program's
//! stack depends on how much is handed over.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use trace::{Metadata, Variable};

/// The variable that takes up room.
pub const PADDING_VARIABLE: &str = "FORETELL_PAD";
/// What makes panics of Rust print their stack. To read the debug information for it takes most of a second, in each run that fails, and
/// the report shows that stack anyway.
const BACKTRACE_VARIABLE: &str = "RUST_BACKTRACE";
/// A recording takes up whole steps, so that a replay whose values are somewhat longer finds room.
const STEP: usize = 4096;
const SLACK: usize = 512;

/// Where the variables of a replayed program come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvironmentSource {
    /// Ours, with all its variables.
    #[default]
    Ours,
    /// A trace that has the values: `NAME=VALUE`.
    Stored(Vec<String>),
    /// Ours, but for variables that a trace does not name.
    Named(Vec<Variable>),
}

impl EnvironmentSource {
    /// What a trace says.
    pub fn recorded(metadata: &Metadata) -> Self {
        match (&metadata.environment[..], &metadata.variables[..]) {
            ([], []) => EnvironmentSource::Ours,
            ([], variables) => EnvironmentSource::Named(variables.to_vec()),
            (stored, _) => EnvironmentSource::Stored(stored.to_vec()),
        }
    }

    /// The recorded variables that are missing here.
    pub fn missing(&self) -> Vec<&str> {
        let EnvironmentSource::Named(variables) = self else { return Vec::new() };
        let names = variables.iter().map(|variable| variable.name.as_str());
        names.filter(|name| std::env::var_os(name).is_none()).collect()
    }

    /// Says the same in a trace.
    pub fn describe(&self, metadata: &mut Metadata) {
        match self {
            EnvironmentSource::Ours => metadata.variables = Environment::ours().described(),
            EnvironmentSource::Stored(stored) => metadata.environment = stored.clone(),
            EnvironmentSource::Named(variables) => metadata.variables = variables.clone(),
        }
    }
}

/// The variables of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Ours, without what is there because we are recorded ourselves, and without backtraces.
    pub fn ours() -> Environment {
        let is_theirs = |name: &OsStr| name != wire::RUN_VARIABLE && name != PADDING_VARIABLE;
        Environment(std::env::vars_os().filter(|(name, _)| is_theirs(name)).collect()).without_backtraces()
    }

    /// Turns backtraces off where they are asked for.
    fn without_backtraces(mut self) -> Environment {
        for (_, value) in self.0.iter_mut().filter(|(name, _)| name == BACKTRACE_VARIABLE) {
            *value = "0".into();
        }
        self
    }

    /// The variables that a source has. Those that tell the loader what to load are always ours: a file must not choose what code runs.
    pub fn of(source: &EnvironmentSource) -> Environment {
        let ours = Environment::ours();
        match source {
            EnvironmentSource::Ours => ours,
            EnvironmentSource::Named(variables) => {
                let is_named = |name: &OsStr| variables.iter().any(|variable| name == variable.name.as_str());
                Environment(ours.0.into_iter().filter(|(name, _)| is_named(name)).collect())
            }
            EnvironmentSource::Stored(stored) => {
                let stored = stored.iter().filter_map(|variable| variable.split_once('='));
                let stored = stored.filter(|(name, _)| !name.is_empty() && !chooses_code(name));
                let mut variables =
                    Environment(stored.map(|(name, value)| (name.into(), value.into())).collect());
                let own = ours.0.into_iter().filter(|(name, _)| name.to_str().is_some_and(chooses_code));
                own.for_each(|(name, value)| variables.set(&name, value));
                variables.without_backtraces()
            }
        }
    }

    /// What `NAME=VALUE` says, each with a zero after it, as the kernel has it.
    pub(crate) fn from_kernel(bytes: &[u8]) -> Environment {
        let variables = bytes.split(|&byte| byte == 0).filter_map(|variable| {
            let equals = variable.iter().skip(1).position(|&byte| byte == b'=')? + 1;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&variable[..equals]), text(&variable[equals + 1..])))
        });
        Environment(variables.collect())
    }

    /// Takes a variable out.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.0.retain(|(known, _)| known != name.as_ref());
    }

    /// Takes a value out of a list, wherever it is.
    pub(crate) fn remove_from_list(&mut self, name: &str, value: &OsStr) {
        let Some(list) = self.get(OsStr::new(name)) else { return };
        let others = list.as_bytes().split(|&byte| byte == b':').filter(|entry| *entry != value.as_bytes());
        match others.collect::<Vec<_>>().join(&b':') {
            rest if rest.is_empty() => self.remove(name),
            rest => self.set(name, OsString::from_vec(rest)),
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &OsStr) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl Into<OsString>) {
        self.0.retain(|(known, _)| known != name.as_ref());
        self.0.push((name.as_ref().to_owned(), value.into()));
    }

    /// Puts a value before those that a list has.
    pub(crate) fn prepend(&mut self, name: &str, value: &OsStr) {
        let mut list = value.to_owned();
        if let Some(before) = self.get(OsStr::new(name)).filter(|before| !before.is_empty()) {
            list.push(":");
            list.push(before);
        }
        self.set(name, list);
    }

    /// Names and lengths, as a trace has them.
    pub fn described(&self) -> Vec<Variable> {
        let mut variables: Vec<Variable> = self
            .0
            .iter()
            .map(|(name, value)| Variable {
                name: name.to_string_lossy().into_owned(),
                length: value.len() as u64,
            })
            .collect();
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        variables
    }

    /// `NAME=VALUE`, as a trace has them that keeps the values.
    pub fn stored(&self) -> Vec<String> {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        self.0.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    /// How much of its stack a program started from this file gets for it.
    fn size(&self, program: &Path) -> usize {
        let variable = |(name, value): &(OsString, OsString)| taken_by(name.len(), value.len());
        program.as_os_str().len() + self.0.iter().map(variable).sum::<usize>()
    }

    /// Takes up as much as a recording does, or as it did; how much that is. More than that stays more.
    pub(crate) fn pad(&mut self, program: &Path, recorded: Option<u64>) -> u64 {
        let without = self.size(program) + taken_by(PADDING_VARIABLE.len(), 0);
        let recorded = recorded.and_then(|size| usize::try_from(size).ok()).filter(|&size| size < MOST);
        let size = recorded.unwrap_or_else(|| (without + SLACK).next_multiple_of(STEP));
        if let Some(padding) = size.checked_sub(without) {
            self.set(PADDING_VARIABLE, "-".repeat(padding));
        }
        size as u64
    }

    /// Hands it to a program, and nothing else.
    pub(crate) fn give(&self, program: &mut Command) {
        program.env_clear().envs(self.0.iter().map(|(name, value)| (name, value)));
    }

    /// All of it.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// No single variable may be longer, so no padding is.
const MOST: usize = 120 << 10;

/// What the kernel puts on the stack: `NAME=VALUE`, a zero and a pointer.
fn taken_by(name: usize, value: usize) -> usize {
    name + value + 2 + size_of::<usize>()
}

/// Whether a variable tells the loader or the C library what code to load.
fn chooses_code(name: &str) -> bool {
    name.starts_with("LD_") || matches!(name, "GCONV_PATH" | "GLIBC_TUNABLES" | "LOCPATH" | "NLSPATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    #[test]
    fn a_replay_takes_up_as_much_as_the_recording() {
        let program = Path::new("/bin/program");
        let mut recorded = environment(&[("A", "short"), ("B", "")]);
        let size = recorded.pad(program, None);
        assert_eq!((size, size % 4096), (recorded.size(program) as u64, 0));
        for other in [&[("A", "a good deal longer")][..], &[], &[("A", "1"), ("B", "2"), ("C", "3")]] {
            let mut replayed = environment(other);
            assert_eq!(replayed.pad(program, Some(size)), size);
            assert_eq!(replayed.size(program) as u64, size);
        }
        let mut large = environment(&[("A", &"x".repeat(5000))]);
        large.pad(program, Some(size));
        assert_eq!(large, environment(&[("A", &"x".repeat(5000))]), "there is no room to take up");
    }

    #[test]
    fn a_file_cannot_choose_what_is_loaded() {
        let stored = ["LD_PRELOAD=/tmp/evil.so", "LD_AUDIT=x", "GCONV_PATH=/tmp", "HOME=/home/me", "=x"];
        let source = EnvironmentSource::Stored(stored.map(String::from).to_vec());
        let environment = Environment::of(&source);
        assert_eq!(environment.get(OsStr::new("HOME")), Some(OsStr::new("/home/me")));
        assert!(environment.0.iter().all(|(_, value)| value != "/tmp/evil.so" && value != "/tmp"));
    }

    #[test]
    fn no_run_prints_backtraces() {
        let source = EnvironmentSource::Stored(vec!["RUST_BACKTRACE=full".into(), "A=1".into()]);
        assert_eq!(Environment::of(&source).get(OsStr::new("RUST_BACKTRACE")), Some(OsStr::new("0")));
        let unset = environment(&[("A", "1")]);
        assert_eq!(unset.clone().without_backtraces(), unset);
    }

    #[test]
    fn what_we_put_before_a_list_can_be_taken_back() {
        let mut variables = Environment::from_kernel(b"A=1\0LD_LIBRARY_PATH=/lib\0=odd\0B\0C=x=y\0");
        assert_eq!(variables, environment(&[("A", "1"), ("LD_LIBRARY_PATH", "/lib"), ("C", "x=y")]));
        for before in [variables.clone(), environment(&[])] {
            variables = before.clone();
            variables.prepend("LD_LIBRARY_PATH", OsStr::new("/ours"));
            assert_ne!(variables, before);
            variables.remove_from_list("LD_LIBRARY_PATH", OsStr::new("/ours"));
            assert_eq!(variables.described(), before.described());
        }
    }

    #[test]
    fn only_named_variables_are_handed_over() {
        let path = Variable { name: "PATH".into(), length: 3 };
        let absent = Variable { name: "NOT_SET_ANYWHERE".into(), length: 3 };
        let source = EnvironmentSource::Named(vec![path, absent]);
        let environment = Environment::of(&source);
        assert_eq!(environment.described().len(), 1);
        assert_eq!(source.missing(), ["NOT_SET_ANYWHERE"]);
    }
}
