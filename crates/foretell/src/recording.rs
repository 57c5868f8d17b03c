//! Recording a command into traces: what `record` does, for other commands to do as well.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::{LoadError, Loaded, Options, Recorded};
use run::program::{Program, Sight};
use run::record::{self, Process, Ran};
use trace::{Binary, Metadata};
use wire::Stop;

use crate::diagnostics::Diagnostic;
use crate::output::Target;

/// How a command is recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What the runtime is told: names and values.
    pub runtime: Vec<(&'static str, String)>,
    /// End the program after this long.
    pub duration: Option<Duration>,
    /// Where its output goes, standard error included; none: where ours goes.
    pub output: Option<PathBuf>,
    /// See locks and threads alone, of a program that is not instrumented.
    pub only_sync: bool,
    /// Record the processes it starts, too.
    pub children: bool,
    /// Leave the environment out of the trace.
    pub no_environment: bool,
    /// What is loaded of what was recorded.
    pub load: Options,
}

/// A trace that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its file, as the user would name it.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// What is in it.
    pub loaded: Loaded,
}

impl Recording {
    /// The program's file, if it can be recorded this way; otherwise what to do.
    pub fn program(&self) -> Result<Program, Diagnostic> {
        let word = self.command[0].as_os_str();
        let program = Program::find(word)
            .map_err(|error| Diagnostic::from_io("run", &format!("`{}`", word.display()), &error))?;
        if let Some(diagnostic) = unseen(&program, self.only_sync, self.children) {
            return Err(diagnostic);
        }
        if program.sight == Sight::Full && !program.has_lines {
            Diagnostic::new("it has no debug information, so reports show addresses instead of source lines")
                .in_file(program.path.display().to_string())
                .help("build it with `-g`, and without `-s` or `strip`")
                .print_warning();
        }
        Ok(program)
    }

    /// Runs the command with this seed to its end.
    pub fn run(&self, program: &Program, seed: u64) -> Result<Ran, Diagnostic> {
        let mut runtime = vec![("mode", "record".to_owned()), ("seed", seed.to_string())];
        runtime.extend(self.runtime.iter().cloned());
        runtime.push(("children", if self.children { "follow" } else { "ignore" }.to_owned()));
        let sight = if self.only_sync { Sight::SyncOnly } else { program.sight };
        let sight = if self.children && !self.only_sync { Sight::Full } else { sight };
        let settings = record::Settings { runtime, duration: self.duration, output: self.output.clone() };
        record::run(&self.command, sight, &settings).map_err(|error| {
            Diagnostic::from_io("record", &format!("`{}`", self.command[0].display()), &error)
        })
    }

    /// How the run was recorded, for the trace to say.
    pub fn metadata(&self, program: &Program, seed: u64) -> Metadata {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let environment = || {
            let ours = |name: &OsString| name.to_string_lossy().starts_with("FORETELL_RUN");
            let variables = std::env::vars_os().filter(|(name, _)| !ours(name));
            variables.map(|(name, value)| format!("{}={}", text(&name), text(&value))).collect()
        };
        let mut settings: Vec<(String, String)> = vec![("seed".into(), seed.to_string())];
        settings.extend(self.runtime.iter().map(|(name, value)| ((*name).into(), value.clone())));
        if self.only_sync {
            settings.push(("only-sync".into(), "yes".into()));
        }
        let path = program.path.canonicalize().unwrap_or_else(|_| program.path.clone());
        Metadata {
            command: self.command.iter().map(text).collect(),
            directory: std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default(),
            settings: settings.into_iter().collect(),
            environment: if self.no_environment { Vec::new() } else { environment() },
            input: input(),
            binary: Some(Binary {
                path: path.display().to_string(),
                build_id: program.build_id.clone(),
                checksum: program.checksum.clone(),
            }),
            ..Metadata::default()
        }
    }

    /// Loads what a process left, and writes it to a trace.
    pub fn save(
        &self,
        process: &Process,
        metadata: &Metadata,
        target: &Target,
    ) -> Result<Written, Diagnostic> {
        let (log, modules) =
            process.read().map_err(|error| Diagnostic::from_io("read", "the log", &error))?;
        let recorded = Recorded { log: &log, modules: &modules, directory: Path::new(&metadata.directory) };
        let loaded = target.write(|out| {
            load::load(recorded, metadata, &self.load, out).map_err(|error| match error {
                LoadError::Write(error) => error,
                LoadError::NotALog(error) => io::Error::other(error),
            })
        })?;
        let loaded = loaded.unwrap_or_default();
        Ok(Written { name: target.name(), bytes: target.size().unwrap_or(0), loaded })
    }
}

/// The file that is standard input, if it is one.
fn input() -> String {
    let file = std::fs::metadata("/dev/stdin").is_ok_and(|facts| facts.is_file());
    let path = file.then(|| std::fs::read_link("/proc/self/fd/0").ok()).flatten();
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

/// Why a program cannot be recorded this way, and what to do about it.
fn unseen(program: &Program, only_sync: bool, children: bool) -> Option<Diagnostic> {
    let path = program.path.display();
    let what = match program.sight {
        Sight::Full => return None,
        Sight::SyncOnly if only_sync || children => return None,
        Sight::Script if children => return None,
        Sight::SyncOnly => "it is not instrumented",
        Sight::OwnRuntime => "it is linked with the sanitizer's own runtime",
        Sight::Static => "it is statically linked",
        Sight::Foreign => "it is not a 64-bit x86 program",
        Sight::Privileged => {
            "it runs with the rights of another user or group, so the system does not load your libraries into it"
        }
        Sight::Library => "it is a library, not a program",
        Sight::Script => "it is a script",
        Sight::NotAProgram => "it is not a Linux executable",
    };
    let diagnostic = Diagnostic::new(format!("cannot record `{path}`: {what}"));
    Some(match program.sight {
        Sight::Full | Sight::NotAProgram => diagnostic,
        Sight::Foreign => diagnostic.help("build it for 64-bit x86, without `-m32`"),
        Sight::Privileged => diagnostic.help("record a copy of it: `cp` drops those rights"),
        Sight::Library => diagnostic.help("name the program that loads it"),
        Sight::SyncOnly => diagnostic
            .help("build it with `foretell cc` or `foretell c++` (or `gcc -fsanitize=thread`)")
            .help(
                "`--only-sync` records its locks and threads without a rebuild, which is enough to predict deadlocks",
            ),
        Sight::OwnRuntime => {
            diagnostic.help("build it with `foretell cc` (clang's `-fsanitize=thread` and gcc's `-static-libtsan` link their own)")
        }
        Sight::Static => diagnostic.help("link it without `-static`: the recorder is a shared library"),
        Sight::Script => diagnostic
            .help("name the program that the script starts")
            .help("`--children follow` records each process that the script starts"),
    })
}

/// What to say of a trace beside its size: that its run did not end as runs do.
pub fn remark(loaded: &Loaded) -> Option<String> {
    if let Some(damage) = loaded.damage {
        return Some(format!("the log is damaged: {damage}; the part before was kept"));
    }
    match loaded.stop {
        Some(Stop::Deadlock) => Some("the recorded run itself deadlocked and was stopped".to_owned()),
        Some(Stop::Limit) => Some("recording stopped at the limit; the program continued".to_owned()),
        Some(Stop::Exec) => Some(
            "another program replaced the recorded one; `--children follow` records it as well".to_owned(),
        ),
        Some(Stop::Exit(_) | Stop::Killed(_)) | None => None,
    }
}
