//! A directory for the files of one chore.

use std::path::Path;

/// Works in a new temporary directory and removes it afterwards.
pub fn with_directory<T>(work: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let directory = tempfile::Builder::new()
        .prefix("foretell-bench-")
        .tempdir()
        .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let done = work(directory.path())?;
    directory.close().map_err(|error| format!("cannot remove a temporary directory: {error}"))?;
    Ok(done)
}
