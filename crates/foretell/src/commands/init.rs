//! `foretell init`: a `foretell.toml` to start from.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pipeline::suite::test_command;
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::output;
use crate::project::FILE;

const EXAMPLES: &str = "\
Looks at the project and writes foretell.toml. `--with` adds what its build
system and its CI service need; files that exist are not replaced.

  cmake   cmake/FindForetell.cmake and cmake/foretell-toolchain.cmake
  meson   foretell-native.ini
  bazel   tools/foretell/
  github  .github/workflows/foretell.yml
  gitlab  .gitlab/foretell.gitlab-ci.yml

See docs/build-systems.md and docs/ci.md.

Examples:
  foretell init
  foretell init --with cmake --with github";

/// Write a foretell.toml for this project, with every choice explained.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Init {
    /// Also write files for a build system or CI service: cmake, meson, bazel, github or gitlab; may be repeated.
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    with: Vec<Integration>,
    /// The root of the project.
    #[arg(value_name = "DIRECTORY", default_value = ".")]
    directory: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report {
    schema: u32,
    files: Vec<String>,
    next: String,
}

/// What Foretell brings files for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Integration {
    Cmake,
    Meson,
    Bazel,
    Github,
    Gitlab,
}

/// A file of an integration.
struct IntegrationFile {
    path: &'static str,
    content: &'static str,
    executable: bool,
}

macro_rules! integration_file {
    ($path:literal, $source:literal, $executable:literal) => {
        IntegrationFile {
            path: $path,
            content: include_str!(concat!("../../integrations/", $source)),
            executable: $executable,
        }
    };
}

impl Integration {
    fn files(self) -> Vec<IntegrationFile> {
        match self {
            Integration::Cmake => vec![
                integration_file!("cmake/FindForetell.cmake", "cmake/FindForetell.cmake", false),
                integration_file!("cmake/foretell-toolchain.cmake", "cmake/foretell-toolchain.cmake", false),
            ],
            Integration::Meson => {
                vec![integration_file!("foretell-native.ini", "meson/foretell-native.ini", false)]
            }
            Integration::Bazel => vec![
                integration_file!("tools/foretell/BUILD.bazel", "bazel/BUILD.bazel", false),
                integration_file!("tools/foretell/foretell_cc.sh", "bazel/foretell_cc.sh", true),
                integration_file!("tools/foretell/foretell_run.sh", "bazel/foretell_run.sh", true),
            ],
            Integration::Github => {
                vec![integration_file!(".github/workflows/foretell.yml", "github/foretell.yml", false)]
            }
            Integration::Gitlab => vec![integration_file!(
                ".gitlab/foretell.gitlab-ci.yml",
                "gitlab/foretell.gitlab-ci.yml",
                false
            )],
        }
    }
}

impl Init {
    /// Writes the files, unless they are there.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut report = Report { schema: 1, files: Vec::new(), next: self.next() };
        let path = self.directory.join(FILE);
        // With something else to write, a project that has the file is no mistake.
        if self.with.is_empty() || !path.exists() {
            self.write_new(&path, &content(&self.directory), false, &mut report)?;
        }
        for file in self.with.iter().flat_map(|integration| integration.files()) {
            self.write_new(&self.directory.join(file.path), file.content, file.executable, &mut report)?;
        }
        if self.mode.json {
            output::print_json(&report)?;
        } else {
            self.say(&format!("next: {}\n", report.next))?;
        }
        Ok(Exit::Nothing)
    }

    /// What to do in this project.
    fn next(&self) -> String {
        match test_command(&self.directory) {
            Some("cargo test") => "foretell cargo test".to_owned(),
            Some(command) => format!("foretell test -- {command}"),
            None => "foretell hunt -- ./program".to_owned(),
        }
    }

    /// Writes a file that does not exist.
    fn write_new(
        &self,
        path: &Path,
        content: &str,
        executable: bool,
        report: &mut Report,
    ) -> Result<(), Diagnostic> {
        write_new(path, content, executable)?;
        let name = path.display().to_string();
        self.say(&format!("wrote {name}\n"))?;
        report.files.push(name);
        Ok(())
    }

    fn say(&self, line: &str) -> Result<(), Diagnostic> {
        if !self.mode.quiet && !self.mode.json {
            output::print(line)?;
        }
        Ok(())
    }
}

/// Writes a file that does not exist.
fn write_new(path: &Path, content: &str, executable: bool) -> Result<(), Diagnostic> {
    let cannot = |error| Diagnostic::from_io("write", &format!("`{}`", path.display()), &error);
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(cannot)?;
    }
    let mode = if executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(cannot)?;
    file.write_all(content.as_bytes()).map_err(cannot)
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
        assert_eq!(table["all"].as_table().unwrap().len(), 5);
        assert!(text.parse::<toml::Table>().is_ok());
    }
}
