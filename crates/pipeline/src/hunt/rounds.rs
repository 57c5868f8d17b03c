//! A recording is searched, and its findings are replayed; then runs are made towards new behaviours, and searched in turn.

mod announcements;
mod behaviours;
mod causes;
mod ladder;
mod pace;
mod patience;
pub(super) mod recordings;
mod reduce;
mod repeat;
mod unusual;

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::Path;

use check::WrittenQuestion;
use report::{Finding, FindingKind, Harm, HuntEnd, Predictions, Rung, ScheduleFile, Stopped, StoppedBy};
use run::failure::RunFailure;
use run::influences::hidden_synchronisers;
use trace::{Op, Trace};

use super::HuntOptions;
use super::confirm::Confirmer;
use super::expected::RecordedViolations;
use super::explore::Explorer;
use super::failures;
use super::ordinary::OrdinaryRuns;
use super::outcomes::{Outcomes, UnusualRun};
use super::record::RecordedRuns;
use super::run_directory::RunDirectory;
use crate::error::{Error, ErrorKind};
use crate::observer::{Event, NotReplayed, Observer, Progress, Stage, WithoutFindings};
use crate::predict::{PredictOptions, head, predict};
use crate::recorded_command::{ChosenBy, command_of};
use crate::trace_file::{ExploredTrace, TraceFile};
use announcements::Announcements;
use pace::Pace;
use patience::Patience;
use repeat::Repetitions;
use unusual::SearchedStatuses;

/// The most recordings of failed runs that are searched.
const MOST_SEARCHED_FAILURES: usize = 4;

/// Replays and other behaviours have as much of the time as this number of kinds of bugs, however long the searches for those would take.
const LATER_PARTS: u32 = 3;

/// Whether a recorded run was as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunResult {
    /// Yes, so a violation that already happened in it is how the program is meant to be.
    EndedWell,
    /// It failed.
    Failed,
}

/// A hunt under way.
pub(super) struct Rounds<'a> {
    options: &'a HuntOptions,
    directory: &'a RunDirectory,
    /// What was found.
    pub(super) predictions: Predictions,
    /// The recordings of new paths, as far as they were searched.
    pub(super) explored: Vec<ExploredTrace>,
    explorer: Explorer<'a>,
    ordinary: OrdinaryRuns,
    /// The recorded run.
    first: &'a TraceFile,
    /// Other recordings that are to be searched: of more runs, and of processes that the program started.
    others: Vec<String>,
    /// The recorded run failed, so what happened in it is not as it should be.
    recorded_run_failed: bool,
    /// How many recordings of runs that failed were searched.
    searched_failures: usize,
    /// The failures, by identity, whose runs were searched for what came apart in them.
    searched_for_causes: BTreeSet<String>,
    /// What was searched for the reason of other exit statuses.
    searched_statuses: SearchedStatuses,
    /// What is left to be replayed more often.
    repetitions: Repetitions,
    /// The program says which regions are to be atomic.
    has_regions: bool,
    /// Libraries that order threads out of sight: what is only predicted may be impossible.
    hidden: BTreeSet<String>,
    patience: Patience,
    announcements: Announcements,
    ended: HuntEnd,
    /// How often what was found is kept while findings are replayed.
    pace: Pace,
}

