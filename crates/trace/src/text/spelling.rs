//! The names of the operations in the text format: aliases, and corrections of misspelled names.

use crate::op::{Kind, ObjectKind};

/// The name of an operation, as it is written.
pub const fn op_name(kind: Kind) -> &'static str {
    kind.text_name()
}

/// The operation with this name, as it is written or by an alias.
#[inline]
pub(super) fn op_named(name: &[u8]) -> Option<Kind> {
    Kind::from_text_name(name).or(match name {
        b"notify" => Some(Kind::Signal),
        b"notifyAll" => Some(Kind::Broadcast),
        _ => None,
    })
}

/// What an operation acts on, as a placeholder in messages.
pub(super) fn object_of(kind: Kind) -> &'static str {
    match kind.object() {
        ObjectKind::Nothing => match kind {
            Kind::Begin | Kind::End => "thread",
            _ => "",
        },
        ObjectKind::Thread => "thread",
        ObjectKind::Variable => "variable",
        ObjectKind::Lock => "lock",
        ObjectKind::Condition => "condition",
        ObjectKind::Barrier => "barrier",
        ObjectKind::Semaphore => "semaphore",
        ObjectKind::Block => "block",
        ObjectKind::Count => "count",
        ObjectKind::Mark => "name,value",
        ObjectKind::Region => "region",
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
