//! Which thread is meant in any run of a program: by who created whom, not by number or name.

use std::fmt;
use std::str::FromStr;

/// The path to a thread from the program's first. Each step says which of its parent's threads it is, counted from 1 in the
/// order of creation. It is written with a 0 for the first thread: `0`, `0.2`, `0.2.1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadPath(Vec<u32>);

impl ThreadPath {
    /// The program's first thread.
    pub const FIRST: ThreadPath = ThreadPath(Vec::new());

    /// The thread that these steps lead to.
    pub fn new(steps: impl Into<Vec<u32>>) -> ThreadPath {
        ThreadPath(steps.into())
    }

    /// The `nth` thread that this one creates, counted from 1.
    pub fn child(&self, nth: u32) -> ThreadPath {
        ThreadPath(self.0.iter().copied().chain([nth]).collect())
    }

    /// The thread that created it, and which of that one's threads it is; none for the first.
    pub fn parent(&self) -> Option<(ThreadPath, u32)> {
        let (&nth, parent) = self.0.split_last()?;
        Some((ThreadPath(parent.to_vec()), nth))
    }

    /// How many threads are above it.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The first thread, then each on the way, then this one.
    pub fn lineage(&self) -> impl Iterator<Item = ThreadPath> {
        (0..=self.0.len()).map(|depth| ThreadPath(self.0[..depth].to_vec()))
    }
}

impl fmt::Display for ThreadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0")?;
        self.0.iter().try_for_each(|nth| write!(f, ".{nth}"))
    }
}

/// A text that is no thread path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a thread path such as `0` or `0.2.1`")]
pub struct NotAThreadPath;

impl FromStr for ThreadPath {
    type Err = NotAThreadPath;

    fn from_str(text: &str) -> Result<Self, NotAThreadPath> {
        let mut steps = text.split('.');
        if steps.next() != Some("0") {
            return Err(NotAThreadPath);
        }
        steps.map(|step| step.parse().map_err(|_| NotAThreadPath)).collect::<Result<_, _>>().map(ThreadPath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        for text in ["0", "0.2", "0.2.1", "0.4294967295"] {
            assert_eq!(text.parse::<ThreadPath>().unwrap().to_string(), text);
        }
        for text in ["", "1", "0.", "0.x", "0..1", ".1", "0.4294967296", "00.1"] {
            assert_eq!(text.parse::<ThreadPath>(), Err(NotAThreadPath), "{text}");
        }
    }

    #[test]
    fn parents_and_children_match() {
        let path = ThreadPath::FIRST.child(2).child(1);
        assert_eq!(path, ThreadPath::new([2, 1]));
        assert_eq!(path.parent(), Some((ThreadPath::new([2]), 1)));
        assert_eq!(ThreadPath::FIRST.parent(), None);
        assert_eq!(path.lineage().map(|path| path.to_string()).collect::<Vec<_>>(), ["0", "0.2", "0.2.1"]);
    }
}
