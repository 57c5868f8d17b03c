//! `foretell convert`: a trace from one form to another.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use trace::text::DropCounts;
use trace::{Trace, native, text};

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output::{self, Form, OutputTarget};
use crate::progress::{self, Watched};
use crate::table::{bytes, counted, number};
use pipeline::Bounds;
use pipeline::budget::{BoundedWriter, ensure_within};

const EXAMPLES: &str = "\
The extension of B chooses its format: `.ftr` is the native format; everything
else is STD text, compressed if it ends in `.gz` or `.zst`. The content of A
decides how it is read.

Examples:
  foretell convert trace.std.gz trace.ftr     to the native format, the fastest
  foretell convert run.ftr run.std.zst        to compressed text
  foretell convert run.ftr - | head           to text on standard output
  foretell convert --rapid run.ftr run.std    to what the RAPID tools accept";

/// Convert a trace to another format.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    /// The trace to read, in any format; `-` is standard input.
    #[arg(value_name = "A")]
    from: OsString,
    /// The file to write or replace; `-` is standard output, as text.
    #[arg(value_name = "B")]
    to: OsString,
    /// Write only what the RAPID tools accept, and report how many events were left out.
    #[arg(long)]
    rapid: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    from: &'a str,
    to: &'a str,
    events: usize,
    bytes: u64,
    dropped: BTreeMap<&'static str, u64>,
}

impl Convert {
    /// Reads, writes, and says what was written.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let target = OutputTarget::named(&self.to)?;
        self.refuse_contradictions(&target)?;
        let bounds = self.limits.start();
        let opened = open_as(&self.from, self.reading, bounds, self.mode)?;
        let trace = &opened.trace;

        let written = match self.write(trace, &target, bounds) {
            Ok(written) => written,
            Err(failed) => {
                ensure_within(bounds)?;
                return Err(failed);
            }
        };
        let Some((written, dropped)) = written else {
            return Ok(Exit::Nothing);
        };
        if let Some(dropped) = dropped.as_ref().filter(|dropped| dropped.total() > 0) {
            warn_of_dropped(dropped);
        }
        let events = trace.len() as u64 - dropped.as_ref().map_or(0, DropCounts::total);
        if self.mode.json {
            output::print_json(&Report {
                schema: 1,
                from: &opened.name,
                to: &target.name(),
                events: events as usize,
                bytes: written,
                dropped: dropped.iter().flat_map(DropCounts::kinds).map(|(k, n)| (k.name(), n)).collect(),
            })?;
        } else if !self.mode.quiet && target != OutputTarget::Stdout {
            eprintln!("wrote {} to {} ({})", counted(events, "event"), target.name(), bytes(written));
        }
        Ok(Exit::Nothing)
    }

    fn refuse_contradictions(&self, target: &OutputTarget) -> Result<(), Diagnostic> {
        if self.rapid && target.form() == Form::Native {
            return Err(Diagnostic::new("`--rapid` writes text, but `.ftr` is the native format")
                .help("give the output a name that ends in `.std`"));
        }
        if self.mode.json && *target == OutputTarget::Stdout {
            return Err(output::two_on_stdout());
        }
        Ok(())
    }

    /// How many bytes were written, and what RAPID would not have understood. `None`: the reader of
    /// standard output went away.
    fn write(
        &self,
        trace: &Trace,
        target: &OutputTarget,
        bounds: Bounds,
    ) -> Result<Option<(u64, Option<DropCounts>)>, Diagnostic> {
        let bar = progress::of_unknown("writing", self.mode);
        let result = target.write(|out| {
            let mut out = Watched { inner: BoundedWriter { inner: out, bounds }, bar: bar.clone() };
            let dropped = self.write_form(trace, target.form(), &mut out)?;
            out.flush()?;
            Ok(dropped)
        });
        bar.finish_and_clear();
        Ok(result?.map(|dropped| (target.size().unwrap_or(bar.position()), dropped)))
    }

    fn write_form(&self, trace: &Trace, form: Form, out: &mut impl Write) -> io::Result<Option<DropCounts>> {
        match form {
            Form::Native => native::write(trace, out).map(|()| None),
            Form::Text(_) if self.rapid => text::write_rapid(trace, out).map(Some),
            Form::Text(_) => text::write(trace, out).map(|()| None),
        }
    }
}

fn warn_of_dropped(dropped: &DropCounts) {
    let kinds: Vec<String> = dropped.kinds().map(|(k, n)| format!("{} {}", number(n), k.words())).collect();
    let title = format!("left out {} that RAPID does not accept", counted(dropped.total(), "event"));
    Diagnostic::new(title).note(format!("by kind: {}", kinds.join(", "))).print_warning();
}
