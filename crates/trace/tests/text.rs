//! The STD text form: what is read, what is refused and in which words, what is written.

use std::io::{self, Read};
use std::path::Path;

use proptest::prelude::*;
use trace::text::{self, Progress};
use trace::{Kind, Metadata, Op, Trace, TraceBuilder};

fn read(text: &str) -> Trace {
    text::read_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn written(trace: &Trace) -> String {
    let mut out = Vec::new();
    text::write(trace, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Both readers must refuse the text with this message.
fn check_refused(text: &[u8], expected: &str) {
    let in_memory = text::read_bytes(text).expect_err("the text must be refused").to_string();
    let streamed = text::read(text).expect_err("the text must be refused").to_string();
    assert_eq!(in_memory, expected, "{:?}", String::from_utf8_lossy(text));
    assert_eq!(streamed, expected);
}

/// Every event of the canonical text is written back as it was.
const CANONICAL: &str = "\
#! metadata {\"command\":[\"./a.out\",\"-x\"],\"directory\":\"/tmp\",\"settings\":{\"quantum\":\"50\"}}
#! semaphore slots 2
#! semaphore two words 0
main|begin(main)|main.c:1
main|fork(T1)|main.c:2
T1|begin(T1)|w.c:1
T1|r(x)|w.c:2
T1|w(x)|w.c:3
T1|ar(flag)|w.c:4
T1|aw(flag)|w.c:5
T1|rmw(flag)|w.c:6
T1|fence()|w.c:7
T1|req(l)|w.c:8
T1|acq(l)|w.c:8
T1|acq(l)|w.c:9
T1|rel(l)|w.c:9
T1|rel(l)|w.c:10
T1|wait(c)|w.c:10
T1|acq(l)|w.c:10
T1|rel(l)|w.c:11
T1|rreq(l)|w.c:12
T1|racq(l)|w.c:12
T1|rrel(l)|w.c:13
T1|signal(c)|w.c:14
T1|broadcast(c)|w.c:15
T1|benter(b)|w.c:16
T1|bexit(b)|w.c:16
T1|post(slots)|w.c:17
T1|take(slots)|w.c:18
T1|post(two words)|w.c:18
T1|alloc(block)|w.c:19
T1|free(block)|w.c:20
T1|branch(4294967295)|w.c:21
T1|mark(phase,-9223372036854775808)|w.c:22
T1|mark(a,b,7)|w.c:23
T1|abegin(transfer)|w.c:24
T1|aend(transfer)|w.c:25
T1|w(f(x)[%7C%25%0A%0D] y)|a b
T1|end(T1)|w.c:26
main|join(T1)|main.c:3
%23odd|r(#x)|#l
main|end(main)|main.c:4
";

#[test]
fn canonical_text_is_written_back_as_it_was() {
    let trace = read(CANONICAL);
    assert_eq!(written(&trace), CANONICAL);
    let mut seen: Vec<Kind> = trace.events().map(|(_, _, op)| op.kind()).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, Kind::ALL, "the canonical text must use every operation");
    assert_eq!(trace.symbols().thread(trace.thread(trace::EventId(37))), "#odd");
    assert!(trace.symbols().variables.find("f(x)[|%\n\r] y").is_some());
    assert_eq!(trace.metadata().command, ["./a.out", "-x"]);
}

#[test]
fn aliases_are_read_and_written_in_the_canonical_spelling() {
    let text = "T|begin|1\nT|notify(c)|1\nT|notifyAll(c)|1\nT|end()|1\nU|begin(whoever)|2\nU|end(x)|2\n";
    let canonical = "T|begin(T)|1\nT|signal(c)|1\nT|broadcast(c)|1\nT|end(T)|1\nU|begin(U)|2\nU|end(U)|2\n";
    assert_eq!(written(&read(text)), canonical);
}

#[test]
fn nothing_is_a_trace_without_events() {
    for text in ["", "\n", "\r\n\n  \t\n", "# a comment", "#\n#no space\n# a|b|c\n"] {
        assert!(read(text).is_empty(), "{text:?}");
    }
}

#[test]
fn line_ends_of_either_kind_and_none_at_the_end() {
    let plain = read("T|r(x)|1\nT|w(x)|2\n");
    for text in [
        "T|r(x)|1\r\nT|w(x)|2\r\n",
        "T|r(x)|1\nT|w(x)|2",
        "T|r(x)|1\r\nT|w(x)|2\r",
        "\n# c\nT|r(x)|1\n\nT|w(x)|2",
    ] {
        assert_eq!(read(text), plain, "{text:?}");
    }
}

#[test]
fn a_forked_number_names_a_thread_t() {
    let cases = [
        // Where threads have names, the number stands for `T` and the number.
        ("T1|fork(0)|0\nT0|r(x)|0\nT1|join(0)|0\n", "T1|fork(T0)|0\nT0|r(x)|0\nT1|join(T0)|0\n"),
        // Where they are numbers, it is the name.
        ("1|fork(0)|0\n0|r(x)|0\n1|join(0)|0\n", "1|fork(0)|0\n0|r(x)|0\n1|join(0)|0\n"),
        // A name with other letters is never changed.
        ("T1|fork(0x1)|0\n", "T1|fork(0x1)|0\n"),
        (
            "#! threads as-written\nT1|fork(0)|0\n0|r(x)|0\n",
            "#! threads as-written\nT1|fork(0)|0\n0|r(x)|0\n",
        ),
    ];
    for (text, canonical) in cases {
        assert_eq!(written(&read(text)), canonical);
        assert_eq!(written(&read(canonical)), canonical);
    }
}

#[test]
fn a_thread_that_acted_before_it_is_forked_by_number_is_two() {
    let text = "T1|fork(0)|0\nT0|fork(1)|1\nT1|r(x)|2\nT0|join(1)|3\nT0|fork(1)|4\nT1|w(x)|5\n";
    let expected =
        "T1|fork(T0)|0\nT0|fork(T1#2)|1\nT1#2|r(x)|2\nT0|join(T1#2)|3\nT0|fork(T1#3)|4\nT1#3|w(x)|5\n";
    assert_eq!(written(&read(text)), expected);
    // By name it is a mistake.
    check_refused(
        b"T1|fork(0)|0\nT0|fork(T1)|1\n",
        "line 2: thread T1 is forked here, but it has run since line 1; a fork comes before its child's first event",
    );
}

#[test]
fn begins_and_ends_that_no_thread_can_have_are_transactions() {
    let is_transaction = |text: &str| {
        let trace = read(text);
        trace.events().filter(|(_, _, op)| matches!(op, Op::RegionBegin(_) | Op::RegionEnd(_))).count()
    };
    // Once each, first and last: a thread's life.
    assert_eq!(is_transaction("T|begin|0\nT|r(x)|0\nU|r(x)|0\nT|end|0\n"), 0);
    assert_eq!(is_transaction("T|r(x)|0\nT|end|0\nU|begin|0\nU|r(x)|0\n"), 0);
    // Not first; not last; several. Only of the thread where it is so.
    assert_eq!(is_transaction("T|r(x)|0\nT|begin|0\nT|end|0\nU|begin|0\nU|end|0\n"), 2);
    assert_eq!(is_transaction("T|begin|0\nT|end|0\nT|r(x)|0\n"), 2);
    assert_eq!(is_transaction("T|begin|0\nT|begin|0\nT|end|0\nT|end|0\n"), 4);
    assert_eq!(
        written(&read("T|begin(T)|0\nT|end(T)|1\nT|begin(T)|2\n")),
        "T|abegin(transaction)|0\nT|aend(transaction)|1\nT|abegin(transaction)|2\n"
    );
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
            "line 1: `by-number` says nothing of threads; expected `#! threads as-written`",
        ),
        (
            "#! metadata nonsense\n",
            "line 1: this is not metadata: expected ident at line 1 column 2; expected an object of JSON as docs/trace-format.md describes it",
        ),
        ("#! metadata {}\n#! metadata {}\n", "line 2: metadata are given a second time; expected them once"),
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
        let message = "line 2: this line is longer than 1 MiB; expected one event a line";
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

/// Gives as few bytes at a time as it is told, to cut lines anywhere.
struct Dripping<'a>(&'a [u8], usize);

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len()).min(self.0.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn many_blocks_are_read_as_one_text() {
    let mut text = String::new();
    let mut expected = 0;
    for index in 0..120_000 {
        if index % 1_000 == 0 {
            text.push_str("# a comment\r\n\n");
        }
        text.push_str(&format!("T{}|w(variable{})|file{}.c:{index}\n", index % 7, index % 9_999, index % 50));
        expected += 1;
    }
    let mut told = Vec::new();
    let streamed =
        text::read_with(Dripping(text.as_bytes(), 4093), &mut |progress| told.push(progress)).unwrap();
    assert_eq!(streamed, read(&text));
    assert_eq!(streamed.len(), expected);
    let last = Progress { bytes: text.len() as u64, events: expected as u64 };
    assert_eq!(told.last(), Some(&last));
    assert!(told.is_sorted_by_key(|progress| progress.bytes));
    assert_eq!(told.len(), text.len() / (1 << 20) + 1, "told once a MiB and at the end");

    text.push_str("oops\n");
    let line = text.lines().count();
    check_refused(
        text.as_bytes(),
        &format!(
            "line {line}: this line has 1 of the 3 fields of an event; expected `thread|op(object)|location`"
        ),
    );
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

#[test]
fn metadata_survive() {
    let mut builder = TraceBuilder::new();
    let metadata = Metadata { command: vec!["a\n|b".to_owned(), "%7C".to_owned()], ..Metadata::default() };
    builder.set_metadata(metadata.clone());
    let trace = builder.finish().unwrap();
    assert_eq!(read(&written(&trace)).metadata(), &metadata);
}

#[test]
fn rapid_gets_what_it_knows() {
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(CANONICAL), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let expected = "\
main|begin(main)|0
main|fork(T1)|1
T1|begin(T1)|2
T1|r(x)|3
T1|w(x)|4
T1|acq(l)|9
T1|acq(l)|10
T1|rel(l)|10
T1|rel(l)|11
T1|acq(l)|11
T1|rel(l)|12
T1|w(f(x)[%7C%25%0A%0D]%20y)|27
T1|end(T1)|28
main|join(T1)|29
%23odd|r(#x)|30
main|end(main)|31
";
    assert_eq!(text, expected);
    assert_eq!(dropped.total(), 39 - 16);
    let kinds: Vec<(Kind, u64)> = dropped.kinds().collect();
    assert!(kinds.contains(&(Kind::Post, 2)) && kinds.contains(&(Kind::Mark, 2)));
    assert!(!kinds.iter().any(|(kind, _)| *kind == Kind::Read));
}

#[test]
fn rapid_locations_that_are_numbers_keep_them() {
    let text =
        "T|r(x)|7\nT|r(x)|main.c:3\nT|r(x)|007\nT|r(x)|-1\nT|r(x)|2147483648\nT|r(x)|0\nT|r(x)|main.c:3\n";
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(text), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let locations: Vec<&str> = out.lines().filter_map(|line| line.rsplit('|').next()).collect();
    assert_eq!(locations, ["7", "8", "9", "10", "11", "0", "8"]);
    assert_eq!(dropped.total(), 0);
    let full = read("T|r(x)|2147483647\nT|r(x)|a\n");
    let error = text::write_rapid(&full, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "no number is left for a location: one is 2147483647 already");
}

#[test]
fn rapid_gets_its_transactions_back() {
    let text = "T|begin(T)|0\nT|end(T)|1\nT|begin(T)|2\nT|end(T)|3\n";
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(text), &mut out).unwrap();
    assert_eq!((String::from_utf8(out).unwrap().as_str(), dropped.total()), (text, 0));
}

#[test]
fn the_public_traces_are_read_without_complaint() {
    let expected = [
        ("account", 15),
        ("twostage", 83),
        ("mergesort", 167),
        ("clean", 867),
        ("bubblesort", 1_654),
        ("lang", 1_811),
        ("jigsaw", 3_181),
        ("sunflow", 3_315),
        ("readerswriters", 9_883),
        ("bufwriter", 10_263),
        ("ftpserver", 17_099),
        ("moldyn", 21_072),
        ("derby", 75_076),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        println!("skipped: the public traces are not beside this repository");
        return;
    }
    for (name, events) in expected {
        let file = std::fs::File::open(folder.join(format!("{name}.std.gz"))).unwrap();
        let trace = text::read(trace::open::decode(file).unwrap()).unwrap();
        assert_eq!(trace.len(), events, "{name}");
        assert_eq!(read(&written(&trace)), trace, "{name}");
    }
}

/// Pieces of lines, whole and broken, that meet each other in every way.
fn token_soup() -> impl Strategy<Value = String> {
    let tokens = [
        "T1",
        "T2",
        "7",
        "|",
        "|",
        "|",
        "(",
        ")",
        "\n",
        "\n",
        "\r\n",
        " ",
        "%",
        "%7C",
        "#",
        "#!",
        "#! ",
        "semaphore",
        "threads as-written",
        "metadata ",
        "{}",
        "x",
        "l",
        "é",
        "\0",
        ",",
        "-",
        "1",
        "begin",
        "end",
        "fork(T2)",
        "join(1)",
        "r(x)",
        "w(x)",
        "rmw(x)",
        "acq(l)",
        "rel(l)",
        "racq(l)",
        "rrel(l)",
        "wait(c)",
        "signal(c)",
        "benter(b)",
        "bexit(b)",
        "post(s)",
        "take(s)",
        "branch(3)",
        "mark(m,1)",
        "abegin(r)",
        "aend(r)",
        "alloc(x)",
        "free(x)",
        "fence()",
    ];
    prop::collection::vec(prop::sample::select(tokens.to_vec()), 0..60).prop_map(|tokens| tokens.concat())
}

/// Lines of three fields, so that most of a text is read.
fn line_soup() -> impl Strategy<Value = String> {
    let ops = [
        "begin",
        "end()",
        "fork(1)",
        "fork(T2)",
        "join(T1)",
        "r(x)",
        "w(x)",
        "ar(x)",
        "aw(x)",
        "rmw(y)",
        "fence()",
        "req(l)",
        "acq(l)",
        "rel(l)",
        "acq(m)",
        "rel(m)",
        "rreq(l)",
        "racq(l)",
        "rrel(l)",
        "wait(c)",
        "notify(c)",
        "notifyAll(c)",
        "benter(b)",
        "bexit(b)",
        "post(s)",
        "take(s)",
        "alloc(x)",
        "free(x)",
        "branch(3)",
        "mark(m,1)",
        "abegin(r)",
        "aend(r)",
        "w(a%7Cb)",
        "w(a%b)",
    ];
    let line = (prop::sample::select(vec!["T1", "T2", "1", "2", "%23"]), prop::sample::select(ops.to_vec()))
        .prop_map(|(thread, op)| format!("{thread}|{op}|here\n"));
    prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
}

fn check_never_panics(bytes: &[u8]) {
    let in_memory = text::read_bytes(bytes);
    let streamed = text::read(Dripping(bytes, 3));
    match (in_memory, streamed) {
        (Ok(trace), Ok(streamed)) => {
            assert_eq!(trace, streamed);
            assert_eq!(written(&read(&written(&trace))), written(&trace));
            text::write_rapid(&trace, &mut Vec::new()).unwrap();
        }
        (Err(error), Err(streamed)) => assert_eq!(error.to_string(), streamed.to_string()),
        (in_memory, streamed) => panic!("{in_memory:?} in memory, but {streamed:?} streamed"),
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_never_panics(&bytes);
    }

    #[test]
    fn a_soup_of_tokens_never_panics(text in token_soup()) {
        check_never_panics(text.as_bytes());
    }

    #[test]
    fn a_soup_of_lines_never_panics(text in line_soup()) {
        check_never_panics(text.as_bytes());
    }

    #[test]
    fn any_names_survive(names in prop::collection::vec("\\PC{1,6}|[|%#\r\n7CAD025 (),]{1,6}", 4)) {
        let mut builder = TraceBuilder::new();
        let (parent, child) = (builder.thread(&names[0]).unwrap(), builder.thread(&names[1]).unwrap());
        let location = builder.location(&names[2]).unwrap();
        if parent != child {
            builder.push(parent, Op::Fork(child), location);
        }
        let variable = builder.variable(&names[3]).unwrap();
        builder.push(child, Op::Write(variable), location);
        let mark = builder.mark(&names[3], -5).unwrap();
        builder.push(child, Op::Mark(mark), location);
        let trace = builder.finish().unwrap();
        prop_assert_eq!(read(&written(&trace)), trace);
    }
}
