//! The names of the operations.

use crate::op::Kind;

/// The name of an operation, as it is written.
pub const fn op_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Begin => "begin",
        Kind::End => "end",
        Kind::Fence => "fence",
        Kind::Fork => "fork",
        Kind::Join => "join",
        Kind::Read => "r",
        Kind::Write => "w",
        Kind::AtomicRead => "ar",
        Kind::AtomicWrite => "aw",
        Kind::AtomicUpdate => "rmw",
        Kind::Request => "req",
        Kind::Acquire => "acq",
        Kind::Release => "rel",
        Kind::RequestShared => "rreq",
        Kind::AcquireShared => "racq",
        Kind::ReleaseShared => "rrel",
        Kind::Wait => "wait",
        Kind::Signal => "signal",
        Kind::Broadcast => "broadcast",
        Kind::BarrierEnter => "benter",
        Kind::BarrierExit => "bexit",
        Kind::Post => "post",
        Kind::Take => "take",
        Kind::Allocate => "alloc",
        Kind::Free => "free",
        Kind::Branch => "branch",
        Kind::Mark => "mark",
        Kind::RegionBegin => "abegin",
        Kind::RegionEnd => "aend",
    }
}

/// The operation with this name, as it is written or by an alias.
#[inline]
pub(super) fn op_named(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"r" => Kind::Read,
        b"w" => Kind::Write,
        b"acq" => Kind::Acquire,
        b"rel" => Kind::Release,
        b"begin" => Kind::Begin,
        b"end" => Kind::End,
        b"fence" => Kind::Fence,
        b"fork" => Kind::Fork,
        b"join" => Kind::Join,
        b"ar" => Kind::AtomicRead,
        b"aw" => Kind::AtomicWrite,
        b"rmw" => Kind::AtomicUpdate,
        b"req" => Kind::Request,
        b"rreq" => Kind::RequestShared,
        b"racq" => Kind::AcquireShared,
        b"rrel" => Kind::ReleaseShared,
        b"wait" => Kind::Wait,
        b"signal" | b"notify" => Kind::Signal,
        b"broadcast" | b"notifyAll" => Kind::Broadcast,
        b"benter" => Kind::BarrierEnter,
        b"bexit" => Kind::BarrierExit,
        b"post" => Kind::Post,
        b"take" => Kind::Take,
        b"alloc" => Kind::Allocate,
        b"free" => Kind::Free,
        b"branch" => Kind::Branch,
        b"mark" => Kind::Mark,
        b"abegin" => Kind::RegionBegin,
        b"aend" => Kind::RegionEnd,
        _ => return None,
    })
}

/// What an operation acts on, as a placeholder in messages.
pub(super) fn object_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Begin | Kind::End | Kind::Fork | Kind::Join => "thread",
        Kind::Fence => "",
        Kind::Read | Kind::Write | Kind::AtomicRead | Kind::AtomicWrite | Kind::AtomicUpdate => "variable",
        Kind::Request | Kind::Acquire | Kind::Release => "lock",
        Kind::RequestShared | Kind::AcquireShared | Kind::ReleaseShared => "lock",
        Kind::Wait | Kind::Signal | Kind::Broadcast => "condition",
        Kind::BarrierEnter | Kind::BarrierExit => "barrier",
        Kind::Post | Kind::Take => "semaphore",
        Kind::Allocate | Kind::Free => "block",
        Kind::Branch => "count",
        Kind::Mark => "name,value",
        Kind::RegionBegin | Kind::RegionEnd => "region",
    }
}

/// All names as they are written, separated by commas.
pub(super) fn all_names() -> String {
    let names: Vec<&str> = Kind::ALL.iter().map(|&kind| op_name(kind)).collect();
    names.join(", ")
}

/// Words that people and other tools use, too far from ours to be found as misspellings.
const OTHER_WORDS: [(&str, Kind); 14] = [
    ("read", Kind::Read),
    ("load", Kind::Read),
    ("write", Kind::Write),
    ("store", Kind::Write),
    ("acquire", Kind::Acquire),
    ("lock", Kind::Acquire),
    ("release", Kind::Release),
    ("unlock", Kind::Release),
    ("request", Kind::Request),
    ("start", Kind::Fork),
    ("create", Kind::Fork),
    ("cas", Kind::AtomicUpdate),
    ("malloc", Kind::Allocate),
    ("notifyall", Kind::Broadcast),
];

/// The operation most likely meant by an unknown name, if one is near.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    if unknown.len() > 16 {
        return None;
    }
    let unknown = unknown.trim().to_lowercase();
    let by_word = OTHER_WORDS.iter().find(|(word, _)| *word == unknown).map(|&(_, kind)| kind);
    let by_spelling = || {
        let distances = Kind::ALL.iter().map(|&kind| (distance(&unknown, op_name(kind)), kind));
        // A third of the name may be wrong: more, and it is another word.
        distances.filter(|&(d, kind)| d * 3 <= op_name(kind).len() || d == 0).min().map(|(_, kind)| kind)
    };
    by_word.or_else(by_spelling).map(op_name)
}

/// How many letters must be changed, added, dropped or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                    .then(|| table[i - 2][j - 2] + 1);
                let changed = table[i - 1][j].min(table[i][j - 1]) + 1;
                swapped.unwrap_or(usize::MAX).min(replaced).min(changed)
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known() {
        for &kind in Kind::ALL {
            assert_eq!(op_named(op_name(kind).as_bytes()), Some(kind));
        }
    }

    #[test]
    fn near_names_are_found() {
        let cases = [
            ("aqc", Some("acq")),
            ("R", Some("r")),
            ("read", Some("r")),
            ("Unlock", Some("rel")),
            ("notifyALL", Some("broadcast")),
            ("brodcast", Some("broadcast")),
            ("fokr", Some("fork")),
            ("x", None),
            ("transmogrify", None),
        ];
        for (unknown, expected) in cases {
            assert_eq!(nearest(unknown), expected, "{unknown}");
        }
    }
}
