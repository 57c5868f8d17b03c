//! A job: a command that does part of our work in a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::cancellation::Cancellation;
use crate::directory::create_file;
use crate::environment::Environment;
use crate::record::{code, without_surprises};
use crate::signals;
use crate::waiting::{EndWatch, LOOK};

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
    /// What it and all it starts may use; none: as much as we.
    pub confinement: Option<Confinement>,
}

/// What a job and all it starts may use, and who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Bytes of memory, of each process.
    pub memory: u64,
    /// Processes and threads of the user who it runs as.
    pub processes: u64,
    /// Bytes of each file that it writes.
    pub file_size: u64,
    /// Processor time of each process.
    pub processor_time: Duration,
    /// Who it runs as; none: who we are. Only root can choose.
    pub user: Option<User>,
}

/// A user by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user.
    pub user: u32,
    /// The group, the only one.
    pub group: u32,
}

impl User {
    /// The user with this name or number; none: there is no such user.
    pub fn named(name: &str) -> io::Result<Option<User>> {
        if let Ok(number) = name.parse::<u32>() {
            return Ok(Some(User { user: number, group: number }));
        }
        let found = nix::unistd::User::from_name(name)?;
        Ok(found.map(|found| User { user: found.uid.as_raw(), group: found.gid.as_raw() }))
    }
}

/// Flags of `open` that follow no link, and wait for nobody at the other end of a pipe: for files that a job has left.
pub const NO_LINK_NO_WAIT: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Whether we are root.
pub fn are_root() -> bool {
    nix::unistd::geteuid().is_root()
}

impl Confinement {
    /// Has it hold for a command and all that it starts.
    #[expect(unsafe_code, reason = "it takes effect between fork and exec")]
    fn apply(self, command: &mut Command) {
        let prepare = move || {
            let limits = [
                (Resource::RLIMIT_AS, self.memory),
                (Resource::RLIMIT_NPROC, self.processes),
                (Resource::RLIMIT_FSIZE, self.file_size),
                (Resource::RLIMIT_CPU, self.processor_time.as_secs().max(1)),
                (Resource::RLIMIT_CORE, 0),
            ];
            for (resource, limit) in limits {
                // What is stricter already stays so.
                let (_, most) = getrlimit(resource)?;
                setrlimit(resource, limit.min(most), limit.min(most))?;
            }
            if let Some(User { user, group }) = self.user {
                // SAFETY: system calls that take numbers; all are safe after a fork.
                let done = unsafe {
                    libc::setgroups(0, std::ptr::null()) == 0
                        && libc::setresgid(group, group, group) == 0
                        && libc::setresuid(user, user, user) == 0
                };
                if !done {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { command.pre_exec(prepare) };
    }
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
        // A change of the user would undo what comes after it.
        if let Some(confinement) = self.confinement {
            confinement.apply(&mut command);
        }
        without_surprises(&mut command);
        self.wait(&mut command.spawn()?, cancellation)
    }

    fn wait(&self, child: &mut Child, cancellation: &Cancellation) -> io::Result<u8> {
        let (mut until, mut asked) = (Instant::now() + self.limit, false);
        let watch = EndWatch::of(child.id());
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
            watch.wait_at_most(LOOK);
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
            confinement: None,
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

    #[test]
    fn a_job_is_confined_with_all_that_it_starts() {
        let directory = tempfile::tempdir().unwrap();
        let script =
            "sh -c 'ulimit -v; ulimit -f; ulimit -t; ulimit -c; id -u'; head -c 9000 /dev/zero > large";
        let confinement = Confinement {
            memory: 1 << 30,
            processes: 5_000,
            file_size: 4096,
            processor_time: Duration::from_secs(77),
            user: None,
        };
        let job = Job { confinement: Some(confinement), ..shell(script, directory.path()) };
        let status = job.run(&Cancellation::default()).unwrap();
        let user = nix::unistd::getuid();
        let said = std::fs::read_to_string(&job.output).unwrap();
        // Some shells say, too, that what they started was killed.
        let limits = format!("1048576\n8\n77\n0\n{user}\n");
        assert!(said.starts_with(&limits), "kilobytes, blocks of 512 bytes, seconds: {said}");
        assert_ne!(status, 0, "a file that is too large");
        assert_eq!(std::fs::metadata(directory.path().join("large")).unwrap().len(), 4096);
        if are_root() {
            let confinement = Confinement { user: User::named("nobody").unwrap(), ..confinement };
            let job = Job { confinement: Some(confinement), ..shell("id -u; id -G", directory.path()) };
            // It may enter the directory that it works in.
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(directory.path(), open).unwrap();
            assert_eq!(job.run(&Cancellation::default()).unwrap(), 0);
            assert_eq!(std::fs::read_to_string(&job.output).unwrap(), "65534\n65534\n");
        }
    }
}
