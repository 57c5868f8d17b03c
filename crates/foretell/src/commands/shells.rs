//! `foretell completions` and `foretell man`: what shells and man show of the command line, made from it.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;

const COMPLETIONS: &str = "\
Examples:
  foretell completions bash > /etc/bash_completion.d/foretell
  foretell completions zsh > ~/.zfunc/_foretell
  foretell completions fish > ~/.config/fish/completions/foretell.fish";

/// Print a script with which a shell completes foretell's commands and options.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub struct Completions {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "foretell", &mut script);
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Nothing)
    }
}

/// Write foretell's man pages, one for each command.
#[derive(Debug, Args)]
pub struct Man {
    /// Where to: a directory such as ~/.local/share/man/man1.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let cannot = |error: io::Error| {
            Diagnostic::from_io("write to", &format!("`{}`", self.directory.display()), &error)
        };
        fs::create_dir_all(&self.directory).map_err(cannot)?;
        clap_mangen::generate_to(Arguments::command(), &self.directory).map_err(cannot)?;
        Ok(Exit::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn there_is_a_script_for_each_shell_and_a_page_for_each_command() {
        for &shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "foretell", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("hunt") && script.contains("max-events"), "{shell}");
        }
        let directory = tempfile::tempdir().unwrap();
        Man { directory: directory.path().join("man1") }.run().unwrap();
        let page = fs::read_to_string(directory.path().join("man1/foretell-hunt.1")).unwrap();
        assert!(page.contains(".TH foretell-hunt 1") && page.contains("max\\-events"), "{page}");
    }
}
