//! A directory to compile and record in, and what a trace says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use trace::{Trace, native, text};

/// A compiler and its optimisation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Toolchain {
    pub(crate) cc: &'static str,
    pub(crate) cxx: &'static str,
    pub(crate) optimise: &'static str,
}

/// Both compilers, as far as they are there, each without optimisation and with it.
pub(crate) fn toolchains() -> Vec<Toolchain> {
    let compilers = [("gcc", "g++"), ("clang", "clang++")];
    let there = compilers.into_iter().filter(|(cc, _)| testing::has(cc));
    there.flat_map(|(cc, cxx)| ["-O0", "-O2"].map(|optimise| Toolchain { cc, cxx, optimise })).collect()
}

/// A directory of its own; gone with the value.
pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it is in the directory")).expect("it can be made");
        std::fs::write(path, content).expect("it can be written");
    }

    /// `foretell` with these arguments, in this directory.
    pub(crate) fn foretell<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// Another program in this directory.
    pub(crate) fn other<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// Compiles a C file of the test programs.
    pub(crate) fn compile(&self, with: Toolchain, program: &str, more: &[&str]) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recording/programs").join(program);
        let language = if program.ends_with(".cc") { "c++" } else { "cc" };
        let source = source.to_str().expect("a path in UTF-8");
        let arguments = [&[language, with.optimise, source, "-o", "program", "-pthread"], more].concat();
        let mut compile = self.foretell(&arguments);
        // The empty word is what the environment says, or the usual compiler.
        if !with.cc.is_empty() {
            compile.env("FORETELL_CC", with.cc).env("FORETELL_CXX", with.cxx);
        }
        succeeded(&mut compile);
    }

    /// Records the program with these options, and what it was recorded as.
    pub(crate) fn record(&self, options: &[&str]) -> Recorded {
        let output = succeeded(&mut self.foretell(&[&["record"], options, &["--", "./program"]].concat()));
        Recorded { trace: self.trace("foretell.ftr"), output }
    }

    pub(crate) fn trace(&self, name: &str) -> Trace {
        let read = || std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut bytes = read();
        // The recording of a long run: whoever reads it first translates it.
        if native::is_untranslated(&bytes) {
            succeeded(&mut self.foretell(&["stats", "-q", name]));
            bytes = read();
        }
        native::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}")).0
    }
}

/// Compiles and records a program with each toolchain, and looks at the result of it.
pub(crate) fn each(program: &str, look: impl Fn(&Workshop, &Recorded)) {
    each_toolchain(program, |_, workshop, recorded| look(workshop, recorded));
}

/// The same, with the compilers it was built with.
pub(crate) fn each_toolchain(program: &str, look: impl Fn(Toolchain, &Workshop, &Recorded)) {
    for with in toolchains() {
        let workshop = Workshop::new();
        workshop.compile(with, program, &[]);
        println!("{program} {with:?}");
        let recorded = workshop.record(&["--seed", "3"]);
        assert!(recorded.trace.can_be_replayed());
        look(with, &workshop, &recorded);
    }
}

/// A trace and what its program said.
pub(crate) struct Recorded {
    pub(crate) trace: Trace,
    pub(crate) output: Output,
}

impl Recorded {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }
}

#[track_caller]
pub(crate) fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// The events of a trace as text, `thread|op(object)`, without locations.
pub(crate) fn events(trace: &Trace) -> Vec<String> {
    let mut written = Vec::new();
    text::write(trace, &mut written).expect("every name can be written");
    let written = String::from_utf8(written).expect("text is UTF-8");
    let events = written.lines().filter(|line| !line.starts_with('#'));
    events.filter_map(|line| line.rsplit_once('|').map(|(event, _)| event.to_owned())).collect()
}

/// Asserts that these events happen, in this order, with others in between.
#[track_caller]
pub(crate) fn assert_in_order(trace: &Trace, expected: &[&str]) {
    let events = events(trace);
    let mut rest = events.iter();
    for &wanted in expected {
        assert!(rest.any(|event| event == wanted), "`{wanted}` is missing or too early in {events:#?}");
    }
}

/// How many events there are that a pattern fits: `thread|op(`, or any part of one.
pub(crate) fn count(trace: &Trace, part: &str) -> usize {
    events(trace).iter().filter(|event| event.contains(part)).count()
}
