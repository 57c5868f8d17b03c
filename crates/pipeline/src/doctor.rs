//! What a machine must have for recording and replaying, and what some commands need.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::build;
use crate::observer::Silent;
use crate::recording::{RecordOptions, Recorder};

/// Something that was looked at.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What it is.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// Whether Foretell is of no use without it.
    pub needed: bool,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub help: Option<&'static str>,
}

/// Looks at everything. Builds and records a small program in a temporary directory.
pub fn checks() -> Vec<Check> {
    let mut checks: Vec<Check> = TOOLS.iter().map(Tool::check).collect();
    checks.extend([address_layout(), debugging(), room()]);
    checks.extend(recording());
    checks
}

/// A program that some commands start.
struct Tool {
    name: &'static str,
    program: &'static str,
    help: &'static str,
}

const TOOLS: [Tool; 5] = [
    Tool { name: "C compiler", program: "cc", help: "apt-get install gcc, or clang" },
    Tool { name: "C++ compiler", program: "c++", help: "apt-get install g++, or clang" },
    Tool {
        name: "Rust compiler",
        program: "rustc",
        help: "https://rustup.rs; for `foretell cargo` and .rs files",
    },
    Tool { name: "cargo", program: "cargo", help: "https://rustup.rs; for `foretell cargo`" },
    Tool { name: "gdb", program: "gdb", help: "apt-get install gdb; for `foretell replay --gdb`" },
];

const HELLO: &str = "\
#include <pthread.h>
static int x;
static void *run(void *unused) { x = x + 1; return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return x - 1;
}
";

impl Tool {
    fn check(&self) -> Check {
        let output = Command::new(self.program).arg("--version").stdin(Stdio::null()).output();
        let version = output.ok().filter(|output| output.status.success());
        let version = version.map(|output| {
            String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
        });
        Check {
            name: self.name,
            ok: version.is_some(),
            needed: false,
            found: version.unwrap_or_else(|| format!("`{}` is not there", self.program)),
            help: Some(self.help),
        }
    }
}

/// Replays need programs to lie where they lay.
fn address_layout() -> Check {
    let is_fixed = run::machine::allows_fixed_addresses();
    Check {
        name: "fixed addresses",
        ok: is_fixed,
        needed: true,
        found: if is_fixed {
            "programs can be started without randomised addresses"
        } else {
            "the system does not allow to turn the randomisation of addresses off"
        }
        .to_owned(),
        help: Some("in a container, allow personality(2): docker run --security-opt seccomp=unconfined"),
    }
}

/// Whether a debugger may attach.
fn debugging() -> Check {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_else(|_| "0".to_owned());
    let ok = matches!(scope.trim(), "0" | "1");
    Check {
        name: "debugging",
        ok,
        needed: false,
        found: format!("kernel.yama.ptrace_scope is {}", scope.trim()),
        help: Some("sysctl kernel.yama.ptrace_scope=1; for `foretell replay --gdb`"),
    }
}

/// Raw logs are written to the temporary directory.
fn room() -> Check {
    let directory = std::env::temp_dir();
    let free = run::machine::free_bytes(&directory);
    Check {
        name: "temporary directory",
        ok: free.is_none_or(|free| free >= 1 << 30),
        needed: false,
        found: match free {
            Some(free) => format!("{} free in {}", gigabytes(free), directory.display()),
            None => format!("{}", directory.display()),
        },
        help: Some("a recording of 100 million events needs about 100 MB: free some room, or set TMPDIR"),
    }
}

/// Builds and records a small program.
fn recording() -> Vec<Check> {
    let check = |name, result: Result<String, String>, help| Check {
        name,
        ok: result.is_ok(),
        needed: true,
        found: result.unwrap_or_else(|error| error),
        help: Some(help),
    };
    let built = build_hello();
    let (directory, built) = match built {
        Ok(directory) => (Some(directory), Ok("a small program was built for recording".to_owned())),
        Err(error) => (None, Err(error)),
    };
    let mut checks = vec![check("building", built, "`foretell cc` needs gcc or clang; see the message")];
    if let Some(directory) = directory {
        checks.push(check("recording", record_hello(directory.path()), "see docs/recording.md"));
    }
    checks
}

fn build_hello() -> Result<tempfile::TempDir, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = directory.path().join("hello.c");
    fs::write(&source, HELLO).map_err(|error| error.to_string())?;
    build::build(&source, &directory.path().join("hello"), "").map_err(|error| error.to_string())?;
    Ok(directory)
}

fn record_hello(directory: &Path) -> Result<String, String> {
    let options = RecordOptions {
        command: vec![OsString::from(directory.join("hello"))],
        duration: Some(Duration::from_secs(30)),
        ..RecordOptions::default()
    };
    let recorder = Recorder::new(&options, &mut Silent).map_err(|error| error.to_string())?;
    let started = Instant::now();
    let trace = directory.join("hello.ftr");
    let recorded = recorder.record(0, &trace, &mut Silent).map_err(|error| error.to_string())?;
    let events: u64 = recorded.traces.iter().map(|trace| trace.loaded.events).sum();
    match (recorded.code, events) {
        (0, 1..) => Ok(format!("{events} events in {} ms", started.elapsed().as_millis())),
        (code, events) => {
            Err(format!("the program ended with status {code}, and {events} events were recorded"))
        }
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
