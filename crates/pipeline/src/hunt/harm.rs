//! Harm: what the program did in a replay that it does not do otherwise.
//!
//! Output is compared as a bag of lines, since the order of lines varies. How long something took and where it lies in memory is no
//! difference, and neither is a line that ordinary runs print with other numbers in it (a count that depends on the schedule).

use std::collections::{BTreeMap, BTreeSet};

use report::Harm;
use run::failure::RunFailure;
use trace::Ending;

use super::ordinary::OrdinaryRun;

/// A replay in which the finding happened.
#[derive(Debug)]
pub(super) struct SeenRun {
    pub(super) ending: Ending,
    pub(super) output: Vec<u8>,
    pub(super) failure: Option<RunFailure>,
}

/// The most lines of a difference that are kept.
const MOST_LINES: usize = 6;

/// The most characters of a line that are kept.
const LONGEST_LINE: usize = 200;

/// The worst that a run did which no ordinary run does, and how its output differs.
pub(super) fn harm(seen: &SeenRun, ordinary: &[&OrdinaryRun]) -> (Harm, Vec<String>) {
    if let Some(failure) = &seen.failure {
        let identity = failure.identity();
        let fails =
            |run: &&OrdinaryRun| run.failure.as_ref().is_some_and(|other| other.identity() == identity);
        // Only what every run does has nothing to do with the finding.
        return match !ordinary.is_empty() && ordinary.iter().all(fails) {
            true => (Harm::None, Vec::new()),
            false if failure.is_hang() => (Harm::Hang, Vec::new()),
            false => (Harm::Failure, Vec::new()),
        };
    }
    // It was stopped, so nothing is known about how it would have gone on.
    if !seen.ending.is_own() || ordinary.is_empty() {
        return (Harm::None, Vec::new());
    }
    let difference = difference(&seen.output, ordinary);
    if ordinary.iter().all(|run| run.ending != seen.ending) {
        return (Harm::Status, difference);
    }
    match difference.is_empty() {
        true => (Harm::None, difference),
        false => (Harm::Output, difference),
    }
}

/// Lines of the output that the most similar ordinary run does not have (`+`), and the other way round (`-`).
fn difference(output: &[u8], ordinary: &[&OrdinaryRun]) -> Vec<String> {
    let outputs: Vec<Lines> = ordinary.iter().map(|run| Lines::of(&run.output)).collect();
    let varying = varying(&outputs);
    let seen = Lines::of(output);
    let each = outputs.iter().map(|other| seen.differences(other, &varying));
    let mut nearest = each.min_by_key(Vec::len).unwrap_or_default();
    nearest.truncate(MOST_LINES);
    nearest
}

/// The lines of an output, and how often each is there.
struct Lines(BTreeMap<String, usize>);

impl Lines {
    fn of(output: &[u8]) -> Lines {
        let mut lines = BTreeMap::new();
        for line in String::from_utf8_lossy(output).lines() {
            *lines.entry(without_addresses(&without_times(line.trim_end()))).or_default() += 1;
        }
        Lines(lines)
    }

    fn differences(&self, other: &Lines, varying: &BTreeSet<String>) -> Vec<String> {
        let missing = |from: &Lines, other: &Lines, sign: char| {
            let more =
                from.0.iter().filter(|(line, count)| other.0.get(*line).is_none_or(|there| there < count));
            let steady = more.filter(|(line, _)| !varying.contains(&without_numbers(line)));
            steady.map(|(line, _)| format!("{sign} {}", shortened(line))).collect::<Vec<String>>()
        };
        [missing(other, self, '-'), missing(self, other, '+')].concat()
    }
}

/// The beginning of a line that is too long to be read.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Lines, without their numbers, that are not the same in all ordinary runs.
fn varying(outputs: &[Lines]) -> BTreeSet<String> {
    let mut varying = BTreeSet::new();
    if let Some((first, others)) = outputs.split_first() {
        for other in others {
            for (one, two) in [(first, other), (other, first)] {
                let differ = one.0.iter().filter(|(line, count)| two.0.get(*line) != Some(count));
                varying.extend(differ.map(|(line, _)| without_numbers(line)));
            }
        }
    }
    varying
}

/// Units of time, and whether a whole number with them is a time for certain: `3 s` may be something else.
const UNITS: [(&str, bool); 8] = [
    ("ns", true),
    ("us", true),
    ("µs", true),
    ("ms", true),
    ("s", false),
    ("sec", false),
    ("secs", false),
    ("seconds", false),
];

