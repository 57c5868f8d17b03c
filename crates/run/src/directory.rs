//! The directories that runs work in: private, and gone afterwards.
//!
//! They lie in one directory of the user's (`foretell-UID` where temporary files go) that nobody else can enter. Runs whose logs are
//! looked at and thrown away have another one in memory, since a hunt makes thousands of them and a disk is slow. Each is locked
//! while its owner lives, so one without an owner is known for what it is: it is removed when the next run starts, unless it
//! holds a recording that was never written to its trace ([`Interrupted`]).

use std::ffi::OsString;
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
/// A file system in memory, and the room that must be left there: many times what a run of a hunt takes.
const MEMORY: &str = "/dev/shm";
const ENOUGH_MEMORY: u64 = 1 << 30;
/// Says where the logs of runs go that are not kept: `memory`, whatever `TMPDIR` says. Workers of a fleet give each job a `TMPDIR` for its
/// program, and that says nothing about logs.
pub const LOGS: &str = "FORETELL_LOGS";

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
        WorkDirectory::create_in(&place_in(&std::env::temp_dir())?)
    }

    /// A new one in memory if there is room, for a run whose log is small and not kept.
    pub(crate) fn create_in_memory() -> io::Result<WorkDirectory> {
        // Who chose a place for temporary files wants them there.
        let chose_elsewhere = std::env::var_os("TMPDIR").is_some() && !wants_memory(std::env::var_os(LOGS));
        if chose_elsewhere || !has_room(Path::new(MEMORY)) {
            return WorkDirectory::create();
        }
        let created = place_in(Path::new(MEMORY)).and_then(|place| WorkDirectory::create_in(&place));
        created.or_else(|_| WorkDirectory::create())
    }

    /// A new one in a directory of ours that is for nothing else. Those in it that have no owner any more are removed.
    pub fn create_in(place: &Path) -> io::Result<WorkDirectory> {
        let _lock = lock(place)?;
        sweep(place);
        let private = fs::Permissions::from_mode(0o700);
        // As long a name for a recording as for a replay: where things lie on the stack depends on it.
        let directory = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(place)?;
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
    let place = place_in(&std::env::temp_dir())?;
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

/// Why a file must not decide what we do: somebody else than this user and root could have written it, or put the link to it there.
pub fn distrust(file: &Path) -> Option<&'static str> {
    let user = nix::unistd::geteuid().as_raw();
    let why = |facts: fs::Metadata| match facts.uid() {
        owner if owner != user && owner != 0 => Some("it belongs to another user"),
        // What a link's own mode is says nothing.
        _ if !facts.is_symlink() && facts.mode() & 0o002 != 0 => Some("others can write to it"),
        _ => None,
    };
    let unknown = Some("its owner is not known");
    let of_link = fs::symlink_metadata(file).map_or(unknown, why);
    of_link.or_else(|| fs::metadata(file).map_or(unknown, why))
}

/// A file that nobody else can read.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn wants_memory(logs: Option<OsString>) -> bool {
    logs.is_some_and(|logs| logs == "memory")
}

/// Whether a file system is there with room for the logs of runs.
fn has_room(directory: &Path) -> bool {
    nix::sys::statvfs::statvfs(directory).is_ok_and(|facts| {
        let read_only = nix::sys::statvfs::FsFlags::ST_RDONLY;
        let free = facts.blocks_available() * facts.fragment_size();
        free >= ENOUGH_MEMORY && !facts.flags().contains(read_only)
    })
}

/// The place for all of them in a directory, which is the user's alone.
fn place_in(directory: &Path) -> io::Result<PathBuf> {
    let user = nix::unistd::getuid().as_raw();
    let place = directory.join(format!("foretell-{user}"));
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

/// Whether somebody may be using a directory. Only a file that is not there or not locked says that nobody does: if it cannot be opened
/// for another reason (too many open files, no rights), the directory stays.
fn has_owner(run: &Path) -> bool {
    match File::open(run.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
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
    fn runs_that_are_not_kept_are_in_memory_where_there_is_room() {
        let run = WorkDirectory::create_in_memory().unwrap();
        let is_in_memory = run.path().starts_with(MEMORY);
        let may_be = std::env::var_os("TMPDIR").is_none() || wants_memory(std::env::var_os(LOGS));
        assert_eq!(is_in_memory, may_be && has_room(Path::new(MEMORY)));
        assert_eq!(run.path().parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
        let path = run.path().to_owned();
        drop(run);
        assert!(!path.exists());
        assert!(!has_room(Path::new("/nowhere")));
    }

    #[test]
    fn a_directory_whose_owner_cannot_be_asked_stays() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run-a");
        fs::create_dir(&run).unwrap();
        // A link to itself cannot be opened, not even by root.
        std::os::unix::fs::symlink(OWNER, run.join(OWNER)).unwrap();
        assert!(File::open(run.join(OWNER)).is_err_and(|error| error.kind() != io::ErrorKind::NotFound));
        assert!(has_owner(&run));
        assert!(sweep(place.path()).is_empty() && run.exists());
        fs::remove_file(run.join(OWNER)).unwrap();
        assert!(sweep(place.path()).is_empty() && !run.exists());
    }

    #[test]
    fn only_a_wish_for_memory_overrules_a_chosen_place() {
        assert!(wants_memory(Some("memory".into())));
        assert!(!wants_memory(Some("disk".into())) && !wants_memory(None));
    }

    #[test]
    fn what_has_no_owner_is_removed_unless_it_is_a_recording() {
        let place = tempfile::tempdir().unwrap();
        let [stale, kept] = ["run-a", "run-b"].map(|name| place.path().join(name));
        for run in [&stale, &kept] {
            fs::create_dir(run).unwrap();
            fs::write(run.join(JOURNAL), "it").unwrap();
        }
        let progress = wire::LogProgress::new(4, 0);
        let head = wire::Header::new(7, progress).to_bytes();
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
        let progress = wire::LogProgress::new(used as u64, 0);
        let head = wire::Header::new(7, progress).to_bytes();
        log[..head.len()].copy_from_slice(&head);
        log.extend(&room[..used]);
        fs::write(kept.join("7.log"), &log).unwrap();
        let interrupted = sweep(place.path());
        assert_eq!(interrupted.len(), 1);
        assert_eq!((&interrupted[0].path, &interrupted[0].journal[..]), (&kept, &b"it"[..]));
        assert!(!stale.exists() && kept.exists());
    }
}
