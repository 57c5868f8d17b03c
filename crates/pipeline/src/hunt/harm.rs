//! Harm: what the program did in a replay that it does not do otherwise.
//!
//! Output is compared as a bag of lines, since the order of lines varies. How long something took and where it lies in memory is no
//! difference, and neither is a number that ordinary runs print as another one at the same place of the same line (a count that depends on the
//! schedule). Other numbers of that line are compared.

use std::collections::{BTreeMap, BTreeSet};

use report::Harm;
use run::failure::RunFailure;
use trace::Ending;

use super::ordinary::OrdinaryRun;

/// A replay in which the finding happened.
#[derive(Clone, Debug)]
pub(super) struct SeenRun {
    pub(super) ending: Ending,
    pub(super) output: Vec<u8>,
    pub(super) failure: Option<RunFailure>,
}

/// The most lines of a difference that are kept.
const MOST_LINES: usize = 6;

/// The most characters of a line that are kept.
const LONGEST_LINE: usize = 200;

/// The worst that a run did which no ordinary run does, and how it differs from the most similar of those: both exit statuses, and lines of
/// its output.
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
        let statuses = different_endings(ordinary[0].ending, seen.ending);
        return (Harm::Status, [statuses, difference].concat());
    }
    match difference.is_empty() {
        true => (Harm::None, difference),
        false => (Harm::Output, difference),
    }
}

/// How two runs ended, as lines of a difference; none if they ended alike.
fn different_endings(ordinary: Ending, other: Ending) -> Vec<String> {
    let in_words = |ending: Ending| match ending {
        Ending::Exited(status) => format!("ends with status {status}"),
        Ending::Killed(signal) => format!("ends by signal {signal}"),
        Ending::Ended | Ending::Deadlocked | Ending::TimedOut => "does not end".to_owned(),
    };
    match ordinary == other {
        true => Vec::new(),
        false => vec![format!("- {}", in_words(ordinary)), format!("+ {}", in_words(other))],
    }
}

/// Lines of the output that the most similar ordinary run does not have (`+`), and the other way round (`-`).
fn difference(output: &[u8], ordinary: &[&OrdinaryRun]) -> Vec<String> {
    let outputs: Vec<Lines> = ordinary.iter().map(|run| Lines::of(&run.output)).collect();
    let varying = Varying::between(&outputs);
    let seen = Lines::of(output);
    let each = outputs.iter().map(|other| seen.differences(other, &varying));
    let mut nearest = each.min_by_key(Vec::len).unwrap_or_default();
    nearest.truncate(MOST_LINES);
    nearest
}

/// A line of an output.
struct Line {
    /// As it was printed.
    text: String,
    /// Without its numbers.
    shape: String,
    /// Its numbers, decimal or hexadecimal, without times and addresses.
    numbers: Vec<String>,
}

/// The lines of an output.
struct Lines(Vec<Line>);

impl Lines {
    fn of(output: &[u8]) -> Lines {
        let text = String::from_utf8_lossy(output);
        let line = |line: &str| {
            let text = line.trim_end();
            let (shape, numbers) = without_numbers(&without_addresses(&without_times(text)));
            Line { text: text.to_owned(), shape, numbers }
        };
        Lines(text.lines().map(line).collect())
    }

    /// Lines that the other output does not have (`+`), and the other way round (`-`), besides what varies.
    fn differences(&self, other: &Lines, varying: &Varying) -> Vec<String> {
        let (own, others) = (self.counted(varying), other.counted(varying));
        let missing = |from: &Counted<'_>, other: &Counted<'_>, sign: char| {
            let more =
                from.iter().filter(|(key, (count, _))| other.get(*key).is_none_or(|there| there.0 < *count));
            more.map(|(_, (_, text))| format!("{sign} {}", shortened(text))).collect::<Vec<String>>()
        };
        [missing(&others, &own, '-'), missing(&own, &others, '+')].concat()
    }

    /// How often each line is there, by what does not vary of it, and one such line.
    fn counted(&self, varying: &Varying) -> Counted<'_> {
        let mut counted = Counted::new();
        for line in &self.0 {
            if let Some(steady) = varying.steady_numbers(line) {
                counted.entry((&line.shape, steady)).or_insert((0, &line.text)).0 += 1;
            }
        }
        counted
    }

    /// For each shape its lines' numbers.
    fn by_shape(&self) -> BTreeMap<&str, Vec<&[String]>> {
        let mut shapes: BTreeMap<&str, Vec<&[String]>> = BTreeMap::new();
        for line in &self.0 {
            shapes.entry(&line.shape).or_default().push(&line.numbers);
        }
        shapes
    }
}

