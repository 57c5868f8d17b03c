//! A `foretell.toml` to start from, for the project that it is written for.

use std::path::Path;

use super::integration::write_new;
use crate::error::Error;
use crate::suite::test_command;

/// What to do in a project, as its user types it.
pub fn next_command(root: &Path) -> String {
    match test_command(root) {
        Some("cargo test") => "foretell cargo test".to_owned(),
        Some(command) => format!("foretell test -- {command}"),
        None => "foretell hunt -- ./program".to_owned(),
    }
}

/// Writes the file of a project with this root, unless there is one.
pub fn write_template(root: &Path, path: &Path) -> Result<(), Error> {
    write_new(path, &template(root), 0o644)
}

/// The file, with every choice explained and none taken.
fn template(root: &Path) -> String {
    let how = match test_command(root) {
        Some(command) => format!("# The tests of this project:\n#\n#     foretell test -- {command}\n"),
        None => "# One program: foretell hunt -- ./program\n".to_owned(),
    };
    format!(
        "\
# Options of Foretell for this project. Sections are commands, keys are their long
# options (`foretell hunt --help`), and the command line comes first. [all] is for
# every command that has the option. FORETELL_CONFIG=none ignores this file.
#
{how}
[all]
# Findings to hide, in ThreadSanitizer's format (`--print-suppressions` proposes lines).
# suppressions = [\"ci/foretell.supp\"]
# Where your own code is; findings elsewhere come last.
# first_party_root = [\"src\"]
# Fail on findings only that this earlier report does not have.
# baseline = \"ci/foretell-baseline.json\"
# A client that is started with a server in every run of `hunt`, and what the server
# prints when it is ready.
# drive = \"./client 127.0.0.1 8080\"
# ready = \"listening\"

[hunt]
# Seconds for a whole hunt.
# timeout = 60
# seed = 0
# Runs to record, each with the next seed.
# runs = 1

[test]
# Seconds for all tests together.
# timeout = 300
# Hunt in each case of GoogleTest, Catch2, libtest and Criterion programs separately.
# split = true
# Reports for other tools.
# sarif = \"foretell.sarif\"
# junit = \"foretell.xml\"
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_accepted_with_every_choice_taken() {
        let text = template(Path::new("/nowhere"));
        let taken: String = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let table: toml::Table = taken.parse().unwrap();
        assert_eq!(table.keys().collect::<Vec<_>>(), ["all", "hunt", "test"]);
        let keys = ["all", "hunt", "test"].map(|section| table[section].as_table().unwrap().len());
        assert_eq!(keys, [5, 3, 4]);
        assert!(text.parse::<toml::Table>().is_ok());
    }
}
