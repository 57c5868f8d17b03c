//! Sources of Debian's packages, unpacked outside the tree, from wherever this machine has its packages from. The system's own lists are left alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The seconds that one step of apt-get may take.
const PATIENCE: &str = "120";

/// The sources of a package, below this directory. They are fetched once: of the release that this machine has, or else, since mirrors do not keep
/// all that is old, of the stable one.
pub fn source(package: &str, directory: &Path) -> Result<PathBuf, String> {
    let releases = ["own", "stable"].map(|release| directory.join("debian").join(release));
    let fetched = || releases.iter().find_map(|place| only_directory(&place.join(package)));
    if let Some(source) = fetched() {
        return Ok(source);
    }
    let [own, stable] = &releases;
    let got = fetch(package, own, &lists_of_this_machine())? || fetch(package, stable, &list_of_stable())?;
    match got {
        true => fetched().ok_or(format!("{package}: nothing was unpacked")),
        false => Err(format!("`apt-get source {package}` failed")),
    }
}

/// A list of where packages are: a name for it, and its text.
type List = (OsString, String);

/// Fetches the sources of a package with these lists; whether that worked.
fn fetch(package: &str, place: &Path, lists: &[List]) -> Result<bool, String> {
    let unpacked = place.join(package);
    let wrong = |error: std::io::Error| format!("{}: {error}", place.display());
    for needed in [place.join("lists/partial"), place.join("parts"), unpacked.clone()] {
        std::fs::create_dir_all(&needed).map_err(wrong)?;
    }
    for (name, text) in lists {
        std::fs::write(place.join("parts").join(name), text).map_err(wrong)?;
    }
    let apt = |verb: &[&str]| {
        let options = [
            "Dir::Etc::sourcelist=/dev/null".to_owned(),
            format!("Dir::Etc::sourceparts={}", place.join("parts").display()),
            format!("Dir::State::lists={}", place.join("lists").display()),
            format!("Dir::Cache={}", place.display()),
            "APT::Sandbox::User=root".to_owned(),
        ];
        let mut command = Command::new("timeout");
        command.args([PATIENCE, "apt-get", "-qq"]).args(options.iter().flat_map(|option| ["-o", option]));
        let output = command.args(verb).current_dir(&unpacked).output();
        output.is_ok_and(|output| output.status.success())
    };
    let listed = place.join("listed");
    let is_listed = listed.exists() || (apt(&["update"]) && std::fs::write(&listed, "").is_ok());
    Ok(is_listed && apt(&["source", package]))
}

fn only_directory(place: &Path) -> Option<PathBuf> {
    std::fs::read_dir(place).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
}

/// The lists of this machine, for sources instead of programs.
fn lists_of_this_machine() -> Vec<List> {
    let others = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let files = others.map(|entry| entry.path()).chain([PathBuf::from("/etc/apt/sources.list")]);
    let is_list = |file: &PathBuf| file.extension().is_some_and(|e| e == "list" || e == "sources");
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).ok()?;
        Some((file.file_name()?.to_owned(), of_sources(&text)))
    };
    files.filter(is_list).filter_map(read).collect()
}

/// A list of the stable release, at the first place that this machine has packages from.
fn list_of_stable() -> Vec<List> {
    let place = lists_of_this_machine().iter().find_map(|(_, text)| first_place(text));
    place
        .map(|place| (OsString::from("stable.list"), format!("deb-src {place} stable main\n")))
        .into_iter()
        .collect()
}

/// The first place that a list names.
fn first_place(list: &str) -> Option<String> {
    let named = |line: &str| line.strip_prefix("deb-src ").or(line.strip_prefix("URIs:")).map(str::to_owned);
    let words = list.lines().find_map(named)?;
    words.split_whitespace().find(|word| word.contains("://")).map(str::to_owned)
}

/// A list in either of apt's two forms, with `deb-src` for what it has.
fn of_sources(list: &str) -> String {
    let line = |line: &str| match line.strip_prefix("deb ") {
        Some(rest) => format!("deb-src {rest}\n"),
        None if line.starts_with("Types:") => "Types: deb-src\n".to_owned(),
        None => format!("{line}\n"),
    };
    list.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{first_place, of_sources};

    #[test]
    fn lists_of_programs_become_lists_of_sources() {
        assert_eq!(of_sources("# ours\ndeb http://here s main\n"), "# ours\ndeb-src http://here s main\n");
        assert_eq!(
            first_place("# ours\ndeb-src [signed-by=k] http://here s main\n").as_deref(),
            Some("http://here")
        );
        assert_eq!(
            first_place("Types: deb-src\nURIs: http://here http://there\n").as_deref(),
            Some("http://here")
        );
        assert_eq!(of_sources("Types: deb\nURIs: http://here\n"), "Types: deb-src\nURIs: http://here\n");
    }
}
