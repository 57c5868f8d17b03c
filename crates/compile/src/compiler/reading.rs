//! What a compiler's command line asks for, as far as the wrapper must know.

use std::ffi::OsString;
use std::path::Path;

use super::response;

/// Options whose value is the next argument, so that it is not taken for an input.
const WITH_VALUE: [&str; 43] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-B",
    "-target",
    "--param",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-rpath",
    "--sysroot",
    "-include-pch",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-wrapper",
];

/// What is done with the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Preprocessed, analysed, compiled or assembled: nothing is linked.
    Compile,
    /// Linked to one object file again.
    Relocatable,
    /// Linked.
    Link,
}

/// How the compiler hands its assembly to the assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assembly {
    /// In a file: assembly of 64 bits, in AT&T's syntax, and nothing else is assembled.
    InFile,
    /// The same through a pipe.
    Piped,
    /// It is something else, or it is not assembled now.
    OfOther,
}

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Reading {
    stage: Stage,
    /// Some input is source that the compiler proper sees.
    sources: bool,
    /// There is some input.
    inputs: bool,
    /// Some input is not a header, which would be precompiled.
    more_than_headers: bool,
    debug: bool,
    /// Some input is assembly.
    assembly: bool,
    /// The compiler's assembly is what it usually is, and is assembled at once.
    usual_assembly: bool,
    /// No option has clang make something else than a file for an assembler.
    can_leave_clang: bool,
    /// Steps are connected by pipes.
    pipes: bool,
    /// The compiler is not to link its own libraries.
    bare: bool,
    fully_static: Option<&'static str>,
}

impl Reading {
    /// Reads a command line, response files included.
    pub(super) fn of(arguments: &[OsString]) -> Reading {
        let arguments = response::expanded(arguments);
        let mut reading = Reading {
            stage: Stage::Link,
            sources: false,
            inputs: false,
            more_than_headers: false,
            debug: false,
            assembly: false,
            usual_assembly: true,
            can_leave_clang: true,
            pipes: false,
            bare: false,
            fully_static: None,
        };
        let mut language: Option<String> = None;
        let mut rest = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = rest.next() {
            let argument = &*argument;
            if argument == "-x" {
                language = rest.next().map(|name| name.into_owned());
            } else if let Some(name) = argument.strip_prefix("-x") {
                language = Some(name.to_owned());
            } else if argument.starts_with('-') && argument != "-" {
                reading.option(argument);
                if WITH_VALUE.contains(&argument) {
                    reading.value(argument, rest.next().as_deref());
                }
            } else {
                reading.inputs = true;
                reading.sources |= is_source(argument, language.as_deref());
                reading.assembly |= is_assembly(argument, language.as_deref());
                reading.more_than_headers |= !is_header(argument, language.as_deref());
            }
        }
        reading
    }

    fn option(&mut self, option: &str) {
        match option {
            "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" => {
                self.stage = Stage::Compile;
                self.usual_assembly &= option == "-c";
            }
            "-r" | "-Wl,-r" | "-Wl,--relocatable" if self.stage == Stage::Link => {
                self.stage = Stage::Relocatable;
            }
            "-static" | "--static" => self.fully_static = Some("-static"),
            "-static-pie" => self.fully_static = Some("-static-pie"),
            "-static-libtsan" => self.fully_static = Some("-static-libtsan"),
            "-nostdlib" | "-nodefaultlibs" => self.bare = true,
            "-pipe" => self.pipes = true,
            "-m32" | "-mx32" | "-m16" | "-masm=intel" => self.usual_assembly = false,
            "-fintegrated-as" | "-integrated-as" | "-emit-llvm" | "-emit-ast" | "--analyze"
            | "--precompile" | "-gsplit-dwarf" => self.can_leave_clang = false,
            _ if option.starts_with("-flto") => self.usual_assembly = false,
            _ if option.starts_with("-g") && !option.starts_with("-gcc") => self.debug = true,
            _ => {}
        }
    }

