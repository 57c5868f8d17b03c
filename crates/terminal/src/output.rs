//! Where results go: files, which appear whole or not at all ([`pipeline::files`]), and standard output. A pipe whose reader has
//! gone away is no error: the reader has seen all it wanted.

use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use pipeline::files;
pub use pipeline::files::{Compression, Form};

use crate::diagnostics::Diagnostic;

/// Where a trace is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    /// To standard output, as text.
    Stdout,
    /// To this file, in the form its extension asks for.
    File(PathBuf, Form),
}

impl OutputTarget {
    /// The target named by an argument; `-` is standard output.
    pub fn named(argument: &OsStr) -> Result<OutputTarget, Diagnostic> {
        if argument == "-" {
            return Ok(OutputTarget::Stdout);
        }
        let path = PathBuf::from(argument);
        let form = Form::of(&path)?;
        Ok(OutputTarget::File(path, form))
    }

    /// The target of something that is no trace: its extension says nothing about compression.
    pub fn plain(argument: &OsStr) -> OutputTarget {
        match argument == "-" {
            true => OutputTarget::Stdout,
            false => OutputTarget::File(argument.into(), Form::PLAIN),
        }
    }

    /// The form to write in.
    pub fn form(&self) -> Form {
        match self {
            OutputTarget::Stdout => Form::PLAIN,
            OutputTarget::File(_, form) => *form,
        }
    }

    /// As the user would name it.
    pub fn name(&self) -> String {
        match self {
            OutputTarget::Stdout => "standard output".to_owned(),
            OutputTarget::File(path, _) => path.display().to_string(),
        }
    }

    /// The size of what was written, where it stays.
    pub fn size(&self) -> Option<u64> {
        match self {
            OutputTarget::Stdout => None,
            OutputTarget::File(path, _) => path.metadata().ok().filter(|m| m.is_file()).map(|m| m.len()),
        }
    }

    /// Writes to the target through its compression, if it has any. `None`: the reader of standard
    /// output went away before the end.
    pub fn write<T>(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<Option<T>, Diagnostic> {
        match self {
            OutputTarget::Stdout => to_stdout(content),
            OutputTarget::File(path, form) => Ok(Some(files::write(path, *form, content)?)),
        }
    }
}

/// Writes to standard output. `None`: its reader went away before the end.
pub fn to_stdout<T>(content: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<Option<T>, Diagnostic> {
    let mut out = BufWriter::with_capacity(files::BUFFER, io::stdout().lock());
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
        report::write_plain_json(&mut *out, value)?;
        writeln!(out)
    })
    .map(|_| ())
}

/// The trace and the JSON would mix.
pub fn two_on_stdout() -> Diagnostic {
    Diagnostic::new("the trace and the JSON cannot both go to standard output")
        .help("name a file to write the trace to")
}