/// The line with every time that something took replaced: `finished in 0.03s`, `(12 ms total)`. How long a run takes depends on the machine.
fn without_times(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|character: char| !character.is_ascii_digit() && character != '.');
        let (number, after) = number.split_at(end.unwrap_or(number.len()));
        let spaces = after.len() - after.trim_start_matches(' ').len();
        let unit = &after[spaces..];
        let unit = &unit[..unit.find(|character: char| !character.is_alphabetic()).unwrap_or(unit.len())];
        let is_word = !before.ends_with(|character: char| character.is_alphanumeric());
        let is_unit = |&(name, whole): &(&str, bool)| name == unit && (whole || number.contains('.'));
        result.push_str(before);
        if is_word && spaces < 2 && UNITS.iter().any(is_unit) {
            result.push('#');
        } else {
            result.push_str(number);
        }
        rest = after;
    }
    result + rest
}

/// The hexadecimal digits of an address of a program, and how those begin that Linux gives to code, heap and stacks.
const ADDRESS_DIGITS: usize = 12;
const ADDRESSES: [&str; 3] = ["55", "56", "7f"];

/// The line with every address replaced: which thread allocates first decides where a block lies.
fn without_addresses(line: &str) -> String {
    let mut parts = line.split("0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(part.len());
        let is_address =
            end == ADDRESS_DIGITS && ADDRESSES.iter().any(|beginning| part.starts_with(beginning));
        result.push_str("0x");
        result.push_str(if is_address { "#" } else { &part[..end] });
        result.push_str(&part[end..]);
    }
    result
}

/// The line with every number, decimal or hexadecimal, replaced.
fn without_numbers(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    for word in line.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let text = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
        let is_number = text.chars().any(|character| character.is_ascii_digit())
            && text.trim_start_matches("0x").chars().all(|character| character.is_ascii_hexdigit());
        result.push_str(if is_number { "#" } else { text });
        result.push_str(&word[text.len()..]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(output: &str, ordinary: &[&str]) -> Vec<String> {
        let run = |output: &&str| OrdinaryRun::printing(output);
        let runs: Vec<OrdinaryRun> = ordinary.iter().map(run).collect();
        difference(output.as_bytes(), &runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn only_the_beginning_of_a_long_line_is_kept() {
        let long = "é".repeat(LONGEST_LINE + 1);
        let kept = format!("+ {}...", "é".repeat(LONGEST_LINE));
        assert_eq!(differs(&long, &[""]), [kept]);
        let whole = "é".repeat(LONGEST_LINE);
        assert_eq!(differs(&whole, &[""]), [format!("+ {whole}")]);
    }

    #[test]
    fn the_order_of_lines_is_no_difference() {
        assert!(differs("b\na\n", &["a\nb\n"]).is_empty());
        assert_eq!(differs("a\na\n", &["a\nb\n"]), ["- b", "+ a"]);
    }

    #[test]
    fn numbers_that_vary_anyway_are_no_difference() {
        assert!(differs("took 7 ms\n", &["took 5 ms\n", "took 6 ms\n"]).is_empty());
        assert!(
            differs("at 0x7fff12, total 20\n", &["at 0x7aaa, total 19\n", "at 0x12, total 18\n"]).is_empty()
        );
        assert_eq!(differs("total 19\n", &["total 20\n", "total 20\n"]), ["- total 20", "+ total 19"]);
    }

    #[test]
    fn how_long_it_took_is_no_difference() {
        assert!(
            differs(
                "test result: ok. 1 passed; finished in 0.31s\n",
                &["test result: ok. 1 passed; finished in 0.00s\n"]
            )
            .is_empty()
        );
        assert!(differs("[  OK  ] Queue.Push (12 ms)\n", &["[  OK  ] Queue.Push (0 ms)\n"]).is_empty());
        assert!(!differs("2 passed in 0.31s\n", &["1 passed in 0.00s\n"]).is_empty());
        assert!(!differs("3 s left, 5 items, 1.5 m\n", &["4 s left, 5 items, 1.5 m\n"]).is_empty());
        assert!(!differs("version 1.2\n", &["version 1.3\n"]).is_empty());
        assert_eq!(without_times("a1.5s 1.5s é"), "a1.5s #s é");
    }

    #[test]
    fn where_something_lies_is_no_difference() {
        assert!(differs("at 0x7fffe8000b70: 3\n", &["at 0x7ffff0000b70: 3\n"]).is_empty());
        assert!(!differs("at 0x7fffe8000b70: 3\n", &["at 0x7ffff0000b70: 4\n"]).is_empty());
        assert!(!differs("checksum 0xdeadbeef\n", &["checksum 0xdeadbeee\n"]).is_empty());
        assert!(!differs("checksum 0x7fffe8000b700000\n", &["checksum 0x7ffff0000b700000\n"]).is_empty());
        assert_eq!(without_addresses("0x 0x5 a0x555555554000é"), "0x 0x5 a0x#é");
    }

    #[test]
    fn lines_that_only_some_runs_have_are_no_difference() {
        assert!(differs("a\nretry\n", &["a\n", "a\nretry\n"]).is_empty());
        assert!(differs("a\nretry 2\n", &["a\n", "a\nretry 1\n"]).is_empty());
    }
}
