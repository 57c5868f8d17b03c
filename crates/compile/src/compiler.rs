//! `foretell cc` and `foretell c++`: the user's own compiler, with options that make its programs recordable.
//!
//! Promise: every argument is passed on unchanged and in order, after our own options (so that the user's take
//! precedence). The compiler replaces this process, so its output and exit status are the wrapper's. A call that
//! neither compiles nor links (`--version`, `-print-file-name=..`) is passed on untouched.

mod find;
mod reading;
mod response;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use find::{Family, Language, NoCompiler};
use reading::{Assembly, Reading};

use crate::embedded;

/// gcc inlines these at -O1 and above, and then calls no hook. As calls they reach the runtime's own.
const CALLED_NOT_INLINED: [&str; 5] = ["memcpy", "memmove", "memset", "bcopy", "bzero"];

/// Why a program was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// There is no compiler.
    #[error(transparent)]
    NoCompiler(#[from] NoCompiler),
    /// A static program has no place for the runtime.
    #[error("`{0}` links a program that cannot be recorded: the recorder is a shared library")]
    Static(&'static str),
    /// The runtime could not be put where programs find it.
    #[error("cannot unpack the recorder's library: {0}")]
    Unpack(#[source] io::Error),
    /// The compiler did not start.
    #[error("cannot run `{}`: {error}", .compiler.display())]
    Start {
        /// What was to be run.
        compiler: PathBuf,
        /// Why it was not.
        error: io::Error,
    },
}

/// Which branches leave a bit behind, so that there is a model `branch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Branches {
    /// Those of code in which that costs little: what gcc or clang hands to GNU's assembler as usual.
    #[default]
    WhereCheap,
    /// All.
    All,
    /// None.
    None,
}

impl Branches {
    /// What the environment asks for.
    pub fn asked() -> Branches {
        match std::env::var_os("FORETELL_BRANCHES") {
            Some(value) if value == "1" => Branches::All,
            Some(value) if value == "0" => Branches::None,
            _ => Branches::WhereCheap,
        }
    }
}

/// What the wrapper was asked for beyond what the compiler is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Which branches are noted.
    pub branches: Branches,
    /// The compiler to use; none: the one that the environment names, or a usual one.
    pub compiler: Option<OsString>,
}

/// Becomes the compiler. Returns only if that did not work.
pub fn become_compiler(language: Language, extras: &Extras, arguments: &[OsString]) -> CompilerError {
    match prepare(language, extras, arguments) {
        Ok(command) => start(command),
        Err(error) => error,
    }
}

/// The command that compiles with these arguments.
pub fn prepare(
    language: Language,
    extras: &Extras,
    arguments: &[OsString],
) -> Result<Command, CompilerError> {
    // A launcher of what is built for recording already: `foretell cc --compiler foretell cc ..`.
    if extras.compiler.as_deref().is_some_and(find::is_ourselves) {
        let own = |word: &&OsString| *word == "cc" || *word == "c++";
        let rest = &arguments[usize::from(arguments.first().as_ref().is_some_and(own))..];
        return prepare(language, &Extras { compiler: None, ..extras.clone() }, rest);
    }
    let compiler = find::compiler(language, extras.compiler.as_deref())?;
    let reading = Reading::of(arguments);
    let mut command = Command::new(&compiler.words[0]);
    command.args(&compiler.words[1..]);
    if reading.does_something() {
        let installed = embedded::unpack().map_err(CompilerError::Unpack)?;
        command.args(added(compiler.family, extras, &reading, &installed)?);
    }
    command.args(arguments);
    Ok(command)
}

#[cfg(unix)]
fn start(mut command: Command) -> CompilerError {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    CompilerError::Start { compiler: command.get_program().into(), error }
}

/// What goes before the user's arguments.
fn added(
    family: Family,
    extras: &Extras,
    reading: &Reading,
    installed: &embedded::Installed,
) -> Result<Vec<OsString>, CompilerError> {
    let mut added: Vec<OsString> = Vec::new();
    if reading.compiles() || reading.links() {
        added.push("-fsanitize=thread".into());
    }
    if reading.compiles() {
        added.extend(compile_flags(family, extras, reading, installed));
    }
    if reading.links() {
        if let Some(flag) = reading.fully_static() {
            return Err(CompilerError::Static(flag));
        }
        added.extend(link_flags(family, reading, &installed.library));
        // With -flto the linker has it compiled.
        let is_compiled_later = !reading.compiles() && reading.assembly() == Assembly::OfOther;
        if extras.branches == Branches::All && family == Family::Gcc && is_compiled_later {
            added.push(HOOK.into());
        }
    }
    Ok(added)
}

/// Has libstdc++ make its semaphores of the C library's, which are seen as semaphores; its own are atomic operations and system calls.
const POSIX_SEMAPHORES: &str = "-D_GLIBCXX_USE_POSIX_SEMAPHORE=1";

