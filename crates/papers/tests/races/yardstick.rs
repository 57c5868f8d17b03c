//! The recorded Java benchmarks, with what RAPID's engines say of them.
//!
//! `hb` and `syncp` agree with RAPID's on all of them, event by event as far as counts can tell, but for *sunflow*: its
//! forks and joins name a thread `T7` by its number, `fork(7)`. RAPID takes that for another thread and so
//! sees no fork and no join; we see them. Without them our counts are RAPID's, and the test holds both.
//!
//! RAPID's `lockset` is Eraser, reproduced below: an access is racy from the moment no lock is common to *all* accesses
//! of the variable. Ours asks for a partner: an earlier conflicting access with which no lock is common. Every racy event
//! of ours is one of Eraser's; these of Eraser's are not ours:
//!
//! | trace | reads by the only writer so far | a lock in common with each earlier access, not the same one |
//! |---|---|---|
//! | bubblesort | 2 | 0 |
//! | jigsaw | 0 | 40 |
//! | sunflow | 64 | 0 |
//! | ftpserver | 1367 | 29 |
//! | moldyn | 65 | 0 |
//! | derby | 123 | 22 |

use std::collections::BTreeSet;
use std::path::Path;

use candidates::races::RacePair;
use candidates::races::syncp::Syncp;
use order::Index;
use papers::races::{hb, lockset};
use trace::{EventId, LocationId, LockId, Op, Trace};

/// Racy events and their locations.
type Count = (usize, usize);

struct Row {
    name: &'static str,
    hb: Count,
    syncp: Count,
    /// RAPID's `lockset`: Eraser.
    eraser: Count,
    /// Ours, pairwise.
    lockset: Count,
}

const fn row(name: &'static str, hb: Count, syncp: Count, eraser: Count, lockset: Count) -> Row {
    Row { name, hb, syncp, eraser, lockset }
}

const ROWS: &[Row] = &[
    row("account", (8, 3), (3, 1), (10, 3), (10, 3)),
    row("twostage", (4, 1), (4, 1), (30, 5), (30, 5)),
    row("mergesort", (52, 3), (3, 1), (56, 3), (56, 3)),
    row("clean", (59, 4), (60, 4), (380, 6), (380, 6)),
    row("bubblesort", (602, 5), (269, 5), (1355, 7), (1353, 7)),
    row("lang", (800, 2), (400, 1), (1700, 6), (1700, 6)),
    row("jigsaw", (5, 5), (6, 6), (807, 99), (767, 99)),
    row("sunflow", (116, 7), (119, 7), (2078, 18), (2014, 18)),
    row("readerswriters", (175, 6), (199, 4), (6415, 18), (6415, 18)),
    row("bufwriter", (8, 4), (8, 4), (7500, 11), (7500, 11)),
    row("ftpserver", (125, 25), (85, 21), (8397, 119), (7001, 118)),
    row("moldyn", (20580, 3), (103, 3), (20810, 4), (20745, 4)),
    row("derby", (57, 16), (29, 10), (25813, 146), (25668, 142)),
];

fn load(folder: &Path, name: &str) -> Trace {
    let path = folder.join(format!("{name}.std.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let decoded = trace::open::decode(file).expect("the file can be read");
    trace::text::read(decoded).expect("a well-formed trace")
}

fn count(trace: &Trace, racy: impl IntoIterator<Item = EventId>) -> Count {
    let events: BTreeSet<EventId> = racy.into_iter().collect();
    let locations: BTreeSet<LocationId> = events.iter().map(|&event| trace.location(event)).collect();
    (events.len(), locations.len())
}

fn later(pairs: impl Iterator<Item = RacePair>) -> impl Iterator<Item = EventId> {
    pairs.map(|pair| pair.second)
}

#[test]
fn counts_agree_with_rapid() {
    let Some(folder) = testing::public_traces() else { return };
    let mut wrong = Vec::new();
    for row in ROWS {
        let trace = load(&folder, row.name);
        let (ours, eraser): (BTreeSet<EventId>, _) =
            (later(lockset::races(&trace)).collect(), eraser(&trace));
        assert!(ours.is_subset(&eraser), "{}: not all of our potential races are Eraser's", row.name);
        let found = [
            ("hb", row.hb, count(&trace, later(hb::races(&trace)))),
            (
                "syncp",
                row.syncp,
                count(&trace, Syncp::new(&Index::new(&trace)).races().map(|race| race.pair.second)),
            ),
            ("eraser", row.eraser, count(&trace, eraser.iter().copied())),
            ("lockset", row.lockset, count(&trace, ours.iter().copied())),
        ];
        for (method, expected, found) in found {
            if expected != found {
                wrong.push(format!("{} {method}: {found:?}, not {expected:?}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sunflow_without_forks_and_joins_is_what_rapid_sees() {
    let Some(folder) = testing::public_traces() else { return };
    let trace = load(&folder, "sunflow");
    let mut text = Vec::new();
    trace::text::write(&trace, &mut text).expect("memory can be written to");
    let text = String::from_utf8(text).expect("text");
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.contains("|fork(") && !line.contains("|join(")).collect();
    let trace = trace::text::read(lines.join("\n").as_bytes()).expect("a well-formed trace");
    assert_eq!(count(&trace, later(hb::races(&trace))), (388, 11));
    assert_eq!(count(&trace, Syncp::new(&Index::new(&trace)).races().map(|race| race.pair.second)), (134, 9));
}

/// RAPID's lockset engine: each variable keeps the locks that all accesses so far held, a lock of the thread itself
/// and, until the first write, one that stands for reading among them; an access that leaves none is racy.
fn eraser(trace: &Trace) -> BTreeSet<EventId> {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Lock {
        Real(LockId),
        Thread(trace::ThreadId),
        Reading,
    }
    let mut held: Vec<Vec<LockId>> = vec![Vec::new(); trace.symbols().threads.len()];
    let mut common: Vec<Option<BTreeSet<Lock>>> = vec![None; trace.symbols().variables.len()];
    let mut racy = BTreeSet::new();
    for (event, thread, op) in trace.events() {
        let held = &mut held[thread.index()];
        match op {
            Op::Acquire(lock) => held.push(lock),
            Op::Release(lock) => drop(held.iter().position(|&l| l == lock).map(|index| held.remove(index))),
            _ => {}
        }
        let Some(access) = op.access() else { continue };
        let mut now: BTreeSet<Lock> = held.iter().map(|&lock| Lock::Real(lock)).collect();
        now.insert(Lock::Thread(thread));
        if !access.writes {
            now.insert(Lock::Reading);
        }
        let common = common[access.variable.index()].get_or_insert_with(|| now.clone());
        common.retain(|lock| now.contains(lock));
        if common.is_empty() {
            racy.insert(event);
        }
    }
    racy
}
