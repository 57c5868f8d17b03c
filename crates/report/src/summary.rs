//! The last lines of a report: how many of what, and what was left open.

use crate::figures::{counted, number};
use findings::{Comparison, Finding, FindingKind, Harm, Predictions, Rung, Stopped, StoppedBy};

/// The number of findings of each kind and rung.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    kinds: Vec<(FindingKind, u64)>,
    rungs: Vec<(Rung, u64)>,
}

impl Tally {
    /// Of these.
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        let mut tally = Tally::default();
        findings.into_iter().for_each(|finding| tally.add(finding));
        tally
    }

    /// Counts one more.
    pub fn add(&mut self, finding: &Finding) {
        count(&mut self.kinds, finding.kind);
        count(&mut self.rungs, finding.rung);
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    fn kinds_in_words(&self) -> String {
        let words = self.kinds.iter().map(|(kind, count)| counted(*count, kind.title()));
        words.collect::<Vec<_>>().join(", ")
    }

    /// How many of each rung. Those that a replay gives are left out where there are none.
    fn rungs_in_words(&self) -> String {
        let of_rung = |rung| self.rungs.iter().find(|entry| entry.0 == rung).map_or(0, |entry| entry.1);
        let shown =
            |&(rung, count): &(Rung, u64)| count > 0 || matches!(rung, Rung::Predicted | Rung::Possible);
        let counts = Rung::ALL.map(|rung| (rung, of_rung(rung)));
        let words = counts.iter().filter(|entry| shown(entry));
        words
            .map(|(rung, count)| format!("{} {}", number(*count), rung.name()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn count<K: PartialEq>(counts: &mut Vec<(K, u64)>, key: K) {
    match counts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, count)) => *count += 1,
        None => counts.push((key, 1)),
    }
}

/// How the search for races went: of interest to those who work on it.
pub fn statistics(predictions: &Predictions) -> Option<String> {
    let funnel = predictions.funnel.filter(|funnel| funnel.pairs > 0)?;
    Some(format!(
        "Conflicting pairs of accesses: {}; ordered in every run: {}; kept apart by a lock: {}; racing with all \
         locks in the recorded order: {}; decided by the engine: {}\n",
        number(funnel.pairs),
        number(funnel.ordered),
        number(funnel.locked),
        number(funnel.preserving),
        number(funnel.asked)
    ))
}

/// The findings that are not shown, in a line: how many of what. Empty if there are none.
pub fn hidden_in_words(hidden: &[Finding]) -> String {
    // A replay that did not show it tells that much.
    let was_tried_in_vain = |finding: &Finding| finding.replay.is_some() && finding.rung != Rung::Confirmed;
    let reason = |finding: &Finding| match (finding.kind, finding.rung) {
        (_, Rung::Diverged | Rung::Likely | Rung::Possible) => (finding.rung.name(), finding.rung.name()),
        (FindingKind::Atomicity, _) if finding.inherent => {
            ("atomicity pattern that every run has", "atomicity patterns that every run has")
        }
        (FindingKind::Atomicity, _) if finding.harm.is_some_and(Harm::is_visible) => {
            ("atomicity pattern that a race explains", "atomicity patterns that a race explains")
        }
        (FindingKind::Atomicity, _) if finding.harm.is_none() && !was_tried_in_vain(finding) => (
            "atomicity pattern not judged: the time was up",
            "atomicity patterns not judged: the time was up",
        ),
        (FindingKind::Atomicity, _) => {
            ("atomicity pattern without visible effect", "atomicity patterns without visible effect")
        }
        _ => (finding.kind.title(), finding.kind.title()),
    };
    let mut reasons = Vec::new();
    hidden.iter().for_each(|finding| count(&mut reasons, reason(finding)));
    let each = reasons
        .iter()
        .map(|((one, many), times)| format!("{} {}", number(*times), if *times == 1 { one } else { many }));
    let each = each.collect::<Vec<_>>().join(", ");
    match hidden.len() {
        0 => String::new(),
        1 => format!("1 more finding is not shown: {each}; `--show all` lists it.\n"),
        more => {
            format!("{} more findings are not shown: {each}; `--show all` lists them.\n", number(more as u64))
        }
    }
}

/// What the whole search came to. The last line starts with `SUMMARY:`.
pub fn summary(predictions: &Predictions) -> String {
    summary_of(predictions, &Tally::of(&predictions.findings))
}

/// The same where the findings themselves are no longer there.
pub fn summary_of(predictions: &Predictions, tally: &Tally) -> String {
    let mut lines = Vec::new();
    if predictions.refuted > 0 {
        lines.push(format!(
            "{} reported by `{}` cannot happen and are not shown.",
            counted(predictions.refuted, "pair"),
            predictions.method
        ));
    }
    lines.extend(different_statuses(predictions));
    if predictions.suppressed > 0 {
        let found = counted(predictions.suppressed, "finding");
        lines.push(format!("{found} hidden by suppressions."));
    }
    if predictions.other_code > 0 {
        let found = counted(predictions.other_code, "finding");
        lines.push(format!(
            "{found} entirely in dependencies or the standard library left out (`--first-party`)."
        ));
    }
    if let Some(baseline) = &predictions.baseline {
        lines.push(baseline_in_words(baseline));
    }
    if let Some(stopped) = &predictions.stopped {
        lines.push(stopped_in_words(stopped));
    } else if predictions.unknown > 0 {
        lines.push(format!(
            "{} left open because the budget ran out. Try a larger `--budget`.",
            counted(predictions.unknown, "question")
        ));
    }
    let left_out = predictions.stopped.as_ref().map_or(0, |stopped| stopped.left_out);
    lines.push(match tally.all() {
        0 if left_out > 0 => format!("SUMMARY: {}, none of them written out", counted(left_out, "finding")),
        0 if predictions.stopped.is_some() => {
            let what = if predictions.baseline.is_some() { "anything new" } else { "anything" };
            format!("SUMMARY: stopped before {what} was found")
        }
        0 if predictions.baseline.is_some() => "SUMMARY: nothing new".to_owned(),
        0 => "SUMMARY: nothing found".to_owned(),
        all => format!(
            "SUMMARY: {} ({}): {}",
            counted(all, "finding"),
            tally.kinds_in_words(),
            tally.rungs_in_words()
        ),
    });
    lines.join("\n") + "\n"
}

/// That runs ended with different exit statuses, unless a finding says why.
fn different_statuses(predictions: &Predictions) -> Option<String> {
    let statuses = &predictions.coverage.as_ref()?.statuses;
    let is_explained = |finding: &Finding| finding.shown != Some(false) && finding.harm == Some(Harm::Status);
    let (first, others) = statuses.split_first().filter(|(_, others)| !others.is_empty())?;
    if predictions.findings.iter().any(is_explained) {
        return None;
    }
    let others: Vec<String> = others.iter().map(i32::to_string).collect();
    Some(format!(
        "The program ends with status {first} in some runs, {} in others; no finding explains it.",
        others.join(" or ")
    ))
}

/// How many findings are known, and how many of the baseline were not found again.
fn baseline_in_words(baseline: &Comparison) -> String {
    let known = counted(baseline.known.len() as u64, "finding");
    let fixed = number(baseline.fixed.len() as u64);
    format!("Compared with the baseline: {known} known and not shown, {fixed} not found again.")
}

/// Why the search ended early, and what it left.
fn stopped_in_words(stopped: &Stopped) -> String {
    let kinds: Vec<String> = stopped.unfinished.iter().map(|kind| kind.title_of_many()).collect();
    let mut text = format!("Stopped: {}.", stopped.reason);
    if !kinds.is_empty() {
        text.push_str(&format!(" Not searched to the end: {}.", kinds.join(", ")));
    }
    if stopped.left_out > 0 {
        text.push_str(&format!(" Found but not written out: {}.", counted(stopped.left_out, "finding")));
    }
    text + match stopped.by {
        StoppedBy::Time => " Try a larger `--timeout`, or `--only KIND`.",
        StoppedBy::Memory => " Try a larger `--memory`, or `--only KIND`.",
        StoppedBy::Events => " Try a larger `--timeout` or `--max-events`.",
        StoppedBy::Interrupt | StoppedBy::Error => "",
    }
}
