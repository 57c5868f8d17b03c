//! Repetitions: findings are replayed once at first, and as often as asked for later.
//!
//! A replay that was confirmed shows nothing new when it is repeated; it only says how reliably the finding happens. The same holds for runs
//! to compare its output with. So runs that can show something new come first: the hunt gets to the first failure in fewer runs.

use check::Model;
use report::Finding;

use super::Rounds;
use crate::error::Error;
use crate::hunt::confirm::{Confirmer, Judging};
use crate::observer::{Observer, Progress, Stage};

/// What is left to be replayed more often.
#[derive(Debug)]
pub(super) struct Repetitions {
    /// Ids of findings, and the models that they were found under.
    waiting: Vec<(String, Model)>,
    /// From now on findings are replayed as often as asked for at once.
    are_made: bool,
}

impl Repetitions {
    /// None are needed if nothing is replayed more than once.
    pub(super) fn of(times: u64) -> Repetitions {
        Repetitions { waiting: Vec::new(), are_made: times < 2 }
    }

    /// Takes note of a finding that was replayed.
    pub(super) fn note(&mut self, id: &str, model: Model) {
        if !self.are_made {
            self.waiting.push((id.to_owned(), model));
        }
    }
}

impl Rounds<'_> {
    /// How often a finding is replayed when it is new.
    pub(super) fn times_at_first(&self) -> u64 {
        if self.repetitions.are_made { self.options.times } else { self.options.times.min(1) }
    }

    /// Whether it is said at once what harm a finding does.
    pub(super) fn judging_at_first(&self) -> Judging<'static> {
        if self.repetitions.are_made { Judging::Now } else { Judging::Later }
    }

    /// Replays everything as often as asked for that was replayed once only, as far as there is time.
    pub(super) fn repeat_replays(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.repetitions.are_made = true;
        let waiting = std::mem::take(&mut self.repetitions.waiting);
        if waiting.is_empty() || self.is_over() {
            return Ok(());
        }
        observer.begin(&Stage::Replaying { findings: waiting.len() });
        let total = Some(waiting.len() as u64);
        for ((id, model), done) in waiting.into_iter().zip(1..) {
            if self.is_over() {
                break;
            }
            observer.item(&id);
            self.repeat(&id, model, observer)?;
            observer.advance(Progress::Counted { done, total });
        }
        self.save()?;
        observer.end(None);
        Ok(())
    }

    fn repeat(&mut self, id: &str, model: Model, observer: &mut dyn Observer) -> Result<(), Error> {
        let Some(index) = self.predictions.findings.iter().position(|finding| finding.id == id) else {
            return Ok(());
        };
        let finding: &Finding = &self.predictions.findings[index];
        let replayed = finding.replay.as_ref().map_or(0, |replay| replay.times);
        let times = self.options.times.saturating_sub(replayed);
        if replayed == 0 || times == 0 {
            return Ok(());
        }
        let recording = finding.recording.clone();
        let is_open = |name: &String| self.explored.iter().any(|other| other.name == *name);
        let reopened = match recording.as_ref().filter(|name| !is_open(name)) {
            Some(name) => match self.open(name, observer)? {
                Some(file) => Some(file),
                None => return Ok(()),
            },
            None => None,
        };
        let explored = self.explored.iter().find(|other| recording.as_ref() == Some(&other.name));
        let file = reopened.as_ref().or(explored.map(|other| &other.file)).unwrap_or(self.first);
        let confirmer = Confirmer { model, times, judging: Judging::Now, ..self.confirmer(file) };
        let finding = &mut self.predictions.findings[index];
        confirmer.confirm(finding, &mut self.explorer, &mut self.ordinary)?;
        self.directory.save(&self.predictions)
    }
}
