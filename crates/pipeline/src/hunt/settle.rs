//! The end of a hunt: findings with the same cause become one, the most harmful first, and ids follow the rank.
//!
//! While a hunt goes on, each variable and set of locations is a finding of its own: which of them does harm is known only when they have
//! been replayed.

use std::collections::BTreeMap;

use report::{Finding, Predictions, group_by_cause, number_by_rank};

use super::run_directory::RunDirectory;
use crate::error::Error;

/// Puts findings with the same cause together, numbers them by rank, and keeps them so. Their schedules follow.
pub(super) fn settle(directory: &RunDirectory, predictions: &mut Predictions) -> Result<(), Error> {
    let mut findings = std::mem::take(&mut predictions.findings);
    findings.sort_by_key(Finding::rank);
    let before: Vec<String> = findings.iter().map(|finding| finding.id.clone()).collect();
    findings = group_by_cause(findings);
    let kept: Vec<String> = findings.iter().map(|finding| finding.id.clone()).collect();
    number_by_rank(&mut findings);
    let now: BTreeMap<&String, &str> =
        kept.iter().zip(findings.iter().map(|finding| finding.id.as_str())).collect();
    directory.rename_schedules(before.iter().map(|id| (id.as_str(), now.get(id).copied())))?;
    predictions.findings = findings;
    directory.save(predictions)
}
