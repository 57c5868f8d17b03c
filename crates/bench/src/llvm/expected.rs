//! What a test of ThreadSanitizer's expects of each of its runs, by its RUN lines and the CHECK lines that these name.

/// A report of ThreadSanitizer's that is no warning: it ends the program.
const UNFINISHED: &str = "finished with ignores enabled";

/// Whether ThreadSanitizer reports something in this output.
pub(super) fn is_report(output: &str) -> bool {
    output.contains("WARNING: ThreadSanitizer") || output.contains(UNFINISHED)
}

/// What a run expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A race, or a use of freed memory.
    Race,
    /// A deadlock.
    Deadlock,
    /// Another kind of report, a misuse, by its name.
    Other(String),
    /// No report.
    Silence,
    /// Something else about ThreadSanitizer. What it reports is then what is expected.
    Unstated,
}

impl Expected {
    /// Its group in the tables.
    pub(super) fn group(&self) -> &'static str {
        match self {
            Expected::Race => "a race",
            Expected::Deadlock => "a deadlock",
            Expected::Other(_) => "another report",
            Expected::Silence => "silence",
            Expected::Unstated => "not stated",
        }
    }
}

/// The RUN lines of a test, those that go on in the next line joined.
pub(super) fn run_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter_map(|line| line.split_once("RUN:")).map(|(_, line)| line.trim()) {
        match lines.last_mut().filter(|before| before.ends_with('\\')) {
            Some(before) => {
                before.pop();
                before.push_str(line);
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

/// What a RUN line that runs the program expects of it. `text` is the test.
pub(super) fn expected(line: &str, text: &str) -> Expected {
    // What is checked later, in a file, has its prefixes there.
    let checking = if line.contains("FileCheck") { Some(line.to_owned()) } else { checked_later(line, text) };
    let stated = checking.and_then(|line| stated(&checks(&prefixes(&line), text)));
    match stated {
        Some(expected) => expected,
        // It must not fail in any of its runs.
        None if line.contains("not %deflake") => Expected::Silence,
        None if line.contains("%deflake") || line.contains("not %run") => Expected::Unstated,
        None => Expected::Silence,
    }
}

/// The RUN line that checks what another one has written to a file.
fn checked_later(line: &str, text: &str) -> Option<String> {
    line.contains("> %t.out")
        .then(|| run_lines(text).into_iter().find(|line| line.starts_with("FileCheck")))
        .flatten()
}

fn prefixes(line: &str) -> Vec<String> {
    let mut prefixes = Vec::new();
    for option in ["-check-prefix=", "-check-prefixes=", "-check-prefix "] {
        for (at, _) in line.match_indices(option) {
            let names = line[at + option.len()..].split_whitespace().next().unwrap_or_default();
            prefixes.extend(names.split(',').map(str::to_owned));
        }
    }
    if prefixes.is_empty() {
        prefixes.push("CHECK".to_owned());
    }
    prefixes
}

/// The patterns that must be there, one a line: those of `CHECK:`, `CHECK-NEXT:`, `CHECK-Linux:` and the like. Prose may speak of CHECK, too.
fn checks(prefixes: &[String], text: &str) -> String {
    let pattern = |line: &str| {
        prefixes.iter().find_map(|prefix| {
            let (before, after) = line.split_once(prefix.as_str())?;
            let (suffix, pattern) = after.split_once(':')?;
            let is_whole = !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '-');
            let is_wanted = ["", "-NEXT", "-SAME", "-DAG", "-Linux", "-%os"].contains(&suffix);
            (is_whole && is_wanted).then(|| pattern.to_owned())
        })
    };
    let lines = text.lines().filter(|line| !line.contains("RUN:"));
    lines.filter_map(pattern).collect::<Vec<_>>().join("\n")
}

fn stated(checks: &str) -> Option<Expected> {
    let has = |what: &str| checks.contains(what);
    if has("data race") || has("heap-use-after-free") || has("race on") || has("invalid vptr") {
        return Some(Expected::Race);
    }
    if has("lock-order-inversion") {
        return Some(Expected::Deadlock);
    }
    if has(UNFINISHED) {
        return Some(Expected::Other(UNFINISHED.to_owned()));
    }
    if let Some((_, rest)) = checks.split_once("WARNING: ThreadSanitizer: ") {
        let kind: String = rest.chars().take_while(|&letter| letter != '\n' && letter != '(').collect();
        return Some(Expected::Other(kind.trim().to_owned()));
    }
    has("WARNING: ThreadSanitizer").then(|| Expected::Other("any".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_say_what_is_expected() {
        let of = |checks: &str| expected("%run %t | FileCheck %s", checks);
        assert_eq!(of("// CHECK: WARNING: ThreadSanitizer: data race\n"), Expected::Race);
        assert_eq!(
            of("// CHECK-NOT: WARNING: ThreadSanitizer: data race\n// CHECK: DONE\n"),
            Expected::Silence
        );
        assert_eq!(
            of("// The data race CHECK-NOT below must be CHECK, since: it races\n"),
            Expected::Silence
        );
        assert_eq!(of("// CHECK: ThreadSanitizer: lock-order-inversion\n"), Expected::Deadlock);
        assert_eq!(
            of("// CHECK: WARNING: ThreadSanitizer: thread leak (x)\n"),
            Expected::Other("thread leak".into())
        );
        let unfinished = "// CHECK: ThreadSanitizer: main thread finished with ignores enabled\n";
        assert_eq!(of(unfinished), Expected::Other(UNFINISHED.into()));
    }

    #[test]
    fn each_run_has_its_own_prefixes() {
        let text = "// CHECK-A: ThreadSanitizer: data race\n// CHECK-B: DONE\n";
        let of = |line: &str| expected(line, text);
        assert_eq!(of("%deflake %run %t | FileCheck %s --check-prefix=CHECK-A"), Expected::Race);
        assert_eq!(of("%run %t | FileCheck %s --check-prefixes=CHECK-B,CHECK-C"), Expected::Silence);
        assert_eq!(of("not %deflake %run %t | FileCheck %s --check-prefix=CHECK-B"), Expected::Silence);
        assert_eq!(of("%deflake %run %t | FileCheck %s --check-prefix=CHECK-B"), Expected::Unstated);
    }

    #[test]
    fn lines_that_go_on_are_joined() {
        assert_eq!(run_lines("// RUN: a \\\n// RUN:   b\n// RUN: c\n"), ["a b", "c"]);
    }
}
