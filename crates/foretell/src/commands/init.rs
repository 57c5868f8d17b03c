//! `foretell init`: a `foretell.toml` to start from.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;
use crate::project::{FILE, test_command};

/// Write a foretell.toml for this project, with every choice explained.
#[derive(Debug, Args)]
pub struct Init {
    /// The root of the project.
    #[arg(value_name = "DIRECTORY", default_value = ".")]
    directory: PathBuf,
}

impl Init {
    /// Writes the file, unless there is one.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let path = self.directory.join(FILE);
        let cannot = |error| Diagnostic::from_io("write", &format!("`{}`", path.display()), &error);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(cannot)?;
        file.write_all(content(&self.directory).as_bytes()).map_err(cannot)?;
        let next = match test_command(&self.directory) {
            Some(command) => format!("foretell test -- {command}"),
            None => "foretell hunt -- ./program".to_owned(),
        };
        output::print(&format!("wrote {}; next: {next}\n", path.display()))?;
        Ok(Exit::Nothing)
    }
}

fn content(root: &Path) -> String {
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

[hunt]
# Seconds for a whole hunt.
# timeout = 60
# seed = 0

[test]
# Seconds for all tests together.
# timeout = 300
# Hunt in each case of GoogleTest, Catch2, libtest and Criterion programs by itself.
# split = true
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_accepted_with_every_choice_taken() {
        let text = content(Path::new("/nowhere"));
        let taken: String = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let table: toml::Table = taken.parse().unwrap();
        assert_eq!(table.keys().collect::<Vec<_>>(), ["all", "hunt", "test"]);
        assert_eq!(table["all"].as_table().unwrap().len(), 3);
        assert!(text.parse::<toml::Table>().is_ok());
    }
}
