//! Response files: `@file` stands for the arguments in a file. They are read to learn what the compiler will do;
//! the compiler gets `@file` unchanged.

use std::ffi::{OsStr, OsString};
use std::fs;

/// Response files may name others, but not without end.
const DEEPEST: usize = 16;

/// The arguments with those of response files in their place. A file that cannot be read stands for itself, as
/// it does for gcc.
pub(super) fn expanded(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::with_capacity(arguments.len());
    expand(arguments, 0, &mut all);
    all
}

fn expand(arguments: &[OsString], depth: usize, all: &mut Vec<OsString>) {
    for argument in arguments {
        match file_of(argument).filter(|_| depth < DEEPEST).and_then(|path| fs::read_to_string(path).ok()) {
            Some(text) => expand(&split(&text), depth + 1, all),
            None => all.push(argument.clone()),
        }
    }
}

fn file_of(argument: &OsStr) -> Option<&str> {
    argument.to_str()?.strip_prefix('@')
}

/// Arguments are separated by white space; quotes of both kinds and backslashes protect it.
fn split(text: &str) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => current.get_or_insert_default().extend(characters.next()),
            (end, Some(open)) if end == open => quote = None,
            (other, Some(_)) => current.get_or_insert_default().push(other),
            ('"' | '\'', None) => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (space, None) if space.is_ascii_whitespace() => {
                arguments.extend(current.take().map(OsString::from));
            }
            (other, None) => current.get_or_insert_default().push(other),
        }
    }
    arguments.extend(current.map(OsString::from));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_protect_spaces() {
        assert_eq!(split("-c 'a b.c'\n\"x\\\"y\" d\\ e ''"), ["-c", "a b.c", "x\"y", "d e", ""]);
    }

    #[test]
    fn files_stand_for_their_arguments() {
        let directory = tempfile::tempdir().unwrap();
        let [inner, outer] = ["inner", "outer"].map(|name| directory.path().join(name));
        fs::write(&inner, "-c").unwrap();
        fs::write(&outer, format!("a.c @{}", inner.display())).unwrap();
        let arguments = [format!("@{}", outer.display()), "@missing".into()].map(OsString::from);
        assert_eq!(expanded(&arguments), ["a.c", "-c", "@missing"]);
        // A file that names itself ends.
        fs::write(&inner, format!("@{}", inner.display())).unwrap();
        assert_eq!(expanded(&[format!("@{}", inner.display()).into()]).len(), 1);
    }
}