    fn value(&mut self, option: &str, value: Option<&str>) {
        if option == "-Xlinker" && matches!(value, Some("-static")) {
            self.fully_static = Some("-static");
        }
    }

    /// Whether there is something to compile or link, rather than a question to the compiler.
    pub(super) fn does_something(&self) -> bool {
        self.inputs
    }

    /// Whether the compiler proper sees something.
    pub(super) fn compiles(&self) -> bool {
        self.sources
    }

    /// Whether a program or a shared library is linked.
    pub(super) fn links(&self) -> bool {
        self.more_than_headers && self.stage == Stage::Link
    }

    /// Whether the compiler is not to link any library by itself.
    pub(super) fn bare(&self) -> bool {
        self.bare
    }

    /// Whether the user said which debug information there should be.
    pub(super) fn asks_for_debug_information(&self) -> bool {
        self.debug
    }

    /// How what is compiled gets to the assembler.
    pub(super) fn assembly(&self) -> Assembly {
        let is_fit = self.usual_assembly && !self.assembly && self.more_than_headers;
        match (is_fit, self.pipes) {
            (false, _) => Assembly::OfOther,
            (true, false) => Assembly::InFile,
            (true, true) => Assembly::Piped,
        }
    }

    /// Whether clang can hand what it compiles to another assembler than its own.
    pub(super) fn can_leave_clang(&self) -> bool {
        self.can_leave_clang
    }

    /// The flag that makes the program a static one.
    pub(super) fn fully_static(&self) -> Option<&'static str> {
        self.fully_static
    }
}

/// Whether an input is a header by itself.
fn is_header(input: &str, language: Option<&str>) -> bool {
    match language.filter(|&language| language != "none") {
        Some(language) => language.ends_with("-header"),
        None => matches!(extension(input), "h" | "hh" | "H" | "hp" | "hpp" | "hxx" | "h++" | "tcc"),
    }
}

fn extension(input: &str) -> &str {
    Path::new(input).extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

/// Whether an input is assembly.
fn is_assembly(input: &str, language: Option<&str>) -> bool {
    match language.filter(|&language| language != "none") {
        Some(language) => language.starts_with("assembler"),
        None => matches!(extension(input), "s" | "S" | "sx"),
    }
}

/// Whether an input is source in a language that is instrumented, rather than assembly, an object or a library.
fn is_source(input: &str, language: Option<&str>) -> bool {
    if let Some(language) = language.filter(|&language| language != "none") {
        return !language.starts_with("assembler");
    }
    matches!(
        extension(input),
        "c" | "i"
            | "ii"
            | "C"
            | "cc"
            | "cp"
            | "cxx"
            | "cpp"
            | "CPP"
            | "c++"
            | "h"
            | "hh"
            | "hpp"
            | "hxx"
            | "m"
            | "mm"
            | "cppm"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Reading {
        Reading::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn questions_are_no_work() {
        for line in
            ["--version", "-v", "-dumpmachine", "-print-file-name=libc.so", "-print-search-dirs", "-o x", ""]
        {
            assert!(!read(line).does_something(), "{line}");
        }
    }

    #[test]
    fn steps_are_told_apart() {
        let check = |line: &str, compiles: bool, links: bool| {
            let reading = read(line);
            assert_eq!((reading.compiles(), reading.links()), (compiles, links), "{line}");
        };
        check("a.c", true, true);
        check("a.c -c -o a.o", true, false);
        check("-E -x c -", true, false);
        check("-xc++ - -o p", true, true);
        check("-x c a.weird -x none b.o", true, true);
        check("-MM a.cc", true, false);
        check("-MD -MF a.c a.o", false, true);
        check("-fsyntax-only a.hpp", true, false);
        check("-S a.c", true, false);
        check("all.h", true, false);
        check("-x c++-header all -o all.gch", true, false);
        check("-include all.h a.c", true, true);
        check("--sysroot / a.o", false, true);
        check("a.S -c", false, false);
        check("-x assembler-with-cpp -c a", false, false);
        check("a.o -Wl,-r -o b.o", false, false);
        check("-shared -o liba.so a.o -lm", false, true);
    }
}
