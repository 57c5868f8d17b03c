//! What is refused, and in which words: texts that are no trace, and traces that no text can hold.

use std::io::{self, Read};

use trace::text;
use trace::{Op, TraceBuilder};

use crate::{check_refused, read};

/// A sparse file, for example: what it is said to have is no reason to ask for memory.
#[test]
fn a_text_that_is_said_to_be_endless_is_read() {
    let events = "T|r(x)|1\n".repeat(20_000);
    for length in [0, 1, 1 << 45, u64::MAX] {
        let options = text::ReadOptions { length: Some(length), ..text::ReadOptions::default() };
        assert_eq!(text::read_as(events.as_bytes(), options).unwrap().trace.len(), 20_000);
    }
}

#[test]
fn every_mistake_is_refused_in_its_own_words() {
    let cases: &[(&str, &str)] = &[
        (
            "garbage",
            "line 1: this line has 1 of the 3 fields of an event; expected `thread|op(object)|location`",
        ),
        (
            "T|r(x)|1\n\nT|r(x)\n",
            "line 3: this line has 2 of the 3 fields of an event; expected `thread|op(object)|location`",
        ),
        (
            "T|r(x)|1|2\n",
            "line 1: this line has 4 fields, 3 are expected: `thread|op(object)|location`; a `|` in a name is written `%7C`",
        ),
        ("|r(x)|1\n", "line 1, column 1: the thread is missing; expected a name before the first `|`"),
        (
            "T|r(x)|\n",
            "line 1, column 8: the location is missing; expected a name or number after the second `|`",
        ),
        (
            "T|r(x)|\r\n",
            "line 1, column 8: the location is missing; expected a name or number after the second `|`",
        ),
        ("T||1\n", "line 1, column 3: the operation is missing; expected `op(object)` between the two `|`"),
        (
            "T|(x)|1\n",
            "line 1, column 3: the operation is missing; expected `op(object)` between the two `|`",
        ),
        ("# c\nT|aqc(l)|1\n", "line 2, column 3: unknown operation `aqc`; did you mean `acq`?"),
        ("T|Write(l)|1\n", "line 1, column 3: unknown operation `Write`; did you mean `w`?"),
        ("T| r(x)|1\n", "line 1, column 3: unknown operation ` r`; did you mean `r`?"),
        (
            "T|sync\u{7}(l)|1\n",
            "line 1, column 3: unknown operation `sync\\u{7}`; expected one of begin, end, fence, fork, join, r, w, ar, aw, rmw, req, acq, rel, rreq, racq, rrel, wait, signal, broadcast, benter, bexit, post, take, alloc, free, branch, mark, abegin, aend",
        ),
        (
            "T|acq|1\n",
            "line 1, column 3: `acq` acts on something, but nothing is named; expected `acq(lock)`",
        ),
        (
            "T|r()|1\n",
            "line 1, column 5: `r` acts on something, but nothing is named; expected `r(variable)`",
        ),
        (
            "T|fork()|1\n",
            "line 1, column 8: `fork` acts on something, but nothing is named; expected `fork(thread)`",
        ),
        ("T|r(x|1\n", "line 1, column 3: `r(x` is not closed; expected a `)` at the end of the operation"),
        (
            "T|r(x)y|1\n",
            "line 1, column 3: `r(x)y` is not closed; expected a `)` at the end of the operation",
        ),
        (
            "T|begin(|1\n",
            "line 1, column 3: `begin(` is not closed; expected a `)` at the end of the operation",
        ),
        ("T|fence(x)|1\n", "line 1, column 9: `fence` acts on nothing, but `x` is named; expected `fence()`"),
        ("T|fence|1\n", "line 1, column 3: `fence` is written without parentheses; expected `fence()`"),
        (
            "T|branch(-1)|1\n",
            "line 1, column 10: `-1` is not a count of branches; expected a whole number from 0 to 4294967295",
        ),
        (
            "T|branch(4294967296)|1\n",
            "line 1, column 10: `4294967296` is not a count of branches; expected a whole number from 0 to 4294967295",
        ),
        (
            "T|mark(phase)|1\n",
            "line 1, column 8: `phase` is not a mark; expected `mark(name,value)` with a value after the last comma",
        ),
        (
            "T|mark(,3)|1\n",
            "line 1, column 8: `,3` is not a mark; expected `mark(name,value)` with a value after the last comma",
        ),
        (
            "T|mark(a,+3)|1\n",
            "line 1, column 8: `+3` is not the value of a mark; expected a whole number from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "T|mark(a,9223372036854775808)|1\n",
            "line 1, column 8: `9223372036854775808` is not the value of a mark; expected a whole number from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "#! semafore s 1\n",
            "line 1: unknown directive `semafore s 1`; expected `#! semaphore NAME COUNT`, `#! threads as-written` or `#! metadata {..}` (a comment starts with `#` alone)",
        ),
        (
            "#! semaphore s\n",
            "line 1: `s` does not declare a semaphore; expected `#! semaphore NAME COUNT` with single spaces and a count from 0 to 4294967295",
        ),
        (
            "#! semaphore  s 1\n",
            "line 1: ` s 1` does not declare a semaphore; expected `#! semaphore NAME COUNT` with single spaces and a count from 0 to 4294967295",
        ),
        (
            "#! semaphore s -1\n",
            "line 1: `s -1` does not declare a semaphore; expected `#! semaphore NAME COUNT` with single spaces and a count from 0 to 4294967295",
        ),
        (
            "#! semaphore s 1\n#! semaphore s 1\n",
            "line 2: semaphore `s` is declared a second time; expected one declaration",
        ),
        (
            "#! threads by-number\n",
            "line 1: `by-number` is not a setting of threads; expected `#! threads as-written`",
        ),
        (
            "#! metadata nonsense\n",
            "line 1: this is not metadata: expected ident at line 1 column 2; expected a JSON object as described in docs/trace-format.md",
        ),
        ("#! metadata {}\n#! metadata {}\n", "line 2: metadata is given twice; expected it once"),
        (
            "\u{feff}T|r(x)|1\n",
            "line 1, column 1: the text starts with a byte order mark; expected UTF-8 without one",
        ),
    ];
    for (text, expected) in cases {
        check_refused(text.as_bytes(), expected);
    }
}

