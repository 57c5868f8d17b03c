//! Why programs may come out otherwise than their names say. All are run; a reason is looked for where the outcome is another.

/// The beginnings of the names of programs, and the reason in a sentence.
const REASONS: [(&str, &str); 11] = [
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
        "DRB114",
        "Its region is parallel only if a random number is odd, and the generator is seeded with the time: about every other run has one thread. A hunt ends \
         early if all its runs are such.",
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
    (
        "DRB180",
        "Its runs have more than three million events: on a busy machine, recording one takes most of the time, and the races that are predicted are not \
         replayed.",
    ),
    ("DRB181", "Its runs are long: the recording ends before the loop that races."),
    (
        "DRB199",
        "Its threads wait by spinning with a lock: a run has millions of events, and the search does not come to an end in time on a busy machine.",
    ),
];

/// The reason for a program, if there is one.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| *why)
}
