//! Odd traces.

use std::fmt::Write as _;

use super::Odd;

const TRACE: &str = "t.std";

pub(super) const ROWS: [Odd; 14] = [
    Odd {
        name: "a path of 240,000 directories",
        before: "17 s",
        arguments: &["predict", "@t.std"],
        files: || {
            let path = "p/".repeat(240_000);
            trace(|text| line(text, format_args!("T0|w(x)|{path}c:1\nT1|w(x)|{path}c:2")))
        },
    },
    Odd {
        name: "a name that may end anywhere as that of a block",
        before: "over 21 s",
        arguments: &["predict", "@t.std"],
        files: || {
            let signs = "+".repeat(480_000);
            trace(|text| line(text, format_args!("T0|alloc(b)|1\nT0|w(b{signs})|2\nT1|w(b{signs})|3")))
        },
    },
    Odd {
        name: "7,000 waits for a monitor that was taken 25,000 times",
        before: "aborts (1,012 MB)",
        arguments: &["stats", "@t.std"],
        files: || {
            trace(|text| {
                (0..25_000).for_each(|_| line(text, format_args!("T0|acq(l)|1")));
                for _ in 0..7_000 {
                    line(
                        text,
                        format_args!("T0|wait(l)|2\nT1|acq(l)|3\nT1|notify(l)|4\nT1|rel(l)|5\nT0|w(x)|6"),
                    );
                }
            })
        },
    },
    Odd {
        name: "50,000 locks that are never released",
        before: "over 8 s, 6.6 GB (1,002 MB)",
        arguments: &["predict", "@t.std", "--only", "atomicity"],
        files: || {
            trace(|text| {
                (0..50_000).for_each(|lock| line(text, format_args!("T0|acq(l{lock})|1")));
                line(text, format_args!("T0|w(x)|2\nT1|w(x)|3"));
            })
        },
    },
    Odd {
        name: "300 semaphores with 2^32-1 permits, passed on at 20 places",
        before: "over 13 s",
        arguments: &["predict", "@t.std", "--only", "deadlock"],
        files: || trace(semaphores),
    },
    Odd {
        name: "11 threads that take 700 semaphores each and give them back",
        before: "over 12 s",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                for thread in 1..12 {
                    (0..700).for_each(|s| line(text, format_args!("T{thread}|take(s{s})|1")));
                    line(text, format_args!("T{thread}|w(x)|{}", thread + 2));
                    (0..700).for_each(|s| line(text, format_args!("T{thread}|post(s{s})|2")));
                }
            })
        },
    },
    Odd {
        name: "2,500 locks nested in one order and in the opposite one",
        before: "9.0 s, 1.8 GB",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                (0..2_500).for_each(|lock| line(text, format_args!("T0|acq(l{lock})|{lock}")));
                (0..2_500).rev().for_each(|lock| line(text, format_args!("T0|rel(l{lock})|{lock}")));
                (0..2_500).rev().for_each(|lock| line(text, format_args!("T1|acq(l{lock})|{lock}")));
                (0..2_500).for_each(|lock| line(text, format_args!("T1|rel(l{lock})|{lock}")));
            })
        },
    },
    Odd {
        name: "one thread holds 12,000 locks that as many threads request",
        before: "7.1 s, 4.4 GB",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                (0..12_000).for_each(|lock| line(text, format_args!("T0|acq(l{lock})|1")));
                (0..12_000).for_each(|lock| line(text, format_args!("T{}|req(l{lock})|2", lock + 1)));
                (0..12_000).for_each(|lock| line(text, format_args!("T0|rel(l{lock})|3")));
            })
        },
    },
    Odd {
        name: "5,000 readers of one lock at once, twice",
        before: "6.3 s, 736 MB",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                for _ in 0..2 {
                    (1..5_000).for_each(|t| line(text, format_args!("T{t}|racq(l)|1\nT{t}|r(x)|2")));
                    (1..5_000).for_each(|t| line(text, format_args!("T{t}|rrel(l)|3")));
                    line(text, format_args!("T0|acq(l)|4\nT0|w(x)|5\nT0|rel(l)|6"));
                }
            })
        },
    },
    Odd {
        name: "40,000 read-modify-writes in a row, some of them relaxed",
        before: "over 12 s",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                line(text, format_args!("T0|w(d)|1"));
                for update in 0..40_000 {
                    let order = if update % 3 == 0 { "relaxed" } else { "acq_rel" };
                    line(text, format_args!("T{}|rmw.{order}(x)|{}", update % 100, update % 200));
                }
                (0..100).for_each(|thread| line(text, format_args!("T{thread}|w(d)|{}", 300 + thread)));
            })
        },
    },
    Odd {
        name: "12,000 locks taken hand over hand",
        before: "13 s",
        arguments: &["predict", "@t.std"],
        files: || trace(hand_over_hand),
    },
    Odd {
        name: "deadlock graph: 60 locks in every order of two, a thread each",
        before: "0.9 s, all kinds",
        arguments: &["predict", "@t.std", "--only", "deadlock"],
        files: || {
            let pairs = (0..60).flat_map(|a| (0..60).filter(move |&b| a != b).map(move |b| (a, b)));
            trace(|text| pairs.enumerate().for_each(|(thread, (a, b))| nested(text, thread, a, b)))
        },
    },
    Odd {
        name: "deadlock graph: 25 layers of 6 locks, 6^25 cycles",
        before: "0.1 s, all kinds",
        arguments: &["predict", "@t.std", "--only", "deadlock"],
        files: || {
            let pairs = (0..25)
                .flat_map(|layer| (0..36).map(move |p| (6 * layer + p / 6, 6 * ((layer + 1) % 25) + p % 6)));
            trace(|text| pairs.enumerate().for_each(|(thread, (a, b))| nested(text, thread, a, b)))
        },
    },
    Odd {
        name: "accesses under each of 2,048 sets of 11 locks",
        before: "3.9 s",
        arguments: &["predict", "@t.std"],
        files: || {
            trace(|text| {
                for set in 0..1 << 11 {
                    let held = || (0..11).filter(move |lock| set >> lock & 1 == 1);
                    held().for_each(|lock| line(text, format_args!("T{}|acq(l{lock})|1", set % 40)));
                    line(text, format_args!("T{}|w(x)|{set}", set % 40));
                    held().for_each(|lock| line(text, format_args!("T{}|rel(l{lock})|2", set % 40)));
                }
            })
        },
    },
];

