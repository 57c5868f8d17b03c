//! Recordings whose recorder was killed: what the program's runtime had written is still there, and becomes a trace.

use std::path::{Path, PathBuf};

use load::Options;
use run::directory::{self, Interrupted};
use run::record;
use serde::{Deserialize, Serialize};
use trace::Metadata;

use crate::error::{Error, ErrorKind};
use crate::observer::Observer;
use crate::recording::{RecordedTrace, child_file, save};

/// What a recorder notes before it starts the program.
#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    /// The trace that was to be written.
    file: PathBuf,
    /// How the run was recorded.
    metadata: Metadata,
}

/// A recording that can be recovered.
#[derive(Debug)]
pub struct Recoverable {
    interrupted: Interrupted,
    journal: Journal,
}

/// What to note for a recording.
pub(crate) fn journal(file: &Path, metadata: Metadata) -> Vec<u8> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    // Of strings and numbers, which can always be written.
    serde_json::to_vec(&Journal { file, metadata }).unwrap_or_default()
}

/// The recordings that were interrupted. What else was left behind is removed.
pub fn interrupted() -> Result<Vec<Recoverable>, Error> {
    let all =
        directory::interrupted().map_err(|error| Error::io("read", "the temporary directory", error))?;
    let readable = all.into_iter().filter_map(|interrupted| {
        let journal = serde_json::from_slice(&interrupted.journal).ok()?;
        Some(Recoverable { interrupted, journal })
    });
    Ok(readable.collect())
}

/// Says which recordings can be recovered, once.
pub(crate) fn warn_of_interrupted(observer: &mut dyn Observer) {
    // A directory that cannot be used is an error soon enough.
    for recoverable in interrupted().unwrap_or_default() {
        let warning = Error::from(ErrorKind::Interrupted(recoverable.command()));
        let help = "`foretell recover` writes it, `foretell recover --discard` removes it";
        observer
            .warning(warning.note(format!("it is in `{}`", recoverable.directory().display())).help(help));
    }
}

impl Recoverable {
    /// What was recorded.
    pub fn command(&self) -> String {
        report::printable(&self.journal.metadata.command.join(" "))
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.interrupted.path
    }

    /// Writes its traces: to this file, or to the one that was asked for, under another name if that exists. Then what was
    /// left behind is removed.
    pub fn recover(
        &self,
        file: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<RecordedTrace>, Error> {
        let file = file.map_or_else(|| unused(&self.journal.file), Path::to_owned);
        let processes =
            record::left_by(&self.interrupted).map_err(|error| Error::io("read", "the log", error))?;
        let metadata =
            Metadata { incomplete: "the recorder was killed".to_owned(), ..self.journal.metadata.clone() };
        let traces = processes.iter().enumerate().map(|(child, process)| {
            let file = if child == 0 { file.clone() } else { child_file(&file, child) };
            save(process, &metadata, &Options::default(), &file, observer)
        });
        let traces = traces.collect::<Result<Vec<_>, Error>>()?;
        crate::files::remove_stale_parts(&self.journal.file);
        self.discard()?;
        Ok(traces)
    }

    /// Removes it.
    pub fn discard(&self) -> Result<(), Error> {
        let path = self.directory().display().to_string();
        directory::discard(&self.interrupted).map_err(|error| Error::io("remove", format!("`{path}`"), error))
    }
}

/// A name that no file has: `bank.ftr`, `bank-recovered.ftr`, `bank-recovered-2.ftr`.
fn unused(file: &Path) -> PathBuf {
    let named = |suffix: &str| {
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(suffix);
        file.with_file_name(name).with_extension("ftr")
    };
    let further = (2..).map(|number| named(&format!("-recovered-{number}")));
    let mut names = [file.to_owned(), named("-recovered")].into_iter().chain(further);
    names.find(|name| !name.exists()).unwrap_or_else(|| file.to_owned())
}
