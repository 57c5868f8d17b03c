//! What was measured so far, cell by cell, in a file: a measurement that is interrupted goes on where it was.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xtask::cargo::root;

/// What a cell is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Key {
    /// The binary that was measured: figures of different ones are not mixed.
    binary: u64,
    name: String,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Line<C> {
    #[serde(flatten)]
    key: Key,
    cell: C,
}

/// Why a cell is not measured when the time for it is over.
pub(crate) const TIME_UP: &str = "the time was up";

/// All cells so far, by name.
pub(crate) struct Cells<C> {
    file: PathBuf,
    binary: u64,
    known: BTreeMap<Key, C>,
    /// Nothing more is measured from then on.
    until: Option<Instant>,
}

impl<C: Clone + Serialize + DeserializeOwned> Cells<C> {
    /// Those of a benchmark, for a binary.
    pub(crate) fn of(benchmark: &str, binary: &Path, limit: Option<Duration>) -> Result<Cells<C>, String> {
        let cells = Cells::open(&root().join(format!("target/{benchmark}-cells.jsonl")), binary, limit)?;
        eprintln!("{} cells are known", cells.len());
        Ok(cells)
    }

    /// Those in a file, for a binary. A line that was not written whole is left out.
    fn open(file: &Path, binary: &Path, limit: Option<Duration>) -> Result<Cells<C>, String> {
        let content = std::fs::read(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&content);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line<C>>(line).ok());
        let known = lines.map(|line| (line.key, line.cell)).collect();
        let until = limit.map(|limit| Instant::now() + limit);
        Ok(Cells { file: file.to_owned(), binary: hasher.finish(), known, until })
    }

    /// How many cells of this binary are known.
    fn len(&self) -> usize {
        self.known.keys().filter(|key| key.binary == self.binary).count()
    }

    /// The cell, measured if it is not known.
    pub(crate) fn get(
        &mut self,
        name: &str,
        measure: impl FnOnce() -> Result<C, String>,
    ) -> Result<C, String> {
        if let Some(cell) = self.known(name) {
            return Ok(cell);
        }
        if self.is_over() {
            return Err(TIME_UP.to_owned());
        }
        let cell = measure()?;
        self.keep(name, &cell)?;
        Ok(cell)
    }

    /// Whether the time for measuring is over.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// The cell, if it was measured.
    pub(crate) fn known(&self, name: &str) -> Option<C> {
        self.known.get(&self.key(name)).cloned()
    }

    /// Notes what was measured.
    pub(crate) fn keep(&mut self, name: &str, cell: &C) -> Result<(), String> {
        let key = self.key(name);
        let line = serde_json::to_string(&Line { key: key.clone(), cell: cell.clone() });
        let line = line.map_err(|error| error.to_string())?;
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(&self.file)
            .and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|error| format!("{}: {error}", self.file.display()))?;
        self.known.insert(key, cell.clone());
        Ok(())
    }

    fn key(&self, name: &str) -> Key {
        Key { binary: self.binary, name: name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_measured_again() {
        let place = tempfile::tempdir().unwrap();
        let (file, binary) = (place.path().join("cells"), place.path().join("binary"));
        std::fs::write(&binary, "one").unwrap();
        let mut cells = Cells::open(&file, &binary, None).unwrap();
        assert_eq!(cells.get("bank 1", || Ok(3)), Ok(3));
        assert!(cells.get("bank 2", || Err("it does not build".to_owned())).is_err());
        // The last line was not written whole.
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str("{\"binary\":1,\"na");
        std::fs::write(&file, format!("{text}\n")).unwrap();
        let mut again = Cells::<u32>::open(&file, &binary, Some(Duration::from_secs(600))).unwrap();
        assert_eq!(again.len(), 1);
        assert_eq!(again.get("bank 1", || Err("measured again".to_owned())), Ok(3));
        assert_eq!(again.get("bank 2", || Ok(0)), Ok(0));
        assert_eq!((again.known("bank 2"), again.known("bank 3")), (Some(0), None));
        std::fs::write(&binary, "another").unwrap();
        let mut late = Cells::<u32>::open(&file, &binary, Some(Duration::ZERO)).unwrap();
        assert_eq!(late.len(), 0);
        assert!(late.get("bank 1", || Ok(0)).is_err());
        let mut other = Cells::<u32>::open(&file, &binary, None).unwrap();
        assert!(other.get("bank 1", || Err("not known".to_owned())).is_err());
    }
}
