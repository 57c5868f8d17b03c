//! Recordings of real programs, from the directory that `FORETELL_RECORDINGS` names. The programs and how they were built are not part of
//! this repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::measured;

/// What a recording may take, all kinds of findings searched for.
const MOST_TIME: Duration = Duration::from_secs(120);
const MOST_MEMORY: u64 = 4 << 30;
/// When it is stopped, in seconds.
const STOPPED: &str = "600";

/// Which recordings there once was trouble with, by the name of the file, and what it was.
const BEFORE: [(&str, &str); 5] = [
    ("zstd", "killed at 240 s, 4.8 GB"),
    ("redis", "races killed at 60 s, 10.8 GB"),
    ("memcached", "over 240 s"),
    ("crossbeam-drops", "15 GB, killed at 60 s"),
    ("circular-buffer", "22 s for races"),
];

/// The table of the recordings, or why there is none.
pub(super) fn section(foretell: &str) -> Result<String, String> {
    let mut section = format!(
        "\nRecordings of real programs (all files of the directory that `FORETELL_RECORDINGS` names), `predict` with all kinds, which may take {} s of \
         CPU time and {} MB:\n\n",
        MOST_TIME.as_secs(),
        MOST_MEMORY >> 20
    );
    let Some(directory) = std::env::var_os("FORETELL_RECORDINGS") else {
        section.push_str("Not measured: `FORETELL_RECORDINGS` is not set.\n");
        return Ok(section);
    };
    section.push_str("| recording | bytes | before | CPU s | peak MB | |\n|---|--:|---|--:|--:|---|\n");
    for file in recordings(Path::new(&directory))? {
        let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let before = BEFORE.iter().find(|(known, _)| *known == name).map_or("", |(_, before)| before);
        let file = file.to_string_lossy();
        let cost = measured(&["timeout", STOPPED, foretell, "predict", &file], MOST_TIME, MOST_MEMORY);
        let _ = writeln!(section, "| `{name}` | {bytes} | {before} | {cost} |");
    }
    Ok(section)
}

/// The recordings of a directory, by name.
fn recordings(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|e| e == "ftr")).collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: there is no recording (*.ftr)", directory.display()));
    }
    Ok(files)
}
