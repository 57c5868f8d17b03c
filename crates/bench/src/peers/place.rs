//! Where a project is built and run: a copy of its sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::manifest::Release;
use xtask::cargo::root;

/// What the lines of a project may take in the shell, in seconds.
const LIMIT: u32 = 900;

pub(crate) struct Place<'a> {
    pub(crate) foretell: &'a Path,
    pub(crate) directory: &'a Path,
}

impl Place<'_> {
    /// Copies the sources to the directory, which does not exist yet.
    pub(crate) fn fill(&self, source: &Path) -> Result<(), String> {
        let copied = Command::new("cp").arg("-rH").arg(source).arg(self.directory).status();
        match copied.is_ok_and(|status| status.success()) {
            true => Ok(()),
            false => Err(format!("{} cannot be copied", source.display())),
        }
    }

    /// Runs lines of the shell where the project is; what they print. What they say besides goes to a file.
    pub(crate) fn shell(&self, lines: &str, log: &str) -> Result<String, String> {
        let log = self.directory.join(log);
        let errors = std::fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let output = Command::new("timeout")
            .args(["-k", "5", &LIMIT.to_string(), "sh", "-ec", lines])
            .envs(self.variables())
            .current_dir(self.directory)
            .stderr(errors)
            .output()
            .map_err(|error| format!("cannot run the shell: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        Err(format!("does not build: {}", last.join(" | ")))
    }

    /// What the lines may name.
    pub(crate) fn variables(&self) -> [(&'static str, String); 4] {
        let foretell = self.foretell.to_string_lossy();
        [
            ("FORETELL", foretell.clone().into_owned()),
            ("CC", format!("{foretell} cc")),
            ("CXX", format!("{foretell} c++")),
            ("PROGRAMS", root().join("bench/programs").to_string_lossy().into_owned()),
        ]
    }
}

/// The sources of a package of Debian's or of a release on crates.io, and their version. They are fetched below the directory.
pub(crate) fn fetched(
    name: &str,
    package: Option<&str>,
    release: Option<&Release>,
    directory: &Path,
) -> Result<(PathBuf, String), String> {
    match (package, release) {
        (Some(package), None) => {
            let source = xtask::debian::source(package, directory)?;
            let named = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let version = named.rsplit_once('-').map_or(named.clone(), |(_, version)| version.to_owned());
            Ok((source, version))
        }
        (None, Some(release)) => release.source(directory),
        _ => Err(format!("{name}: needs either a package or a release")),
    }
}
