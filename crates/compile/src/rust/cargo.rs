//! The user's cargo, building for recording.
//!
//! The target is always passed to cargo, even if it is the host: then build scripts and macros, which run on the
//! host, are not instrumented. The user's own flags for rustc and rustdoc are kept.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compiler::Branches;

use super::own_flags::{self, Configuration, FlagsOf};
use super::{TARGET, built_std, compiler, flags, linker, links, named};

/// Profiles that there always are.
const PROFILES: [&str; 4] = ["dev", "test", "release", "bench"];

/// Which std programs get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Std {
    /// The one that came with the compiler, without hooks.
    Shipped,
    /// One that is compiled with the program, core and alloc with hooks.
    Built,
}

/// How programs that cargo starts are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    /// As they are. Doc tests are kept in a directory: they are run again after cargo has ended.
    Itself {
        /// Where they are kept.
        doc_tests: PathBuf,
    },
    /// By our program, with these first arguments.
    By(Vec<String>),
}

/// Why cargo cannot build for recording.
#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    /// The user asks for another target.
    #[error("programs for `{0}` cannot be recorded, only those for {TARGET}")]
    Foreign(String),
    /// The compiler or the runtime is not there.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What cargo is asked to do.
#[derive(Clone, Debug)]
pub struct Cargo<'a> {
    /// `+nightly` and the like.
    toolchain: Option<&'a OsStr>,
    arguments: &'a [OsString],
}

impl<'a> Cargo<'a> {
    /// The arguments of cargo, its own name left out.
    pub fn new(arguments: &'a [OsString]) -> Result<Cargo<'a>, CargoError> {
        let (toolchain, arguments) = match arguments.split_first() {
            Some((first, rest)) if first.as_encoded_bytes().starts_with(b"+") => {
                (Some(first.as_os_str()), rest)
            }
            _ => (None, arguments),
        };
        let cargo = Cargo { toolchain, arguments };
        match cargo.value("--target").filter(|target| *target != TARGET) {
            Some(foreign) => Err(CargoError::Foreign(foreign.to_string_lossy().into_owned())),
            None => Ok(cargo),
        }
    }

    /// The subcommand.
    pub fn subcommand(&self) -> Option<&OsStr> {
        self.arguments.first().map(OsString::as_os_str)
    }

    /// Whether nothing is to be said that is no error.
    pub fn is_quiet(&self) -> bool {
        self.own_words().any(|word| word == "-q" || word == "--quiet")
    }

    /// Whether std can be compiled with the program.
    pub fn has_source_of_std(&self) -> io::Result<bool> {
        let mut rustc = compiler(self.toolchain);
        let output = rustc.args(["--print", "sysroot"]).output()?;
        let sysroot = String::from_utf8_lossy(&output.stdout);
        Ok(Path::new(sysroot.trim()).join(built_std::SOURCE).is_file())
    }

    /// Where cargo builds.
    pub fn target_directory(&self) -> io::Result<PathBuf> {
        let mut cargo = self.cargo();
        cargo.args(["metadata", "--format-version=1", "--no-deps", "--offline"]);
        cargo.args(own_flags::configuring(self.arguments));
        if let Some(manifest) = self.value("--manifest-path") {
            cargo.arg("--manifest-path").arg(manifest);
        }
        if let Some(directory) = self.value("--target-dir") {
            return std::path::absolute(directory);
        }
        let output = cargo.stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let directory = metadata["target_directory"].as_str();
        directory.map(PathBuf::from).ok_or_else(|| io::Error::other("`cargo metadata` does not name it"))
    }

    /// The command that builds, and runs what it runs, tests and programs, in this way.
    pub fn command(
        &self,
        this: &Path,
        runner: &Runner,
        std: Std,
        branches: Branches,
    ) -> Result<Command, CargoError> {
        let mut cargo = self.cargo();
        let mut for_rustdoc = Vec::new();
        match runner {
            Runner::By(arguments) => links::run_by(this, arguments, &mut cargo)?,
            Runner::Itself { doc_tests } => {
                let kept = format!("--persist-doctests={}", doc_tests.display());
                for_rustdoc.extend(["-Zunstable-options".to_owned(), kept]);
            }
        }
        if std == Std::Built {
            cargo.arg(built_std::CRATES);
            built_std::pass_by(this, &mut cargo)?;
        }
        cargo.args(self.arguments).env("CARGO_BUILD_TARGET", TARGET);
        let mut asked = self.cargo();
        asked.args(own_flags::configuring(self.arguments));
        let configuration = Configuration::ask(asked, compiler(self.toolchain), TARGET);
        let mut ours = flags(self.toolchain, std, branches)?;
        ours.extend(linker::option(this, configuration.linker().as_deref(), &mut cargo)?);
        for whose in [FlagsOf::Rustc, FlagsOf::Rustdoc] {
            let for_rustdoc = for_rustdoc.iter().filter(|_| whose == FlagsOf::Rustdoc).cloned();
            let own = configuration.flags(whose).into_iter();
            let all: Vec<String> = own.chain(ours.clone()).chain(for_rustdoc).collect();
            cargo.env(whose.encoded(), all.join("\x1f"));
        }
        // What is optimised across crates does not call std's functions any more.
        let chosen = self.value("--profile").and_then(OsStr::to_str);
        for profile in PROFILES.into_iter().chain(chosen) {
            let profile = profile.to_uppercase().replace('-', "_");
            cargo.env(format!("CARGO_PROFILE_{profile}_LTO"), "off");
        }
        Ok(cargo)
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(named("CARGO", "cargo"));
        command.args(self.toolchain).env("RUSTC_BOOTSTRAP", "1");
        command
    }

    /// The arguments that are not the program's.
    fn own_words(&self) -> impl Iterator<Item = &'a OsString> {
        self.arguments.iter().take_while(|word| *word != "--")
    }

    /// The value of one of cargo's options.
    fn value(&self, option: &str) -> Option<&'a OsStr> {
        let mut words = self.own_words();
        while let Some(word) = words.next() {
            if word == option {
                return words.next().map(OsString::as_os_str);
            }
            if let Some(value) = word.to_str().and_then(|word| word.strip_prefix(option)?.strip_prefix('=')) {
                return Some(OsStr::new(value));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn another_target_is_refused() {
        for line in ["build --target wasm32-wasip1", "+nightly build --target=wasm32-wasip1"] {
            let error = Cargo::new(&words(line)).unwrap_err();
            assert!(error.to_string().contains("`wasm32-wasip1`"), "{error}");
        }
        assert!(Cargo::new(&words("run --target x86_64-unknown-linux-gnu")).is_ok());
        assert!(Cargo::new(&words("run -- --target wasm32-wasip1")).is_ok());
    }

    #[test]
    fn options_are_told_from_the_programs() {
        let line = words("+stable test --profile=dist -- -q");
        let cargo = Cargo::new(&line).unwrap();
        assert_eq!(cargo.subcommand(), Some(OsStr::new("test")));
        assert_eq!(cargo.value("--profile"), Some(OsStr::new("dist")));
        assert!(!cargo.is_quiet());
    }
}
