//! Causes: which findings are one bug to the person who fixes it.
//!
//! One variable and one pair of functions is one cause, whatever the lines. Elements of one array and blocks from one allocation are one
//! variable; two fields, and two variables on the same line, never are. Memory on a stack that has no name is distinguished by the lines that access it,
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

/// What a finding is about, comparable: the locks of a cycle in any order.
pub(crate) fn objects(kind: FindingKind, object: &str) -> Vec<String> {
    let mut objects: Vec<String> = match kind {
        FindingKind::Deadlock => object.split(", ").map(|name| family(name).into_owned()).collect(),
        _ => vec![family(object).into_owned()],
    };
    objects.sort_unstable();
    objects
}

/// The stack that a place without a name of its own is on: `stack of main at -8`, or the function that it belongs to: `local of f in T1 at -296`.
/// Threads that run one function make the same mistake in each of their stacks.
fn unnamed_stack(name: &str) -> Option<&str> {
    let (stack, place) = name.rsplit_once(" at -")?;
    let is_place = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    let local =
        stack.starts_with("local of ").then(|| stack.rsplit_once(" in ").map_or(stack, |(local, _)| local));
    local.or_else(|| stack.starts_with("stack of ").then_some(stack)).filter(|_| is_place)
}

/// The name of a variable without what tells apart the elements of one array (`[3]`), the blocks of one allocation (`#3`), and places on a stack.
pub fn family(name: &str) -> Cow<'_, str> {
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
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_element = before.ends_with('[') && after[digits..].starts_with(']');
        let is_block = before.ends_with('#') && !after[digits..].starts_with(|c: char| c.is_alphanumeric());
        if digits > 0 && is_block {
            family.push_str(&before[..at]);
        } else {
            family.push_str(before);
        }
        rest = if digits > 0 && (is_element || is_block) { &after[digits..] } else { after };
    }
    family.push_str(rest);
    Cow::Owned(family)
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
            let is_like = |known: &[String]| is_same_set(known, &places.locations);
            // More events at locations that are listed already add to the count only.
            if is_like(&self.locations) {
                continue;
            }
            match self.more.iter_mut().find(|known| is_like(&known.locations)) {
                Some(known) => known.count += places.count,
                None => self.more.push(places),
            }
        }
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

    #[test]
    fn elements_and_blocks_are_one_variable_and_fields_are_not() {
        assert_eq!(family("x"), "x");
        assert_eq!(family("accounts[2].balance"), "accounts[].balance");
        assert_eq!(family("grid[2][31]"), "grid[][]");
        assert_eq!(family("block (a.c:3)#12+320"), "block (a.c:3)+320");
        assert_eq!(family("conn (a.c:3)#2->state"), "conn (a.c:3)->state");
        assert_eq!(family("map[key]"), "map[key]");
        assert_eq!(family("main::{{closure}}#0::X"), "main::{{closure}}::X");
        assert_eq!(family("odd[#"), "odd[#");
        assert_ne!(family("a[1].x"), family("a[1].y"));
        assert_eq!(family("local of f in T1 at -296"), "local of f");
        assert_eq!(family("local of f in T1 at -296"), family("local of f in T12 at -8"));
        assert_eq!(family("stack of main at -8"), family("stack of main at -16"));
        assert_eq!(family("stack of main at -x"), "stack of main at -x");
    }
}
