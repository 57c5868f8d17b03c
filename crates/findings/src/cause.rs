//! Causes: which findings are one bug to the person who fixes it.
//!
//! One variable and one pair of functions is one cause, whatever the lines. Elements of one array and blocks from one allocation are one
//! variable, though each is listed, since they may mean different things; two fields, and two variables on the same line, never are. Memory on a stack that has no name is distinguished by the lines that access it,
//! since all elements of an array may be there.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Finding, FindingKind};

/// Further source locations at which a finding's cause shows, in the order of the finding's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherPlaces {
    /// Where the events are in the source.
    pub locations: Vec<String>,
    /// What it is about there: another element of the same array, perhaps.
    pub object: String,
    /// The events of one instance; -1 is the initial value.
    pub events: Vec<i64>,
    /// How many sets of events there are at these locations.
    pub count: u64,
}

/// What findings with the same cause have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause {
    kind: FindingKind,
    objects: Vec<String>,
    /// The functions, or the locations where functions are unknown.
    scopes: Vec<String>,
}

impl Cause {
    /// That of a finding.
    pub fn of(finding: &Finding) -> Cause {
        let Finding { kind, object, functions, locations, .. } = finding;
        if let (FindingKind::Failure, Some(failure)) = (kind, &finding.failure) {
            return Cause { kind: *kind, objects: vec![failure.identity.clone()], scopes: Vec::new() };
        }
        let known = functions.len() == locations.len() && functions.iter().all(|name| !name.is_empty());
        // What the user states names its locations itself.
        let is_stated = matches!(kind, FindingKind::Order | FindingKind::Predicate);
        let by_function = known && !is_stated && unnamed_stack(object).is_none();
        let mut scopes = if by_function { functions.clone() } else { locations.clone() };
        // An order and its reverse are different violations.
        if *kind != FindingKind::Order {
            scopes.sort_unstable();
            scopes.dedup();
        }
        Cause { kind: *kind, objects: objects(*kind, object), scopes }
    }
}

/// What findings with the same cause have in common that a change of other lines leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Moved(Cause);

impl Moved {
    /// That of a finding.
    pub(crate) fn of(finding: &Finding) -> Moved {
        let mut cause = Cause::of(finding);
        let Finding { functions, locations, .. } = finding;
        // Of a failure, its message and its file are enough; of an unnamed place on a stack, who uses it.
        let known = functions.len() == locations.len() && functions.iter().all(|name| !name.is_empty());
        if known && is_unnamed(&finding.object) {
            cause.scopes.clone_from(functions);
            cause.scopes.sort_unstable();
            cause.scopes.dedup();
        }
        for object in &mut cause.objects {
            *object = without_lines(object);
        }
        Moved(cause)
    }
}

/// A text without the numbers of the lines that it names: `conn (a.c:3)->state` is `conn (a.c)->state`.
pub fn without_lines(text: &str) -> String {
    let mut shorter = String::with_capacity(text.len());
    let (mut rest, mut was_line) = (text, false);
    while let Some(at) = rest.find(':') {
        let (before, after) = rest.split_at(at);
        let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        shorter.push_str(before);
        let is_file = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        // A column follows a line that was taken out.
        let is_column = at == 0 && was_line;
        was_line = digits > 0 && (is_file || is_column);
        if !was_line {
            shorter.push_str(&after[..=digits]);
        }
        rest = &after[1 + digits..];
    }
    shorter + rest
}

/// What a finding is about, comparable: the locks of a cycle in any order.
pub(crate) fn objects(kind: FindingKind, object: &str) -> Vec<String> {
    let mut objects: Vec<String> = match kind {
        FindingKind::Deadlock => object.split(", ").map(|name| family(name).into_owned()).collect(),
        _ => vec![family(object).into_owned()],
    };
    objects.sort_unstable();
    objects
}

/// How many elements of one array are listed for the same places, at most.
pub const MOST_ELEMENTS: usize = 4;

/// Whether a variable has no name of its own, but that of a place on a stack.
fn is_unnamed(object: &str) -> bool {
    unnamed_stack(object).is_some()
}

