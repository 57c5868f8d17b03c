//! Texts of any content: nothing panics, both readers agree, and what is written is read back.

use proptest::prelude::*;
use trace::{Op, TraceBuilder, text};

use crate::{Dripping, read, written};

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
