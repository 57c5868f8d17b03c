//! Chores about versions: whether a tag is the version, what changed in it, and whether an interface changed more than its version says.

use xtask::Outcome;
use xtask::cargo::{cargo, root};

/// The crates that other programs are meant to use, so that their interfaces are promises.
const PROMISED: &[&str] =
    &["foretell-mark", "foretell-pipeline", "foretell-findings", "foretell-trace", "foretell-check"];

/// Fails unless the tag is the version of this tree, and the changelog has a section for it.
pub(crate) fn check(tag: &str) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    if tag != format!("v{version}") {
        return Err(format!("the tag is {tag}, but the version is {version}"));
    }
    notes().map(|notes| println!("{notes}"))
}

/// What changed in this version: its section of the changelog.
pub(crate) fn notes() -> Result<String, String> {
    let changelog =
        std::fs::read_to_string(root().join("CHANGELOG.md")).map_err(|error| error.to_string())?;
    section(&changelog, env!("CARGO_PKG_VERSION"))
        .ok_or("CHANGELOG.md has no section for this version".to_owned())
}

/// The text below a heading of the second level that begins with this version.
fn section(changelog: &str, version: &str) -> Option<String> {
    let mut lines = changelog.lines().skip_while(|line| {
        line.strip_prefix("## ").and_then(|title| title.split_whitespace().next()) != Some(version)
    });
    lines.next()?;
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(text.join("\n").trim().to_owned())
}

/// Compares the promised interfaces with those of another revision, by cargo-semver-checks.
pub(crate) fn semver(baseline: &str) -> Outcome {
    let packages = PROMISED.iter().flat_map(|name| ["--package", name]);
    let arguments: Vec<&str> =
        ["semver-checks", "--baseline-rev", baseline].into_iter().chain(packages).collect();
    cargo(&arguments)
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn the_notes_of_a_version_are_its_section() {
        let changelog = "# Changelog\n\n## Unreleased\n\n- c\n\n## 0.2.0 (2027-01-01)\n\n### Added\n\n- b\n\n## 0.1.0\n\n- a\n";
        assert_eq!(section(changelog, "0.2.0").as_deref(), Some("### Added\n\n- b"));
        assert_eq!(section(changelog, "0.1.0").as_deref(), Some("- a"));
        assert_eq!(section(changelog, "0.1"), None);
    }
}
