//! What a person reads is plain English: phrases that were once here, and read like a translation, stay away.

use std::path::{Path, PathBuf};

/// What not to write, in lower case, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("told in words", "described"),
    ("tells of", "explains"),
    ("tell of", "explain"),
    ("a word on it", "see"),
    ("in vain", "without success"),
    ("came apart", "a violation that already happened"),
    ("asked of the engine", "decided by the engine, and with `--verbose` only"),
    ("foretold", "predicted"),
    ("no program that linux", "not a linux executable"),
    ("another way than", "a new path"),
    ("went another way", "took a new path"),
    ("other ways", "new paths"),
    ("may come to other code", "may reach other code"),
    ("might turn elsewhere", "may take another path"),
    ("so many seconds", "N seconds"),
    ("how manieth", "its index"),
    ("rightly says nothing", "correctly reports nothing"),
    ("nobody asks", "no polling"),
    ("more can be had", "try a larger"),
    ("bytes an event", "bytes per event"),
    ("for ever", "forever"),
    ("the native form", "the native format"),
    ("findings are no findings", "nothing found"),
];

/// Every page of Markdown that is for people, and every snapshot of what the program prints.
fn texts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = Vec::new();
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                directories.push(path);
            } else if name.ends_with(".md") || name.ends_with(".snap") {
                texts.push(path);
            }
        }
    }
    texts
}

/// The text in lower case on one line, so that a phrase is found wherever the line breaks. Of a snapshot only what the
/// program printed: the names of tests are above.
fn words(text: &str) -> String {
    let body = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((_, body)) => body,
        None => text,
    };
    format!(" {} ", body.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where the phrase stands as words of its own.
fn has(words: &str, phrase: &str) -> bool {
    words.match_indices(phrase).any(|(start, _)| {
        let before = words[..start].chars().next_back();
        let after = words[start + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[test]
fn texts_are_plain_english() {
    let texts = texts();
    assert!(texts.len() > 100, "only {} texts", texts.len());
    let mut faults = Vec::new();
    for path in texts {
        let words = words(&std::fs::read_to_string(&path).unwrap());
        for (phrase, instead) in PHRASES {
            if has(&words, phrase) {
                faults.push(format!("{}: instead of `{phrase}` write `{instead}`", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn phrases_are_found_across_lines_and_as_words() {
    assert!(has(&words("---\nsource: x\n---\nThe end is\n  told."), "is told"));
    assert!(!has(&words("---\nexpression: is told\n---\nfor everybody"), "is told"));
    assert!(!has(&words("for every thread"), "for ever"));
}
