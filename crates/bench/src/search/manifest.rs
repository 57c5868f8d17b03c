//! bench/search.toml: which programs are measured and how they are built.

use std::path::{Path, PathBuf};

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
    /// For the shell, with `$CC`, `$CXX` and `$NAME`: makes `$PROGRAM`.
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
}

/// A program that fails under some schedules.
pub(super) struct Failing {
    pub(super) name: String,
    /// The heading it is under.
    pub(super) group: String,
    /// Where it is built.
    pub(super) directory: PathBuf,
    /// For the shell, with `$CC`, `$CXX` and `$NAME`: makes `$PROGRAM`.
    pub(super) build: String,
    pub(super) arguments: Vec<String>,
}

/// All programs, from suites that lie in a directory.
pub(super) fn programs(suites: &Path) -> Result<Vec<Failing>, String> {
    let path = root().join("bench/search.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let of_suite = |suite: Suite| {
        let (group, directory) = (suite.name, suites.join(suite.directory));
        suite.programs.into_iter().map(move |program| Failing {
            name: program.name,
            group: group.clone(),
            directory: directory.clone(),
            build: suite.build.clone(),
            arguments: program.arguments,
        })
    };
    Ok(manifest.suite.into_iter().flat_map(of_suite).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_each_program_once() {
        let programs = programs(Path::new("suites")).unwrap();
        let mut names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), programs.len()), (47, 47));
    }
}