impl<'a> Rounds<'a> {
    /// A hunt that begins with this recording.
    pub(super) fn new(
        options: &'a HuntOptions,
        directory: &'a RunDirectory,
        first: &'a TraceFile,
        recorded: RecordedRuns,
    ) -> Result<Self, Error> {
        let mut predictions = head(first, &options.predict.without_nondeterminism())?;
        let RecordedRuns { ending, output, failure, failed, counts, others, outcomes, cut_after, .. } =
            recorded;
        predictions.stopped = cut_after.map(cut_recording);
        let mut explorer = Explorer::new(directory, first, options, counts);
        explorer.failed = failed;
        // How servers end depends on their clients.
        let is_comparable = failure.is_none() && options.drive.is_none();
        explorer.outcomes = Outcomes::of(Some(ending).filter(|_| is_comparable));
        for (ending, recording) in outcomes {
            if let Some(status) = explorer.outcomes.new_status(ending, 0) {
                explorer.outcomes.unusual.push(UnusualRun { status, recording });
            }
        }
        let command = command_of(first.trace.metadata(), ChosenBy::User).ok();
        let recorded_run_failed = failure.is_some();
        let ordinary = Some((ending, output, failure.clone())).filter(|_| ending.is_own());
        let ordinary = OrdinaryRuns::new(ordinary, command, &options.budget, &options.cancellation);
        let has_regions = first.trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)));
        let mut rounds = Rounds {
            options,
            directory,
            predictions,
            explored: Vec::new(),
            explorer,
            ordinary,
            first,
            others,
            recorded_run_failed,
            searched_failures: 0,
            searched_for_causes: BTreeSet::new(),
            searched_statuses: SearchedStatuses::default(),
            repetitions: Repetitions::of(options.times),
            has_regions,
            hidden: hidden_synchronisers(
                first.trace.metadata().modules.iter().map(|module| Path::new(&module.path)),
            ),
            patience: Patience::new(),
            announcements: Announcements::new(has_regions),
            ended: HuntEnd::default(),
            pace: Pace::new(),
        };
        if let Some(failure) = failure {
            rounds.take(failures::finding(&failure, &first.trace, None), None);
        }
        Ok(rounds)
    }

    /// All rounds.
    pub(super) fn run(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        // An interrupted hunt can be reported from its beginning on.
        self.save()?;
        self.warn_of_hidden_orders(observer);
        self.explorer.is_over = self.options.rounds == 1;
        self.take_failures(observer)?;
        if let Some(step) = &self.options.step {
            return self.take_step(step, observer);
        }
        self.search_recorded(observer)?;
        let explored = self
            .explore_behaviours(observer)
            .and_then(|()| self.settle_outcomes(observer))
            .and_then(|()| self.explain_failures(observer));
        explored.or_else(|error| self.end_early(error, observer))?;
        // Whatever was done at that moment.
        if self.options.cancellation.is_cancelled() {
            self.ended = HuntEnd::Stopped(StoppedBy::Interrupt);
        }
        Ok(())
    }

    /// Ends the hunt because one of its later runs could not be made or looked at: what was found before is reported all the same.
    fn end_early(&mut self, error: Error, observer: &mut dyn Observer) -> Result<(), Error> {
        let (by, reason) = (StoppedBy::Error, error.to_string());
        let mut stopped = Stopped { by, reason, unfinished: Vec::new(), left_out: 0 };
        self.predictions.stopped.take().into_iter().for_each(|before| stopped.join(before));
        self.predictions.stopped = Some(stopped);
        observer.warning(error);
        self.save()
    }

    /// Says once which libraries order threads out of sight, and what can be done.
    fn warn_of_hidden_orders(&self, observer: &mut dyn Observer) {
        if self.hidden.is_empty() {
            return;
        }
        let names: Vec<&str> = self.hidden.iter().map(String::as_str).collect();
        let warning = Error::from(ErrorKind::HiddenSynchronisation(names.join(", ")));
        observer.warning(
            warning.help(
                "build it with `foretell cc` or `foretell c++`, or annotate it (see docs/recording.md)",
            ),
        );
    }

    /// Replays what the recorded run itself has shown, and searches it.
    fn search_recorded(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let recorded = self.predictions.findings.iter().filter(|finding| finding.recording.is_none());
        let recorded: Vec<String> = recorded.map(|finding| finding.id.clone()).collect();
        self.replay(self.first, &recorded, observer)?;
        self.round(self.first, None, observer)?;
        for name in std::mem::take(&mut self.others) {
            if self.is_over() {
                break;
            }
            let Some(file) = self.open(&name, observer)? else { break };
            self.round(&file, Some(&name), observer)?;
            self.explored.push(ExploredTrace { name, file });
        }
        Ok(())
    }

    /// Searches a recording, replays what is new, and climbs the ladder.
    fn round(
        &mut self,
        file: &TraceFile,
        recording: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let run_result = match self.recorded_run_failed && recording.is_none() {
            true => RunResult::Failed,
            false => RunResult::EndedWell,
        };
        let mut new = self.search(file, recording, run_result, observer)?;
        self.put_worst_first(&mut new);
        self.replay(file, &new, observer)?;
        self.climb(file, recording, observer)?;
        self.take_failures(observer)
    }

    /// What is replayed first: a deadlock is a failure for certain, a use after free nearly so.
    fn put_worst_first(&self, ids: &mut [String]) {
        let kind = |id: &String| {
            let finding = self.predictions.findings.iter().find(|finding| finding.id == *id);
            finding.map(|finding| finding.kind)
        };
        ids.sort_by_key(|id| match kind(id) {
            Some(FindingKind::Deadlock) => 0,
            Some(FindingKind::Order) => 1,
            _ => 2,
        });
    }

    /// Takes in the runs that failed since, each as a finding, and replays them.
    fn take_failures(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while let Some((failure, name)) = self.explorer.failed.pop() {
            let message = failure.message.clone();
            let Some((failure, file)) = self.reduced(failure, &name, observer)? else {
                observer.warning(Error::from(ErrorKind::FailureNotRead(message)).in_file(name));
                continue;
            };
            let finding = failures::finding(&failure, &file.trace, Some(name.clone()));
            // A hang without a circle of locks, such as a lost wake-up, may be what a confirmed deadlock comes to.
            let comes_to = |known: &Finding| {
                let is_confirmed = known.kind == FindingKind::Deadlock && known.rung == Rung::Confirmed;
                is_confirmed && known.locations.iter().any(|place| finding.locations.contains(place))
            };
            if finding.is_stuck() && self.predictions.findings.iter().any(comes_to) {
                continue;
            }
            if let Some(id) = self.take(finding, Some(&name)) {
                self.replay(&file, &[id], observer)?;
                self.search_for_causes(&file, &name, observer)?;
                self.explored.push(ExploredTrace { name, file });
            }
        }
        Ok(())
    }

    /// A failure and the recording of it, with as few switches between threads as there is time for; none if there is no time to read it.
    fn reduced(
        &mut self,
        failure: RunFailure,
        name: &str,
        observer: &mut dyn Observer,
    ) -> Result<Option<(RunFailure, TraceFile)>, Error> {
        match self.open(name, observer)? {
            Some(file) => self.reduce(failure, name, file, observer),
            None => Ok(None),
        }
    }

    /// Searches the recording of a run that failed: what is wrong in it may be what made it fail.
    fn search_for_causes(
        &mut self,
        file: &TraceFile,
        recording: &str,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if self.is_over() || self.searched_failures == MOST_SEARCHED_FAILURES {
            return Ok(());
        }
        self.searched_failures += 1;
        let new = self.search(file, Some(recording), RunResult::Failed, observer)?;
        self.replay(file, &new, observer)
    }

    fn is_over(&self) -> bool {
        self.options.budget.is_exhausted() || self.options.cancellation.is_cancelled()
    }

    /// Searches a recording, one kind of bug after the other: what was found is kept whenever the search ends. The ids of
    /// what is new.
    fn search(
        &mut self,
        file: &TraceFile,
        recording: Option<&str>,
        run_result: RunResult,
        observer: &mut dyn Observer,
    ) -> Result<Vec<String>, Error> {
        observer.begin(&Stage::Predicting);
        let (mut candidates, mut new) = (0, Vec::new());
        let expected = LazyCell::new(|| RecordedViolations::new(&file.trace));
        let options = self.options.predict.without_nondeterminism();
        for options in (PredictOptions { later_parts: LATER_PARTS, ..options }).one_by_one()? {
            let mut of_kind = predict(file, &options, &mut WithoutFindings(observer))?;
            of_kind.findings.retain(|finding| {
                let is_meant = run_result == RunResult::EndedWell && expected.has(finding);
                finding.kind != FindingKind::Atomicity || !is_meant
            });
            candidates += of_kind.candidates;
            self.predictions.candidates += of_kind.candidates;
            self.predictions.refuted += of_kind.refuted;
            // A hunt explores until its time is up. That this happens in the middle of a search is as good as between two.
            if recording.is_none() || of_kind.stopped.is_none() {
                self.predictions.unknown += of_kind.unknown;
            }
            if recording.is_none() {
                let is_shown = self.has_regions || options.only != [FindingKind::Atomicity];
                self.note_unfinished(of_kind.stopped.map(|stopped| match is_shown {
                    true => stopped,
                    // What no replay has shown doing harm is no finding.
                    false => Stopped { left_out: 0, ..stopped },
                }));
                self.predictions.funnel = of_kind.funnel.or(self.predictions.funnel.take());
            }
            let before = new.len();
            for finding in of_kind.findings {
                new.extend(self.take(finding, recording));
            }
            self.save()?;
            let kept = self.predictions.findings.iter().filter(|finding| new[before..].contains(&finding.id));
            kept.for_each(|finding| observer.finding(finding));
        }
        // What comes now has all of the time that is left.
        self.options.budget.bounds.begin_share(1);
        let (findings, more) = (new.len() as u64, recording.is_some());
        observer.end(Some(&Event::Predicted { findings, candidates, more }));
        Ok(new)
    }

    /// Takes note of what was not searched for to the end in the recorded run.
    fn note_unfinished(&mut self, stopped: Option<Stopped>) {
        let Some(stopped) = stopped else { return };
        match &mut self.predictions.stopped {
            Some(before) => before.join(stopped),
            none => *none = Some(stopped),
        }
    }

    /// Takes a finding in, unless it is known; its id, if it is news.
    fn take(&mut self, finding: Finding, recording: Option<&str>) -> Option<String> {
        let finding = Finding { recording: recording.map(str::to_owned), ..finding };
        let findings = &mut self.predictions.findings;
        if let Some(known) = findings.iter_mut().find(|known| known.is_like(&finding)) {
            // A run that ended in what was predicted shows it.
            if finding.failure.is_some() && known.failure.is_none() {
                (known.rung, known.harm) = (Rung::Confirmed, finding.harm);
            }
            let better = known.rung < Rung::Predicted && finding.rung > known.rung;
            return better.then(|| {
                let id = known.id.clone();
                *known = Finding { id: id.clone(), ..finding };
                id
            });
        }
        let id = self.next_id(finding.kind);
        self.predictions.findings.push(Finding { id: id.clone(), ..finding });
        Some(id)
    }

    /// The id of the next finding of a kind.
    fn next_id(&self, kind: FindingKind) -> String {
        let of_kind = self.predictions.findings.iter().filter(|known| known.kind == kind).count();
        format!("{}-{}", kind.name(), of_kind + 1)
    }

    /// What replays the findings of a recording.
    fn confirmer<'f>(&self, file: &'f TraceFile) -> Confirmer<'f>
    where
        'a: 'f,
    {
        Confirmer {
            file,
            model: self.predictions.model,
            times: self.times_at_first(),
            budget: &self.options.budget,
            cancellation: &self.options.cancellation,
            directory: self.directory,
            recorded: &self.first.trace,
            judging: self.judging_at_first(),
        }
    }

    /// Keeps what was found so far, as it is to be shown: failures first, then what was seen doing harm, then the highest rungs.
    pub(super) fn save(&mut self) -> Result<(), Error> {
        let has_regions = self.has_regions;
        let has_hidden_orders = !self.hidden.is_empty();
        let explained = join_with_races(&mut self.predictions.findings);
        for finding in &mut self.predictions.findings {
            let may_be_impossible =
                has_hidden_orders && finding.rung == Rung::Predicted && finding.kind.depends_on_order();
            let may_be_meant = is_read_of_cleared_memory(finding, &self.first.trace)
                && !finding.harm.is_some_and(Harm::is_visible);
            let is_explained = explained.contains(&finding.id);
            let is_hidden = may_be_impossible || may_be_meant || is_explained;
            finding.shown = Some(finding.is_shown_in_hunt(has_regions) && !is_hidden);
        }
        self.explorer.counts.settle(&mut self.predictions.findings);
        self.predictions.coverage = Some(self.covered());
        self.predictions.findings.sort_by_key(Finding::rank);
        self.patience.note(&self.predictions.findings);
        self.pace.time(|| self.directory.save(&self.predictions))
    }

    /// Replays these findings.
    fn replay(&mut self, file: &TraceFile, ids: &[String], observer: &mut dyn Observer) -> Result<(), Error> {
        if ids.is_empty() || self.options.times == 0 {
            return self.write_schedules(file, ids);
        }
        observer.begin(&Stage::Replaying { findings: ids.len() });
        let confirmer = self.confirmer(file);
        let (mut confirmed, mut tried, mut done) = (0, 0, 0);
        for id in ids {
            let Some(index) = self.predictions.findings.iter().position(|finding| finding.id == *id) else {
                continue;
            };
            observer.item(id);
            let finding = &mut self.predictions.findings[index];
            match confirmer.confirm(finding, &mut self.explorer, &mut self.ordinary) {
                Ok(was_tried) => tried += u64::from(was_tried),
                // A thread that the C library made, for a timer, say: what it does is seen, but cannot be arranged.
                Err(error) if matches!(error.kind(), ErrorKind::NotReplayable(_)) => observer.warning(error),
                Err(error) => return Err(error),
            }
            self.announcements.announce(finding, observer);
            confirmed += u64::from(finding.rung == Rung::Confirmed);
            self.repetitions.note(id, confirmer.model);
            // The order is settled at the end: ids stay where they are while it goes on.
            if self.pace.is_due() {
                self.pace.time(|| self.directory.save(&self.predictions))?;
            }
            done += 1;
            observer.advance(Progress::Counted { done, total: Some(ids.len() as u64) });
        }
        self.save()?;
        let left = ids.len() as u64 - tried;
        let why = match command_of(file.trace.metadata(), ChosenBy::User) {
            _ if self.options.cancellation.is_cancelled() => NotReplayed::Interrupted,
            Ok(_) => NotReplayed::TimeUp,
            Err(_) => NotReplayed::OfChild,
        };
        observer.end(Some(&Event::Replayed { confirmed, left, why }));
        Ok(())
    }

    fn write_schedules(&self, file: &TraceFile, ids: &[String]) -> Result<(), Error> {
        let findings = self.predictions.findings.iter().filter(|finding| ids.contains(&finding.id));
        let write = |finding| self.directory.write_schedule(file, finding, self.predictions.model);
        findings.map(write).try_for_each(|schedule: Result<ScheduleFile, Error>| schedule.map(|_| ()))
    }
}

