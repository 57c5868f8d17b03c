//! The commands of the book are run as they stand there.
//!
//! A line that begins with a dollar sign is a session: what it prints is compared ([`sessions`]). Every other command is run in a directory
//! with a project ([`project`]), and must neither fail to start nor be refused ([`commands`]).

mod commands;
mod figures;
mod project;
mod sessions;
mod tables;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page, by its path from the root of the repository.
fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the book, as its table of contents has them, and the README.
fn pages() -> Vec<String> {
    let summary = page("docs/SUMMARY.md");
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    // Written when the book is built, from `--help`; the tutorials have a test of their own, with their CI jobs (tests/suites).
    let is_here = |link: &&str| *link != "commands.md" && !link.starts_with("tutorial/");
    let written = links.filter(is_here).map(|link| format!("docs/{link}"));
    written.chain(["README.md".to_owned()]).collect()
}

/// The search path with the program under test in front.
fn search_path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    format!("{}:{}", program.display(), std::env::var("PATH").unwrap())
}
