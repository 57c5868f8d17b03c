//! What is measured: bench/peers.toml names Debian's programs, and a file of the same form, in the directory that `FORETELL_PEERS` names, what else lies there.
//!
//! Nothing of the programs is in this repository. Debian's come from `apt-get source`; the
//! others lie below their file, which also says how they are built.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trial::Finding;
use xtask::cargo::root;
use xtask::debian;

/// One of the two files.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Manifest {
    pub(super) program: Vec<Program>,
    pub(super) suite: Vec<Suite>,
    pub(super) project: Vec<Project>,
    pub(super) judged: Vec<Judgement>,
    pub(crate) hostile: Vec<Hostile>,
}

/// A program that is built in a copy of its sources, and run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) name: String,
    /// The heading it is under.
    pub(super) group: String,
    /// Debian's source package, or else the directory of its sources.
    package: Option<String>,
    source: Option<PathBuf>,
    /// Where in the sources it is built and run.
    #[serde(default)]
    pub(super) directory: PathBuf,
    /// For the shell, with `$CC` and `$CXX` (and `$PEERS`, the directory of the file).
    pub(super) build: String,
    /// One command for the shell, redirections included; `$INPUT` is a file of some size, `$SERVER` a web server that has it.
    pub(super) run: String,
    /// Whether it did its work, for the shell; `stdout` is what it printed.
    #[serde(default)]
    pub(super) check: String,
    /// The row of paper 3's table 2.
    pub(super) paper: Option<String>,
}

/// Small programs, a file each, whose comments say on which lines a race is (`RACE!`) or is not (`NORACE`); the same with `DEADLOCK`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) source: PathBuf,
    /// For the shell, with `$CC` and `$FILE`, in an empty directory: makes `./program`.
    pub(super) build: String,
}

/// A project that is built as it is, and hunted in with the defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    pub(super) name: String,
    /// Debian's source package, or else a release on crates.io.
    pub(super) package: Option<String>,
    pub(super) release: Option<Release>,
    /// Lines for the shell, with `$CC`, `$CXX`, `$FORETELL`, and `$PROGRAMS`, the directory of programs of our own.
    #[serde(default)]
    pub(super) build: String,
    /// The same; it prints the report of a hunt as JSON.
    pub(super) hunt: String,
}

/// A project that once took all the time or memory there was, and what is done with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hostile {
    pub(crate) name: String,
    /// Debian's source package, or else a release on crates.io.
    pub(crate) package: Option<String>,
    pub(crate) release: Option<Release>,
    /// Lines for the shell, as a project's: they build, and record what is searched.
    pub(crate) prepare: String,
    /// What is measured, in order.
    pub(crate) command: Vec<Measured>,
}

/// A command and what it may take: seconds on the clock, seconds of CPU time, and megabytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    /// One command for the shell, and how the table shows it.
    pub(crate) run: String,
    pub(crate) shown: String,
    /// What it took before it was bounded.
    pub(crate) before: String,
    pub(crate) wall: Option<u64>,
    pub(crate) cpu: Option<u64>,
    pub(crate) megabytes: Option<u64>,
    /// It may take no more CPU time than the command before it.
    #[serde(default)]
    pub(crate) as_before: bool,
    /// How many events the recording that it leaves (`run.ftr`) may have.
    pub(crate) events: Option<u64>,
}

/// A release of a crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    #[serde(rename = "crate")]
    name: String,
    version: String,
}

impl Release {
    /// Its source, from cargo's own cache, where it is fetched to; and its version.
    pub(super) fn source(&self, directory: &Path) -> Result<(PathBuf, String), String> {
        let asking = directory.join(format!("{}-{}", self.name, self.version));
        let write = |file: &str, text: &str| {
            let file = asking.join(file);
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
        };
        std::fs::create_dir_all(asking.join("src"))
            .map_err(|error| format!("cannot make a directory: {error}"))?;
        write("src/lib.rs", "")?;
        write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"asking\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n{} = \"={}\"\n",
                self.name, self.version
            ),
        )?;
        let mut cargo = Command::new("cargo");
        let output = cargo.args(["metadata", "--format-version", "1"]).current_dir(&asking).output();
        let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("{} {} cannot be fetched", self.name, self.version))?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let manifest = packages
            .filter(|package| package["name"] == self.name.as_str())
            .find_map(|package| package["manifest_path"].as_str());
        let source = manifest.and_then(|manifest| Path::new(manifest).parent());
        let source = source.ok_or_else(|| format!("{} {} is not there", self.name, self.version))?;
        Ok((source.to_owned(), self.version.clone()))
    }
}

/// What is known of findings of a program, from reading its source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judgement {
    pub(super) program: String,
    /// `file:line`; a finding all of whose places are among them is meant.
    pub(super) places: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) why: String,
}

impl Judgement {
    /// The verdict and why.
    pub(super) fn words(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Bug => "a bug",
            Verdict::Harmless => "real, but harmless",
            Verdict::FalseAlarm => "a false alarm",
        };
        format!("{verdict}: {}", self.why)
    }
}

/// What is known of a finding of a program.
pub(super) fn judgement_of<'j>(
    program: &str,
    finding: &Finding,
    judged: &[&'j Judgement],
) -> Option<&'j Judgement> {
    let is_of = |judged: &&&Judgement| {
        judged.program == program && finding.places.iter().all(|place| judged.places.contains(place))
    };
    judged.iter().find(is_of).copied()
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    Bug,
    Harmless,
    FalseAlarm,
}

/// A manifest and the directory it is about.
pub(crate) struct Sources {
    pub(crate) manifest: Manifest,
    pub(super) directory: PathBuf,
}

impl Sources {
    /// Debian's programs, to be unpacked in a directory.
    pub(crate) fn debian(directory: &Path) -> Result<Sources, String> {
        let manifest = read(&root().join("bench/peers.toml"))?;
        Ok(Sources { manifest, directory: directory.to_owned() })
    }

    /// What the user has, if anything.
    pub(super) fn of_the_user() -> Result<Option<Sources>, String> {
        let Some(directory) = std::env::var_os("FORETELL_PEERS").map(PathBuf::from) else { return Ok(None) };
        let manifest = read(&directory.join("peers.toml"))?;
        Ok(Some(Sources { manifest, directory }))
    }

    /// Where the sources of a program are; for Debian's, fetches them.
    pub(super) fn of(&self, program: &Program) -> Result<PathBuf, String> {
        match (&program.package, &program.source) {
            (Some(package), None) => debian::source(package, &self.directory),
            (None, Some(source)) => Ok(self.directory.join(source)),
            _ => Err(format!("{}: needs either a package or a source", program.name)),
        }
    }
}

fn read(path: &Path) -> Result<Manifest, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
