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

/// What not to write in comments and messages of the source either.
const IN_SOURCES: &[(&str, &str)] = &[
    ("what came of", "the result of"),
    ("what became of", "the result of"),
    ("whoever", "the thread that, the caller that"),
    ("beside", "next to, in the directory of, compared with"),
    ("anew", "again"),
    ("so many", "this number of, the most .. that"),
    ("likewise", "the same, with its condition"),
    ("in vain", "without success"),
    ("tells of", "explains"),
    ("told apart", "distinguished"),
];

/// The comments and the texts of a source file. What is between two of them is a full stop, so that no phrase reaches across.
fn prose(source: &str) -> String {
    let mut prose = String::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let before = rest[..at].chars().next_back();
        let starts_word = !before.is_some_and(|before| before.is_alphanumeric() || before == '_');
        rest = &rest[at..];
        let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            prose.push_str(rest[..length].trim_start_matches(['/', '!']));
            // The comment may go on in the next line.
            prose.push(' ');
            rest = rest[length..].trim_start();
            if !rest.starts_with("//") {
                prose.push_str(". ");
            }
            continue;
        } else if rest.starts_with('r') && starts_word && rest[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            let length = rest[start..].find(&end).map_or(rest.len(), |length| start + length);
            prose.push_str(&rest[start..length]);
            prose.push_str(". ");
            (length + end.len()).min(rest.len())
        } else if let Some(text) = rest.strip_prefix('"') {
            let mut escaped = false;
            let closing = text.find(|character| {
                let closes = character == '"' && !escaped;
                escaped = character == '\\' && !escaped;
                closes
            });
            let length = closing.unwrap_or(text.len());
            prose.push_str(&text[..length].replace("\\\n", " "));
            prose.push_str(". ");
            (length + 2).min(rest.len())
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            3
        } else {
            1
        };
        rest = &rest[length..];
    }
    prose
}

/// Every source file of the crates' libraries and programs.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates).unwrap();
    let mut directories: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path().join("src")).collect();
    let mut sources = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => sources.extend((path.extension() == Some("rs".as_ref())).then_some(path)),
            }
        }
    }
    sources
}

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
        let goes_on = |character: char| character.is_alphanumeric() || character == '_';
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
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
fn comments_and_messages_are_plain_english() {
    let sources = sources();
    assert!(sources.len() > 300, "only {} source files", sources.len());
    let mut faults = Vec::new();
    for path in sources {
        let words = words(&prose(&std::fs::read_to_string(&path).unwrap()));
        for (phrase, instead) in IN_SOURCES {
            if has(&words, phrase) {
                faults.push(format!("{}: instead of `{phrase}` write `{instead}`", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn prose_is_comments_and_texts() {
    let source = "let beside = 'r'; // It lies\n// beside.\nlet a = \"of \\\"it\\\"\"; f('\"', r#\"so \"many\"#);\nwhich();";
    let words = words(&prose(source));
    assert!(has(&words, "lies beside") && has(&words, "so \"many"), "{words}");
    assert!(!words.contains("let") && !has(&words, "of it which") && !words.contains("which"), "{words}");
}

#[test]
fn phrases_are_found_across_lines_and_as_words() {
    assert!(has(&words("---\nsource: x\n---\nThe end is\n  told."), "is told"));
    assert!(!has(&words("---\nexpression: is told\n---\nfor everybody"), "is told"));
    assert!(!has(&words("for every thread"), "for ever"));
}
