//! What programs print before they die, where that is the only place it is said: Rust panics, uncaught C++ exceptions, reports of
//! sanitizers, and the C library's complaints about the heap and the stack.

use trace::Ending;

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// The message.
    pub(super) message: String,
    /// Where in the source it says it was, as `file:line`.
    pub(super) place: Option<String>,
    /// It says that the thread is the one in which the program began.
    pub(super) in_main: bool,
}

const SIGABRT: i32 = 6;

/// Complaints of the C and C++ libraries that are followed by an abort.
const COMPLAINTS: [&str; 12] = [
    "free():",
    "malloc():",
    "realloc():",
    "munmap_chunk():",
    "malloc_consolidate():",
    "double free or corruption",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "Fatal glibc error",
    "*** stack smashing detected ***",
    "*** buffer overflow detected ***",
    "pure virtual method called",
];

/// The message that the output has about how the program ended. The first panic counts: those after it tell that a panicked
/// thread was waited for.
pub(super) fn message(output: &str, ending: Ending) -> Option<Printed> {
    let aborted = ending == Ending::Killed(SIGABRT);
    if !aborted && !matches!(ending, Ending::Exited(_)) {
        return None;
    }
    if let Some(said) = panic(output).or_else(|| sanitizer(output)) {
        return Some(said);
    }
    if !aborted {
        return None;
    }
    let plain = |message: String| Printed { message, place: None, in_main: false };
    exception(output).or_else(|| complaint(output)).or_else(|| assertion(output)).map(plain)
}

/// `thread 'main' panicked at src/main.rs:5:9:`, and the message in the next line.
fn panic(output: &str) -> Option<Printed> {
    let mut lines = output.lines();
    let line = lines.by_ref().find(|line| line.starts_with("thread ") && line.contains(" panicked at "))?;
    let (_, place) = line.split_once(" panicked at ")?;
    let place = place.trim_end_matches(':');
    // `file:line:column`
    let without_column = place.rsplit_once(':').map_or(place, |(before, _)| before);
    let message = lines.next().unwrap_or_default().trim();
    Some(Printed {
        message: format!("panicked: {message}"),
        place: Some(without_column.to_owned()),
        in_main: line.starts_with("thread 'main' "),
    })
}

/// Whether a sanitizer reported something.
pub(super) fn has_sanitizer_report(output: &[u8]) -> bool {
    sanitizer(&String::from_utf8_lossy(output)).is_some()
}

/// `SUMMARY: AddressSanitizer: heap-use-after-free /src/a.c:5:3 in main`.
fn sanitizer(output: &str) -> Option<Printed> {
    let summary = output.lines().filter_map(|line| line.strip_prefix("SUMMARY: "));
    let mut summary =
        summary.filter(|line| line.split(':').next().is_some_and(|tool| tool.ends_with("Sanitizer")));
    let Some(summary) = summary.next_back() else { return undefined_behaviour(output) };
    let mut words = summary.split(' ');
    let mut message: Vec<&str> = Vec::new();
    // The place is the first word with a line in it; what comes before it says what happened.
    let place = words.by_ref().find_map(|word| match word.split_once(':') {
        Some((file, line)) if !file.is_empty() && line.starts_with(|digit: char| digit.is_ascii_digit()) => {
            let line: String = line.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("{file}:{line}"))
        }
        _ => {
            message.push(word);
            None
        }
    });
    Some(Printed { message: message.join(" "), place, in_main: false })
}

/// `a.c:2:51: runtime error: signed integer overflow: ..`: what gcc's UndefinedBehaviorSanitizer prints has no summary.
fn undefined_behaviour(output: &str) -> Option<Printed> {
    let found = output.lines().find_map(|line| {
        let (place, message) = line.split_once(": runtime error: ")?;
        let (file_and_line, column) = place.rsplit_once(':')?;
        let (file, line) = file_and_line.rsplit_once(':')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (!file.is_empty() && is_number(line) && is_number(column)).then_some((file_and_line, message))
    });
    let (place, message) = found?;
    let message = format!("UndefinedBehaviorSanitizer: {}", message.trim());
    Some(Printed { message, place: Some(place.to_owned()), in_main: false })
}

