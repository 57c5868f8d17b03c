//! The directory of a run: `.foretell/7/`, with `.foretell/latest` naming the last one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use check::Model;
use report::{Finding, Predictions, ScheduleFile};

use super::step::StepOutcome;
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::saved;
use crate::schedules::schedule_file;
use crate::trace_file::TraceFile;

/// Where a run is kept.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    results: PathBuf,
    path: PathBuf,
}

impl RunDirectory {
    /// A new one: the numbers of runs go up.
    pub(crate) fn create(results: &Path) -> Result<Self, Error> {
        let cannot = |error| Error::io("create a directory in", format!("`{}`", results.display()), error);
        let private = || {
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o700);
            builder
        };
        private().recursive(true).create(results).map_err(cannot)?;
        refuse_others(results)?;
        let mut number = last(results).map_err(cannot)?;
        loop {
            number += 1;
            let path = results.join(number.to_string());
            match private().create(&path) {
                Ok(()) => return Ok(RunDirectory { results: results.to_owned(), path }),
                // Another hunt was quicker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot(error)),
            }
        }
    }

    /// The program that is built from a source, by the name of the source.
    pub(super) fn program(&self, source: &Path) -> PathBuf {
        let here = std::env::current_dir().unwrap_or_default();
        here.join(&self.path).join(source.file_stem().unwrap_or(OsStr::new("program")))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the last run is.
    pub(crate) fn latest(results: &Path) -> Result<PathBuf, Error> {
        let latest = results.join("latest");
        let number = fs::read_link(&latest);
        let number = number.map_err(|error| Error::io("read", format!("`{}`", latest.display()), error))?;
        Ok(results.join(number.file_name().unwrap_or_default()))
    }

    pub(super) fn trace(&self) -> PathBuf {
        self.path.join(saved::TRACE)
    }

    /// What the program printed.
    pub(super) fn output(&self) -> PathBuf {
        self.path.join("output.txt")
    }

    /// What the client of a server printed.
    pub(super) fn client_output(&self) -> PathBuf {
        self.path.join("client.txt")
    }

    /// The page for the browser.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The recording of a replay that went another way.
    pub(super) fn recording(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes the schedule of a finding.
    pub(super) fn write_schedule(
        &self,
        file: &TraceFile,
        finding: &Finding,
        model: Model,
    ) -> Result<ScheduleFile, Error> {
        let schedule = schedule_file(file, finding, model, false)?;
        let path = self.path.join(format!("{}.sched", finding.id));
        files::write(&path, Form::PLAIN, |out| out.write_all(schedule.to_string().as_bytes()))?;
        Ok(schedule)
    }

    /// Removes the schedule of what turned out to be no finding.
    pub(super) fn remove_schedule(&self, finding: &Finding) -> Result<(), Error> {
        let path = self.path.join(format!("{}.sched", finding.id));
        std::fs::remove_file(&path)
            .map_err(|error| Error::io("remove", format!("`{}`", path.display()), error))
    }

    /// Gives the schedules of findings, by their ids, the names of their new ids; those without one are removed.
    pub(super) fn rename_schedules<'i>(
        &self,
        ids: impl Iterator<Item = (&'i str, Option<&'i str>)>,
    ) -> Result<(), Error> {
        let named = |id: &str| self.path.join(format!("{id}.sched"));
        let renamed = |from: &Path, to: &Path| match fs::rename(from, to) {
            // What was not written has no name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| Error::io("rename", format!("`{}`", from.display()), error)),
        };
        let mut moved = Vec::new();
        for (old, new) in ids.filter(|(old, new)| *new != Some(old)) {
            match new {
                // The new name may still be that of another.
                Some(new) => {
                    let between = self.path.join(format!(".{new}.sched"));
                    renamed(&named(old), &between)?;
                    moved.push((between, named(new)));
                }
                None => drop(fs::remove_file(named(old))),
            }
        }
        moved.iter().try_for_each(|(between, new)| renamed(between, new))
    }

    /// Writes down what a step of a shared exploration has left.
    pub(super) fn save_step(&self, outcome: &StepOutcome) -> Result<(), Error> {
        files::write(&self.path.join(StepOutcome::FILE), Form::PLAIN, |out| {
            Ok(serde_json::to_writer(out, outcome)?)
        })
    }

    /// Keeps what was found so far.
    pub(super) fn save(&self, predictions: &Predictions) -> Result<(), Error> {
        files::write(&self.path.join(saved::FINDINGS), Form::PLAIN, |out| {
            serde_json::to_writer_pretty(&mut *out, predictions)?;
            out.write_all(b"\n")
        })
    }

    /// From now on `latest` names this run.
    pub(crate) fn becomes_latest(&self) -> Result<(), Error> {
        let latest = self.results.join("latest");
        let number = self.path.file_name().unwrap_or_default();
        let new = self.results.join(format!(".latest-{}", std::process::id()));
        let named = symlink(number, &new).and_then(|()| fs::rename(&new, &latest));
        named.map_err(|error| Error::io("name the run", format!("`{}`", latest.display()), error))
    }
}

/// What somebody else put there may lead anywhere. A link of ours to a directory of ours is fine.
fn refuse_others(results: &Path) -> Result<(), Error> {
    match run::directory::is_ours(results) {
        true => Ok(()),
        false => {
            Err(Error::from(ErrorKind::NotOurs(results.to_owned())).help("remove it, or hunt elsewhere"))
        }
    }
}

/// The highest number of a run there is.
fn last(results: &Path) -> io::Result<u64> {
    let mut highest = 0;
    for entry in fs::read_dir(results)? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        highest = highest.max(number.unwrap_or(0));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_and_the_last_is_named() {
        let results = tempfile::tempdir().unwrap();
        let first = RunDirectory::create(results.path()).unwrap();
        first.becomes_latest().unwrap();
        fs::create_dir(results.path().join("9")).unwrap();
        let next = RunDirectory::create(results.path()).unwrap();
        assert_eq!(next.trace(), results.path().join("10").join(saved::TRACE));
        next.becomes_latest().unwrap();
        assert_eq!(fs::read_link(results.path().join("latest")).unwrap(), Path::new("10"));
    }
}
