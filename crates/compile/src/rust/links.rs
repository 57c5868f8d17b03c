//! The other names under which cargo runs this program: links to it in a directory of ours.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::TARGET;
use crate::{embedded, fingerprint};

/// What cargo runs programs and tests by.
const RUNNER: &str = "foretell-run";

/// The arguments of `foretell` that it stands for, a list in JSON.
const ARGUMENTS: &str = "FORETELL_RUNNER";

/// A link to `this` program under another name, at a path that is fit.
pub(super) fn link(this: &Path, name: &str, is_fit: impl Fn(&Path) -> bool) -> io::Result<PathBuf> {
    let of_this = format!("names-{:016x}", fingerprint(&[this.as_os_str().as_encoded_bytes()]));
    let directory = embedded::own_directory(is_fit)?.join(of_this);
    std::fs::create_dir_all(&directory)?;
    let link = directory.join(name);
    match std::os::unix::fs::symlink(this, &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(link),
    }
}

/// Makes a command of cargo's run what it runs by `this` program with these arguments. Cargo splits its setting at spaces, and a list of its configuration
/// cannot take the place of a text there, so the program has no space in its name and its arguments are in the environment.
pub(super) fn run_by(this: &Path, arguments: &[String], cargo: &mut Command) -> io::Result<()> {
    let has_spaces = |path: &Path| path.to_string_lossy().contains(char::is_whitespace);
    let link = link(this, RUNNER, |path| !has_spaces(path))?;
    let variable = TARGET.to_uppercase().replace('-', "_");
    cargo.env(format!("CARGO_TARGET_{variable}_RUNNER"), link);
    cargo.env(ARGUMENTS, serde_json::to_string(arguments).map_err(io::Error::from)?);
    Ok(())
}

/// The arguments as the user would give them (this program's name first), if cargo has called this program to run another.
pub fn without_runner_name(arguments: Vec<OsString>) -> Vec<OsString> {
    let called = arguments.first().and_then(|word| Path::new(word).file_name());
    if called.is_none_or(|called| called != RUNNER) {
        return arguments;
    }
    let words: Vec<String> =
        env::var(ARGUMENTS).ok().and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    let program = arguments[1..].iter().cloned();
    ["foretell".into()].into_iter().chain(words.into_iter().map(OsString::from)).chain(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_mean_what_they_say() {
        let arguments = ["/bin/foretell", "record", "--", "./bank"].map(OsString::from);
        assert_eq!(without_runner_name(arguments.to_vec()), arguments);
    }
}