/// Lines by their shape and the numbers that do not vary: how many, and the text of the first.
type Counted<'l> = BTreeMap<(&'l str, Vec<&'l str>), (usize, &'l str)>;

/// What outputs of the same program differ in that should not: by the shape of a line.
#[derive(Debug, Default)]
struct Varying(BTreeMap<String, VaryingPart>);

/// What varies of the lines of a shape.
#[derive(Debug, PartialEq, Eq)]
enum VaryingPart {
    /// Whether there is such a line, or how many.
    Line,
    /// The numbers at these places.
    Numbers(BTreeSet<usize>),
}

impl Varying {
    /// What differs between some of these outputs.
    fn between(outputs: &[Lines]) -> Varying {
        let mut varying = Varying::default();
        if let Some((first, others)) = outputs.split_first() {
            let first = first.by_shape();
            for other in others {
                varying.note(&first, &other.by_shape());
            }
        }
        varying
    }

    fn note(&mut self, one: &BTreeMap<&str, Vec<&[String]>>, other: &BTreeMap<&str, Vec<&[String]>>) {
        for shape in one.keys().chain(other.keys()) {
            let (Some(ones), Some(others)) = (one.get(shape), other.get(shape)) else {
                self.0.insert((*shape).to_owned(), VaryingPart::Line);
                continue;
            };
            if ones.len() != others.len() {
                self.0.insert((*shape).to_owned(), VaryingPart::Line);
                continue;
            }
            let column = |lines: &[&[String]], place: usize| {
                let mut column: Vec<String> = lines.iter().map(|numbers| numbers[place].clone()).collect();
                column.sort_unstable();
                column
            };
            let places = 0..ones[0].len();
            let differ: Vec<usize> =
                places.filter(|&place| column(ones, place) != column(others, place)).collect();
            if differ.is_empty() {
                continue;
            }
            let known = self.0.entry((*shape).to_owned()).or_insert(VaryingPart::Numbers(BTreeSet::new()));
            if let VaryingPart::Numbers(known) = known {
                known.extend(differ);
            }
        }
    }

    /// The numbers of a line that do not vary; none if the line does.
    fn steady_numbers<'l>(&self, line: &'l Line) -> Option<Vec<&'l str>> {
        let numbers = line.numbers.iter().map(String::as_str);
        match self.0.get(&line.shape) {
            None => Some(numbers.collect()),
            Some(VaryingPart::Line) => None,
            Some(VaryingPart::Numbers(places)) => {
                let steady = numbers.enumerate().filter(|(place, _)| !places.contains(place));
                Some(steady.map(|(_, number)| number).collect())
            }
        }
    }
}

/// The beginning of a line that is too long to be read.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
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

/// The line with every number, decimal or hexadecimal, replaced, and these numbers.
fn without_numbers(line: &str) -> (String, Vec<String>) {
    let (mut shape, mut numbers) = (String::with_capacity(line.len()), Vec::new());
    for word in line.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let text = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
        let is_number = text.chars().any(|character| character.is_ascii_digit())
            && text.trim_start_matches("0x").chars().all(|character| character.is_ascii_hexdigit());
        if is_number {
            shape.push('#');
            numbers.push(text.to_owned());
        } else {
            shape.push_str(text);
        }
        shape.push_str(&word[text.len()..]);
    }
    (shape, numbers)
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
    fn numbers_beside_those_that_vary_are_compared() {
        let ordinary = ["[1.5] total 2\n", "[1.6] total 2\n"];
        assert!(differs("[1.7] total 2\n", &ordinary).is_empty());
        assert_eq!(differs("[1.7] total 1\n", &ordinary), ["- [1.5] total 2", "+ [1.7] total 1"]);
        // What is printed by several threads comes in any order.
        let lines = ["t1: 10 of 4\nt2: 20 of 4\n", "t2: 21 of 4\nt1: 11 of 4\n"];
        assert!(differs("t1: 12 of 4\nt2: 9 of 4\n", &lines).is_empty());
        assert!(!differs("t1: 12 of 3\nt2: 9 of 4\n", &lines).is_empty());
    }

    #[test]
    fn both_statuses_are_named() {
        let ordinary = OrdinaryRun::printing("a\n");
        let seen = SeenRun { ending: Ending::Exited(7), output: b"b\n".to_vec(), failure: None };
        let (done, difference) = harm(&seen, &[&ordinary]);
        assert_eq!(done, Harm::Status);
        assert_eq!(difference, ["- ends with status 0", "+ ends with status 7", "- a", "+ b"]);
    }

    #[test]
    fn lines_are_shown_as_they_were_printed() {
        assert_eq!(differs("1 in 0.31s\n", &["2 in 0.30s\n"]), ["- 2 in 0.30s", "+ 1 in 0.31s"]);
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
