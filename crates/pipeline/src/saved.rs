//! Findings that were saved: `findings.json` in the directory of a trace, as `predict --json` prints it, or any file of that form.
//!
//! What is read is trusted no more than the trace: every finding is verified against the trace before it is shown.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use check::{Certainty, Model, Question, check_schedule};
use report::{Baseline, Finding, Predictions, Rung, SCHEMA};
use trace::Trace;

use crate::budget::{Bounds, in_words};
use crate::error::{Error, ErrorKind};
use crate::observer::Observer;
use crate::predict::{KnownIds, PredictOptions, predict};
use crate::trace_file::{ExploredTrace, TraceFile};

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

/// The trace and the finding that two words name; if there is only one, it is the finding, of the last hunt. A finding of
/// a replay that went its own way is of the recording of that.
pub fn named(first: &OsStr, second: Option<&str>) -> Result<(OsString, String), Error> {
    let (trace, id) = match second {
        Some(id) => (trace_of(first), id.to_owned()),
        None => (trace_of(OsStr::new(LATEST)), first.to_string_lossy().into_owned()),
    };
    let saved = saved_with(&trace)?;
    let mut findings = saved.iter().flat_map(|saved| &saved.findings);
    let Some(finding) = findings.find(|finding| finding.id == id) else { return Ok((trace, id)) };
    let Some(recording) = &finding.recording else { return Ok((trace, id)) };
    let trace = Path::new(&trace).with_file_name(recording).into_os_string();
    let id = match saved.as_ref().and_then(|saved| saved.suite.as_ref()) {
        Some(_) => id_of(finding, &trace)?,
        None => id,
    };
    Ok((trace, id))
}

/// The id that a finding of a suite has in its own test, whose trace this is.
fn id_of(finding: &Finding, trace: &OsStr) -> Result<String, Error> {
    let own = saved_with(trace)?;
    let is_same = |other: &&Finding| {
        other.kind == finding.kind && other.events == finding.events && other.schedule == finding.schedule
    };
    let same = own.iter().flat_map(|own| &own.findings).find(is_same);
    same.map(|same| same.id.clone()).ok_or_else(|| {
        Error::from(ErrorKind::NoSuchFinding(finding.id.clone())).in_file(trace.to_string_lossy())
    })
}

/// The findings that were saved in the directory of a trace, if there are any and they are about it.
pub fn saved_with(trace: &OsStr) -> Result<Option<Predictions>, Error> {
    let trace = Path::new(trace);
    let path = trace.with_file_name(FINDINGS);
    if trace == Path::new("-") || !path.is_file() {
        return Ok(None);
    }
    let predictions = read(&path)?;
    let named = predictions.trace.path.as_deref().map(Path::new).and_then(Path::file_name);
    let recordings = predictions.findings.iter().filter_map(|finding| finding.recording.as_deref());
    let is_theirs = recordings.map(OsStr::new).any(|recording| Some(recording) == trace.file_name());
    Ok((named == trace.file_name() || is_theirs).then_some(predictions))
}

/// The other recordings that findings are of.
pub fn others(
    findings: &Path,
    predictions: &Predictions,
    bounds: Bounds,
    observer: &mut dyn Observer,
) -> Result<Vec<ExploredTrace>, Error> {
    let mut names: Vec<&String> =
        predictions.findings.iter().filter_map(|finding| finding.recording.as_ref()).collect();
    names.sort_unstable();
    names.dedup();
    let directory = findings.parent().unwrap_or(Path::new(""));
    let explored = names.into_iter().map(|name| {
        let file = TraceFile::open_within(directory.join(name).as_os_str(), bounds, observer)?;
        let file = if predictions.suite.is_some() { file.seen_from_here() } else { file };
        Ok(ExploredTrace { name: name.clone(), file })
    });
    explored.collect()
}

/// The finding with this id, verified, and what is known of its search: saved with the trace, or found again.
pub fn finding(
    path: &OsStr,
    opened: &TraceFile,
    id: &str,
    options: &PredictOptions,
    observer: &mut dyn Observer,
) -> Result<Predictions, Error> {
    let saved = saved_with(path)?;
    let is_saved = |saved: &Predictions| saved.findings.iter().any(|finding| finding.id == id);
    let predictions = match saved {
        Some(saved) if is_saved(&saved) => saved,
        saved => {
            let known_ids = KnownIds::of(saved.iter().flat_map(|saved| &saved.findings));
            predict(opened, &PredictOptions { known_ids, ..options.clone() }, observer)?
        }
    };
    let finding = find(&predictions, id)?.clone();
    let recording = finding.recording.clone();
    let only = Predictions { findings: vec![finding], ..predictions };
    verify(&opened.trace, recording.as_deref(), &only, options.budget.bounds)?;
    Ok(only)
}

/// The ids under which findings were saved with a trace, for a search that gives the same findings the same ids.
pub fn ids_beside(trace: &OsStr) -> Result<KnownIds, Error> {
    let saved = saved_with(trace)?;
    Ok(KnownIds::of(saved.iter().flat_map(|saved| &saved.findings)))
}

fn find<'p>(predictions: &'p Predictions, id: &str) -> Result<&'p Finding, Error> {
    predictions.findings.iter().find(|finding| finding.id == id).ok_or_else(|| {
        let ids: Vec<&str> =
            predictions.findings.iter().map(|finding| finding.id.as_str()).take(12).collect();
        if let Some(stopped) = &predictions.stopped {
            let error = Error::from(ErrorKind::OutOfBounds(stopped.reason.clone()));
            return error.note(format!("`{id}` was not found by then"));
        }
        let error = Error::from(ErrorKind::NoSuchFinding(id.to_owned()));
        match (&ids[..], predictions.findings.len()) {
            ([], _) => error.note("nothing was found in this trace"),
            (_, all) if all > ids.len() => error.note(format!("there are {all}: {}, ..", ids.join(", "))),
            _ => error.note(format!("there are {}", ids.join(", "))),
        }
    })
}

