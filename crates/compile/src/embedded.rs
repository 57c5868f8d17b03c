//! The files that `foretell` contains: the runtime that is linked into recorded programs, the shim that is
//! preloaded under ThreadSanitizer, the header `foretell.h`, and what the assembler reads first. So installing one file is
//! enough; these are unpacked when they are needed.

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;

use crate::fingerprint;

/// The runtime, as build.rs built it. Empty on systems it does not exist for.
const RUNTIME: Packed = include!(concat!(env!("OUT_DIR"), "/runtime.rs"));
const SHIM: Packed = include!(concat!(env!("OUT_DIR"), "/shim.rs"));
const HEADER: &[u8] = include_bytes!("../embedded/foretell.h");
const BRANCHES: &[u8] = include_bytes!("compiler/branches.s");

/// A file, compressed. What is unpacked is compared with its fingerprint, so that nothing is decompressed each time. That finds damage;
/// that nobody else writes there is for the directory to see to.
struct Packed {
    compressed: &'static [u8],
    length: u64,
    fingerprint: u64,
}

impl Packed {
    /// Whether a file, not a link to one, has this content.
    fn is_at(&self, path: &Path) -> bool {
        is_file(path, self.length) && fs::read(path).is_ok_and(|found| self.is_content(&found))
    }

    fn is_content(&self, content: &[u8]) -> bool {
        content.len() as u64 == self.length && fingerprint(&[content]) == self.fingerprint
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(self.length as usize);
        DeflateDecoder::new(self.compressed).read_to_end(&mut content)?;
        match self.is_content(&content) {
            true => Ok(content),
            false => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "this program is damaged: install it again"))
            }
        }
    }
}

/// Where the runtime, the header and the shim are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The runtime. Its directory has it under the names that linkers and loaders look for, and nothing else.
    pub library: PathBuf,
    /// The directory of `foretell.h`.
    pub include: PathBuf,
    /// The shim.
    pub shim: PathBuf,
    /// What the assembler reads first, so that branches leave a bit behind.
    pub branches: PathBuf,
}

/// Whether there is a runtime for this system.
pub fn has_runtime() -> bool {
    RUNTIME.length > 0
}

/// Unpacks them into the user's cache directory, unless they are there: the directory is named for their
/// content, so another version of this program has another one. Several processes may do it at once.
pub fn unpack() -> io::Result<Installed> {
    if !has_runtime() {
        let message = "recording needs Linux on x86-64, and this program was built for another system";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    if let Some(installed) = INSTALLED.get() {
        return Ok(installed.clone());
    }
    let mut first_error = None;
    for cache in caches() {
        match unpack_below(&cache) {
            Ok(installed) => return Ok(INSTALLED.get_or_init(|| installed).clone()),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| io::Error::other("there is no directory to unpack into")))
}

/// Where to unpack, the best place first: the user's cache, or else a directory of the user's among the temporary ones.
fn caches() -> Vec<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let temporary = env::temp_dir().join(format!("foretell-cache-{}", nix::unistd::getuid()));
    cache.map(|cache| cache.join("foretell")).into_iter().chain([temporary]).collect()
}

