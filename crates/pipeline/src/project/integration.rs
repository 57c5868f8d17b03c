//! Files for build systems and CI services, which `foretell init --with` copies into a project.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::Error;

/// What there are files for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Integration {
    Cmake,
    Meson,
    Bazel,
    Github,
    Gitlab,
}

/// A file for a project.
#[derive(Clone, Copy, Debug)]
pub struct IntegrationFile {
    /// Where it belongs in the project.
    pub path: &'static str,
    content: &'static str,
    is_executable: bool,
}

macro_rules! file {
    ($path:literal, $source:literal) => {
        IntegrationFile {
            path: $path,
            content: include_str!(concat!("../../integrations/", $source)),
            is_executable: false,
        }
    };
    ($path:literal, $source:literal, executable) => {
        IntegrationFile { is_executable: true, ..file!($path, $source) }
    };
}

impl Integration {
    /// All of them.
    pub const ALL: [Integration; 5] = [
        Integration::Cmake,
        Integration::Meson,
        Integration::Bazel,
        Integration::Github,
        Integration::Gitlab,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Integration::Cmake => "cmake",
            Integration::Meson => "meson",
            Integration::Bazel => "bazel",
            Integration::Github => "github",
            Integration::Gitlab => "gitlab",
        }
    }

    /// Its files.
    pub fn files(self) -> &'static [IntegrationFile] {
        match self {
            Integration::Cmake => &[
                file!("cmake/FindForetell.cmake", "cmake/FindForetell.cmake"),
                file!("cmake/foretell-toolchain.cmake", "cmake/foretell-toolchain.cmake"),
            ],
            Integration::Meson => &[file!("foretell-native.ini", "meson/foretell-native.ini")],
            Integration::Bazel => &[
                file!("tools/foretell/BUILD.bazel", "bazel/BUILD.bazel"),
                file!("tools/foretell/foretell_cc.sh", "bazel/foretell_cc.sh", executable),
                file!("tools/foretell/foretell_run.sh", "bazel/foretell_run.sh", executable),
            ],
            Integration::Github => &[file!(".github/workflows/foretell.yml", "github/foretell.yml")],
            Integration::Gitlab => {
                &[file!(".gitlab/foretell.gitlab-ci.yml", "gitlab/foretell.gitlab-ci.yml")]
            }
        }
    }
}

impl IntegrationFile {
    /// Writes it to this place, unless there is a file.
    pub fn write_new(&self, path: &Path) -> Result<(), Error> {
        write_new(path, self.content, if self.is_executable { 0o755 } else { 0o644 })
    }
}

/// Writes a file that does not exist.
pub(super) fn write_new(path: &Path, content: &str, mode: u32) -> Result<(), Error> {
    let cannot = |error| Error::io("write", format!("`{}`", path.display()), error);
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(cannot)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(cannot)?;
    file.write_all(content.as_bytes()).map_err(cannot)
}