fn trace(write: impl FnOnce(&mut String)) -> Vec<(&'static str, Vec<u8>)> {
    let mut text = String::new();
    write(&mut text);
    vec![(TRACE, text.into_bytes())]
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

fn nested(text: &mut String, thread: usize, outer: u32, inner: u32) {
    let place = thread + 10;
    line(text, format_args!("T{thread}|acq(l{outer})|{place}\nT{thread}|acq(l{inner})|{place}"));
    line(text, format_args!("T{thread}|rel(l{inner})|3\nT{thread}|rel(l{outer})|4"));
}

fn semaphores(text: &mut String) {
    (0..300).for_each(|s| line(text, format_args!("#! semaphore s{s} {}", u32::MAX)));
    for round in 0..20 {
        for s in 0..300 {
            line(text, format_args!("T{}|take(s{s})|{round}", round % 3));
            line(text, format_args!("T{}|post(s{s})|{round}", (round + 1) % 3));
        }
    }
}

fn hand_over_hand(text: &mut String) {
    for (thread, locks) in [(0, 12_000), (1, 3_000)] {
        line(text, format_args!("T{thread}|acq(l0)|0"));
        for lock in 0..locks {
            line(
                text,
                format_args!(
                    "T{thread}|acq(l{})|1\nT{thread}|rel(l{lock})|2\nT{thread}|w(x)|{lock}",
                    lock + 1
                ),
            );
        }
        line(text, format_args!("T{thread}|rel(l{locks})|1"));
    }
}
