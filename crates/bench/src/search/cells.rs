//! What was measured so far, cell by cell, in a file: a measurement that is interrupted goes on where it was.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// One cell: a program, a way to make it fail, and a seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Key {
    /// The binary that was measured: figures of different ones are not mixed.
    binary: u64,
    program: String,
    way: String,
    seed: u64,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    /// The run that failed, and the CPU seconds until then; none: it did not fail.
    pub(super) failed: Option<(u64, f64)>,
    /// What was confirmed instead.
    #[serde(default)]
    pub(super) confirmed: String,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    cell: Cell,
}

/// All cells so far.
pub(super) struct Cells {
    file: PathBuf,
    binary: u64,
    known: BTreeMap<Key, Cell>,
    /// Nothing more is measured from then on.
    until: Option<Instant>,
}

impl Cells {
    /// Those in a file, for a binary. A line that was not written whole is left out.
    pub(super) fn open(file: &Path, binary: &Path, limit: Option<Duration>) -> Result<Cells, String> {
        let content = std::fs::read(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&content);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.map(|line| (line.key, line.cell)).collect();
        let until = limit.map(|limit| Instant::now() + limit);
        Ok(Cells { file: file.to_owned(), binary: hasher.finish(), known, until })
    }

    /// How many cells of this binary are known.
    pub(super) fn len(&self) -> usize {
        self.known.keys().filter(|key| key.binary == self.binary).count()
    }

    /// The cell, measured if it is not known.
    pub(super) fn get(
        &mut self,
        program: &str,
        way: &str,
        seed: u64,
        measure: impl FnOnce() -> Result<Cell, String>,
    ) -> Result<Cell, String> {
        let key = Key { binary: self.binary, program: program.to_owned(), way: way.to_owned(), seed };
        if let Some(cell) = self.known.get(&key) {
            return Ok(cell.clone());
        }
        if self.until.is_some_and(|until| until <= Instant::now()) {
            return Err("the time was up".to_owned());
        }
        let cell = measure()?;
        let line = serde_json::to_string(&Line { key: key.clone(), cell: cell.clone() });
        let line = line.map_err(|error| error.to_string())?;
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(&self.file)
            .and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|error| format!("{}: {error}", self.file.display()))?;
        self.known.insert(key, cell.clone());
        Ok(cell)
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
        let cell = Cell { failed: Some((3, 0.5)), confirmed: "race".to_owned() };
        let mut cells = Cells::open(&file, &binary, None).unwrap();
        assert_eq!(cells.get("bank", "hunt", 1, || Ok(cell.clone())), Ok(cell.clone()));
        assert!(cells.get("bank", "hunt", 2, || Err("it does not build".to_owned())).is_err());
        // The last line was not written whole.
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str("{\"binary\":1,\"prog");
        std::fs::write(&file, text).unwrap();
        let mut again = Cells::open(&file, &binary, Some(Duration::from_secs(600))).unwrap();
        assert_eq!(again.len(), 1);
        assert_eq!(again.get("bank", "hunt", 1, || Err("measured again".to_owned())), Ok(cell.clone()));
        assert_eq!(again.get("bank", "hunt", 2, || Ok(Cell::default())), Ok(Cell::default()));
        std::fs::write(&binary, "another").unwrap();
        let mut late = Cells::open(&file, &binary, Some(Duration::ZERO)).unwrap();
        assert_eq!(late.len(), 0);
        assert!(late.get("bank", "hunt", 1, || Ok(Cell::default())).is_err());
        let mut other = Cells::open(&file, &binary, None).unwrap();
        assert!(other.get("bank", "hunt", 1, || Err("not known".to_owned())).is_err());
    }
}
