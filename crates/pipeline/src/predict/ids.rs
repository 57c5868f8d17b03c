//! The ids of findings: a kind and a number, in the order in which findings are passed on. A finding that was saved before keeps its id.

use std::collections::{BTreeMap, HashMap, HashSet};

use report::{Cause, Finding, FindingKind};

/// Ids that findings were saved under.
#[derive(Clone, Debug, Default)]
pub struct KnownIds {
    of_cause: HashMap<Cause, String>,
    taken: HashSet<String>,
}

impl KnownIds {
    /// Those of these findings.
    pub fn of<'f>(findings: impl Iterator<Item = &'f Finding>) -> KnownIds {
        let mut known = KnownIds::default();
        for finding in findings {
            known.of_cause.entry(Cause::of(finding)).or_insert_with(|| finding.id.clone());
            known.taken.insert(finding.id.clone());
        }
        known
    }
}

/// Gives ids out.
#[derive(Debug)]
pub(super) struct Ids {
    known: KnownIds,
    /// How many findings of each kind got a new one.
    numbers: BTreeMap<FindingKind, u32>,
}

impl Ids {
    pub(super) fn new(known: &KnownIds) -> Ids {
        Ids { known: known.clone(), numbers: BTreeMap::new() }
    }

    /// The id of the next finding.
    pub(super) fn next(&mut self, finding: &Finding) -> String {
        // A cause that is met twice has one id only.
        if let Some(id) = self.known.of_cause.remove(&Cause::of(finding)) {
            return id;
        }
        let number = self.numbers.entry(finding.kind).or_default();
        loop {
            *number += 1;
            let id = format!("{}-{number}", finding.kind.name());
            if !self.known.taken.contains(&id) {
                return id;
            }
        }
    }
}