fn exception(output: &str) -> Option<String> {
    let mut lines = output.lines();
    let line = lines.by_ref().find(|line| line.starts_with("terminate called "))?;
    let Some(kind) = line.strip_prefix("terminate called after throwing an instance of '") else {
        return Some(line.to_owned());
    };
    let kind = kind.trim_end_matches('\'');
    let what = lines.next().and_then(|next| next.trim_start().strip_prefix("what():"));
    Some(match what {
        Some(what) => format!("uncaught exception {kind}: {}", what.trim()),
        None => format!("uncaught exception {kind}"),
    })
}

fn complaint(output: &str) -> Option<String> {
    let complains = |line: &&str| COMPLAINTS.iter().any(|complaint| line.contains(complaint));
    output.lines().rev().find(complains).map(|line| line.trim().to_owned())
}

/// What `assert` prints, should the runtime not have met it.
fn assertion(output: &str) -> Option<String> {
    let line = output.lines().rev().find(|line| line.contains("Assertion `") && line.ends_with("failed."))?;
    let (_, text) = line.split_once("Assertion `")?;
    Some(format!("assertion `{}` failed", text.strip_suffix("' failed.")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABORTED: Ending = Ending::Killed(SIGABRT);

    fn message_of(output: &str, ending: Ending) -> (String, Option<String>) {
        let printed = message(output, ending).unwrap();
        (printed.message, printed.place)
    }

    #[test]
    fn the_first_panic_counts() {
        let output = "hello\nthread '<unnamed>' (7) panicked at src/main.rs:5:9:\nassertion failed: x == 1\nnote: run with\n\n\
                      thread 'main' panicked at src/main.rs:9:20:\ncalled `Result::unwrap()`\n";
        let place = Some("src/main.rs:5".to_owned());
        assert_eq!(
            message_of(output, Ending::Exited(101)),
            ("panicked: assertion failed: x == 1".to_owned(), place)
        );
    }

    #[test]
    fn exceptions_and_complaints_are_known() {
        for (output, message) in [
            (
                "terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom\n",
                "uncaught exception std::runtime_error: boom",
            ),
            ("terminate called after throwing an instance of 'int'\n", "uncaught exception int"),
            (
                "terminate called without an active exception\n",
                "terminate called without an active exception",
            ),
            ("ok\nfree(): invalid pointer\n", "free(): invalid pointer"),
            ("a.out: a.c:4: main: Assertion `x == 'y'' failed.\n", "assertion `x == 'y'` failed"),
        ] {
            assert_eq!(message_of(output, ABORTED), (message.to_owned(), None));
        }
    }

    #[test]
    fn undefined_behaviour_is_known_with_and_without_a_summary() {
        let report = "1\nsrc/a.c:2:51: runtime error: signed integer overflow: 2147483647 + 1\n";
        let message = "UndefinedBehaviorSanitizer: signed integer overflow: 2147483647 + 1";
        let place = Some("src/a.c:2".to_owned());
        for ending in [Ending::Exited(1), ABORTED] {
            assert_eq!(message_of(report, ending), (message.to_owned(), place.clone()));
        }
        let summary =
            format!("{report}SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior src/a.c:2:51 in\n");
        assert_eq!(
            message_of(&summary, Ending::Exited(1)),
            ("UndefinedBehaviorSanitizer: undefined-behavior".to_owned(), place)
        );
        assert!(has_sanitizer_report(report.as_bytes()));
        assert!(!has_sanitizer_report(b"a: runtime error: no place\nx:1: runtime error: no column\n"));
    }

    #[test]
    fn what_is_printed_by_a_program_that_ended_well_means_nothing() {
        assert_eq!(message("free(): I am fine\n", Ending::Exited(0)), None);
        assert_eq!(message("nothing\n", ABORTED), None);
    }
}
