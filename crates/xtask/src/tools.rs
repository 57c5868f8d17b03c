//! `cargo xtask bench tools`: two real programs, pigz and pbzip2, built unmodified with Foretell's compilers and recorded on
//! real input; what they write must decompress to it.
//!
//! Their sources are not in this repository. `FORETELL_TOOLS` names a directory that has them, unpacked, in directories
//! whose names begin with the programs'; without it nothing is tested, and it says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::bench::{release_build, with_directory};
use crate::cargo::root;

/// A program: what it is called, its arguments, and what undoes it.
struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    undo: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool { name: "pigz", arguments: &["-p", "4", "-k", "-c"], undo: "gzip" },
    Tool { name: "pbzip2", arguments: &["-p4", "-b1", "-k", "-c"], undo: "bzip2" },
];

const INPUT_BYTES: usize = 4_000_000;

pub(crate) fn run() -> Outcome {
    let Some(sources) = std::env::var_os("FORETELL_TOOLS").map(PathBuf::from) else {
        println!(
            "skipped: FORETELL_TOOLS names no directory with the sources of pigz and pbzip2 (apt-get source pigz pbzip2)"
        );
        return Ok(());
    };
    let foretell = release_build()?;
    with_directory(|directory| {
        let input = directory.join("input");
        std::fs::write(&input, real_input(&foretell)?).map_err(|error| format!("cannot write: {error}"))?;
        TOOLS.iter().try_for_each(|tool| tool.test(&sources, &foretell, directory, &input))
    })
}

/// A program and the sources of this repository, a few megabytes.
fn real_input(foretell: &str) -> Result<Vec<u8>, String> {
    let mut bytes = std::fs::read(root().join("bench/RESULTS.md")).unwrap_or_default();
    bytes.extend(std::fs::read(foretell).map_err(|error| format!("cannot read {foretell}: {error}"))?);
    bytes.truncate(INPUT_BYTES);
    Ok(bytes)
}

impl Tool {
    fn test(&self, sources: &Path, foretell: &str, directory: &Path, input: &Path) -> Outcome {
        let Some(source) = self.source(sources) else {
            println!("{}: skipped: {} has no sources of it", self.name, sources.display());
            return Ok(());
        };
        let built = directory.join(self.name);
        succeed(Command::new("cp").arg("-r").arg(source).arg(&built))?;
        let compilers = [format!("CC={foretell} cc"), format!("CXX={foretell} c++")];
        succeed(Command::new("make").arg("-C").arg(&built).args(compilers).stdout(Stdio::null()))?;
        let trace = directory.join(format!("{}.ftr", self.name));
        let mut record = Command::new(foretell);
        record.args(["record", "-o"]).arg(&trace).arg("--").arg(built.join(self.name)).args(self.arguments);
        let packed = directory.join("packed");
        let file = std::fs::File::create(&packed).map_err(|error| format!("cannot write: {error}"))?;
        succeed(record.arg(input).stdout(file))?;
        let unpacked = Command::new(self.undo).arg("-dc").stdin(open(&packed)?).output();
        let unpacked = unpacked.map_err(|error| format!("cannot run {}: {error}", self.undo))?;
        let same = std::fs::read(input).is_ok_and(|input| input == unpacked.stdout);
        if !same {
            return Err(format!("what {} wrote while it was recorded is not its input", self.name));
        }
        succeed(Command::new(foretell).args(["stats", "-q"]).arg(&trace).stdout(Stdio::null()))?;
        println!("{}: built, recorded, and its output is right", self.name);
        Ok(())
    }

    fn source(&self, sources: &Path) -> Option<PathBuf> {
        let begins = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            path.join("Makefile").exists() && name.starts_with(self.name)
        };
        std::fs::read_dir(sources).ok()?.flatten().map(|entry| entry.path()).find(begins)
    }
}

fn open(path: &Path) -> Result<std::fs::File, String> {
    std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn succeed(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
