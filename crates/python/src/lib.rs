//! Foretell for Python: the native half of the package `foretell`, whose other half (`python/foretell`) gives answers and findings
//! their Python form.
//!
//! Everything passes as numbers, names, bytes of columns, and the JSON of docs/json.md. Long work releases the interpreter's lock.

mod asking;
mod columns;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use generate::TraceSettings;
use papers::compare::{Comparison, TableKind};
use pipeline::predict::PredictOptions;
use pipeline::{Budget, Silent, TraceFile};
use pyo3::create_exception;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use report::{FindingKind, Words};
use trace::EventId;

create_exception!(foretell, ForetellError, PyValueError, "What Foretell refuses, and why.");

/// An error of Foretell with its notes and advice.
fn refused(error: pipeline::Error) -> PyErr {
    let mut message = match error.place() {
        Some(place) => match place.line {
            Some(line) => format!("{}:{line}: {error}", place.file),
            None => format!("{}: {error}", place.file),
        },
        None => error.to_string(),
    };
    for more in error.notes().iter().chain(error.advice()) {
        message.push_str("; ");
        message.push_str(more);
    }
    ForetellError::new_err(message)
}

fn wrong(what: impl ToString) -> PyErr {
    ForetellError::new_err(what.to_string())
}

/// A recorded run.
#[pyclass(frozen, module = "foretell._foretell")]
struct Trace {
    file: TraceFile,
}

/// One event, as the Python half takes it: thread, kind, object, location, memory order.
type EventRow = (String, &'static str, Option<String>, Option<String>, &'static str);

#[pymethods]
impl Trace {
    fn __len__(&self) -> usize {
        self.file.trace.len()
    }

    /// The name it was opened under.
    #[getter]
    fn name(&self) -> &str {
        &self.file.name
    }

    /// Whether the program can be run again along a schedule of it.
    #[getter]
    fn can_be_replayed(&self) -> bool {
        self.file.trace.can_be_replayed()
    }

    /// The names of the objects of a table: threads, variables, locks and so on.
    fn names(&self, table: &str) -> PyResult<Vec<String>> {
        columns::names(self.file.trace.symbols(), table)
    }

    /// A column of numbers as bytes.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| columns::column(&self.file.trace, name))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// One event.
    fn event(&self, id: usize) -> PyResult<EventRow> {
        let event = self.id(id)?;
        let trace = &self.file.trace;
        let words = Words::new(trace);
        let op = trace.op(event);
        let object = columns::has_object(op.kind()).then(|| words.object(op));
        let location = Some(words.location(event)).filter(|location| !location.is_empty());
        Ok((
            words.thread_of(event),
            op.kind().name(),
            object,
            location,
            columns::order_name(trace.memory_order(event)),
        ))
    }

    /// An event in words, as reports have it.
    fn words(&self, id: usize) -> PyResult<String> {
        Ok(Words::new(&self.file.trace).event(self.id(id)?))
    }

    /// Decides one question; the evidence, as JSON.
    #[pyo3(signature = (kind, text, model, budget))]
    fn ask(&self, py: Python<'_>, kind: &str, text: &str, model: &str, budget: u64) -> PyResult<String> {
        py.detach(|| asking::ask(&self.file, kind, text, model, budget))
    }

    /// Verifies evidence with the checker; raises if it does not hold.
    fn check(&self, py: Python<'_>, evidence: &str) -> PyResult<()> {
        py.detach(|| asking::check(&self.file.trace, evidence))
    }

    /// Evidence in words: a schedule as a table, a refutation step by step.
    fn explain(&self, evidence: &str) -> PyResult<String> {
        asking::explain(&self.file.trace, evidence)
    }

    /// Searches for bugs; the findings, as JSON.
    #[pyo3(signature = (only, model, method, every_instance, budget))]
    fn predict(
        &self,
        py: Python<'_>,
        only: Vec<String>,
        model: &str,
        method: Option<&str>,
        every_instance: bool,
        budget: u64,
    ) -> PyResult<String> {
        let kind = |name: &String| {
            let known = FindingKind::ALL.iter().copied().find(|kind| kind.name() == name);
            known.ok_or_else(|| wrong(format!("there is no kind of finding `{name}`")))
        };
        let options = PredictOptions {
            only: only.iter().map(kind).collect::<PyResult<_>>()?,
            model: model.parse().map_err(wrong)?,
            method: method.map(str::parse).transpose().map_err(wrong)?,
            every_instance,
            by_cause: !every_instance,
            budget: Budget::of_steps(budget),
            ..PredictOptions::default()
        };
        let found = py.detach(|| pipeline::predict::predict(&self.file, &options, &mut Silent));
        json(&found.map_err(refused)?)
    }