/// Has gcc call a hook in every basic block.
const HOOK: &str = "-fsanitize-coverage=trace-pc";
/// The same for clang.
const CLANGS_HOOK: &str = "-fsanitize-coverage=edge,trace-pc-guard";

fn compile_flags(
    family: Family,
    extras: &Extras,
    reading: &Reading,
    installed: &embedded::Installed,
) -> Vec<OsString> {
    let include = installed.include.clone();
    let mut flags: Vec<OsString> = vec!["-idirafter".into(), include.into(), POSIX_SEMAPHORES.into()];
    if !reading.asks_for_debug_information() {
        flags.push("-g".into());
    }
    match family {
        Family::Gcc => {
            flags.extend(CALLED_NOT_INLINED.map(|function| format!("-fno-builtin-{function}").into()));
            // Loops that copy stay loops of accesses that are seen.
            flags.push("-fno-tree-loop-distribute-patterns".into());
            // It warns of fences, which its own ThreadSanitizer does not know. We do.
            flags.push("-Wno-tsan".into());
        }
        Family::Clang => {
            // Without it the read of `x++` is not told.
            flags.extend(["-mllvm", "-tsan-instrument-read-before-write"].map(OsString::from));
        }
    }
    flags.extend(noting_branches(family, extras.branches, reading, &installed.branches));
    flags
}

/// Has compiled code leave a bit behind at each branch. The assembler does that with a store at each conditional jump; calls of a hook
/// in every basic block cost more, and keep loops from being vectorised.
fn noting_branches(family: Family, branches: Branches, reading: &Reading, macros: &Path) -> Vec<OsString> {
    let first = |file: &Path| ["-Xassembler".into(), file.into()];
    let assembly = match family {
        Family::Clang if !reading.can_leave_clang() || !find::has_gnu_assembler() => Assembly::OfOther,
        _ => reading.assembly(),
    };
    match (branches, assembly, family) {
        (Branches::None, ..) | (Branches::WhereCheap, Assembly::OfOther, _) => Vec::new(),
        (Branches::All, Assembly::OfOther, Family::Gcc) => vec![HOOK.into()],
        (Branches::All, Assembly::OfOther, Family::Clang) => vec![CLANGS_HOOK.into()],
        // It writes a file even if it is asked for pipes.
        (_, _, Family::Clang) => [&["-fno-integrated-as".into()], &first(macros)[..]].concat(),
        (_, Assembly::InFile, Family::Gcc) => first(macros).into(),
        (_, Assembly::Piped, Family::Gcc) => [first(macros), first(Path::new("/dev/stdin"))].concat(),
    }
}