#[test]
fn what_is_not_utf8_is_refused_where_it_stands() {
    check_refused(
        b"T|r(x)|1\n# ok\nT|r(\xff)|1\n",
        "line 3, column 5: byte 0xff is not valid UTF-8; expected text in UTF-8",
    );
    check_refused(b"T|r(x)|\xc3", "line 1, column 8: byte 0xc3 is not valid UTF-8; expected text in UTF-8");
    // A mistake before it comes first.
    check_refused(
        b"T|r(x)\nT|r(\xff)|1\n",
        "line 1: this line has 2 of the 3 fields of an event; expected `thread|op(object)|location`",
    );
}

#[test]
fn a_line_of_more_than_a_mebibyte_is_refused() {
    let line_of = |length: usize| format!("T|r(x)|{}", "1".repeat(length - 7));
    for end in ["", "\n"] {
        let longest = format!("T|r(x)|1\n{}{end}", line_of(text::MAX_LINE));
        assert_eq!(read(&longest).len(), 2);
        assert_eq!(text::read(longest.as_bytes()).unwrap().len(), 2);
        let message = "line 2: this line is longer than 1 MiB; expected one event per line";
        for excess in [1, 1 << 18, 3 << 20] {
            let too_long = format!("T|r(x)|1\n{}{end}", line_of(text::MAX_LINE + excess));
            check_refused(too_long.as_bytes(), message);
            check_refused(format!("{too_long}\nT|r(x)|1\n").as_bytes(), message);
        }
    }
}

#[test]
fn too_many_names_are_refused_in_words() {
    assert_eq!(
        text::Problem::from(trace::TooManyNames).to_string(),
        "more distinct names than a trace can hold (2^27 of a kind, 4 GiB of text)"
    );
}

#[test]
fn long_findings_are_shortened_and_the_line_is_kept() {
    let error = text::read_bytes(format!("T|{}(x)|1\n", "é".repeat(100)).as_bytes()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(&format!("`{}..`", "é".repeat(60))), "{message}");
    let text::ReadError::Line { place, line, .. } = error else { panic!("{message}") };
    assert_eq!((place.line, place.column, place.length), (1, 3, 203));
    assert!(line.starts_with("T|éé") && line.ends_with("é(x)|1"));
}

#[test]
fn an_error_of_the_input_is_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is out"))
        }
    }
    let error = text::read(Broken).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the trace: the cable is out");
    assert_eq!(error.place(), None);
}

#[test]
fn a_trace_that_no_text_can_hold_is_not_written() {
    let message = |build: &dyn Fn(&mut TraceBuilder)| {
        let mut builder = TraceBuilder::new();
        build(&mut builder);
        let trace = builder.finish().unwrap();
        let error = text::write(&trace, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    };
    let push = |builder: &mut TraceBuilder, thread: &str, location: &str| {
        let (thread, location) = (builder.thread(thread).unwrap(), builder.location(location).unwrap());
        builder.push(thread, Op::Fence, location);
    };
    let empty = "an empty name cannot be written as text";
    assert_eq!(message(&|builder| push(builder, "", "1")), empty);
    assert_eq!(message(&|builder| push(builder, "T", "")), empty);
    assert_eq!(
        message(&|builder| push(builder, "T", &"1".repeat(1 << 20))),
        "a line longer than 1 MiB could not be read back"
    );
    assert_eq!(
        message(&|builder| {
            let semaphore = builder.semaphore(" s").unwrap();
            builder.declare_permits(semaphore, 1);
        }),
        "the name ` s` of a semaphore cannot stand in a declaration"
    );
}
