//! Whose code an event is in: the user's own, or that of a dependency or the standard library.
//!
//! The user's own code is what lies under the project's root: the directory that the run was recorded in, or the nearest above it that has
//! a `.git` or a `foretell.toml`. Where none of the trace's source lies there, the program was built elsewhere, and all source counts but
//! that of the system and of the crates that cargo fetched.

use std::path::{Component, Path, PathBuf};

use report::{SourcePlace, is_of_the_system};
use trace::{EventId, LocationId, Trace};

use crate::project;

/// Tells the user's own code from other code.
#[derive(Clone, Debug)]
pub struct FirstParty {
    /// The directory that relative paths in the trace are relative to.
    directory: PathBuf,
    /// Where the user's own code is; empty: wherever no other code is known to be.
    roots: Vec<PathBuf>,
}

/// What a directory has that is the root of a project.
const ROOT_MARKS: [&str; 2] = [".git", project::FILE];

/// Parts of paths that only fetched code has.
const FETCHED: [&str; 2] = ["/registry/src/", "/git/checkouts/"];

impl FirstParty {
    /// For a trace: the roots that the user names, or the root of the project that was recorded.
    pub fn of(trace: &Trace, named: &[PathBuf]) -> FirstParty {
        let directory = PathBuf::from(&trace.metadata().directory);
        if !named.is_empty() {
            let here = std::env::current_dir().unwrap_or_default();
            let roots = named.iter().map(|root| normal(&here.join(root))).collect();
            return FirstParty { directory, roots };
        }
        let root = project_root(&directory);
        let project = FirstParty { directory, roots: vec![root] };
        let symbols = trace.symbols();
        let mut locations = (0..symbols.locations.len()).map(LocationId::new);
        match locations.any(|location| project.contains(symbols.location(location))) {
            true => project,
            false => FirstParty { roots: Vec::new(), ..project },
        }
    }

    /// Whether a location is in the user's own code. A location without a file is unknown and counts as such.
    pub fn contains(&self, location: &str) -> bool {
        let Some(place) = SourcePlace::of(location) else { return self.roots.is_empty() };
        let file = place.file;
        if is_of_the_system(location) || FETCHED.iter().any(|part| file.contains(part)) {
            return false;
        }
        let file = normal(&self.directory.join(file));
        self.roots.is_empty() || self.roots.iter().any(|root| file.starts_with(root))
    }

    /// Whether an event, or a call that led to it, is in the user's own code as far as its location tells.
    pub fn has(&self, trace: &Trace, event: EventId) -> bool {
        self.contains(trace.symbols().location(trace.location(event)))
    }
}

/// The root of the project that a directory belongs to.
fn project_root(directory: &Path) -> PathBuf {
    let has_mark = |directory: &&Path| ROOT_MARKS.iter().any(|mark| directory.join(mark).exists());
    directory.ancestors().find(has_mark).unwrap_or(directory).to_owned()
}

/// A path without its `.` and `..`, whether it exists or not.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// The function that an event's location is in, if calls were recorded.
pub(crate) fn function_of(trace: &Trace, event: EventId) -> Option<String> {
    let notes = trace.notes()?;
    let stack = notes.stack(event).ok()??;
    let location = trace.symbols().location(trace.location(event));
    let frames = || notes.frames_of(stack).map(|frame| frame.split_once('\t').unwrap_or((frame, "")));
    let (function, _) = frames().find(|(_, place)| *place == location).or_else(|| frames().next())?;
    Some(function.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under(roots: &[&str]) -> FirstParty {
        FirstParty {
            directory: "/home/u/bank/tests".into(),
            roots: roots.iter().map(PathBuf::from).collect(),
        }
    }

    #[test]
    fn code_under_a_root_is_the_users_own() {
        let bank = under(&["/home/u/bank"]);
        assert!(bank.contains("main.c:3") && bank.contains("../src/bank.c:3:7"));
        assert!(bank.contains("/home/u/bank/src/../lib/a.c:1"));
        assert!(!bank.contains("../../queue/queue.c:3") && !bank.contains("/home/u/bankers/a.c:3"));
        assert!(!bank.contains("/usr/include/c++/12/mutex:3") && !bank.contains("libz.so.1+0x12"));
    }

    #[test]
    fn without_a_root_all_is_but_what_was_fetched_or_installed() {
        let any = under(&[]);
        assert!(any.contains("/elsewhere/a.c:3") && any.contains("17") && any.contains("a.c:1"));
        assert!(!any.contains("/home/u/.cargo/registry/src/index-19/rayon-core-1.1/src/latch.rs:3"));
        assert!(!any.contains("/rustc/5980/library/std/src/sync/mutex.rs:3"));
    }
}
