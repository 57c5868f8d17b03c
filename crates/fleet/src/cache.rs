//! What a worker keeps on its disk: files by their digests, bundles ready to run, and a fresh directory for each job.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Component, Path, PathBuf};

use foretell::commands::Hunt;
use foretell::diagnostics::Diagnostic;
use run::directory::WorkDirectory;
use run::job::User;

use crate::bundle::{Bundle, StoredFile};
use crate::campaign::Campaign;
use crate::cleaning::{Bin, Cleaner};
use crate::digest::Digest;
use crate::fleet::Fleet;

/// A worker's disk.
pub(crate) struct Cache {
    root: PathBuf,
    /// Files that were verified since we started.
    verified: HashSet<Digest>,
    campaigns: HashMap<Digest, Campaign>,
    /// Who jobs run as, if that is another than we.
    user: Option<User>,
    jobs: u64,
    cleaner: Cleaner,
    /// Where the directories of our jobs are. Those of workers that are gone are removed with the next one that starts.
    jobs_in: WorkDirectory,
}

/// The directory of one job: everything in it goes with it.
#[derive(Debug)]
pub(crate) struct JobDirectory {
    root: PathBuf,
    bin: Bin,
}

impl Cache {
    /// That in this directory. Others may look into it if jobs run as another user.
    pub(crate) fn open(root: &Path, user: Option<User>) -> Result<Cache, Diagnostic> {
        let cannot =
            |error: io::Error| Diagnostic::from_io("create", &format!("`{}`", root.display()), &error);
        let mode = if user.is_some() { 0o755 } else { 0o700 };
        for name in ["files", "bundles", "jobs"] {
            DirBuilder::new().recursive(true).mode(mode).create(root.join(name)).map_err(cannot)?;
        }
        if !run::directory::is_ours(root) {
            return Err(Diagnostic::new(format!("`{}` is not yours", root.display()))
                .help("name another directory with `--cache`"));
        }
        let root = root.canonicalize().map_err(cannot)?;
        let jobs_in = WorkDirectory::create_in(&root.join("jobs")).map_err(cannot)?;
        if user.is_some() {
            // Jobs enter their own directories, which are theirs alone.
            let passable = fs::Permissions::from_mode(0o711);
            fs::set_permissions(jobs_in.path(), passable).map_err(cannot)?;
        }
        let cache = Cache {
            root,
            verified: HashSet::new(),
            campaigns: HashMap::new(),
            user,
            jobs: 0,
            cleaner: Cleaner::start(),
            jobs_in,
        };
        // Where hunts unpack the recorder: the same place for all jobs, which compare it with the original each time.
        match cache.private(&cache.unpacked()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot(error)),
            _ => Ok(cache),
        }
    }

    /// Where hunts unpack the recorder. Users have one each.
    pub(crate) fn unpacked(&self) -> PathBuf {
        let number = self.user.map_or(0, |user| user.user);
        self.root.join(format!("unpacked-{number}"))
    }

    /// The campaign that is described in a file, if its options have nothing run but its programs. That is found out once: parsing takes longer than
    /// all else that a job costs.
    pub(crate) async fn campaign(
        &mut self,
        fleet: &Fleet,
        described_in: &Digest,
    ) -> Result<Campaign, Diagnostic> {
        if let Some(known) = self.campaigns.get(described_in) {
            return Ok(known.clone());
        }
        let campaign = fleet.campaign(described_in).await?;
        Hunt::check_for_workers(&campaign.hunt)?;
        // Few are under way at the same time.
        if self.campaigns.len() >= 16 {
            self.campaigns.clear();
        }
        self.campaigns.insert(described_in.clone(), campaign.clone());
        Ok(campaign)
    }

    /// Where a file is, fetched if it is not here; in any case it is what its digest says.
    async fn file(&mut self, fleet: &Fleet, file: &StoredFile) -> Result<PathBuf, Diagnostic> {
        let mode = if file.executable { 0o555 } else { 0o444 };
        let path = self.root.join("files").join(format!("{}-{mode:o}", file.digest));
        if self.verified.contains(&file.digest) && path.is_file() {
            return Ok(path);
        }
        let is_whole =
            || run::mapping::map_file(&path).is_ok_and(|content| Digest::of(&content) == file.digest);
        if !path.is_file() || !is_whole() {
            let content = fleet.fetch(&file.digest).await?;
            let cannot =
                |error: io::Error| Diagnostic::from_io("write", &format!("`{}`", path.display()), &error);
            let mut part = tempfile::NamedTempFile::new_in(self.root.join("files")).map_err(cannot)?;
            part.write_all(&content).map_err(cannot)?;
            part.as_file().set_permissions(fs::Permissions::from_mode(mode)).map_err(cannot)?;
            part.persist(&path).map_err(|error| cannot(error.error))?;
        }
        self.verified.insert(file.digest.clone());
        Ok(path)
    }

    /// The directory of a bundle, with the program and its libraries (in `lib`) under their names.
    pub(crate) async fn bundle(&mut self, fleet: &Fleet, bundle: &Bundle) -> Result<PathBuf, Diagnostic> {
        let directory = self.root.join("bundles").join(bundle.name());
        let cannot =
            |error: io::Error| Diagnostic::from_io("create", &format!("`{}`", directory.display()), &error);
        let mode = if self.user.is_some() { 0o755 } else { 0o700 };
        DirBuilder::new().recursive(true).mode(mode).create(directory.join("lib")).map_err(cannot)?;
        let named = std::iter::once((&bundle.program, directory.clone()))
            .chain(bundle.libraries.iter().map(|file| (file, directory.join("lib"))));
        for (file, place) in named {
            let path = self.file(fleet, file).await?;
            link(&path, &place.join(plain_name(&file.name)?)).map_err(cannot)?;
        }
        Ok(directory)
    }

    /// A fresh directory for a job, with the inputs in `work`.
    pub(crate) async fn job_directory(
        &mut self,
        fleet: &Fleet,
        bundle: &Bundle,
    ) -> Result<JobDirectory, Diagnostic> {
        self.jobs += 1;
        let root = self.jobs_in.path().join(self.jobs.to_string());
        let cannot =
            |error: io::Error| Diagnostic::from_io("create", &format!("`{}`", root.display()), &error);
        let directory = JobDirectory { root: root.clone(), bin: self.cleaner.bin() };
        for made in [root.clone(), directory.work(), directory.temporary()] {
            self.private(&made).map_err(cannot)?;
        }
        for input in &bundle.inputs {
            let path = self.file(fleet, input).await?;
            let target = directory.work().join(path_below(&input.name)?);
            let above =
                target.strip_prefix(directory.work()).ok().and_then(Path::parent).unwrap_or(Path::new(""));
            let mut place = directory.work();
            for part in above.components() {
                place.push(part);
                if !place.is_dir() {
                    self.private(&place).map_err(cannot)?;
                }
            }
            copy(&path, &target, self.user).map_err(cannot)?;
        }
        if let Some(input) = &bundle.standard_input {
            let path = self.file(fleet, input).await?;
            copy(&path, &directory.standard_input(), self.user).map_err(cannot)?;
        }
        Ok(directory)
    }

    /// A directory that only jobs can enter.
    fn private(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)?;
        match self.user {
            Some(User { user, group }) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// This program, where jobs of any user can run it.
    pub(crate) fn program(&self) -> Result<PathBuf, Diagnostic> {
        let this =
            std::env::current_exe().map_err(|error| Diagnostic::from_io("find", "this program", &error))?;
        if self.user.is_none() {
            return Ok(this);
        }
        let cannot = |error: io::Error| Diagnostic::from_io("copy", &format!("`{}`", this.display()), &error);
        let content = run::mapping::map_file(&this).map_err(cannot)?;
        let path = self.root.join("bundles").join(format!("foretell-fleet-{}", Digest::of(&content).short()));
        if !path.is_file() {
            let mut part = tempfile::NamedTempFile::new_in(self.root.join("bundles")).map_err(cannot)?;
            part.write_all(&content).map_err(cannot)?;
            part.as_file().set_permissions(fs::Permissions::from_mode(0o755)).map_err(cannot)?;
            part.persist(&path).map_err(|error| cannot(error.error))?;
        }
        Ok(path)
    }
}