/// The stack that a place without a name of its own is on: `stack of main at -8`, or the function that it belongs to or that uses it:
/// `local of f in T1 at -296`, `stack used by f in T1 at -296`.
/// Threads that run one function make the same mistake in each of their stacks.
fn unnamed_stack(name: &str) -> Option<&str> {
    let (stack, place) = name.rsplit_once(" at -")?;
    let is_place = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_function = ["local of ", "stack used by "].iter().any(|start| stack.starts_with(start));
    let local = is_of_function.then(|| stack.rsplit_once(" in ").map_or(stack, |(local, _)| local));
    local.or_else(|| stack.starts_with("stack of ").then_some(stack)).filter(|_| is_place)
}

/// The name of a variable without what tells apart the elements of one array (`[3]`), the parts of a pool (`[+3]`), the blocks of one allocation
/// (`#3`), and places on a stack.
pub fn family(name: &str) -> Cow<'_, str> {
    let name = without_thread(name);
    if let Some(stack) = unnamed_stack(name) {
        return Cow::Borrowed(stack);
    }
    if !name.contains(['[', '#']) {
        return Cow::Borrowed(name);
    }
    let mut family = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['[', '#']) {
        let (before, after) = rest.split_at(at + 1);
        let sign = usize::from(before.ends_with('[') && after.starts_with('+'));
        let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let is_element = before.ends_with('[') && after[sign + digits..].starts_with(']');
        let is_block = before.ends_with('#') && !after[digits..].starts_with(|c: char| c.is_alphanumeric());
        if digits > 0 && is_block {
            family.push_str(&before[..at]);
        } else {
            family.push_str(before);
        }
        rest = if digits > 0 && (is_element || is_block) { &after[sign + digits..] } else { after };
    }
    family.push_str(rest);
    Cow::Owned(family)
}

/// The name of a variable that each thread has its own of, without the thread: `errors of T1`.
fn without_thread(name: &str) -> &str {
    match name.rsplit_once(" of T") {
        Some((variable, number))
            if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            variable
        }
        _ => name,
    }
}

/// Merges findings with the same cause into the first of each, which keeps the locations of the others.
pub fn group_by_cause(findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Finding> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for finding in findings {
        let number = *numbers.entry(Cause::of(&finding)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(first) => first.absorb(finding),
            None => groups.push(finding),
        }
    }
    groups
}

impl Finding {
    /// Takes in a finding with the same cause.
    pub fn absorb(&mut self, other: Finding) {
        let Finding { locations, object, events, more, count, tests, .. } = other;
        self.count += count;
        let new = tests.into_iter().filter(|test| !self.tests.contains(test));
        self.tests.extend(new.collect::<Vec<_>>());
        // What it stands for by itself, without its own further places.
        let own = count - more.iter().map(|places| places.count).sum::<u64>().min(count);
        let places = FurtherPlaces { locations, object, events, count: own };
        for places in std::iter::once(places).chain(more) {
            self.absorb_places(places);
        }
    }

    /// Takes in further places. More events at places that are listed already add to the count only, as do the elements of an array after the
    /// first few.
    pub fn absorb_places(&mut self, places: FurtherPlaces) {
        let is_like = |locations: &[String], object: &str| {
            is_same_set(locations, &places.locations)
                && (object == places.object || !self.kind.tells_elements_apart() || is_unnamed(object))
        };
        if is_like(&self.locations, &self.object) {
            return;
        }
        let listed =
            self.more.iter().filter(|known| is_same_set(&known.locations, &places.locations)).count();
        match self.more.iter().position(|known| is_like(&known.locations, &known.object)) {
            Some(known) => self.more[known].count += places.count,
            None if listed >= MOST_ELEMENTS => return,
            None => self.more.push(places),
        }
        // What was verified was so for the places known then.
        self.fix.iter_mut().for_each(|fix| fix.partial = true);
        self.partial_orders = !self.memory_orders.is_empty();
    }
}

fn is_same_set(one: &[String], other: &[String]) -> bool {
    let covers = |one: &[String], other: &[String]| one.iter().all(|location| other.contains(location));
    covers(one, other) && covers(other, one)
}

