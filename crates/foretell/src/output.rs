//! Where results go. A file appears whole or not at all: it is written under a temporary name
//! beside its target and renamed at the end, and an interrupt removes what was begun. A pipe whose
//! reader has gone away is no error: the reader has seen all it wanted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::diagnostics::Diagnostic;

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

/// Where a trace is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To standard output, as text.
    Stdout,
    /// To this file, in the form its extension asks for.
    File(PathBuf, Form),
}

impl Target {
    /// The target named by an argument; `-` is standard output.
    pub fn named(argument: &OsStr) -> Result<Target, Diagnostic> {
        if argument == "-" {
            return Ok(Target::Stdout);
        }
        let path = PathBuf::from(argument);
        let extension = |path: &Path| path.extension().map(OsStr::to_ascii_lowercase).unwrap_or_default();
        let compression = match extension(&path).to_str() {
            Some("ftr") => return Ok(Target::File(path, Form::Native)),
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        };
        let bare = path.with_extension("");
        if compression != Compression::None && extension(&bare) == "ftr" {
            let title = format!("cannot write `{}`: the native format is already compressed", path.display());
            return Err(Diagnostic::new(title).help(format!("write to `{}` instead", bare.display())));
        }
        Ok(Target::File(path, Form::Text(compression)))
    }

    /// The target of something that is no trace: its extension says nothing about compression.
    pub fn plain(argument: &OsStr) -> Target {
        match argument == "-" {
            true => Target::Stdout,
            false => Target::File(argument.into(), Form::Text(Compression::None)),
        }
    }

    /// The form to write in.
    pub fn form(&self) -> Form {
        match self {
            Target::Stdout => Form::Text(Compression::None),
            Target::File(_, form) => *form,
        }
    }

    /// As the user would name it.
    pub fn name(&self) -> String {
        match self {
            Target::Stdout => "standard output".to_owned(),
            Target::File(path, _) => path.display().to_string(),
        }
    }

    /// The size of what was written, where it stays.
    pub fn size(&self) -> Option<u64> {
        match self {
            Target::Stdout => None,
            Target::File(path, _) => path.metadata().ok().filter(|m| m.is_file()).map(|m| m.len()),
        }
    }

    /// Writes to the target through its compression, if it has any. `None`: the reader of standard
    /// output went away before the end.
    pub fn write<T>(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<Option<T>, Diagnostic> {
        match self {
            Target::Stdout => to_stdout(content),
            Target::File(path, form) => to_file(path, *form, content).map(Some),
        }
    }
}

/// Writes to standard output. `None`: its reader went away before the end.
pub fn to_stdout<T>(content: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<Option<T>, Diagnostic> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let written = content(&mut out).and_then(|value| out.flush().map(|()| value));
    match written {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // What is still buffered has nowhere to go; dropping it would try again.
            let _ = out.into_parts();
            Ok(None)
        }
        Err(error) => Err(Diagnostic::from_io("write to", "standard output", &error)),
    }
}

/// Prints text for a person on standard output, its colours only where they are wanted.
pub fn print(styled: &str) -> Result<(), Diagnostic> {
    print_on(styled).map(|_| ())
}

/// The same, and says whether the reader is still there.
pub fn print_on(styled: &str) -> Result<bool, Diagnostic> {
    let wanted = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let plain;
    let text = if wanted {
        styled
    } else {
        plain = anstream::adapter::strip_str(styled).to_string();
        &plain
    };
    Ok(to_stdout(|out| out.write_all(text.as_bytes()))?.is_some())
}

/// Prints a JSON object on standard output, on one line.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Diagnostic> {
    to_stdout(|out| {
        serde_json::to_writer(&mut *out, value)?;
        writeln!(out)
    })
    .map(|_| ())
}

/// The trace and the JSON would mix.
pub fn two_on_stdout() -> Diagnostic {
    Diagnostic::new("the trace and the JSON cannot both go to standard output")
        .help("name a file to write the trace to")
}

const BUFFER: usize = 1 << 18;

fn to_file<T>(
    path: &Path,
    form: Form,
    content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Diagnostic> {
    let cannot = |error: &io::Error| Diagnostic::from_io("write to", &format!("`{}`", path.display()), error);
    if is_special(path) {
        // A device or a pipe is written to, never replaced.
        let mut file = File::options().write(true).open(path).map_err(|e| cannot(&e))?;
        return compressed(&mut file, form, content).map_err(|e| cannot(&e));
    }
    // A link stays a link: what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut unfinished = Unfinished::beside(path).map_err(|e| cannot(&e))?;
    let value = compressed(unfinished.file.as_file_mut(), form, content).map_err(|e| cannot(&e))?;
    unfinished.finish(path).map_err(|e| cannot(&e))?;
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

/// The temporary file being written, if any, for the interrupt handler to remove.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A file under a temporary name until it is finished; removed when dropped before that.
struct Unfinished {
    file: NamedTempFile,
}

impl Unfinished {
    fn beside(path: &Path) -> io::Result<Unfinished> {
        let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut prefix = path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut guard = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".part")
            .permissions(permissions_of(path))
            .tempfile_in(directory)?;
        *guard = Some(file.path().to_owned());
        Ok(Unfinished { file })
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        let mut guard = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.file.persist(path).map_err(|error| error.error)?;
        *guard = None;
        Ok(())
    }
}

/// What the target has already, or what a new file would get.
fn permissions_of(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().map_or(std::fs::Permissions::from_mode(0o666), |metadata| metadata.permissions())
}

/// Removes the unfinished file, if there is one: nothing will finish it.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = unfinished.as_deref() {
        let _ = std::fs::remove_file(path);
    }
}
