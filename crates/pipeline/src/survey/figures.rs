//! All figures of a trace, as JSON has them. The contract is docs/json.md: fields may be added, not changed.

use std::collections::BTreeMap;

use serde::Serialize;
use trace::{EventId, Kind, Metadata, Op};

use super::{HotLock, HotVariable, Nesting, ReadFigures, Sharing, Survey, ThreadFigures};
use crate::trace_file::TraceFile;

/// All figures of a trace and its file.
#[derive(Debug, Serialize)]
pub struct TraceFigures<'a> {
    schema: u32,
    file: File<'a>,
    trace: Sizes,
    memory: Memory,
    metadata: Metadata,
    can_be_replayed: bool,
    threads: Vec<Thread<'a>>,
    kinds: BTreeMap<&'static str, u64>,
    sharing: Sharing,
    reads_from: ReadFigures,
    hottest_variables: Vec<Named<'a, HotVariable>>,
    hottest_locks: Vec<Named<'a, HotLock>>,
    nesting: &'a Nesting,
    open_sections: OpenSections<'a>,
}

/// An object among the hottest, with its name.
#[derive(Debug, Serialize)]
struct Named<'a, Figures> {
    name: &'a str,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize)]
struct File<'a> {
    name: &'a str,
    form: &'static str,
    compression: Option<&'static str>,
    bytes: Option<u64>,
    complete: bool,
}

#[derive(Debug, Serialize)]
struct Sizes {
    events: usize,
    threads: usize,
    variables: usize,
    locks: usize,
    conditions: usize,
    barriers: usize,
    semaphores: usize,
    blocks: usize,
    regions: usize,
    marks: usize,
    locations: usize,
}

#[derive(Debug, Serialize)]
struct Memory {
    events: usize,
    names: usize,
}

#[derive(Debug, Serialize)]
struct Thread<'a> {
    name: &'a str,
    events: u64,
    first: Option<EventId>,
    last: Option<EventId>,
    forked_by: Option<&'a str>,
    fork: Option<EventId>,
    ended: bool,
}

#[derive(Debug, Serialize)]
struct OpenSections<'a> {
    count: u64,
    first: Vec<OpenSection<'a>>,
}

#[derive(Debug, Serialize)]
struct OpenSection<'a> {
    lock: &'a str,
    thread: &'a str,
    acquire: EventId,
    location: &'a str,
}

impl<'a> TraceFigures<'a> {
    /// What a survey of this trace found.
    pub fn of(opened: &'a TraceFile, survey: &'a Survey) -> Self {
        let trace = &opened.trace;
        let symbols = trace.symbols();
        let (events, names) = trace.memory();
        TraceFigures {
            schema: 1,
            file: File {
                name: &opened.name,
                form: opened.form_name(),
                compression: opened.compression_name(),
                bytes: opened.bytes,
                complete: opened.is_complete(),
            },
            trace: Sizes {
                events: trace.len(),
                threads: symbols.threads.len(),
                variables: symbols.variables.len(),
                locks: symbols.locks.len(),
                conditions: symbols.conditions.len(),
                barriers: symbols.barriers.len(),
                semaphores: symbols.semaphores.len(),
                blocks: symbols.blocks.len(),
                regions: symbols.regions.len(),
                marks: trace.marks().len(),
                locations: symbols.locations.len(),
            },
            memory: Memory { events, names },
            metadata: without_values(trace.metadata()),
            can_be_replayed: trace.can_be_replayed(),
            threads: survey.threads.iter().map(|figures| thread(opened, figures)).collect(),
            kinds: kinds(survey),
            sharing: survey.sharing,
            reads_from: survey.reads,
            hottest_variables: survey
                .hot_variables
                .iter()
                .map(|&figures| Named { name: symbols.variable(figures.variable), figures })
                .collect(),
            hottest_locks: survey
                .hot_locks
                .iter()
                .map(|&figures| Named { name: symbols.lock(figures.lock), figures })
                .collect(),
            nesting: &survey.nesting,
            open_sections: open_sections(opened, survey),
        }
    }
}

fn thread<'a>(opened: &'a TraceFile, figures: &ThreadFigures) -> Thread<'a> {
    let trace = &opened.trace;
    Thread {
        name: trace.symbols().thread(figures.thread),
        events: figures.events,
        first: figures.span.map(|(first, _)| first),
        last: figures.span.map(|(_, last)| last),
        forked_by: figures.fork.map(|fork| trace.symbols().thread(trace.thread(fork))),
        fork: figures.fork,
        ended: figures.ended,
    }
}

/// The kinds that occur.
fn kinds(survey: &Survey) -> BTreeMap<&'static str, u64> {
    let counts = Kind::ALL.iter().map(|&kind| (kind.name(), survey.of_kind(kind)));
    counts.filter(|&(_, count)| count > 0).collect()
}

fn open_sections<'a>(opened: &'a TraceFile, survey: &Survey) -> OpenSections<'a> {
    let (trace, symbols) = (&opened.trace, opened.trace.symbols());
    let sections = survey.open_examples.iter().map(|&acquire| OpenSection {
        lock: match trace.op(acquire) {
            Op::Acquire(lock) | Op::AcquireShared(lock) => symbols.lock(lock),
            other => unreachable!("{other:?} does not open a section"),
        },
        thread: symbols.thread(trace.thread(acquire)),
        acquire,
        location: symbols.location(trace.location(acquire)),
    });
    OpenSections { count: survey.open_sections, first: sections.collect() }
}

/// Metadata without the values of environment variables: what is printed is passed on.
fn without_values(metadata: &Metadata) -> Metadata {
    let mut metadata = metadata.clone();
    metadata.forget_environment();
    metadata
}