/// A directory of the user's alone, at a path that is fit.
pub fn own_directory(is_fit: impl Fn(&Path) -> bool) -> io::Result<PathBuf> {
    let mut last =
        io::Error::other("there is no directory for what cargo is to run, at a path without spaces");
    for cache in caches().into_iter().filter(|cache| is_fit(cache)) {
        match make_own_directory(&cache) {
            Ok(()) => return Ok(cache),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn unpack_below(cache: &Path) -> io::Result<Installed> {
    make_own_directory(cache)?;
    let [runtime, shim] = [RUNTIME, SHIM].map(|packed| packed.fingerprint.to_le_bytes());
    let directory = cache.join(format!("{:016x}", fingerprint(&[&runtime, &shim, HEADER, BRANCHES])));
    let (lib, include) = (directory.join("lib"), directory.join("include"));
    let library = lib.join("libtsan.so.2");
    let header = include.join("foretell.h");
    let shim = directory.join("shim/libforetell_shim.so");
    let branches = directory.join("assembler/branches.s");
    // Programs run what is in it, so it must be what we would put there.
    for (path, packed) in [(&library, RUNTIME), (&shim, SHIM)] {
        if !packed.is_at(path) {
            put(path, &packed.content()?)?;
        }
    }
    for (path, content) in [(&header, HEADER), (&branches, BRANCHES)] {
        if !is_file(path, content.len() as u64) || fs::read(path)? != content {
            put(path, content)?;
        }
    }
    put_link(&lib.join("libtsan.so"), "libtsan.so.2")?;
    Ok(Installed { library, include, shim, branches })
}

/// Whether it is a file of this length, not a link to one.
fn is_file(path: &Path, length: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == length)
}

/// Writes a file so that it appears whole or not at all.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

/// Makes a link to a file in its directory, in place of whatever else has its name: `-ltsan` takes what it points to.
fn put_link(path: &Path, target: &str) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|there| there == Path::new(target)) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    // Made elsewhere and moved, so that a compiler that runs at the same time finds the one or the other.
    let made = tempfile::Builder::new()
        .make_in(directory, |name| std::os::unix::fs::symlink(target, name))?
        .into_temp_path();
    made.persist(path)?;
    Ok(())
}

/// Makes a directory that others cannot write to. One that is somebody else's is refused: programs will run what
/// lies in it.
fn make_own_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let user = nix::unistd::getuid().as_raw();
    // A link is somebody's as well, and may point elsewhere tomorrow.
    if fs::symlink_metadata(path)?.uid() != user {
        let message = format!("`{}` belongs to somebody else", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let metadata = path.metadata()?;
    if metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        let message = format!("`{}` can be written by others", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_unpacked_once_and_repaired() {
        if !has_runtime() {
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path().join("foretell");
        let installed = unpack_below(&cache).unwrap();
        let runtime = RUNTIME.content().unwrap();
        assert!(runtime.starts_with(b"\x7fELF") && RUNTIME.compressed.len() * 2 < runtime.len());
        assert!(fs::read(&installed.shim).unwrap() == SHIM.content().unwrap());
        assert_eq!(fs::read(&installed.library).unwrap(), runtime);
        assert_eq!(fs::read(installed.library.with_file_name("libtsan.so")).unwrap(), runtime);
        assert_eq!(fs::read(installed.include.join("foretell.h")).unwrap(), HEADER);
        assert_eq!(fs::read(&installed.branches).unwrap(), BRANCHES);
        fs::write(&installed.library, b"half").unwrap();
        assert_eq!(unpack_below(&cache).unwrap(), installed);
        assert_eq!(fs::read(&installed.library).unwrap(), runtime);
        // Of the right length, but somebody else's code.
        fs::write(&installed.library, vec![0x90; runtime.len()]).unwrap();
        assert_eq!(unpack_below(&cache).unwrap(), installed);
        assert_eq!(fs::read(&installed.library).unwrap(), runtime);
        // What a program is linked with is the library, whatever the link was.
        let link = installed.library.with_file_name("libtsan.so");
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("/lib/elsewhere.so", &link).unwrap();
        assert_eq!(unpack_below(&cache).unwrap(), installed);
        assert_eq!(fs::read(&link).unwrap(), runtime);
        fs::remove_file(&link).unwrap();
        fs::write(&link, "INPUT(/lib/elsewhere.so)").unwrap();
        assert_eq!(unpack_below(&cache).unwrap(), installed);
        assert_eq!(fs::read(&link).unwrap(), runtime);
        let elsewhere = cache.join("elsewhere");
        fs::rename(&installed.library, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &installed.library).unwrap();
        assert_eq!(unpack_below(&cache).unwrap(), installed);
        assert!(!installed.library.is_symlink());
        assert_eq!(fs::read(&installed.library).unwrap(), runtime);
    }

    #[test]
    fn a_directory_others_can_write_to_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        fs::set_permissions(cache.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(make_own_directory(cache.path()).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