/// The findings of an earlier search: those of a hunt's directory, or of a file.
pub fn baseline(path: &Path) -> Result<Baseline, Error> {
    Ok(Baseline::new(read(&findings_of(path))?.findings))
}

/// The findings that an argument names: a file of them, or the one in the directory of a run.
pub fn findings_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(FINDINGS),
        false => path.to_owned(),
    }
}

/// Reads saved findings.
pub fn read(path: &Path) -> Result<Predictions, Error> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| Error::io("read", format!("`{name}`"), error))?;
    parse(&name, &bytes)
}

/// The findings in a file that is called this.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Predictions, Error> {
    let predictions: Predictions = serde_json::from_slice(bytes).map_err(|error| {
        Error::from(ErrorKind::NotFindings)
            .in_file(name)
            .note(error.to_string())
            .help("`foretell predict --json` prints findings")
    })?;
    let recordings = || predictions.findings.iter().filter_map(|finding| finding.recording.as_deref());
    if let Some(recording) = recordings().find(|recording| !is_below(recording)) {
        return Err(Error::from(ErrorKind::NotARecording(report::shown(recording))).in_file(name));
    }
    match predictions.schema {
        SCHEMA => Ok(predictions),
        other => Err(Error::from(ErrorKind::UnknownSchema(other)).in_file(name)),
    }
}

/// Where the trace of saved findings is: in their directory, or as they name it.
pub fn trace_for(findings: &Path, predictions: &Predictions) -> Result<PathBuf, Error> {
    let directory = findings.parent().unwrap_or(Path::new(""));
    let named = predictions.trace.path.as_deref().map(Path::new);
    let in_directory = named.and_then(Path::file_name).map(|name| directory.join(name));
    let candidates = [
        Some(directory.join(TRACE)),
        in_directory,
        named.map(|path| directory.join(path)),
        named.map(Path::to_owned),
    ];
    let found = candidates.into_iter().flatten().find(|path| path.is_file());
    found.ok_or_else(|| {
        let name =
            named.map_or("which came through a pipe".to_owned(), |path| format!("`{}`", path.display()));
        Error::from(ErrorKind::NoTrace(name))
            .in_file(findings.display().to_string())
            .help("name it with `--trace`")
    })
}

/// Whether a path leads to a place below the directory it is seen from: nothing in it goes up or starts elsewhere. It has one spelling, so
/// that two names are two files.
pub(crate) fn is_below(path: &str) -> bool {
    let parts = || Path::new(path).components();
    parts().next().is_some()
        && parts().all(|part| matches!(part, Component::Normal(_)))
        && parts().collect::<PathBuf>().as_os_str() == path
}

/// Verifies that every finding of a recording (none: of the trace that the findings name) holds for it.
pub fn verify(
    trace: &Trace,
    recording: Option<&str>,
    predictions: &Predictions,
    bounds: Bounds,
) -> Result<(), Error> {
    let findings = predictions.findings.iter().filter(|finding| finding.recording.as_deref() == recording);
    findings.into_iter().try_for_each(|finding| {
        if let Some(bound) = bounds.reached() {
            let error = Error::from(ErrorKind::OutOfBounds(in_words(bounds, bound)));
            return Err(error.note(format!("{} and those after it were not verified", finding.id)));
        }
        holds(trace, finding, predictions.model).map_err(|why| {
            Error::from(ErrorKind::DoesNotHold(finding.id.clone()))
                .note(why)
                .help("the findings belong to another trace, or were changed; run `foretell predict` again")
        })
    })
}

fn holds(trace: &Trace, finding: &Finding, model: Model) -> Result<(), String> {
    if let Some((event, place)) = finding.ids().find(|(event, _)| event.index() >= trace.len()) {
        return Err(format!("{place}: there is no event {event}: the trace has {} events", trace.len()));
    }
    let question = finding.question.about(trace).map_err(|error| error.to_string())?;
    question.validate(trace).map_err(|error| error.to_string())?;
    let certainty = certainty(trace, &question, finding, model)?;
    match finding.guaranteed && !certainty.guaranteed {
        true => {
            Err("it claims to be guaranteed, but its schedule continues after a read that sees another value"
                .into())
        }
        false => Ok(()),
    }
}

/// What the checker makes of a finding's schedule, under the strongest model it fits. What is predicted keeps to what reads saw.
fn certainty(
    trace: &Trace,
    question: &Question,
    finding: &Finding,
    model: Model,
) -> Result<Certainty, String> {
    let checked = |model| check_schedule(trace, question, model, &finding.schedule);
    let fault = match checked(Model::ReadsFrom) {
        Ok(certainty) => return Ok(certainty),
        Err(fault) => fault,
    };
    match checked(model).or_else(|_| checked(Model::Sync)) {
        Ok(_) if finding.rung == Rung::Predicted => {
            Err(format!("it claims to be predicted, but is only possible: {fault}"))
        }
        checked => checked.map_err(|_| fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were there a thousand spellings of one name, its trace would be read a thousand times.
    #[test]
    fn a_recording_is_named_in_one_way() {
        for name in ["trace-2.ftr", "tests/bank/trace.ftr", "a..b", ".hidden"] {
            assert!(is_below(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "/etc/passwd",
            "../t.ftr",
            "a/../../t",
            "a//t.ftr",
            "./t.ftr",
            "a/./t.ftr",
            "t.ftr/",
        ] {
            assert!(!is_below(name), "{name}");
        }
    }
}
