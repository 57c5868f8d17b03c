//! `foretell cc` and `foretell c++`: the user's compiler, with what makes its programs recordable.
//!
//! They are found before the command line is parsed: nearly every word is the compiler's, not ours.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use compile::compiler::{self, Branches, Extras, Language};

use pipeline::build::refusal;

use crate::diagnostics::Diagnostic;

const EXAMPLES: &str = "\
Runs $FORETELL_CC (c++: $FORETELL_CXX), or else the first of cc, gcc and clang
(c++: c++, g++ and clang++) that exists. Adds -fsanitize=thread, -g unless a -g
option is given, the path of foretell.h, and flags that make the compiler
instrument every access. Your arguments are passed on unchanged, and the
compiler's exit status is returned. The program also runs normally without
Foretell.

Branches are counted, for `--model branch`, in what gcc compiles, and clang if
there is a GNU assembler (2.36 or later): a store before each conditional jump,
less than 10 % of the time of a recorded run. With -flto, -S, -masm=intel or
assembly in the same command they are counted only with --branches (or
FORETELL_BRANCHES=1), by calls that can double the time. --no-branches (or
FORETELL_BRANCHES=0) turns counting off.

If a build system needs a single word, create a link named foretell-cc or
foretell-c++ to foretell.

Examples:
  foretell cc -O2 bank.c -o bank -pthread   instead of cc
  make CC=\"foretell cc\" CXX=\"foretell c++\"
  ./configure CC=\"foretell cc\"
  FORETELL_CC=clang foretell cc -c list.c   with another compiler
  foretell cc --no-branches -c list.c       or FORETELL_BRANCHES=0
  ln -s $(command -v foretell) ~/bin/foretell-cc
  cmake -DCMAKE_C_COMPILER=foretell-cc ..";

/// What the user's compiler is called with.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompilerArguments {
    /// Count branches also where that costs more. Comes before the compiler's arguments.
    #[arg(long, conflicts_with = "no_branches")]
    branches: bool,
    /// Do not count branches. Comes before the compiler's arguments.
    #[arg(long)]
    no_branches: bool,
    /// The compiler to run, for build systems with compiler launchers. Comes before all other arguments.
    #[arg(long, value_name = "CMD")]
    compiler: Option<OsString>,
    /// Arguments for the compiler.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl CompilerArguments {
    /// Becomes the compiler of this language; returns why if that did not work.
    pub fn run(self, language: Language) -> Diagnostic {
        let branches = match (self.branches, self.no_branches) {
            (true, _) => Branches::All,
            (_, true) => Branches::None,
            _ => Branches::asked(),
        };
        compile(language, Extras { branches, compiler: self.compiler }, &self.arguments)
    }
}

/// Becomes the compiler if these arguments (the program's name first) ask for that. `None`: they ask for something
/// else, or for our own help.
pub fn intercept(arguments: &[OsString]) -> Option<Diagnostic> {
    let name = |word: &OsString| Path::new(word).file_name().map(OsStr::to_os_string);
    let called = arguments.first().and_then(name)?;
    let (language, rest) = match called.to_str() {
        Some("foretell-cc") => (Language::C, &arguments[1..]),
        Some("foretell-c++") => (Language::Cpp, &arguments[1..]),
        _ => match arguments.get(1)?.to_str() {
            Some("cc") => (Language::C, &arguments[2..]),
            Some("c++") => (Language::Cpp, &arguments[2..]),
            _ => return None,
        },
    };
    let ours = called == "foretell" && matches!(rest, [only] if only == "--help" || only == "-h");
    if ours {
        return None;
    }
    let (extras, rest) = own_options(rest);
    Some(compile(language, extras, rest))
}

/// Our own options, which come first, and what follows.
fn own_options(mut words: &[OsString]) -> (Extras, &[OsString]) {
    let mut extras = Extras { branches: Branches::asked(), ..Extras::default() };
    loop {
        match words {
            [first, rest @ ..] if first == "--branches" => (extras.branches, words) = (Branches::All, rest),
            [first, rest @ ..] if first == "--no-branches" => {
                (extras.branches, words) = (Branches::None, rest);
            }
            [first, compiler, rest @ ..] if first == "--compiler" => {
                (extras.compiler, words) = (Some(compiler.clone()), rest);
            }
            _ => return (extras, words),
        }
    }
}

fn compile(language: Language, extras: Extras, arguments: &[OsString]) -> Diagnostic {
    refusal(language, compiler::become_compiler(language, &extras, arguments)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_come_first() {
        let words: Vec<OsString> =
            ["--compiler", "gcc-12", "--branches", "-c", "a.c", "--branches"].map(Into::into).into();
        let (extras, rest) = own_options(&words);
        assert_eq!(extras, Extras { branches: Branches::All, compiler: Some("gcc-12".into()) });
        assert_eq!(rest, ["-c", "a.c", "--branches"]);
        assert_eq!(own_options(&rest[1..]).1.len(), 2, "what follows is the compiler's");
    }
}
