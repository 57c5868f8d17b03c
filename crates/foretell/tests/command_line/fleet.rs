//! `foretell fleet` is another program: beside this one, or in PATH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A directory with `foretell` in it, and nothing beside it.
fn installed() -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_foretell"), directory.path().join("foretell")).unwrap();
    directory
}

fn run(directory: &Path, path: &Path) -> Output {
    let arguments = ["fleet", "submit", "--seeds", "3", "--", "./x"];
    Command::new(directory.join("foretell")).args(arguments).env("PATH", path).output().unwrap()
}

fn place_script(directory: &Path, says: &str) {
    let script = directory.join("foretell-fleet");
    fs::write(&script, format!("#!/bin/sh\necho {says}: \"$@\"\nexit 7\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_other_program_is_found_next_to_this_one_and_then_in_the_path() {
    let (here, elsewhere) = (installed(), tempfile::tempdir().unwrap());
    let missing = run(here.path(), elsewhere.path());
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2), "{said}");
    assert!(
        said.contains("`foretell-fleet` is neither in the directory of this program nor in PATH"),
        "{said}"
    );
    assert!(said.contains("cargo install --path crates/fleet"), "{said}");
    for (place, says) in [(elsewhere.path(), "in the path"), (here.path(), "next to it")] {
        place_script(place, says);
        let found = run(here.path(), elsewhere.path());
        assert_eq!(found.status.code(), Some(7));
        assert_eq!(String::from_utf8(found.stdout).unwrap(), format!("{says}: submit --seeds 3 -- ./x\n"));
    }
}
