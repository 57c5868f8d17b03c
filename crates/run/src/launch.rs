//! Starting a program without a copy of ourselves.
//!
//! A hunt starts thousands of programs that take milliseconds, and has up to gigabytes of memory. The standard library copies the tables of all of
//! it (`fork`) to call what is to be done before the program takes over. Here the new process borrows our memory until then, as one that
//! `posix_spawn` makes does, while the thread that made it waits; what it does meanwhile are system calls, and nothing else.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::ptr;

use nix::errno::Errno;
use nix::libc::{self, c_char, c_int, c_void};

use crate::environment::Environment;

/// What the new process has for its calls until the program takes over, besides a copy of the list of words, which the C library makes for a script.
const STACK: usize = 64 << 10;
/// Its status if the program cannot.
const NOT_STARTED: c_int = 127;

/// A program that is to be started: in a process group of its own, with the same addresses each time, and with no life after ours.
#[derive(Debug)]
pub(crate) struct Launch<'a, W> {
    /// The file that is run.
    pub(crate) file: &'a Path,
    /// What it is called, and its arguments.
    pub(crate) words: &'a [W],
    /// Where it runs; none: here.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) environment: &'a Environment,
    pub(crate) input: File,
    /// Where its output goes, and its messages.
    pub(crate) output: [File; 2],
}

/// A program that was started.
#[derive(Debug)]
pub(crate) struct Launched {
    id: libc::pid_t,
    status: Option<ExitStatus>,
}