/// Links the runtime before everything else, so that its functions are found before libc's. The program finds it
/// where it is unpacked; without the recorder it does nothing.
fn link_flags(family: Family, reading: &Reading, library: &Path) -> Vec<OsString> {
    let directory = library.parent().unwrap_or(Path::new("."));
    let joined = |flag: &str| {
        let mut joined = OsString::from(flag);
        joined.push(directory);
        joined
    };
    let named = || ["-Wl,--push-state,--no-as-needed".into(), library.into(), "-Wl,--pop-state".into()];
    let mut flags = match family {
        // It adds `-ltsan`, unless an option says to add no library.
        Family::Gcc if reading.bare() => named().into(),
        Family::Gcc => vec![joined("-L")],
        Family::Clang => [&["-fno-sanitize-link-runtime".into()], &named()[..]].concat(),
    };
    flags.push(joined("-Wl,--enable-new-dtags,-rpath,"));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_to(family: Family, line: &str) -> Result<String, CompilerError> {
        added_with(family, Branches::None, line)
    }

    fn added_with(family: Family, branches: Branches, line: &str) -> Result<String, CompilerError> {
        let extras = Extras { branches, compiler: None };
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let installed = embedded::Installed {
            library: "/r/libtsan.so.2".into(),
            include: "/i".into(),
            shim: "/s".into(),
            branches: "/b".into(),
        };
        let added = added(family, &extras, &Reading::of(&arguments), &installed)?;
        Ok(added.join(" ".as_ref()).into_string().unwrap())
    }

    const GCC_COMPILE: &str = "-idirafter /i -D_GLIBCXX_USE_POSIX_SEMAPHORE=1 -g -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset \
                               -fno-builtin-bcopy -fno-builtin-bzero -fno-tree-loop-distribute-patterns -Wno-tsan";
    const GCC_LINK: &str = "-L/r -Wl,--enable-new-dtags,-rpath,/r";

    #[test]
    fn each_step_gets_its_own() {
        let check = |line: &str, expected: String| {
            assert_eq!(added_to(Family::Gcc, line).unwrap(), expected, "{line}");
        };
        check("-c a.c", format!("-fsanitize=thread {GCC_COMPILE}"));
        check("a.c b.o -o p", format!("-fsanitize=thread {GCC_COMPILE} {GCC_LINK}"));
        check("a.o lib.a -o p", format!("-fsanitize=thread {GCC_LINK}"));
        check("-shared a.o -o p.so", format!("-fsanitize=thread {GCC_LINK}"));
        check("-E a.c", format!("-fsanitize=thread {GCC_COMPILE}"));
        check(
            "-nostdlib a.o -lc",
            "-fsanitize=thread -Wl,--push-state,--no-as-needed /r/libtsan.so.2 -Wl,--pop-state \
             -Wl,--enable-new-dtags,-rpath,/r"
                .to_owned(),
        );
        check("all.h", format!("-fsanitize=thread {GCC_COMPILE}"));
        check("-r a.o b.o -o c.o", String::new());
        check("-c a.s", String::new());
    }

    #[test]
    fn clang_is_linked_with_our_library() {
        let link = "-fno-sanitize-link-runtime -Wl,--push-state,--no-as-needed /r/libtsan.so.2 \
                    -Wl,--pop-state -Wl,--enable-new-dtags,-rpath,/r";
        assert_eq!(added_to(Family::Clang, "a.o").unwrap(), format!("-fsanitize=thread {link}"));
        let compile = "-fsanitize=thread -idirafter /i -D_GLIBCXX_USE_POSIX_SEMAPHORE=1 -g -mllvm -tsan-instrument-read-before-write";
        assert_eq!(added_to(Family::Clang, "-c a.cc").unwrap(), compile);
    }

    #[test]
    fn branches_are_noted_by_the_assembler_where_that_can_be() {
        let of = |family: Family, branches: Branches, line: &str| {
            let added = added_with(family, branches, line).unwrap();
            let by_hook = added.contains("-fsanitize-coverage=");
            (
                added.matches("-Xassembler /b").count(),
                added.matches("-Xassembler /dev/stdin").count(),
                by_hook,
            )
        };
        let both = [Branches::WhereCheap, Branches::All];
        for branches in both {
            for line in ["-c a.c", "a.c -o p", "-fPIE -c a.c", "-fPIC -c a.c", "-shared a.c -o p.so"] {
                assert_eq!(of(Family::Gcc, branches, line), (1, 0, false), "{line}");
            }
            assert_eq!(of(Family::Gcc, branches, "-pipe -c a.c"), (1, 1, false));
            assert_eq!(of(Family::Gcc, branches, "a.o -o p"), (0, 0, false));
        }
        let others =
            ["-flto=auto -c a.c", "-S a.c", "-m32 -c a.c", "-masm=intel -c a.c", "a.c b.s", "-E a.c"];
        for line in others.into_iter().chain(["a.c -x assembler b", "-MM a.c", "a.h"]) {
            assert_eq!(of(Family::Gcc, Branches::All, line), (0, 0, true), "{line}");
            assert_eq!(of(Family::Gcc, Branches::WhereCheap, line), (0, 0, false), "{line}");
        }
        assert_eq!(of(Family::Gcc, Branches::All, "-flto a.o -o p"), (0, 0, true));
        assert_eq!(of(Family::Gcc, Branches::WhereCheap, "-flto a.o -o p"), (0, 0, false));
        assert_eq!(of(Family::Gcc, Branches::None, "-c a.c"), (0, 0, false));
        if find::has_gnu_assembler() {
            for line in ["-c a.c", "-pipe -fPIC -c a.c"] {
                assert_eq!(of(Family::Clang, Branches::WhereCheap, line), (1, 0, false), "{line}");
            }
        }
        for line in ["-c -fintegrated-as a.c", "-c -emit-llvm a.c", "-c -gsplit-dwarf a.c", "-flto a.c"] {
            assert_eq!(of(Family::Clang, Branches::WhereCheap, line), (0, 0, false), "{line}");
            assert_eq!(of(Family::Clang, Branches::All, line), (0, 0, true), "{line}");
        }
    }

    #[test]
    fn the_assembler_and_the_runtime_mean_the_same_byte() {
        let place = format!(".long {:#x}\n", wire::BRANCHED_AT);
        assert!(include_str!("compiler/branches.s").contains(&place));
    }

    #[test]
    fn debug_information_is_asked_for_once() {
        for line in ["-c a.c -g0", "-c a.c -ggdb3", "-g -c a.c", "-gdwarf-5 -c a.c"] {
            assert!(!added_to(Family::Gcc, line).unwrap().contains("-g "), "{line}");
        }
    }

    #[test]
    fn static_programs_are_refused_where_they_are_linked() {
        assert!(added_to(Family::Gcc, "-static -c a.c").is_ok());
        for line in ["-static a.c", "a.o -static-pie", "a.o -static-libtsan"] {
            assert!(matches!(added_to(Family::Gcc, line), Err(CompilerError::Static(_))), "{line}");
        }
    }
}
