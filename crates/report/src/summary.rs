//! The last lines of a report: how many of what, and what was left open.

use crate::figures::{counted, number};
use crate::findings::{FindingKind, Predictions, Rung};

/// What the whole search came to. The last line starts with `SUMMARY:`.
pub fn summary(predictions: &Predictions) -> String {
    let mut lines = Vec::new();
    if let Some(funnel) = predictions.funnel.filter(|funnel| funnel.pairs > 0) {
        lines.push(format!(
            "Of {} of accesses, {} are ordered in every run, {} kept apart by a lock, {} race with all \
             locks taken in the same order, {} were asked of the engine.",
            counted(funnel.pairs, "conflicting pair"),
            number(funnel.ordered),
            number(funnel.locked),
            number(funnel.preserving),
            number(funnel.asked)
        ));
    }
    if predictions.refuted > 0 {
        lines.push(format!(
            "{} that `{}` reports cannot happen in any order of these events, and are not shown.",
            counted(predictions.refuted, "pair"),
            predictions.method
        ));
    }
    if predictions.suppressed > 0 {
        let found = counted(predictions.suppressed, "finding");
        lines.push(format!("{found} not shown: suppressed."));
    }
    if predictions.unknown > 0 {
        lines.push(format!(
            "{} left open: the budget ran out. More can be had by a larger `--budget`.",
            counted(predictions.unknown, "question")
        ));
    }
    lines.push(match predictions.findings.len() as u64 {
        0 => "SUMMARY: nothing found".to_owned(),
        all => format!(
            "SUMMARY: {} ({}): {}",
            counted(all, "finding"),
            kinds_in_words(predictions),
            rungs_in_words(predictions)
        ),
    });
    lines.join("\n") + "\n"
}

/// How many of each rung. Those that a replay gives are left out where there are none.
fn rungs_in_words(predictions: &Predictions) -> String {
    let of_rung = |rung| predictions.findings.iter().filter(|finding| finding.rung == rung).count() as u64;
    let shown = |&(rung, count): &(Rung, u64)| count > 0 || matches!(rung, Rung::Predicted | Rung::Possible);
    let counts = Rung::ALL.map(|rung| (rung, of_rung(rung)));
    let words = counts.iter().filter(|entry| shown(entry));
    words.map(|(rung, count)| format!("{} {}", number(*count), rung.name())).collect::<Vec<_>>().join(", ")
}

fn kinds_in_words(predictions: &Predictions) -> String {
    let mut kinds: Vec<(FindingKind, u64)> = Vec::new();
    for finding in &predictions.findings {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((finding.kind, 1)),
        }
    }
    let words = kinds.iter().map(|(kind, count)| format!("{} {}", number(*count), kind.name()));
    words.collect::<Vec<_>>().join(", ")
}
