//! Files that are written: each appears whole or not at all. It is written under a temporary name in the directory of its target and
//! renamed at the end; [`remove_unfinished`] is for a process that ends in between.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::error::{Error, ErrorKind};

/// The forms a trace can be written in. The extension chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The native form, `.ftr`.
    Native,
    /// STD text, as it is or compressed.
    Text(Compression),
}

/// How a text trace is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Form {
    /// Plain text: what everything that is no trace is written as.
    pub const PLAIN: Form = Form::Text(Compression::None);

    /// The form that the name of a trace asks for.
    pub fn of(path: &Path) -> Result<Form, Error> {
        let extension = |path: &Path| path.extension().map(OsStr::to_ascii_lowercase).unwrap_or_default();
        let compression = match extension(path).to_str() {
            Some("ftr") => return Ok(Form::Native),
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        };
        let bare = path.with_extension("");
        if compression != Compression::None && extension(&bare) == "ftr" {
            let error = Error::from(ErrorKind::CompressedTwice(path.to_owned()));
            return Err(error.help(format!("write to `{}` instead", bare.display())));
        }
        Ok(Form::Text(compression))
    }
}

/// A buffer that output of any size goes through.
pub const BUFFER: usize = 1 << 18;

/// Writes a file, through its compression if it has any.
pub fn write<T>(
    path: &Path,
    form: Form,
    content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Error> {
    try_write(path, form, content)
        .map_err(|error| Error::io("write to", format!("`{}`", path.display()), error))
}

fn try_write<T>(
    path: &Path,
    form: Form,
    content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    if is_special(path) {
        // A device or a pipe is written to, never replaced.
        return compressed(&mut File::options().write(true).open(path)?, form, content);
    }
    // A link stays a link: what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    remove_stale_parts(path);
    let mut unfinished = Unfinished::next_to(path, form)?;
    let value = compressed(unfinished.file.as_file_mut(), form, content)?;
    unfinished.finish(path)?;
    Ok(value)
}

fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

fn compressed<T>(
    file: &mut File,
    form: Form,
    content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let mut file = BufWriter::with_capacity(BUFFER, file);
    let value = match form {
        Form::Native | Form::Text(Compression::None) => content(&mut file)?,
        Form::Text(Compression::Gzip) => {
            let mut encoder = GzEncoder::new(&mut file, flate2::Compression::new(6));
            let value = content(&mut encoder)?;
            encoder.finish()?;
            value
        }
        Form::Text(Compression::Zstd) => {
            let mut encoder = zstd::Encoder::new(&mut file, 3)?;
            let value = content(&mut encoder)?;
            encoder.finish()?;
            value
        }
    };
    file.flush()?;
    Ok(value)
}

/// The temporary files being written.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file under a temporary name until it is finished; removed when dropped before that.
struct Unfinished {
    file: NamedTempFile,
}

impl Unfinished {
    fn next_to(path: &Path, form: Form) -> io::Result<Unfinished> {
        let directory = directory_of(path);
        let mut prefix = path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut unfinished = unfinished();
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(PART)
            .permissions(permissions_of(path, form))
            .tempfile_in(directory)?;
        // Held as long as we live: a part without a lock is one that nobody finishes.
        file.as_file().lock()?;
        unfinished.insert(file.path().to_owned());
        Ok(Unfinished { file })
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        let mut unfinished = unfinished();
        let temporary = self.file.path().to_owned();
        self.file.persist(path).map_err(|error| error.error)?;
        unfinished.remove(&temporary);
        Ok(())
    }
}

/// What the names of unfinished files end with.
const PART: &str = ".part";
/// A part may be so young that its writer has not locked it yet.
const YOUNG: Duration = Duration::from_secs(10);

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes parts of this file whose writers were killed.
pub(crate) fn remove_stale_parts(path: &Path) {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return };
    for entry in std::fs::read_dir(directory_of(path)).into_iter().flatten().flatten() {
        let part = entry.file_name();
        let middle = part.to_str().and_then(|part| part.strip_prefix(name)?.strip_suffix(PART));
        let is_part =
            middle.and_then(|middle| middle.strip_prefix('.')).is_some_and(|middle| middle.len() == 6);
        if is_part && is_stale(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_stale(part: &Path) -> bool {
    let Ok(file) = File::open(part) else { return false };
    let age = file.metadata().and_then(|facts| facts.modified()).ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > YOUNG) && file.try_lock().is_ok()
}

/// What the target has already, or what a new file gets. A native trace has command lines in it, so it is the user's alone, and so is what is put
/// into a directory of that kind.
fn permissions_of(path: &Path, form: Form) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    let is_private = |facts: std::fs::Metadata| facts.permissions().mode() & 0o077 == 0;
    let new = || match form == Form::Native || directory_of(path).metadata().is_ok_and(is_private) {
        true => 0o600,
        false => 0o666,
    };
    path.metadata().map_or_else(|_| std::fs::Permissions::from_mode(new()), |facts| facts.permissions())
}

/// Removes what was begun to be written: nothing will finish it. No file is begun afterwards: the caller ends the process.
pub fn remove_unfinished() {
    for path in unfinished().iter() {
        let _ = std::fs::remove_file(path);
    }
}