impl<W: AsRef<OsStr>> Launch<'_, W> {
    /// Starts it; an error if the program cannot take over.
    pub(crate) fn start(self) -> io::Result<Launched> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let file = text(self.file.as_os_str())?;
        let directory = self.directory.map(|directory| text(directory.as_os_str())).transpose()?;
        let words = self.words.iter().map(|word| text(word.as_ref())).collect::<io::Result<Vec<_>>>()?;
        let variables = self.environment.variables().map(|(name, value)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(io::Error::from)
        });
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        let (words, variables) = (pointers(&words), pointers(&variables));
        let mut start = Start {
            file: file.as_ptr(),
            words: words.as_ptr(),
            variables: variables.as_ptr(),
            directory: directory.as_ref().map_or(ptr::null(), |directory| directory.as_ptr()),
            files: [self.input.as_raw_fd(), self.output[0].as_raw_fd(), self.output[1].as_raw_fd()],
            parent: std::process::id() as libc::pid_t,
            error: 0,
        };
        let id = start.in_new_process(STACK + size_of_val(&*words))?;
        let mut launched = Launched { id, status: None };
        match start.error {
            0 => Ok(launched),
            error => {
                launched.wait()?;
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

/// These strings as a program gets them, with nothing behind the last.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// All that the new process needs, and what it leaves.
struct Start {
    file: *const c_char,
    words: *const *const c_char,
    variables: *const *const c_char,
    directory: *const c_char,
    files: [RawFd; 3],
    parent: libc::pid_t,
    /// Why the program could not take over, if so.
    error: c_int,
}

impl Start {
    /// Makes the process, with a stack of this number of bytes, and waits until the program has taken over or failed to.
    #[expect(unsafe_code, reason = "a process that borrows memory is made by a system call")]
    fn in_new_process(&mut self, stack: usize) -> io::Result<libc::pid_t> {
        let mut stack = vec![MaybeUninit::<u128>::uninit(); stack.div_ceil(size_of::<u128>())];
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        // A handler of ours that ran in the new process would run in our memory.
        let all = nix::sys::signal::SigSet::all();
        let before = all.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack and what `self` points to outlive the use, since we wait for the end of that (CLONE_VFORK).
        let id = unsafe { libc::clone(become_program, top, flags, ptr::from_mut(self).cast()) };
        let made = Errno::result(id);
        before.thread_set_mask()?;
        Ok(made?)
    }

    /// Becomes the program, in the new process; returns if that did not work.
    #[expect(unsafe_code, reason = "these are system calls")]
    fn become_program(&self) -> nix::Result<()> {
        // SAFETY: system calls that take numbers, and pointers to strings and lists that end with a zero. They allocate nothing, and change
        // nothing in memory but what is for the error, which the thread that waits for us does not read until then.
        unsafe {
            // As the standard library has it: nothing is blocked, and nothing of ours handled.
            for signal in 1..=libc::SIGRTMAX() {
                let mut action: libc::sigaction = std::mem::zeroed();
                let known = libc::sigaction(signal, ptr::null(), &mut action) == 0;
                let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
                if known && (is_handled || signal == libc::SIGPIPE) {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
            Errno::result(libc::setpgid(0, 0))?;
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // We may have been killed before the kernel knew.
            if libc::getppid() != self.parent {
                libc::_exit(NOT_STARTED);
            }
            for (file, place) in self.files.into_iter().zip(0..) {
                Errno::result(libc::dup2(file, place))?;
            }
            if !self.directory.is_null() {
                Errno::result(libc::chdir(self.directory))?;
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            libc::execvpe(self.file, self.words, self.variables);
        }
        Err(Errno::last())
    }
}

/// What the new process does.
#[expect(
    unsafe_code,
    reason = "it gets what it needs by a pointer, and must not return into what is not its own"
)]
extern "C" fn become_program(start: *mut c_void) -> c_int {
    // SAFETY: it is the `Start` that `in_new_process` waits with.
    let start = unsafe { &mut *start.cast::<Start>() };
    if let Err(error) = start.become_program() {
        start.error = error as c_int;
    }
    // SAFETY: the process ends at once, and does nothing that is for the end of ours.
    unsafe { libc::_exit(NOT_STARTED) }
}

impl Launched {
    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.id as u32
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(libc::WNOHANG)
    }

    /// How it ended, once it has.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.wait_with(0)? {
                return Ok(status);
            }
        }
    }

    #[expect(unsafe_code, reason = "the status is to be had as the kernel gives it")]
    fn wait_with(&mut self, options: c_int) -> io::Result<Option<ExitStatus>> {
        while self.status.is_none() {
            let mut status = 0;
            // SAFETY: a system call that writes one number.
            match Errno::result(unsafe { libc::waitpid(self.id, &mut status, options) }) {
                Ok(0) => break,
                Ok(_) => self.status = Some(ExitStatus::from_raw(status)),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ran {
        status: ExitStatus,
        printed: String,
    }

    fn shell(script: &str, directory: &Path) -> io::Result<Ran> {
        run(Path::new("/bin/sh"), &["shell", "-c", script, "0", "one"], Some(directory))
    }

    fn run(file: &Path, words: &[&str], directory: Option<&Path>) -> io::Result<Ran> {
        let mut environment = Environment::default();
        environment.set("PATH", "/usr/bin:/bin");
        environment.set("COLOUR", "red");
        let place = tempfile::tempdir()?;
        let path = place.path().join("printed");
        let printed = File::create(&path)?;
        let output = [printed.try_clone()?, printed];
        let input = File::open("/dev/null")?;
        let launch = Launch { file, words, directory, environment: &environment, input, output };
        let status = launch.start()?.wait()?;
        Ok(Ran { status, printed: std::fs::read_to_string(&path)? })
    }

    #[test]
    fn a_program_gets_what_it_is_to_get() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().canonicalize().unwrap();
        let ran = shell("pwd; echo \"$1 $COLOUR $HOME.\"; cat; echo x >&2; exit 7", &here).unwrap();
        assert_eq!(ran.printed, format!("{}\none red .\nx\n", here.display()));
        assert_eq!(ran.status.code(), Some(7));
        assert_eq!(shell("kill -9 $$", &here).unwrap().status.signal(), Some(9));
    }

    #[test]
    fn it_has_its_own_group_and_no_chance_in_its_addresses() {
        // The process, its group, its parent; what it is; which signals are blocked.
        let files = ["cat", "/proc/self/stat", "/proc/self/personality", "/proc/self/status"];
        let ran = run(Path::new("/bin/cat"), &files, None).unwrap();
        let mut fields = ran.printed.split_whitespace();
        let [id, _, _, parent, group] = [(); 5].map(|()| fields.next().unwrap_or_default());
        assert_eq!((id, parent), (group, std::process::id().to_string().as_str()));
        assert!(ran.printed.contains("\n00040000\n"), "{}", ran.printed);
        assert!(ran.printed.contains("SigBlk:\t0000000000000000\n"), "{}", ran.printed);
    }

    #[test]
    fn a_script_that_does_not_say_what_reads_it_can_have_many_words() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("script");
        std::fs::write(&script, "echo $#\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, executable).unwrap();
        let ran = run(&script, &vec!["word"; 50_000], None).unwrap();
        assert_eq!(ran.printed, "49999\n");
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let error = run(Path::new("/no/such/program"), &["it"], None).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = run(Path::new("/bin/sh"), &["it"], Some(Path::new("/no/such/place"))).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(run(Path::new("/bin/sh"), &["a\0b"], None).is_err());
    }
}