impl JobDirectory {
    /// Where the program runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// For temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Where the hunt leaves its results.
    pub(crate) fn results(&self) -> PathBuf {
        self.root.join("results")
    }

    /// What the hunt prints.
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("hunt.log")
    }

    /// The route to a target.
    pub(crate) fn target(&self) -> PathBuf {
        self.root.join("target.json")
    }

    pub(crate) fn standard_input(&self) -> PathBuf {
        self.root.join("input")
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        self.bin.remove(std::mem::take(&mut self.root));
    }
}

/// Gives a file another name, unless it has it.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn copy(from: &Path, to: &Path, user: Option<User>) -> io::Result<()> {
    let mut target: File = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    match user {
        Some(User { user, group }) => chown(to, Some(user), Some(group)),
        None => Ok(()),
    }
}

/// A name without a path: it comes from somebody else.
pub(crate) fn plain_name(name: &str) -> Result<&str, Diagnostic> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(name),
        _ => Err(Diagnostic::new(format!("a bundle has a file called `{}`", report::shown(name)))),
    }
}

/// A path that leads nowhere else.
fn path_below(name: &str) -> Result<PathBuf, Diagnostic> {
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    let parts = parts.into_iter().filter(|part| *part != Component::CurDir);
    let path: PathBuf = parts.clone().collect();
    match parts.clone().count() > 0 && parts.into_iter().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(path),
        false => Err(Diagnostic::new(format!("a bundle has an input called `{}`", report::shown(name)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_elsewhere_lead_nowhere_else() {
        assert!(plain_name("queue_test").is_ok() && plain_name("a b.so.1").is_ok());
        for hostile in ["", ".", "..", "/bin/sh", "a/b", "../x", "a/"] {
            assert!(plain_name(hostile).is_err(), "{hostile}");
        }
        assert_eq!(path_below("./data/x").unwrap(), Path::new("data/x"));
        for hostile in ["", ".", "..", "/etc/x", "data/../../x"] {
            assert!(path_below(hostile).is_err(), "{hostile}");
        }
    }
}
