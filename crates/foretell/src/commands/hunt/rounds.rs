//! Rounds: a recording is searched, its findings are replayed, and replays that went ways of their own are recordings for the next round.

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use report::{Finding, FindingKind, Predictions, Rung};

use super::Hunt;
use super::confirm::Confirming;
use super::expected::Recorded;
use super::explore::Exploring;
use super::run_directory::RunDirectory;
use crate::diagnostics::Diagnostic;
use crate::interrupts;
use crate::open::{Opened, open};
use crate::progress::Stage;
use crate::replaying::Replaying;
use crate::reporting::Explored;
use crate::table::counted;

/// So many reads are made to see something else, to find other ways.
const READS: usize = 12;
/// In a longer recording no such reads are looked for.
const LONGEST: usize = 50_000;

/// A hunt under way.
pub(super) struct Hunting<'a> {
    pub(super) hunt: &'a Hunt,
    pub(super) directory: &'a RunDirectory,
    /// No replay begins after that.
    pub(super) ends: Instant,
    /// What was found.
    pub(super) predictions: Predictions,
    /// The recordings of other ways, as far as they were searched.
    pub(super) others: Vec<Explored>,
    exploring: Exploring<'a>,
}

impl<'a> Hunting<'a> {
    /// A hunt that begins with this recording.
    pub(super) fn new(
        hunt: &'a Hunt,
        directory: &'a RunDirectory,
        first: &Opened,
        ends: Instant,
    ) -> Result<Self, Diagnostic> {
        let predictions = hunt.search.without_nondeterminism().head(first)?;
        let exploring = Exploring::new(directory, first, ends);
        Ok(Hunting { hunt, directory, ends, predictions, others: Vec::new(), exploring })
    }

    /// All rounds.
    pub(super) fn rounds(&mut self, first: &Opened) -> Result<(), Diagnostic> {
        // An interrupted hunt can be reported from its beginning on.
        self.save()?;
        self.exploring.is_over = self.hunt.rounds == 1;
        self.round(first, None)?;
        for round in 2..=self.hunt.rounds {
            self.exploring.is_over = round == self.hunt.rounds;
            let names = std::mem::take(&mut self.exploring.kept);
            if !names.is_empty() {
                self.hunt.tell(&format!(
                    "round {round}: {} took new paths",
                    counted(names.len() as u64, "replay")
                ));
            }
            for name in names {
                if self.is_over() {
                    return Ok(());
                }
                let opened = open(self.directory.recording(&name).as_os_str(), self.hunt.silent())?;
                self.round(&opened, Some(&name))?;
                self.others.push(Explored { name, opened });
            }
        }
        Ok(())
    }

    /// Searches a recording, replays what is new, and looks for other ways.
    fn round(&mut self, opened: &Opened, recording: Option<&str>) -> Result<(), Diagnostic> {
        let new = self.search(opened, recording)?;
        self.replay(opened, &new)?;
        self.wander(opened)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.ends || interrupts::came()
    }

    /// Searches a recording, one kind of bug after the other: what was found is kept whenever the search is ended. The ids of
    /// what is new.
    fn search(&mut self, opened: &Opened, recording: Option<&str>) -> Result<Vec<String>, Diagnostic> {
        // Each search has a bar of its own.
        let stage = Stage::begin("", self.hunt.silent());
        let (found, mut candidates, mut new) =
            (AtomicUsize::new(self.predictions.findings.len()), 0, Vec::new());
        let recorded = LazyCell::new(|| Recorded::new(&opened.trace));
        for search in self.hunt.search.without_nondeterminism().one_by_one()? {
            let mut of_kind = interrupts::ending_at_once(&found, || search.run(opened, self.hunt.manner))?;
            of_kind
                .findings
                .retain(|finding| finding.kind != FindingKind::Atomicity || !recorded.came_apart(finding));
            candidates += of_kind.candidates;
            self.predictions.candidates += of_kind.candidates;
            self.predictions.unknown += of_kind.unknown;
            self.predictions.refuted += of_kind.refuted;
            if recording.is_none() && of_kind.funnel.is_some() {
                self.predictions.funnel = of_kind.funnel;
            }
            for finding in of_kind.findings {
                new.extend(self.take(finding, recording));
            }
            self.save()?;
            found.store(self.predictions.findings.len(), Ordering::Relaxed);
        }
        let more = if recording.is_some() { " more" } else { "" };
        let findings = counted(new.len() as u64, "finding");
        let done = format!("predicted {findings}{more} from {}", counted(candidates, "candidate"));
        stage.end(&done, self.hunt.manner);
        Ok(new)
    }

