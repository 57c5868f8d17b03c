//! Findings that were saved: `findings.json` beside a trace, as `predict --json` prints it, or any file of that form.
//!
//! What is read is trusted no more than the trace: every finding is verified against the trace before it is shown.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use check::{Model, check_schedule};
use report::{Finding, Predictions, SCHEMA};
use trace::Trace;

use crate::arguments::Manner;
use crate::commands::Search;
use crate::diagnostics::Diagnostic;
use crate::open::Opened;

/// What a run's findings are called in its directory.
pub const FINDINGS: &str = "findings.json";
/// What a run's trace is called in its directory.
pub const TRACE: &str = "trace.ftr";
/// The run that is meant when none is named.
pub const LATEST: &str = ".foretell/latest";

/// The trace that an argument names: itself, or the one in the directory of a run.
pub fn trace_of(argument: &OsStr) -> OsString {
    match Path::new(argument).is_dir() {
        true => Path::new(argument).join(TRACE).into(),
        false => argument.to_owned(),
    }
}

/// The trace and the finding that two words name; if there is only one, it is the finding, of the last hunt.
pub fn named(first: &OsStr, second: Option<&str>) -> (OsString, String) {
    match second {
        Some(id) => (trace_of(first), id.to_owned()),
        None => (trace_of(OsStr::new(LATEST)), first.to_string_lossy().into_owned()),
    }
}

/// The findings that were saved beside a trace, if there are any and they are about it.
pub fn beside(trace: &OsStr) -> Result<Option<Predictions>, Diagnostic> {
    let trace = Path::new(trace);
    let path = trace.with_file_name(FINDINGS);
    if trace == Path::new("-") || !path.is_file() {
        return Ok(None);
    }
    let predictions = read(&path)?;
    let named = predictions.trace.path.as_deref().map(Path::new).and_then(Path::file_name);
    Ok((named == trace.file_name()).then_some(predictions))
}

/// The finding with this id, verified, and what is known of its search: saved beside the trace, or found again.
pub(crate) fn finding(
    path: &OsStr,
    opened: &Opened,
    id: &str,
    search: &Search,
    manner: Manner,
) -> Result<Predictions, Diagnostic> {
    let predictions = match beside(path)? {
        Some(saved) => saved,
        None => search.run(opened, manner)?,
    };
    let finding = find(&predictions, id)?.clone();
    let only = Predictions { findings: vec![finding], ..predictions };
    verify(&opened.trace, &only)?;
    Ok(only)
}

fn find<'p>(predictions: &'p Predictions, id: &str) -> Result<&'p Finding, Diagnostic> {
    predictions.findings.iter().find(|finding| finding.id == id).ok_or_else(|| {
        let ids: Vec<&str> =
            predictions.findings.iter().map(|finding| finding.id.as_str()).take(12).collect();
        let error = Diagnostic::new(format!("there is no finding `{id}`"));
        match (&ids[..], predictions.findings.len()) {
            ([], _) => error.note("nothing was found in this trace"),
            (_, all) if all > ids.len() => error.note(format!("there are {all}: {}, ..", ids.join(", "))),
            _ => error.note(format!("there are {}", ids.join(", "))),
        }
    })
}

/// Reads saved findings.
pub fn read(path: &Path) -> Result<Predictions, Diagnostic> {
    let name = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|error| Diagnostic::from_io("read", &format!("`{name}`"), &error))?;
    let predictions: Predictions = serde_json::from_slice(&bytes).map_err(|error| {
        Diagnostic::new("these are no findings")
            .in_file(name.as_str())
            .note(error.to_string())
            .help("findings are what `foretell predict --json` prints")
    })?;
    match predictions.schema {
        SCHEMA => Ok(predictions),
        other => Err(Diagnostic::new(format!(
            "these findings are in form {other}, and this program knows {SCHEMA}"
        ))
        .in_file(name)),
    }
}

/// Where the trace of saved findings is: beside them, or as they name it.
pub fn trace_for(findings: &Path, predictions: &Predictions) -> Result<PathBuf, Diagnostic> {
    let directory = findings.parent().unwrap_or(Path::new(""));
    let named = predictions.trace.path.as_deref().map(Path::new);
    let beside = named.and_then(Path::file_name).map(|name| directory.join(name));
    let candidates = [
        Some(directory.join(TRACE)),
        beside,
        named.map(|path| directory.join(path)),
        named.map(Path::to_owned),
    ];
    let found = candidates.into_iter().flatten().find(|path| path.is_file());
    found.ok_or_else(|| {
        let name =
            named.map_or("which came through a pipe".to_owned(), |path| format!("`{}`", path.display()));
        Diagnostic::new(format!("the trace of these findings, {name}, is not there"))
            .in_file(findings.display().to_string())
            .help("name it with `--trace`")
    })
}

/// Verifies that every finding holds for the trace.
pub fn verify(trace: &Trace, predictions: &Predictions) -> Result<(), Diagnostic> {
    predictions.findings.iter().try_for_each(|finding| {
        holds(trace, finding, predictions.model.into()).map_err(|why| {
            Diagnostic::new(format!("{} does not hold for this trace", finding.id))
                .note(why)
                .help("the findings are of another trace, or were changed: predict again")
        })
    })
}

fn holds(trace: &Trace, finding: &Finding, model: Model) -> Result<(), String> {
    if let Some((event, place)) = finding.ids().find(|(event, _)| event.index() >= trace.len()) {
        return Err(format!("{place}: there is no event {event}: the trace has {} events", trace.len()));
    }
    let question = finding.question.about(trace).map_err(|error| error.to_string())?;
    question.validate(trace).map_err(|error| error.to_string())?;
    // A finding is shown by a schedule of the strongest model it is feasible under.
    let checked =
        [Model::ReadsFrom, model].map(|model| check_schedule(trace, &question, model, &finding.schedule));
    match checked {
        [Err(fault), Err(_)] => check_schedule(trace, &question, Model::Sync, &finding.schedule)
            .map(|_| ())
            .map_err(|_| fault.to_string()),
        _ => Ok(()),
    }
}
