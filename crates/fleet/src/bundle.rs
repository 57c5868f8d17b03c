//! Bundles: all that a test needs to run elsewhere: the program, its shared libraries beyond the C library, and the files named as inputs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use foretell::diagnostics::Diagnostic;
use pipeline::suite::Test;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::fleet::Fleet;

/// Libraries that every machine has: those of the C library, and the recorder in place of ThreadSanitizer's.
const OF_EVERY_MACHINE: [&str; 14] = [
    "ld-linux",
    "libc",
    "libm",
    "libpthread",
    "libdl",
    "librt",
    "libresolv",
    "libutil",
    "libnsl",
    "libanl",
    "libcrypt",
    "libtsan",
    "libmvec",
    "linux-vdso",
];

/// A file in the object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    /// What it is called where it is used; inputs have a path.
    pub(crate) name: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) executable: bool,
}

/// All that a test needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bundle {
    pub(crate) program: StoredFile,
    pub(crate) libraries: Vec<StoredFile>,
    /// Files below the directory that it runs in.
    pub(crate) inputs: Vec<StoredFile>,
    /// Its standard input.
    pub(crate) standard_input: Option<StoredFile>,
}

impl Bundle {
    /// Stores what a test needs.
    pub(crate) async fn store(fleet: &Fleet, test: &Test, inputs: &[PathBuf]) -> Result<Bundle, Diagnostic> {
        let name = file_name(&test.program);
        let program = fleet.store_file(&name, &test.program, true).await?;
        let mut libraries = Vec::new();
        let found = libraries_of(test)
            .map_err(|error| Diagnostic::from_io("find the libraries of", &format!("`{name}`"), &error))?;
        for library in found {
            libraries.push(fleet.store_file(&file_name(&library), &library, true).await?);
        }
        let mut stored = Vec::new();
        for input in inputs {
            stored.push(fleet.store_file(&below(input)?, &test.directory.join(input), false).await?);
        }
        let standard_input = match &test.input {
            Some(input) => Some(fleet.store_file("standard input", input, false).await?),
            None => None,
        };
        Ok(Bundle { program, libraries, inputs: stored, standard_input })
    }

    /// What it is called: the same for the same content.
    pub(crate) fn name(&self) -> String {
        let files = std::iter::once(&self.program).chain(&self.libraries);
        let text: String = files.map(|file| format!("{} {}\n", file.name, file.digest)).collect();
        Digest::of(text.as_bytes()).as_str()[..32].to_owned()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("program")).to_string_lossy().into_owned()
}

/// An input by its path from the directory that the test runs in.
fn below(input: &Path) -> Result<String, Diagnostic> {
    let is_below = input.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match input.to_str().filter(|_| is_below) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Diagnostic::new(format!("the input `{}` is not below this directory", input.display()))
            .note("on a worker the program runs in an empty directory, and inputs are put there")
            .help("copy it here, and name it as the program does")),
    }
}

/// The shared libraries that a test loads, as the loader finds them, without those that every machine has.
fn libraries_of(test: &Test) -> io::Result<Vec<PathBuf>> {
    let mut loader = Command::new("ldd");
    loader.arg(&test.program).current_dir(&test.directory).stdin(Stdio::null()).stderr(Stdio::null());
    let is_path = |(name, _): &&(OsString, OsString)| name == "LD_LIBRARY_PATH";
    loader.envs(test.variables.iter().filter(is_path).cloned());
    let listed = loader.output()?.stdout;
    let found = listed_libraries(&String::from_utf8_lossy(&listed));
    // The loader names some as seen from there.
    Ok(found.into_iter().map(|path| test.directory.join(path)).collect())
}

/// The files that `ldd` lists.
fn listed_libraries(listed: &str) -> Vec<PathBuf> {
    let paths = listed.lines().filter_map(|line| {
        let (name, found) = line.trim().split_once(" => ")?;
        let path = found.split(" (").next()?.trim();
        let stem = Path::new(name).file_name()?.to_str()?.split(".so").next()?;
        let is_everywhere =
            OF_EVERY_MACHINE.iter().any(|known| stem == *known || stem.starts_with("ld-linux"));
        (!is_everywhere && path.contains('/')).then(|| PathBuf::from(path))
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_beyond_the_c_library_are_part_of_it() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibtsan.so.2 => /opt/foretell/libtsan.so.2 (0x00007f)\n\
            \tlibqueue.so => ./build/libqueue.so (0x00007f)\n\
            \tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f)\n\
            \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
            \tlibmine.so.1 => /home/me/build dir/libmine.so.1 (0x00007f)\n\
            \tlibmissing.so => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = [
            "./build/libqueue.so",
            "/lib/x86_64-linux-gnu/libstdc++.so.6",
            "/home/me/build dir/libmine.so.1",
        ];
        assert_eq!(listed_libraries(listed), expected.map(PathBuf::from));
    }

    #[test]
    fn inputs_lie_below_the_directory() {
        assert_eq!(below(Path::new("data/a b.txt")).unwrap(), "data/a b.txt");
        for hostile in ["/etc/passwd", "../secret", "data/../../secret"] {
            assert!(below(Path::new(hostile)).is_err(), "{hostile}");
        }
    }
}
