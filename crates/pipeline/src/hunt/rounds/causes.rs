//! Causes of failures that are shown without one.
//!
//! Whether an atomicity violation does harm is judged by its places in the source, since threads that run the same code make the same mistakes.
//! But which of them comes between may make all the difference: if two threads each compare a maximum and store theirs, only the lesser value
//! must not be stored last. So where nothing explains a failure, the violations that happened in the run that failed are compared with other
//! runs by their threads as well. One that is in no run that ended well, and with which every replay fails in the same way, is the cause.
//!
//! Only the user's own code is looked at: in the code of libraries such patterns are how it works.

use candidates::atomicity::Instances;
use report::{Finding, FindingKind, Harm, Rung};

use super::Rounds;
use crate::error::Error;
use crate::hunt::confirm::{Confirmer, Judging};
use crate::observer::{Observer, Silent};
use crate::predict::{PredictOptions, predict};
use crate::trace_file::TraceFile;

/// The most violations that are replayed for one failure.
const MOST: usize = 4;

/// A failure that has no cause yet.
struct UnexplainedFailure {
    identity: String,
    /// The file of its recording; none: the recorded run.
    recording: Option<String>,
}

impl Rounds<'_> {
    /// Looks for what came apart in the runs of failures that nothing explains, each once.
    pub(super) fn explain_failures(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let asked = self.options.predict.without_nondeterminism();
        let is_wanted = asked.only.contains(&FindingKind::Atomicity) && asked.method.is_none();
        if !is_wanted || self.options.rounds == 1 || self.options.times == 0 {
            return Ok(());
        }
        for failure in self.unexplained() {
            if self.is_over() {
                break;
            }
            self.searched_for_causes.insert(failure.identity.clone());
            self.explain(&failure, observer)?;
        }
        Ok(())
    }

    /// Failures that some runs have and others do not, and of which no finding is the cause.
    fn unexplained(&self) -> Vec<UnexplainedFailure> {
        let failures =
            self.predictions.findings.iter().filter(|finding| finding.kind == FindingKind::Failure);
        let described = failures.filter_map(|finding| Some((finding.failure.as_ref()?, &finding.recording)));
        described
            .filter(|(failure, _)| !failure.every_run)
            .filter(|(failure, _)| !self.explorer.explained.contains(&failure.identity))
            .filter(|(failure, _)| !self.searched_for_causes.contains(&failure.identity))
            .map(|(failure, recording)| UnexplainedFailure {
                identity: failure.identity.clone(),
                recording: recording.clone(),
            })
            .collect()
    }

    fn explain(&mut self, failure: &UnexplainedFailure, observer: &mut dyn Observer) -> Result<(), Error> {
        let Some(name) = &failure.recording else { return self.explain_in(self.first, failure, observer) };
        let Some(at) = self.explored.iter().position(|other| other.name == *name) else { return Ok(()) };
        // Nothing else is explored meanwhile.
        let explored = self.explored.remove(at);
        let result = self.explain_in(&explored.file, failure, observer);
        self.explored.insert(at, explored);
        result
    }

    fn explain_in(
        &mut self,
        file: &TraceFile,
        failure: &UnexplainedFailure,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        self.ordinary.make_enough(&mut self.explorer, self.first)?;
        let options = PredictOptions {
            only: vec![FindingKind::Atomicity],
            instances: Instances::Recorded,
            ..self.options.predict.clone()
        };
        let found = predict(file, &options, &mut Silent)?.findings;
        self.options.budget.bounds.begin_share(1);
        let others = &self.explorer.ended_well;
        let recorded = &self.first.trace;
        let is_cause = |finding: &Finding| {
            let is_own = !finding.third_party && !finding.inherent && finding.rung == Rung::Predicted;
            is_own && self.ordinary.end_well_without(others, finding, &file.trace, recorded)
        };
        let causes: Vec<Finding> = found.into_iter().filter(is_cause).take(MOST).collect();
        for cause in causes {
            if self.is_over() {
                break;
            }
            self.try_cause(file, cause, failure, observer)?;
        }
        self.save()
    }

    /// Replays a violation of a failed run, and takes it in if every replay fails as that run did. What is known of the same places stays as
    /// it is: they have one cause, of which the most harmful is shown.
    fn try_cause(
        &mut self,
        file: &TraceFile,
        cause: Finding,
        failure: &UnexplainedFailure,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let (id, recording) = (self.next_id(cause.kind), failure.recording.clone());
        let mut finding = Finding { id, recording, ..cause };
        let confirmer = Confirmer {
            judging: Judging::AsCauseOf(&failure.identity),
            times: self.options.times,
            ..self.confirmer(file)
        };
        confirmer.confirm(&mut finding, &mut self.explorer, &mut self.ordinary)?;
        if !finding.harm.is_some_and(Harm::is_visible) {
            return self.directory.remove_schedule(&finding);
        }
        observer.finding(&finding);
        self.announcements.announce(&finding, observer);
        self.predictions.findings.push(finding);
        Ok(())
    }
}
