//! What a program's runs may depend on besides its schedule and its command line, told from its files: the functions of the C library that they call,
//! and libraries that are not instrumented.
//!
//! A function that is linked need not be called, so this says what may be, not what is. The system's own libraries are known and left out.

use std::collections::BTreeSet;
use std::path::Path;

use object::read::{Object, ObjectSection, ObjectSymbol};

use crate::mapping::map_file;

/// Something that runs of a program may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Influence {
    /// The time: it is read, or a timer is set.
    Time,
    /// Random numbers, which threads draw from a common state that is not recorded.
    Chance,
    /// Files, pipes, sockets: what is read there may depend on what other threads write there.
    Input,
    /// Code whose accesses are not recorded.
    Uninstrumented,
}

const TIME: &[&str] = &[
    "alarm",
    "clock",
    "clock_gettime",
    "ftime",
    "gettimeofday",
    "setitimer",
    "time",
    "timer_create",
    "timerfd_create",
    "times",
    "timespec_get",
    "ualarm",
];
const CHANCE: &[&str] = &[
    "arc4random",
    "arc4random_uniform",
    "drand48",
    "erand48",
    "getentropy",
    "getrandom",
    "lrand48",
    "mrand48",
    "rand",
    "random",
];
const INPUT: &[&str] = &[
    "accept",
    "accept4",
    "fgetc",
    "fgets",
    "fgetwc",
    "fopen",
    "fopen64",
    "fread",
    "fscanf",
    "getc",
    "getchar",
    "getdelim",
    "getline",
    "mmap",
    "open",
    "open64",
    "openat",
    "pipe",
    "pipe2",
    "pread",
    "pread64",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "scanf",
    "shm_open",
    "socket",
    "socketpair",
];
/// Mangled names of C++'s standard library start with this.
const CXX: &[(&str, Influence)] = &[
    ("_ZNSt6chrono", Influence::Time),
    ("_ZNSt13random_device", Influence::Chance),
    ("_ZSt3cin", Influence::Input),
    ("_ZNSt13basic_filebuf", Influence::Input),
    ("_ZNSt13basic_fstream", Influence::Input),
    ("_ZNSt14basic_ifstream", Influence::Input),
];
/// Libraries of the system whose functions are either intercepted or share nothing that matters. The runtime is among them.
const SYSTEM: &[&str] = &[
    "ld-linux",
    "libatomic.so",
    "libc++.so",
    "libc++abi.so",
    "libc.so",
    "libc-2.",
    "libdl.so",
    "libdl-2.",
    "libgcc_s.so",
    "libgomp.so",
    "libiomp5.so",
    "libm.so",
    "libm-2.",
    "libomp.so",
    "libomp-",
    "libpthread.so",
    "libpthread-2.",
    "librt.so",
    "librt-2.",
    "libstdc++.so",
    "libtsan.so",
];

/// What runs may depend on if these files are the program and its libraries. What is no file is the kernel's; a file that cannot be read counts
/// as not instrumented.
pub fn influences<'a>(files: impl IntoIterator<Item = &'a Path>) -> BTreeSet<Influence> {
    let mut found = BTreeSet::new();
    let files: BTreeSet<&Path> = files.into_iter().filter(|path| path.is_absolute()).collect();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !SYSTEM.iter().any(|known| name.starts_with(known)) {
            match map_file(file) {
                Ok(bytes) => found.extend(of_file(&bytes)),
                Err(_) => {
                    found.insert(Influence::Uninstrumented);
                }
            }
        }
    }
    found
}

/// What a library calls that makes threads and lets them wait in ways of its own: by system calls, or by spinning.
const OWN_WAITING: &[&str] = &["syscall", "sched_yield"];

/// What a call `syscall(SYS_futex, ..)` has: the instruction that loads the number, 202.
const LOADS_FUTEX: [u8; 5] = [0xbf, 202, 0, 0, 0];

/// Libraries among these files that are not instrumented and order threads out of sight, by name: they start threads, and wait in other ways than by
/// the C library's functions; or they use futexes by themselves.
pub fn hidden_synchronisers<'a>(files: impl IntoIterator<Item = &'a Path>) -> BTreeSet<String> {
    let names = files.into_iter().filter(|path| path.is_absolute()).filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_known = SYSTEM.iter().any(|known| name.starts_with(known));
        (!is_known && name.contains(".so") && synchronises_unseen(&map_file(path).ok()?)).then_some(name)
    });
    names.collect()
}

fn synchronises_unseen(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let (mut starts, mut waits, mut calls) = (false, false, false);
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().unwrap_or_default();
        if name.starts_with("__tsan_") {
            return false;
        }
        starts |= name == "pthread_create";
        waits |= OWN_WAITING.contains(&name);
        calls |= name == "syscall";
    }
    starts && waits || calls && uses_futexes(&file)
}

/// Whether code of a file asks the kernel for futexes.
fn uses_futexes(file: &object::File<'_>) -> bool {
    let code = file.sections().filter(|section| section.kind() == object::SectionKind::Text);
    code.filter_map(|section| section.data().ok())
        .any(|code| code.windows(LOADS_FUTEX.len()).any(|bytes| bytes == LOADS_FUTEX))
}

fn of_file(bytes: &[u8]) -> BTreeSet<Influence> {
    let Ok(file) = object::File::parse(bytes) else { return BTreeSet::from([Influence::Uninstrumented]) };
    let (mut found, mut is_instrumented) = (BTreeSet::new(), false);
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().unwrap_or_default();
        is_instrumented |= name.starts_with("__tsan_");
        found.extend(of_function(name));
    }
    if !is_instrumented {
        found.insert(Influence::Uninstrumented);
    }
    found
}

fn of_function(name: &str) -> Option<Influence> {
    // Variants of one function: checked ones, and those of a version of C.
    let plain = name.trim_start_matches("__isoc99_").trim_start_matches("__isoc23_");
    let plain = plain.trim_start_matches("__").trim_end_matches("_chk");
    let lists = [(TIME, Influence::Time), (CHANCE, Influence::Chance), (INPUT, Influence::Input)];
    let listed = lists.into_iter().find(|(names, _)| names.contains(&plain));
    listed
        .map(|(_, influence)| influence)
        .or_else(|| CXX.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, influence)| influence))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn functions_are_known_by_all_their_names() {
        assert_eq!(of_function("clock_gettime"), Some(Influence::Time));
        assert_eq!(of_function("__isoc99_scanf"), Some(Influence::Input));
        assert_eq!(of_function("__read_chk"), Some(Influence::Input));
        assert_eq!(of_function("_ZNSt6chrono3_V212system_clock3nowEv"), Some(Influence::Time));
        assert_eq!(of_function("rand"), Some(Influence::Chance));
        assert_eq!(of_function("pthread_mutex_lock"), None);
        assert_eq!(of_function("puts"), None);
    }

    #[test]
    fn what_is_not_instrumented_is_found() {
        let shell = crate::program::locate(OsStr::new("sh")).unwrap();
        assert!(influences([shell.as_path()]).contains(&Influence::Uninstrumented));
        assert!(influences([Path::new("/no/such/library.so")]).contains(&Influence::Uninstrumented));
        assert!(influences([Path::new("/lib/libc.so.6"), Path::new("/x/libtsan.so.2")]).is_empty());
    }
}
