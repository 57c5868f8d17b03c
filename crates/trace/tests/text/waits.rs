//! What `wait` means in traces of others, and events that cannot have happened.

use trace::text::{ReadOptions, ReadTrace, WaitConvention, read_as, write};
use trace::{Kind, Trace};

fn read(text: &str, options: ReadOptions) -> ReadTrace {
    read_as(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn detected(text: &str) -> ReadTrace {
    read(text, ReadOptions::default())
}

fn events(trace: &Trace) -> Vec<String> {
    let mut text = Vec::new();
    write(trace, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once('|').unwrap().0.to_owned()).collect()
}

/// Each wait, and the signal that woke it.
fn wakers(trace: &Trace) -> Vec<(String, Option<String>)> {
    let names = events(trace);
    let waits = trace.events().filter(|(_, _, op)| op.kind() == Kind::Wait);
    waits
        .map(|(event, _, _)| {
            let signal = trace.matching().link(event).event();
            (names[event.index()].clone(), signal.map(|signal| names[signal.index()].clone()))
        })
        .collect()
}

const WOKEN: &str =
    "A|acq(m)|1\nA|rel(m)|2\nB|acq(m)|3\nB|signal(c)|4\nB|rel(m)|5\nA|wait(c)|2\nA|acq(m)|2\nA|rel(m)|6\n";
const BEGINS: &str =
    "A|acq(m)|1\nA|rel(m)|2\nA|wait(c)|2\nB|acq(m)|3\nB|signal(c)|4\nB|rel(m)|5\nA|acq(m)|2\nA|rel(m)|6\n";
/// A monitor, held twice: neither its releases nor where it is taken again are logged.
const MONITOR: &str = "A|acq(m)|1\nA|acq(m)|2\nA|wait(m)|3\nB|acq(m)|4\nB|notify(m)|5\nB|rel(m)|6\nA|r(x)|7\nA|rel(m)|8\nA|rel(m)|9\n";

#[test]
fn both_conventions_mean_the_same_trace() {
    let (woken, begins) = (detected(WOKEN), detected(BEGINS));
    assert!(!woken.waits.read_as_begun && begins.waits.read_as_begun);
    assert_eq!((woken.waits.woken, begins.waits.begun), (1, 1));
    assert_eq!(events(&woken.trace), events(&begins.trace));
    let expected = [("A|wait(c)".to_owned(), Some("B|signal(c)".to_owned()))];
    assert_eq!(wakers(&begins.trace), expected);
}

#[test]
fn the_user_may_say_what_is_meant() {
    let as_woken = read(BEGINS, ReadOptions { wait: WaitConvention::Woken, ..ReadOptions::default() });
    assert_eq!(wakers(&as_woken.trace), [("A|wait(c)".to_owned(), None)], "as it was read before");
    assert_eq!(as_woken.waits.unsignalled, 1, "which is worth a warning");
    let begins = read(BEGINS, ReadOptions { wait: WaitConvention::Begins, ..ReadOptions::default() });
    assert_eq!(events(&begins.trace), events(&detected(BEGINS).trace));
    let said = format!("#! wait woken\n{BEGINS}");
    assert_eq!(wakers(&detected(&said).trace), wakers(&as_woken.trace), "the file may say it as well");
}

#[test]
fn what_is_written_is_read_as_it_was() {
    for text in [WOKEN, BEGINS] {
        for wait in [WaitConvention::Woken, WaitConvention::Begins] {
            let first = read(text, ReadOptions { wait, ..ReadOptions::default() }).trace;
            let mut written = Vec::new();
            write(&first, &mut written).unwrap();
            let written = String::from_utf8(written).unwrap();
            let is_ambiguous = text == BEGINS && wait == WaitConvention::Woken;
            assert_eq!(written.contains("#! wait woken\n"), is_ambiguous, "{written}");
            let again = detected(&written).trace;
            assert_eq!(events(&again), events(&first));
        }
    }
}

#[test]
fn a_monitor_is_given_up_while_its_holder_waits() {
    let read = detected(MONITOR);
    assert_eq!(read.waits.implicit_releases, 1);
    let expected = [
        "A|acq(m)",
        "A|acq(m)",
        "A|rel(m)",
        "A|rel(m)",
        "B|acq(m)",
        "B|signal(m)",
        "B|rel(m)",
        "A|wait(m)",
        "A|acq(m)",
        "A|acq(m)",
        "A|r(x)",
        "A|rel(m)",
        "A|rel(m)",
    ];
    assert_eq!(events(&read.trace), expected);
    let woken = "A|acq(m)|1\nA|acq(m)|2\nA|rel(m)|3\nB|acq(m)|4\nB|notify(m)|5\nB|rel(m)|6\nA|wait(m)|3\nA|acq(m)|3\nA|rel(m)|8\nA|rel(m)|9\n";
    assert_eq!(events(&detected(woken).trace), {
        let mut events: Vec<&str> = expected.to_vec();
        events.remove(10);
        events
    });
}

#[test]
fn a_wait_that_never_ends_and_waits_without_signals() {
    let text = "A|acq(m)|1\nA|rel(m)|2\nA|wait(c)|2\nB|signal(c)|4\nA|acq(m)|2\nA|rel(m)|3\nC|wait(c)|5\n";
    let read = detected(text);
    assert!(read.waits.read_as_begun);
    assert_eq!((read.waits.begun, read.waits.unsignalled), (1, 1));
    assert_eq!(wakers(&read.trace).len(), 1, "it was not woken: {:?}", events(&read.trace));
    let woken = detected("B|signal(c)|1\nC|wait(c)|2\n");
    assert_eq!((woken.waits.woken, woken.waits.unsignalled, woken.waits.read_as_begun), (1, 0, false));
    let mixed = detected(&format!("{WOKEN}C|wait(d)|7\nB|signal(d)|8\nC|acq(m)|7\n"));
    assert!(mixed.waits.contradict_each_other() && !mixed.waits.read_as_begun);
}

#[test]
fn faults_are_told_in_lines_of_the_text() {
    let text = format!("# a comment\n{BEGINS}B|rel(m)|9\n");
    let error = read_as(text.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 10"), "{error}");
}

#[test]
fn what_cannot_have_happened_is_left_out_if_asked() {
    let text = "main|fork(A)|1\nmain|fork(A)|2\nA|acq(m)|3\nB|acq(m)|4\nB|w(x)|5\nB|rel(m)|6\nA|w(x)|7\nA|rel(m)|8\nB|rel(n)|9\n";
    let refused = read_as(text.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("line 2") && refused.contains("line 1"), "{refused}");
    let read = read(text, ReadOptions { lenient: true, ..ReadOptions::default() });
    assert_eq!(read.dropped.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4, 6, 9]);
    assert!(read.dropped[1].1.contains("line 3"), "{:?}", read.dropped);
    assert_eq!(read.trace.metadata().dropped, 4);
    assert_eq!(events(&read.trace), ["main|fork(A)", "A|acq(m)", "B|w(x)", "A|w(x)", "A|rel(m)"]);
    let whole = read_as(BEGINS.as_bytes(), ReadOptions { lenient: true, ..ReadOptions::default() }).unwrap();
    assert!(whole.dropped.is_empty() && whole.trace.metadata().is_empty());
}

/// Lenient reading of anything that can be parsed ends with a trace, which can be written and read as it is.
#[test]
fn whatever_is_left_out_the_rest_is_a_run() {
    let ops = [
        "acq(l)",
        "rel(l)",
        "acq(m)",
        "rel(m)",
        "fork(A)",
        "fork(B)",
        "join(A)",
        "join(B)",
        "wait(c)",
        "signal(c)",
        "begin",
        "end",
        "w(x)",
        "r(x)",
        "racq(l)",
        "rrel(l)",
        "take(s)",
        "bexit(b)",
        "benter(b)",
    ];
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut dropped = 0;
    for _ in 0..2000 {
        let mut text = String::new();
        for _ in 0..random(40) {
            let thread = ["A", "B", "main"][random(3)];
            text.push_str(&format!("{thread}|{}|1\n", ops[random(ops.len())]));
        }
        let wait = [WaitConvention::Detect, WaitConvention::Begins, WaitConvention::Woken][random(3)];
        let read = read(&text, ReadOptions { wait, lenient: true, ..ReadOptions::default() });
        dropped += read.dropped.len();
        let mut written = Vec::new();
        write(&read.trace, &mut written).unwrap();
        let again = detected(&String::from_utf8(written).unwrap()).trace;
        assert_eq!(events(&again), events(&read.trace), "{wait:?}\n{text}");
        assert_eq!(wakers(&again), wakers(&read.trace), "{wait:?}\n{text}");
    }
    assert!(dropped > 1000, "{dropped}");
}

/// Seven thousand waits of a thread that has taken the monitor seven thousand times would be a hundred million events, in 14,000 lines.
#[test]
fn a_monitor_that_is_held_too_often_is_refused() {
    let often = |times: usize| {
        let waits = "A|wait(m)|2\nB|acq(m)|3\nB|notify(m)|4\nB|rel(m)|5\nA|w(x)|6\n".repeat(times);
        format!("{}{waits}", "A|acq(m)|1\n".repeat(times))
    };
    let refused = read_as(often(7_000).as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("line 7001") && refused.contains("holds the monitor 7000 times"), "{refused}");
    let text = often(50);
    let taken = detected(&text).trace.len();
    assert_eq!(taken, text.lines().count() + 2 * 50 * 50, "what a program does is read");
}