    /// Takes a finding in, unless it is known; its id, if it is news.
    fn take(&mut self, finding: Finding, recording: Option<&str>) -> Option<String> {
        let finding = Finding { recording: recording.map(str::to_owned), ..finding };
        let findings = &mut self.predictions.findings;
        if let Some(known) = findings.iter_mut().find(|known| known.is_like(&finding)) {
            let better = known.rung < Rung::Predicted && finding.rung > known.rung;
            return better.then(|| {
                let id = known.id.clone();
                *known = Finding { id: id.clone(), ..finding };
                id
            });
        }
        let of_kind = findings.iter().filter(|known| known.kind == finding.kind).count();
        let id = format!("{}-{}", finding.kind.name(), of_kind + 1);
        findings.push(Finding { id: id.clone(), ..finding });
        Some(id)
    }

    /// Keeps what was found so far, the highest rungs first, as `predict` has them.
    fn save(&mut self) -> Result<(), Diagnostic> {
        self.predictions
            .findings
            .sort_by_key(|finding| (finding.inherent, Reverse(finding.rung), finding.kind));
        self.directory.save(&self.predictions)
    }

    /// Replays these findings.
    fn replay(&mut self, opened: &Opened, ids: &[String]) -> Result<(), Diagnostic> {
        if ids.is_empty() || self.hunt.times == 0 {
            return self.write_schedules(opened, ids);
        }
        let stage = Stage::of(ids.len(), "finding", self.hunt.manner);
        let model = self.predictions.model;
        let times = self.hunt.times;
        let (mut confirmed, mut tried) = (0, 0);
        for id in ids {
            let Some(index) = self.predictions.findings.iter().position(|finding| finding.id == *id) else {
                continue;
            };
            stage.at(&format!("replaying {id}"));
            let confirming = Confirming { opened, model, times, ends: self.ends, directory: self.directory };
            let finding = &mut self.predictions.findings[index];
            tried += u64::from(confirming.replay(finding, &mut self.exploring)?);
            confirmed += u64::from(finding.rung == Rung::Confirmed);
            // The order is settled at the end: ids stay where they are while it goes on.
            self.directory.save(&self.predictions)?;
            stage.step();
        }
        self.save()?;
        let left = ids.len() as u64 - tried;
        let not = match (left, interrupts::came()) {
            (0, _) => String::new(),
            (left, true) => format!("; {} not replayed: interrupted", counted(left, "finding")),
            (left, false) => format!("; {} not replayed: the time was up", counted(left, "finding")),
        };
        stage.end(&format!("replayed: {confirmed} confirmed{not}"), self.hunt.manner);
        Ok(())
    }

    fn write_schedules(&self, opened: &Opened, ids: &[String]) -> Result<(), Diagnostic> {
        let findings = self.predictions.findings.iter().filter(|finding| ids.contains(&finding.id));
        for finding in findings {
            self.directory.write_schedule(opened, finding, self.predictions.model)?;
        }
        Ok(())
    }

    /// Makes reads see something else than they saw, each in a replay, and looks whether the program takes another way then.
    fn wander(&mut self, opened: &Opened) -> Result<(), Diagnostic> {
        let searches_reads = self.hunt.search.looks_for_nondeterminism();
        if self.exploring.is_over || searches_reads || self.hunt.times == 0 || opened.trace.len() > LONGEST {
            return Ok(());
        }
        let stage = Stage::begin("looking for new paths", self.hunt.manner);
        let reads = self.hunt.search.only_nondeterminism().run(opened, self.hunt.silent())?;
        let mut places: Vec<&str> = Vec::new();
        for finding in &reads.findings {
            let place = finding.locations.first().map_or("", String::as_str);
            // One that races has been seen both ways.
            if finding.racy == Some(true) || places.contains(&place) {
                continue;
            }
            if self.is_over() || self.exploring.is_full() || places.len() == READS {
                break;
            }
            places.push(place);
            stage.at(&format!("looking for new paths from {place}"));
            let file = crate::schedules::schedule_file(opened, finding, reads.model, false)?;
            let Some(command) = run::replay::Command::recorded(opened.trace.metadata()) else { break };
            let mut replaying = Replaying::new(finding.id.clone(), &file, command)?;
            replaying.limit = self.exploring.limit();
            let _way = self.exploring.run(&replaying, opened)?;
        }
        stage.clear();
        Ok(())
    }
}