/// What is left of a run if only its first events were recorded, up to this number.
fn cut_recording(events: u64) -> Stopped {
    let reason =
        format!("the recording ends after {} events, before the program does", report::number(events));
    Stopped { by: StoppedBy::Events, reason, unfinished: Vec::new(), left_out: 0 }
}

/// What the accesses of a race do when they come in the other order is the harm of the race: it is told there. The ids of the atomicity
/// violations that say the same once more.
fn join_with_races(findings: &mut [Finding]) -> BTreeSet<String> {
    let mut explained = BTreeSet::new();
    for at in 0..findings.len() {
        let violation = &findings[at];
        // What makes the program fail is told with all that leads to it.
        let differs = matches!(violation.harm, Some(Harm::Status | Harm::Output));
        if violation.kind != FindingKind::Atomicity || !differs {
            continue;
        }
        let is_race_of_it = |race: &Finding| {
            race.kind == FindingKind::Race
                && race.rung == Rung::Confirmed
                && race.object == violation.object
                && race.locations.iter().all(|place| violation.locations.contains(place))
        };
        let Some(race) = findings.iter().position(is_race_of_it) else { continue };
        explained.insert(violation.id.clone());
        if !findings[race].harm.is_some_and(Harm::is_visible) {
            let (harm, difference) = (violation.harm, violation.difference.clone());
            (findings[race].harm, findings[race].difference) = (harm, difference);
        }
    }
    explained
}

/// Whether a finding says that memory is read before it is initialised, although `calloc` has cleared it: the language allows that, so it is
/// an error only if the program does not expect zeroes.
fn is_read_of_cleared_memory(finding: &Finding, trace: &Trace) -> bool {
    let is_read = matches!(finding.question, WrittenQuestion::Reads { .. });
    let is_part = |block: &String| {
        let rest = finding.object.strip_prefix(block.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '[', '+', '#']))
    };
    finding.kind == FindingKind::Order && is_read && trace.metadata().cleared.iter().any(is_part)
}
