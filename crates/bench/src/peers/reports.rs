//! What ThreadSanitizer and Helgrind print, as pairs of places in the source: what is the same bug.

use std::collections::BTreeSet;

/// A bug as all tools tell it: two places `file:line`, the smaller first.
pub(super) type Pair = [String; 2];

/// The two places in order, without their directories.
pub(super) fn pair(places: [&str; 2]) -> Pair {
    let mut pair = places.map(|place| without_directories(place).to_owned());
    pair.sort();
    pair
}

pub(super) fn without_directories(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// The bugs in a report of ThreadSanitizer.
pub(super) fn of_tsan(text: &str) -> BTreeSet<Pair> {
    let reports = text.split("WARNING: ThreadSanitizer: ").skip(1);
    reports
        .filter(|report| !report.starts_with("thread leak"))
        .filter_map(|report| first_two(report, tsan_frame))
        .collect()
}

/// The bugs in a report of Helgrind.
pub(super) fn of_helgrind(text: &str) -> BTreeSet<Pair> {
    let text: String = text.lines().map(|line| format!("{}\n", without_number(line))).collect();
    // Each kind of report that names two places begins with one of these.
    let begins = |line: &str| line.starts_with("Possible data race during") || line.contains("lock order \"");
    let mut reports: Vec<String> = Vec::new();
    for line in text.lines() {
        if begins(line) {
            reports.push(String::new());
        } else if line.starts_with("---Thread-Announcement")
            || line.contains("Thread #") && line.contains(" was created")
        {
            // What follows describes threads.
            if let Some(last) = reports.last_mut() {
                last.push_str("end\n");
            }
        }
        if let Some(report) = reports.last_mut() {
            report.push_str(line);
            report.push('\n');
        }
    }
    reports.iter().filter_map(|report| first_two(report.split("end\n").next()?, helgrind_frame)).collect()
}

/// A line of valgrind's without the number of the process.
fn without_number(line: &str) -> &str {
    line.strip_prefix("==").and_then(|line| line.split_once("== ")).map_or("", |(_, rest)| rest)
}

/// The places of the first two stacks of a report. A stack is lines that are frames, and its place the first of them that is in a source file.
fn first_two(report: &str, frame: fn(&str) -> Option<Option<&str>>) -> Option<Pair> {
    let mut places: Vec<Option<&str>> = Vec::new();
    let mut in_stack = false;
    for line in report.lines() {
        match frame(line.trim()) {
            None => in_stack = false,
            Some(place) => {
                if !in_stack {
                    places.push(None);
                }
                in_stack = true;
                let last = places.last_mut()?;
                *last = last.or(place);
            }
        }
    }
    match places.as_slice() {
        &[Some(first), Some(second), ..] => Some(pair([first, second])),
        _ => None,
    }
}

/// `#0 function file:line (module+offset)`: the place, if it is not in the sanitizer.
fn tsan_frame(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix('#')?;
    let place =
        rest.split(' ').find(|word| word.contains(':') && !word.contains("::") && !word.starts_with('('));
    Some(place.filter(|place| !place.contains("libsanitizer") && !place.starts_with('<')).map(without_column))
}

/// `at 0x1092A4: function (file:line)`, in the same way.
fn helgrind_frame(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("at 0x").or(line.strip_prefix("by 0x"))?;
    let place = rest.rsplit_once('(').and_then(|(_, place)| place.strip_suffix(')'));
    let of_valgrind = |place: &&str| place.starts_with("hg_") || place.starts_with("vg_");
    Some(place.filter(|place| place.contains(':') && !of_valgrind(place)))
}

/// `file:line` of `file:line:column`.
fn without_column(place: &str) -> &str {
    match place.match_indices(':').nth(1) {
        Some((end, _)) => &place[..end],
        None => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_stacks_of_a_race_are_a_pair() {
        let text = "==================\nWARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 4 at 0x55 by thread T2:\n    \
             #0 memcpy ../../../../src/libsanitizer/tsan/x.inc:12 (libtsan.so.2+0x1)\n    #1 put /a/b/q.c:20 (q+0x2)\n    #2 work /a/q.c:3 (q+0x3)\n\n  \
             Previous read of size 4 at 0x55 by main thread:\n    #0 take /a/b/q.c:9:17 (q+0x4)\n\n  Thread T2 (tid=8, running) created by main thread at:\n    \
             #0 pthread_create ../../../../src/libsanitizer/tsan/y.cpp:1 (libtsan.so.2+0x5)\n    #1 main /a/b/q.c:40 (q+0x6)\n";
        assert_eq!(of_tsan(text), BTreeSet::from([["q.c:20".to_owned(), "q.c:9".to_owned()]]));
        assert_eq!(of_tsan("nothing to say"), BTreeSet::new());
    }

    #[test]
    fn helgrind_names_both_places_too() {
        let text = "==9== ---Thread-Announcement------------------------------------------\n==9== \n==9== Thread #2 was created\n==9==    at 0x49: clone (clone.S:76)\n==9== \n\
             ==9== Possible data race during write of size 4 at 0x10C040 by thread #2\n==9== Locks held: none\n==9==    at 0x1091AB: put (q.c:20)\n\
             ==9==    by 0x48: mythread_wrapper (hg_intercepts.c:406)\n==9== \n==9== This conflicts with a previous read of size 4 by thread #1\n\
             ==9== Locks held: none\n==9==    at 0x109200: take (q.c:9)\n==9== \n==9== ---Thread-Announcement---\n==9== Thread #3 was created\n==9==    at 0x49: clone (clone.S:76)\n";
        assert_eq!(of_helgrind(text), BTreeSet::from([["q.c:20".to_owned(), "q.c:9".to_owned()]]));
    }
}
