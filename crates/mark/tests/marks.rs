//! The example does nothing of note without hooks, and calls them when a library brings them, without being rebuilt.
#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Command;

fn example() -> PathBuf {
    let this = std::env::current_exe().expect("a test knows where it is");
    // target/PROFILE/deps/TEST beside target/PROFILE/examples.
    let profile = this.parent().and_then(Path::parent).expect("it is in a folder of a profile");
    profile.join("examples/marks")
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn nothing_happens_without_hooks() {
    assert_eq!(said(&mut Command::new(example())), "done\n");
}

#[test]
fn hooks_are_called_where_they_are() {
    if !testing::has("cc") {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let library = folder.path().join("libhooks.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(compiled.expect("the compiler runs").success(), "the hooks compile");
    let told = said(Command::new(example()).env("LD_PRELOAD", &library));
    assert_eq!(told, "begin transfer\nmark open 1\nmark open -2\nmark size 7\nend transfer\ndone\n");
}
