//! The directories that runs work in: private, and gone afterwards.
//!
//! They lie in one directory of the user's (`foretell-UID` where temporary files go) that nobody else can enter. Each is locked
//! while its owner lives, so one without an owner is known for what it is: it is removed when the next run starts, unless it
//! holds a recording that was never written to its trace ([`Interrupted`]).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Locked by the owner of a directory, as long as it lives.
const OWNER: &str = "owner";
/// What is being recorded, for the time after an interruption: see [`WorkDirectory::keep_for`].
const JOURNAL: &str = "journal";
/// Locked by who makes or removes directories.
const LOCK: &str = "lock";
const PREFIX: &str = "run-";

/// A directory of a run; removed with the value.
#[derive(Debug)]
pub struct WorkDirectory {
    directory: TempDir,
    _owner: File,
}

/// A recording whose recorder was killed before it wrote the trace.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Its directory.
    pub path: PathBuf,
    /// What was noted for this case.
    pub journal: Vec<u8>,
}

impl WorkDirectory {
    /// A new one, in the place for them. Those that have no owner any more are removed.
    pub fn create() -> io::Result<WorkDirectory> {
        let place = place()?;
        let _lock = lock(&place)?;
        sweep(&place);
        let private = fs::Permissions::from_mode(0o700);
        // As long a name for a recording as for a replay: where things lie on the stack depends on it.
        let directory = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(&place)?;
        let owner = create_file(&directory.path().join(OWNER))?;
        owner.lock()?;
        Ok(WorkDirectory { directory, _owner: owner })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Has what is recorded in it kept if its owner is killed, with what is needed to make use of it.
    pub(crate) fn keep_for(&self, journal: &[u8]) -> io::Result<()> {
        fs::write(self.path().join(JOURNAL), journal)
    }
}

/// The recordings that were interrupted; whatever else has no owner is removed.
pub fn interrupted() -> io::Result<Vec<Interrupted>> {
    let place = place()?;
    let _lock = lock(&place)?;
    Ok(sweep(&place))
}

/// Removes an interrupted recording.
pub fn discard(interrupted: &Interrupted) -> io::Result<()> {
    fs::remove_dir_all(&interrupted.path)
}

/// Whether a path and, if it is a link, what it points to are this user's.
pub fn is_ours(path: &Path) -> bool {
    let user = nix::unistd::geteuid().as_raw();
    let is_ours = |facts: io::Result<fs::Metadata>| facts.is_ok_and(|facts| facts.uid() == user);
    is_ours(fs::symlink_metadata(path)) && is_ours(fs::metadata(path))
}

/// A file that nobody else can read.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// The place for all of them, which is the user's alone.
fn place() -> io::Result<PathBuf> {
    let user = nix::unistd::getuid().as_raw();
    let place = std::env::temp_dir().join(format!("foretell-{user}"));
    match fs::DirBuilder::new().mode(0o700).create(&place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(at(&place, &error)),
        _ => {}
    }
    // Not what a link points to: somebody else may have put it there.
    let facts = fs::symlink_metadata(&place)?;
    if !facts.is_dir() || facts.uid() != user {
        let message = format!("`{}` is not a directory of yours; remove it or set TMPDIR", place.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700))?;
    }
    place.canonicalize()
}

fn at(place: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot create `{}`: {error}", place.display()))
}

fn lock(place: &Path) -> io::Result<File> {
    let lock = create_file(&place.join(LOCK))?;
    lock.lock()?;
    Ok(lock)
}

/// Removes directories without an owner, but for recordings that were interrupted. What cannot be removed is left for the next time.
fn sweep(place: &Path) -> Vec<Interrupted> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut interrupted = Vec::new();
    for path in runs.map(|entry| entry.path()).filter(|path| !has_owner(path)) {
        match fs::read(path.join(JOURNAL)) {
            Ok(journal) if has_events(&path) => interrupted.push(Interrupted { path, journal }),
            _ => drop(fs::remove_dir_all(&path)),
        }
    }
    interrupted.sort_by(|a, b| a.path.cmp(&b.path));
    interrupted
}

fn has_owner(run: &Path) -> bool {
    match File::open(run.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_err(),
        Err(_) => false,
    }
}

fn has_events(run: &Path) -> bool {
    let logs = crate::record::processes(run, 0).unwrap_or_default();
    logs.iter().any(|log| {
        log.read()
            .is_ok_and(|(log, _)| wire::Reader::new(&log).is_ok_and(|mut reader| reader.next().is_some()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_an_owner_as_long_as_it_is_used() {
        let run = WorkDirectory::create().unwrap();
        let path = run.path().to_owned();
        assert!(has_owner(&path));
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
        drop(run);
        assert!(!path.exists());
    }

    #[test]
    fn what_has_no_owner_is_removed_unless_it_is_a_recording() {
        let place = tempfile::tempdir().unwrap();
        let [stale, kept] = ["run-a", "run-b"].map(|name| place.path().join(name));
        for run in [&stale, &kept] {
            fs::create_dir(run).unwrap();
            fs::write(run.join(JOURNAL), "it").unwrap();
        }
        let progress = wire::Progress::new(4, 0);
        let head = wire::Header { process: 7, progress, losses: wire::Losses::default() }.to_bytes();
        let mut log = vec![0; wire::STREAM_START];
        log[..head.len()].copy_from_slice(&head);
        fs::write(stale.join("7.log"), &log).unwrap();
        let mut room = [0; wire::MAX_RECORD];
        let mut sink = wire::Sink::new(&mut room);
        let mut context = wire::Context::default();
        wire::write_detailed(
            &mut sink,
            &mut context,
            wire::Kind::Stop,
            0,
            0,
            &wire::Stop::Exec.arguments(),
            b"",
        );
        let used = sink.used();
        let progress = wire::Progress::new(used as u64, 0);
        let head = wire::Header { process: 7, progress, losses: wire::Losses::default() }.to_bytes();
        log[..head.len()].copy_from_slice(&head);
        log.extend(&room[..used]);
        fs::write(kept.join("7.log"), &log).unwrap();
        let interrupted = sweep(place.path());
        assert_eq!(interrupted.len(), 1);
        assert_eq!((&interrupted[0].path, &interrupted[0].journal[..]), (&kept, &b"it"[..]));
        assert!(!stale.exists() && kept.exists());
    }
}
