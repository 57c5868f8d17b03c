//! The figures as JSON. The contract is docs/json.md: fields may be added, not changed.

use std::collections::BTreeMap;

use serde::Serialize;
use trace::{Kind, Metadata, Op};

use pipeline::TraceFile;
use pipeline::survey::{ReadFigures, Sharing, Survey, ThreadFigures};

#[derive(Serialize)]
pub(super) struct Report<'a> {
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
    hottest_variables: Vec<Variable<'a>>,
    hottest_locks: Vec<Lock<'a>>,
    nesting: Nesting<'a>,
    open_sections: OpenSections<'a>,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    form: &'static str,
    compression: Option<&'static str>,
    bytes: Option<u64>,
    complete: bool,
}

#[derive(Serialize)]
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

#[derive(Serialize)]
struct Memory {
    events: usize,
    names: usize,
}

#[derive(Serialize)]
struct Thread<'a> {
    name: &'a str,
    events: u64,
    first: Option<u32>,
    last: Option<u32>,
    forked_by: Option<&'a str>,
    fork: Option<u32>,
    ended: bool,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    accesses: u64,
    reads: u64,
    writes: u64,
    threads: u64,
}

#[derive(Serialize)]
struct Lock<'a> {
    name: &'a str,
    acquires: u64,
    shared: u64,
    recursive: u64,
    threads: u64,
    handovers: u64,
    most_held: u32,
}

#[derive(Serialize)]
struct Nesting<'a> {
    acquires: &'a [u64],
    accesses: &'a [u64],
}

#[derive(Serialize)]
struct OpenSections<'a> {
    count: u64,
    first: Vec<OpenSection<'a>>,
}

#[derive(Serialize)]
struct OpenSection<'a> {
    lock: &'a str,
    thread: &'a str,
    acquire: u32,
    location: &'a str,
}

impl<'a> Report<'a> {
    pub(super) fn of(opened: &'a TraceFile, survey: &'a Survey) -> Self {
        let trace = &opened.trace;
        let symbols = trace.symbols();
        let (events, names) = trace.memory();
        Report {
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
            hottest_variables: variables(opened, survey),
            hottest_locks: locks(opened, survey),
            nesting: Nesting { acquires: &survey.nesting.acquires, accesses: &survey.nesting.accesses },
            open_sections: open_sections(opened, survey),
        }
    }
}

fn thread<'a>(opened: &'a TraceFile, figures: &ThreadFigures) -> Thread<'a> {
    let trace = &opened.trace;
    Thread {
        name: trace.symbols().thread(figures.thread),
        events: figures.events,
        first: figures.span.map(|(first, _)| first.0),
        last: figures.span.map(|(_, last)| last.0),
        forked_by: figures.fork.map(|fork| trace.symbols().thread(trace.thread(fork))),
        fork: figures.fork.map(|fork| fork.0),
        ended: figures.ended,
    }
}

/// The kinds that occur.
fn kinds(survey: &Survey) -> BTreeMap<&'static str, u64> {
    let counts = Kind::ALL.iter().map(|&kind| (kind.name(), survey.of_kind(kind)));
    counts.filter(|&(_, count)| count > 0).collect()
}

fn variables<'a>(opened: &'a TraceFile, survey: &Survey) -> Vec<Variable<'a>> {
    let row = |hot: &pipeline::survey::HotVariable| Variable {
        name: opened.trace.symbols().variable(hot.variable),
        accesses: hot.accesses,
        reads: hot.reads,
        writes: hot.writes,
        threads: hot.threads,
    };
    survey.hot_variables.iter().map(row).collect()
}

fn locks<'a>(opened: &'a TraceFile, survey: &Survey) -> Vec<Lock<'a>> {
    let row = |hot: &pipeline::survey::HotLock| Lock {
        name: opened.trace.symbols().lock(hot.lock),
        acquires: hot.acquires,
        shared: hot.shared,
        recursive: hot.recursive,
        threads: hot.threads,
        handovers: hot.handovers,
        most_held: hot.deepest,
    };
    survey.hot_locks.iter().map(row).collect()
}

fn open_sections<'a>(opened: &'a TraceFile, survey: &Survey) -> OpenSections<'a> {
    let (trace, symbols) = (&opened.trace, opened.trace.symbols());
    let sections = survey.open_examples.iter().map(|&acquire| OpenSection {
        lock: match trace.op(acquire) {
            Op::Acquire(lock) | Op::AcquireShared(lock) => symbols.lock(lock),
            other => unreachable!("{other:?} does not open a section"),
        },
        thread: symbols.thread(trace.thread(acquire)),
        acquire: acquire.0,
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
