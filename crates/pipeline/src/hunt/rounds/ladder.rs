//! The ladder: bugs that are feasible only if reads may see other values are replayed, and the replay is the judge.
//!
//! `rf` keeps every read to the write it saw. That gives no false alarms, but it misses the race behind a counter that both threads
//! increase under a lock: the second thread reads another value, and the program does not mind. Under `branch`, if the program says
//! where it branches, and under `sync` such a race is feasible. What is feasible under `branch` comes first: the program does not decide
//! anything by the values that change, so it is likely to follow the schedule. Two threads that stand at conflicting accesses, or that wait
//! for each other, are a bug whatever led there, so for races and deadlocks a replay that shows them is proof. What no replay shows is not
//! reported.

use check::Model;
use report::{Finding, FindingKind, Rung};

use super::Rounds;
use crate::error::Error;
use crate::hunt::confirm::Confirmer;
use crate::observer::{Observer, Silent, Stage};
use crate::predict::{PredictOptions, has_branches, predict};
use crate::trace_file::TraceFile;

/// How many candidates of a kind are tried in a recording: first those whose schedules change the fewest reads, and of those the earliest.
const MOST: usize = 24;

impl Rounds<'_> {
    /// Tries what is feasible in a recording under weaker models only.
    pub(super) fn climb(
        &mut self,
        file: &TraceFile,
        recording: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let asked = self.options.predict.without_nondeterminism();
        if asked.model != Model::ReadsFrom || asked.method.is_some() || self.options.times == 0 {
            return Ok(());
        }
        observer.begin(&Stage::Exploring);
        let kinds = [FindingKind::Race, FindingKind::Deadlock];
        let branch = has_branches(&file.trace).then_some(Model::Branch);
        for model in branch.into_iter().chain([Model::Sync]) {
            for kind in kinds.into_iter().filter(|kind| asked.only.contains(kind)) {
                self.climb_with(file, recording, kind, model, observer)?;
            }
        }
        self.save()?;
        observer.end(None);
        Ok(())
    }

    fn climb_with(
        &mut self,
        file: &TraceFile,
        recording: Option<&str>,
        kind: FindingKind,
        model: Model,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let options = PredictOptions {
            only: vec![kind],
            model,
            budget: self.options.predict.budget.clone(),
            cancellation: self.options.cancellation.clone(),
            ..PredictOptions::default()
        };
        let candidates = predict(file, &options, &mut Silent)?.findings;
        let weaker = candidates.into_iter().filter(|finding| finding.rung < Rung::Predicted);
        for candidate in weaker.take(MOST) {
            if self.is_over() {
                return Ok(());
            }
            let finding =
                Finding { id: self.next_id(kind), recording: recording.map(str::to_owned), ..candidate };
            if !self.predictions.findings.iter().any(|known| known.is_like(&finding)) {
                observer.item(finding.locations.first().map_or("", String::as_str));
                self.try_candidate(file, finding, model, observer)?;
            }
        }
        Ok(())
    }

    /// Replays a candidate, and takes it in if it was seen happening.
    fn try_candidate(
        &mut self,
        file: &TraceFile,
        mut finding: Finding,
        model: Model,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let confirmer = Confirmer { model, ..self.confirmer(file) };
        confirmer.confirm(&mut finding, &mut self.explorer, &mut self.ordinary)?;
        if finding.rung == Rung::Confirmed {
            observer.finding(&finding);
            self.announcements.announce(&finding, observer);
            self.repetitions.note(&finding.id, model);
            self.predictions.findings.push(finding);
            return self.directory.save(&self.predictions);
        }
        self.directory.remove_schedule(&finding)
    }
}
