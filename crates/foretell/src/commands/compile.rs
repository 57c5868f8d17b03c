//! `foretell cc` and `foretell c++`: the user's compiler, with what makes its programs recordable.
//!
//! They are found before the command line is parsed: nearly every word is the compiler's, not ours.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use compile::compiler::{self, Extras, Language};

use pipeline::build::refusal;

use crate::diagnostics::Diagnostic;

const EXAMPLES: &str = "\
Runs $FORETELL_CC (c++: $FORETELL_CXX), or else the first of cc, gcc and clang
(c++: c++, g++ and clang++) that exists. Adds -fsanitize=thread, -g unless a -g
option is given, the path of foretell.h, and flags that make the compiler
instrument every access. Your arguments are passed on unchanged, and the
compiler's exit status is returned. The program also runs normally without
Foretell.

If a build system needs a single word, create a link named foretell-cc or
foretell-c++ to foretell.

Examples:
  foretell cc -O2 bank.c -o bank -pthread   instead of cc
  make CC=\"foretell cc\" CXX=\"foretell c++\"
  ./configure CC=\"foretell cc\"
  FORETELL_CC=clang foretell cc -c list.c   with another compiler
  foretell cc --branches -c list.c          or FORETELL_BRANCHES=1
  ln -s $(command -v foretell) ~/bin/foretell-cc
  cmake -DCMAKE_C_COMPILER=foretell-cc ..";

/// Compile C for recording: your compiler with the flags it needs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cc {
    /// Count branches, for `--model branch`. Must be the first argument.
    #[arg(long)]
    branches: bool,
    /// Arguments for the compiler.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Compile C++ for recording, like cc.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cpp {
    /// Count branches, for `--model branch`. Must be the first argument.
    #[arg(long)]
    branches: bool,
    /// Arguments for the compiler.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Cc {
    /// Becomes the compiler; returns why if that did not work.
    pub fn run(self) -> Diagnostic {
        compile(Language::C, self.branches, &self.arguments)
    }
}

impl Cpp {
    /// Becomes the compiler; returns why if that did not work.
    pub fn run(self) -> Diagnostic {
        compile(Language::Cpp, self.branches, &self.arguments)
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
    match rest.split_first() {
        Some((first, rest)) if first == "--branches" => Some(compile(language, true, rest)),
        _ => Some(compile(language, false, rest)),
    }
}

fn compile(language: Language, branches: bool, arguments: &[OsString]) -> Diagnostic {
    let asked = std::env::var_os("FORETELL_BRANCHES").is_some_and(|value| value == "1");
    let extras = Extras { branches: branches || asked };
    refusal(language, compiler::become_compiler(language, extras, arguments)).into()
}
