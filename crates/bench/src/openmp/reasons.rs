//! Why programs may come out otherwise than their names say. All are run; a reason is looked for where the outcome is another.

/// The beginnings of the names of programs, and the reason in a sentence.
const REASONS: [(&str, &str); 7] = [
    (
        "DRB006",
        "Its loop is shared out in equal parts, and the two iterations are on different threads with 36 threads or more, as its own comment says.",
    ),
    (
        "DRB007",
        "Its loop is shared out in equal parts, and the two iterations are on different threads with 60 threads or more, as its own comment says.",
    ),
    (
        "DRB008",
        "Its loop is shared out in equal parts, and the two iterations are on different threads with 180 threads only, as its own comment says.",
    ),
    (
        "DRB129",
        "It races only if the compiler merges the task with the one that creates it, which gcc does not.",
    ),
    ("DRB142", "Both accesses are in critical sections of the same name, which exclude each other."),
    ("DRB178", "It races only with an argument above 10000; the suite gives 32."),
    (
        "DRB179",
        "Both iterations are on one thread, as its own comment says, unless there are 100 threads or more.",
    ),
];

/// The reason for a program, if there is one.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| *why)
}