/// Renumbers findings: those of each kind from 1 in the order they come.
pub fn number_by_rank(findings: &mut [Finding]) {
    let mut numbers = std::collections::BTreeMap::<FindingKind, u32>::new();
    for finding in findings {
        let number = numbers.entry(finding.kind).or_default();
        *number += 1;
        finding.id = format!("{}-{number}", finding.kind.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race_on(object: &str, locations: [&str; 2]) -> Finding {
        let question = check::WrittenQuestion::Race(trace::EventId(0), trace::EventId(1));
        Finding {
            object: object.to_owned(),
            locations: locations.map(str::to_owned).to_vec(),
            functions: vec!["f".to_owned(), "f".to_owned()],
            ..Finding::new(FindingKind::Race, crate::Rung::Predicted, question)
        }
    }

    #[test]
    fn each_element_of_a_place_is_listed_up_to_a_few() {
        let findings = (0..9).map(|index| race_on(&format!("stats[{index}]"), ["a.c:1", "a.c:1"]));
        let mut groups = group_by_cause(findings.chain([race_on("stats[1]", ["a.c:2", "a.c:1"])]).collect());
        let only = groups.pop().unwrap();
        let more: Vec<(&str, usize)> =
            only.more.iter().map(|more| (more.object.as_str(), more.locations.len())).collect();
        assert_eq!(more.len(), MOST_ELEMENTS + 1, "{more:?}");
        assert_eq!((more[0], only.count, groups.len()), (("stats[1]", 2), 10, 0));
        // Places without a name differ from run to run.
        let places = ["local of f in T1 at -296", "local of f in T2 at -8"];
        let groups = group_by_cause(places.map(|place| race_on(place, ["a.c:1", "a.c:1"])).to_vec());
        assert_eq!((groups.len(), groups[0].more.len()), (1, 0));
    }

    #[test]
    fn a_fix_is_for_the_places_it_was_verified_for() {
        let mut first = race_on("x", ["a.c:1", "a.c:2"]);
        first.fix = Some(crate::LockFix {
            mistake: crate::LockMistake::Missing,
            lock: "m".to_owned(),
            instead_of: None,
            places: Vec::new(),
            held: 1,
            accesses: 1,
            partial: false,
        });
        first.absorb(race_on("x", ["a.c:2", "a.c:1"]));
        assert!(!first.fix.as_ref().unwrap().partial);
        first.absorb(race_on("x", ["a.c:3", "a.c:1"]));
        assert!(first.fix.as_ref().unwrap().partial);
    }

    #[test]
    fn lines_are_taken_out_of_names() {
        assert_eq!(without_lines("conn (a.c:3)->io.state"), "conn (a.c)->io.state");
        assert_eq!(without_lines("mutex (src/bank.h:61)[1]"), "mutex (src/bank.h)[1]");
        assert_eq!(without_lines("assertion `x` failed at a.c:7"), "assertion `x` failed at a.c");
        assert_eq!(without_lines("panicked at lib.rs:10:5"), "panicked at lib.rs");
        for name in ["x", "a::b::{closure#0}", "std::1", "a:b", ":", "a:", ""] {
            assert_eq!(without_lines(name), name);
        }
    }

    #[test]
    fn elements_and_blocks_are_one_variable_and_fields_are_not() {
        assert_eq!(family("x"), "x");
        assert_eq!(family("accounts[2].balance"), "accounts[].balance");
        assert_eq!(family("grid[2][31]"), "grid[][]");
        assert_eq!(family("block (a.c:3)#12+320"), "block (a.c:3)+320");
        assert_eq!(family("conn (a.c:3)#2->state"), "conn (a.c:3)->state");
        assert_eq!(family("item (a.c:3)[+96]->next"), "item (a.c:3)[]->next");
        assert_eq!(family("odd[+x]"), "odd[+x]");
        assert_eq!(family("map[key]"), "map[key]");
        assert_eq!(family("main::{{closure}}#0::X"), "main::{{closure}}::X");
        assert_eq!(family("odd[#"), "odd[#");
        assert_ne!(family("a[1].x"), family("a[1].y"));
        assert_eq!(family("local of f in T1 at -296"), "local of f");
        assert_eq!(family("local of f in T1 at -296"), family("local of f in T12 at -8"));
        assert_eq!(family("stack used by f in T1 at -296"), "stack used by f");
        assert_eq!(family("errors[2].code of T3"), "errors[].code");
        assert_eq!(family("stack of main at -8"), family("stack of main at -16"));
        assert_eq!(family("stack of main at -x"), "stack of main at -x");
    }
}
