//! The STD text form: what is read, what is refused and in which words, what is written.

mod rapid;
mod refused;
mod soup;
mod waits;

use std::io::{self, Read};

use trace::text::{self, ReadProgress};
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

/// Gives at most this many bytes at a time, to cut lines anywhere.
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
    let last = ReadProgress { bytes: text.len() as u64, events: expected as u64 };
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
fn metadata_survive() {
    let mut builder = TraceBuilder::new();
    let metadata = Metadata { command: vec!["a\n|b".to_owned(), "%7C".to_owned()], ..Metadata::default() };
    builder.set_metadata(metadata.clone());
    let trace = builder.finish().unwrap();
    assert_eq!(read(&written(&trace)).metadata(), &metadata);
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
    let Some(folder) = testing::public_traces() else { return };
    for (name, events) in expected {
        let file = std::fs::File::open(folder.join(format!("{name}.std.gz"))).unwrap();
        let trace = text::read(trace::open::decode(file).unwrap()).unwrap();
        assert_eq!(trace.len(), events, "{name}");
        assert_eq!(read(&written(&trace)), trace, "{name}");
    }
}
