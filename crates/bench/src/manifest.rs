//! Lists of programs in suites that are not in this repository (bench/search.toml, bench/racy.toml, bench/behaviours.toml): which they are and how they are built.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use xtask::cargo::root;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    suite: Vec<Suite>,
}

/// Programs that are built in one directory with one command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    /// The heading its programs are under.
    name: String,
    directory: PathBuf,
    /// Whether the directory is of this repository.
    #[serde(default)]
    is_ours: bool,
    /// For the shell, with `$CC`, `$CXX`, `$NAME` and `$CHOICES` (see the module `verifier`): makes `$PROGRAM`.
    build: String,
    programs: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    /// What it is run with, as its suite does.
    #[serde(default)]
    arguments: Vec<String>,
    /// Why what its suite says of it does not happen.
    cannot: Option<String>,
}

/// A program of a suite.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// The heading it is under.
    pub(crate) group: String,
    /// Where it is built.
    pub(crate) directory: PathBuf,
    /// For the shell, with `$CC`, `$CXX`, `$NAME` and `$CHOICES` (see the module `verifier`): makes `$PROGRAM`.
    pub(crate) build: String,
    pub(crate) arguments: Vec<String>,
    /// Why what its suite says of it does not happen, if it cannot.
    pub(crate) cannot: Option<String>,
}

impl Program {
    /// The same, with this source for `$CHOICES`.
    pub(crate) fn with_choices(&self, choices: &Path) -> Program {
        let build = format!("CHOICES='{}'; {}", choices.display(), self.build);
        Program { build, ..self.clone() }
    }

    /// Builds it as this file.
    pub(crate) fn build(&self, made: &Path, cc: &str, cxx: &str) -> Result<(), String> {
        let built = Command::new("sh")
            .args(["-ec", &self.build])
            .envs([("CC", cc), ("CXX", cxx)])
            .env("NAME", &self.name)
            .env("PROGRAM", made)
            .current_dir(&self.directory)
            .output()
            .map_err(|error| format!("cannot run the shell: {error}"))?;
        match built.status.success() {
            true => Ok(()),
            false => Err(format!("does not build: {}", String::from_utf8_lossy(&built.stderr))),
        }
    }
}

/// The directory with the suites.
pub(crate) fn suites() -> Result<PathBuf, String> {
    let named = std::env::var_os("FORETELL_SUITES").map(PathBuf::from);
    named.ok_or_else(|| "FORETELL_SUITES must name a directory with checkouts of the suites".to_owned())
}

/// All programs of a list, from suites that lie in a directory.
pub(crate) fn programs(list: &str, suites: &Path) -> Result<Vec<Program>, String> {
    let path = root().join("bench").join(list);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let of_suite = |suite: Suite| {
        let place = if suite.is_ours { root() } else { suites.to_owned() };
        let (group, directory) = (suite.name, place.join(suite.directory));
        suite.programs.into_iter().map(move |program| Program {
            name: program.name,
            group: group.clone(),
            directory: directory.clone(),
            build: suite.build.clone(),
            arguments: program.arguments,
            cannot: program.cannot,
        })
    };
    Ok(manifest.suite.into_iter().flat_map(of_suite).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_name_each_program_once() {
        for (list, number) in [("behaviours.toml", 78), ("search.toml", 81), ("racy.toml", 199)] {
            let programs = programs(list, Path::new("suites")).unwrap();
            let mut names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!((names.len(), programs.len()), (number, number), "{list}");
        }
    }
}
