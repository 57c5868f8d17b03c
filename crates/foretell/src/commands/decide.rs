//! `foretell decide`: one question about a trace, answered with evidence.
//!
//! Whatever is printed or written has been verified by [`check`] first.

mod asking;

use std::ffi::OsString;

use check::{Model, Question};
use clap::Args;
use pipeline::answer::{Answer, answer};
use pipeline::budget::in_words;
use pipeline::predict::refuse_without_branches;
use pipeline::{Bounds, Budget, TraceFile};
use report::{About, AnswerInWords, Fingerprint, ScheduleFile, Steps};
use trace::Trace;

use pipeline::predict::MemoryOrders;

use crate::arguments::{model, one_of};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::heartbeat::Heartbeat;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output::{self, OutputTarget};
use crate::quantity::quantity;

const EXAMPLES: &str = "\
Name an event by its id (its 0-based position in the trace) or by its source
location if only one event fits (`@12` if the location is a number). The initial
value is `initial` or -1.

Examples:
  foretell decide run.ftr --race 4,9              can 4 and 9 race?
  foretell decide run.ftr --race a.c:10,b.c:3 --explain
                                                  if not: why, step by step
  foretell decide run.ftr --order 3,8,5           can 8 come between 3 and 5?
  foretell decide run.ftr --deadlock 4,9          can 4 and 9 block each other?
  foretell decide run.ftr --reads 7=initial       can read 7 miss every write?
  foretell decide run.ftr --cut T1=3,T2=5         can this state be reached?
  foretell decide run.ftr --race 4,9 --json > race.json
                                                  for `foretell check race.json`

Every schedule and refutation is verified before it is shown. With `--quiet`,
only the verdict is printed.

Exit status: 0 infeasible, 1 feasible, 2 usage or input error (or a defect in
foretell, and the message says so), 3 unknown: the budget, the time or the
memory ran out.";

/// Decide one question about a trace, with a schedule or a refutation as evidence.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Decide {
    /// The trace, in any format; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    #[command(flatten)]
    asking: asking::Asking,
    /// What reads must see in a schedule. `rf`: what they saw in the trace. `branch`: the same, but only if their
    /// thread takes a branch afterwards. `sync`: anything.
    #[arg(long, value_name = "M", value_parser = model(), default_value = Model::ReadsFrom.name(), hide_possible_values = true)]
    model: Model,
    /// What the memory orders of atomic operations mean to races: as `recorded` (see docs/memory-orders.md), or all `sc`.
    #[arg(long, value_name = "ORDER", value_parser = one_of(MemoryOrders::ALL, MemoryOrders::name))]
    #[arg(default_value = MemoryOrders::Recorded.name(), hide_possible_values = true)]
    memory_order: MemoryOrders,
    /// Explain a refutation step by step.
    #[arg(long)]
    explain: bool,
    /// Show every step of a long schedule.
    #[arg(long)]
    all_steps: bool,
    /// Write the schedule, if there is one, to this file (see docs/schedule-format.md).
    #[arg(long, value_name = "FILE")]
    schedule_out: Option<OsString>,
    /// The maximum number of steps of the search.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "200M")]
    budget: u64,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Decide {
    /// Decides, and prints the verdict.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let target = self.target()?;
        let bounds = self.limits.start();
        let opened =
            open_as(&self.trace, self.reading, bounds, self.mode)?.with_memory_orders(self.memory_order);
        self.answer(&opened, bounds, target.as_ref())
    }

    fn target(&self) -> Result<Option<OutputTarget>, Diagnostic> {
        let target = self.schedule_out.as_deref().map(OutputTarget::named).transpose()?;
        match target {
            Some(OutputTarget::Stdout) => {
                Err(Diagnostic::new("the schedule and the verdict cannot both go to standard output")
                    .help("name a file to write the schedule to"))
            }
            target => Ok(target),
        }
    }

    fn answer(
        &self,
        opened: &TraceFile,
        bounds: Bounds,
        target: Option<&OutputTarget>,
    ) -> Result<Exit, Diagnostic> {
        let trace = &opened.trace;
        let model = self.model;
        let question = self.asking.text().parse(trace)?;
        if model == Model::Branch {
            refuse_without_branches(trace)?;
        }
        let mut heartbeat = Heartbeat::new(self.mode);
        heartbeat.begin("deciding".to_owned());
        let answer = answer(trace, &question, model, &Budget { bounds, steps: self.budget })?;
        heartbeat.stop();
        let about = || About::new(self.path(), Fingerprint::of(trace));
        if let Some(target) = target {
            self.write_schedule(trace, &question, model, &answer, about(), target)?;
        }
        if self.mode.json {
            output::print_json(&answer.evidence(trace, &question, model, about()))?;
        } else {
            output::print(&self.render(trace, &question, model, &answer, bounds))?;
        }
        Ok(match answer {
            Answer::Feasible { .. } => Exit::Findings,
            Answer::Infeasible(_) => Exit::Nothing,
            Answer::Unknown { .. } => Exit::Budget,
        })
    }

    /// Where the trace can be found again.
    fn path(&self) -> Option<String> {
        (self.trace != "-").then(|| self.trace.to_string_lossy().into_owned())
    }

    fn write_schedule(
        &self,
        trace: &Trace,
        question: &Question,
        model: Model,
        answer: &Answer,
        about: About,
        target: &OutputTarget,
    ) -> Result<(), Diagnostic> {
        let Answer::Feasible { schedule, guaranteed } = answer else {
            let title = format!("there is no schedule, so `{}` was not written", target.name());
            Diagnostic::new(title).print_warning();
            return Ok(());
        };
        let file = ScheduleFile::new(trace, question, model, about, *guaranteed, schedule)
            .map_err(|error| Diagnostic::new(error.to_string()).in_file(self.trace.to_string_lossy()))?;
        target.write(|out| write!(out, "{file}"))?;
        Ok(())
    }

    fn render(
        &self,
        trace: &Trace,
        question: &Question,
        model: Model,
        answer: &Answer,
        bounds: Bounds,
    ) -> String {
        let text = AnswerInWords { trace, question, model };
        let verdict = text.verdict(answer.verdict());
        if self.mode.quiet {
            return verdict;
        }
        let steps = if self.all_steps { Steps::All } else { Steps::Telling };
        let rest = match answer {
            Answer::Feasible { schedule, guaranteed } => text.feasible(schedule, *guaranteed, steps),
            Answer::Infeasible(refutation) if self.explain => text.explained(refutation),
            Answer::Infeasible(refutation) => text.infeasible(refutation),
            Answer::Unknown { bound: Some(bound), .. } => format!("Stopped: {}.\n", in_words(bounds, *bound)),
            Answer::Unknown { budget, bound: None } => text.unknown(*budget),
        };
        format!("{verdict}{rest}")
    }
}