    /// What each method of the papers finds; the tables of `foretell compare`, as JSON.
    fn compare(&self, py: Python<'_>, tables: Vec<String>, budget: u64) -> PyResult<String> {
        let kind = |name: &String| {
            let named = TableKind::ALL.into_iter().find(|kind| kind.name() == name);
            named.ok_or_else(|| {
                wrong(format!("there is no table `{name}`: race, atomicity or nondeterminism"))
            })
        };
        let kinds = tables.iter().map(kind).collect::<PyResult<Vec<_>>>()?;
        let mut comparison = Comparison::default();
        py.detach(|| comparison.add(&self.file.name, &self.file.trace, &kinds, budget));
        json(&comparison)
    }

    /// The pairs of accesses that a method for races reports, undecided; those of `poly` are the decided ones.
    fn reported(&self, py: Python<'_>, method: &str) -> PyResult<Vec<(u32, u32)>> {
        py.detach(|| asking::reported(&self.file.trace, method))
    }

    /// How many global states of a class there are, in decimal: it may have many digits.
    fn count_states(&self, py: Python<'_>, class: &str, budget: u64) -> PyResult<String> {
        py.detach(|| asking::count_states(&self.file.trace, class, budget))
    }

    /// Whether a condition over global states can hold: a schedule to such a state, or nothing.
    fn possibly(&self, py: Python<'_>, condition: &str, budget: u64) -> PyResult<Option<Vec<u32>>> {
        py.detach(|| asking::possibly(&self.file.trace, condition, budget))
    }

    /// Writes it: as text if the name ends in `.std`, else in the native format.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let trace = &self.file.trace;
        py.detach(|| {
            let mut out = BufWriter::new(File::create(&path)?);
            match path.extension().is_some_and(|extension| extension == "std") {
                true => trace::text::write(trace, &mut out)?,
                false => trace::native::write(trace, &mut out)?,
            }
            out.flush()
        })?;
        Ok(())
    }

    /// The trace as text.
    fn text(&self) -> PyResult<String> {
        let mut text = Vec::new();
        trace::text::write(&self.file.trace, &mut text)?;
        String::from_utf8(text).map_err(wrong)
    }
}

impl Trace {
    fn id(&self, id: usize) -> PyResult<EventId> {
        match id < self.file.trace.len() {
            true => Ok(EventId::new(id)),
            false => Err(PyIndexError::new_err(format!("there is no event {id}"))),
        }
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(wrong)
}

/// Opens a trace in any format.
#[pyfunction]
fn open(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
    let opened = py.detach(|| TraceFile::open(path.as_os_str(), &mut Silent));
    opened.map(|file| Trace { file }).map_err(refused)
}

/// Reads a trace from text.
#[pyfunction]
fn parse(text: &str) -> PyResult<Trace> {
    let trace = trace::text::read_bytes(text.as_bytes()).map_err(wrong)?;
    Ok(Trace { file: TraceFile::in_memory(trace, "<text>") })
}

/// Generates a random trace.
#[pyfunction]
fn generate_trace(
    py: Python<'_>,
    events: u64,
    threads: u32,
    locks: u32,
    variables: u32,
    seed: u64,
) -> PyResult<Trace> {
    let settings = TraceSettings { seed, ..TraceSettings::large(events, threads, locks, variables) };
    let made = py.detach(|| generate::generate(&settings)).map_err(wrong)?;
    Ok(Trace { file: TraceFile::in_memory(made, "<generated>") })
}

/// Generates a tiny random trace with many kinds of events.
#[pyfunction]
fn generate_tiny(seed: u64) -> PyResult<Trace> {
    let made = generate::generate(&TraceSettings::tiny(seed)).map_err(wrong)?;
    Ok(Trace { file: TraceFile::in_memory(made, "<generated>") })
}

/// The native half of `foretell`.
#[pymodule]
fn _foretell(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ForetellError", module.py().get_type::<ForetellError>())?;
    module.add("KINDS", columns::kinds())?;
    module.add("FINDINGS", FindingKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>())?;
    module.add_class::<Trace>()?;
    for function in [
        wrap_pyfunction!(open, module)?,
        wrap_pyfunction!(parse, module)?,
        wrap_pyfunction!(generate_trace, module)?,
        wrap_pyfunction!(generate_tiny, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
