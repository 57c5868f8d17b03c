//! `foretell init`: a `foretell.toml` to start from.

use std::path::{Path, PathBuf};

use clap::Args;
use pipeline::project::{FILE, Integration, next_command, write_template};
use serde::Serialize;

use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::output;

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
    #[arg(long, value_name = "WHAT", value_parser = one_of(&Integration::ALL, Integration::name), hide_possible_values = true)]
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

impl Init {
    /// Writes the files, unless they are there.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut report = Report { schema: 1, files: Vec::new(), next: next_command(&self.directory) };
        let path = self.directory.join(FILE);
        // With something else to write, a project that has the file is no mistake.
        if self.with.is_empty() || !path.exists() {
            write_template(&self.directory, &path)?;
            self.note_written(&path, &mut report)?;
        }
        for file in self.with.iter().flat_map(|integration| integration.files()) {
            let path = self.directory.join(file.path);
            file.write_new(&path)?;
            self.note_written(&path, &mut report)?;
        }
        if self.mode.json {
            output::print_json(&report)?;
        } else {
            self.say(&format!("next: {}\n", report.next))?;
        }
        Ok(Exit::Nothing)
    }

    fn note_written(&self, path: &Path, report: &mut Report) -> Result<(), Diagnostic> {
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
