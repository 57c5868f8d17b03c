//! A job: a command that does part of our work in a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc;

use crate::cancellation::Cancellation;
use crate::directory::create_file;
use crate::environment::Environment;
use crate::record::{code, without_surprises};
use crate::signals;

/// How long a job that is called off may take to put its things in order.
const GRACE: Duration = Duration::from_secs(10);

/// A command that does part of our work.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The directory it works in.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: Environment,
    /// What it reads from standard input; none: nothing.
    pub input: Option<PathBuf>,
    /// Where its output goes.
    pub output: PathBuf,
    /// Where its messages go; none: to its output.
    pub messages: Option<PathBuf>,
    /// How long it may take: then it is asked to end.
    pub limit: Duration,
}

impl Job {
    /// Does it; its status, as a shell gives it. If the work is called off, the job is asked to end, and after a grace period killed.
    pub fn run(&self, cancellation: &Cancellation) -> io::Result<u8> {
        let output = create_file(&self.output)?;
        let messages = match &self.messages {
            Some(path) => create_file(path)?,
            None => output.try_clone()?,
        };
        let input = match &self.input {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .stdin(input)
            .stdout(output)
            .stderr(messages);
        self.environment.give(&mut command);
        without_surprises(&mut command);
        self.wait(&mut command.spawn()?, cancellation)
    }

    fn wait(&self, child: &mut Child, cancellation: &Cancellation) -> io::Result<u8> {
        let (mut until, mut asked) = (Instant::now() + self.limit, false);
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(code(status));
            }
            let now = Instant::now();
            match now >= until {
                true if asked => {
                    signals::send(child.id() as i32, libc::SIGKILL);
                    return child.wait().map(code);
                }
                is_over if !asked && (is_over || cancellation.is_cancelled()) => {
                    signals::send(child.id() as i32, libc::SIGINT);
                    (asked, until) = (true, now + GRACE);
                }
                _ => {}
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, directory: &std::path::Path) -> Job {
        let mut environment = Environment::default();
        environment.set("PATH", "/usr/bin:/bin");
        Job {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            directory: directory.to_owned(),
            environment,
            input: None,
            output: directory.join("output"),
            messages: None,
            limit: Duration::from_secs(60),
        }
    }

    #[test]
    fn jobs_run_where_and_with_what_they_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let job = shell("pwd; cat; echo \"$HOME\" >&2; exit 3", directory.path());
        assert_eq!(job.run(&Cancellation::default()).unwrap(), 3);
        let here = directory.path().canonicalize().unwrap();
        assert_eq!(std::fs::read_to_string(&job.output).unwrap(), format!("{}\n\n", here.display()));
    }

    #[test]
    fn a_job_that_is_called_off_or_late_is_asked_to_end() {
        let directory = tempfile::tempdir().unwrap();
        let job = shell("trap 'echo asked; exit 7' INT; while :; do sleep 0.01; done", directory.path());
        let called_off = Cancellation::default();
        let late = Job { limit: Duration::from_millis(200), ..job.clone() };
        assert_eq!(late.run(&called_off).unwrap(), 7);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                called_off.cancel();
            });
            assert_eq!(job.run(&called_off).unwrap(), 7);
        });
        assert_eq!(std::fs::read_to_string(&job.output).unwrap(), "asked\n");
    }
}
