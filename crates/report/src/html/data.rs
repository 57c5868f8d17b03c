//! What a page holds: the findings, the events they show as columns, and the source around them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use check::Question;
use serde::Serialize;
use trace::{BlockId, EventId, StackFrame, Trace};

use super::Extras;
use super::places::{LocationData, Passage, files, place_of, place_of_failure};
use super::window::{Room, Window, Windows};
use crate::context::{Context, Contexts};
use crate::edges::{EdgeKind, edges};
use crate::figures::counted;
use crate::fixes::{fix_in_words, no_fix_in_words, orders_in_words};
use crate::outcome::{ThreadAtEnd, effect, frequency, shown_frame, statement, threads_at_end};
use crate::suite::result_in_words;
use crate::summary::summary;
use crate::terminal::{further_in_words, reproduction, title};
use crate::values::changed_reads;
use crate::words::{listed, printable, shown, shown_object};
use findings::{Failure, Finding, FindingKind, Harm, Predictions, Size, Suite, SuiteTest, TestOutcome};

/// The most findings that a page lists.
const MOST_FINDINGS: usize = 2_000;

/// A candidate that cannot happen, with the reason.
#[derive(Clone, Debug, Serialize)]
pub struct RuledOut {
    /// What kind of bug it would be.
    pub kind: &'static str,
    /// The same, as a heading has it.
    pub kind_title: &'static str,
    /// What it would be about.
    pub object: String,
    /// What cannot happen.
    pub statement: String,
    /// Why, in one sentence.
    pub reason: String,
    /// Why, step by step.
    pub explanation: String,
    /// The places of its events.
    pub locations: Vec<String>,
}

/// All reachable states of a small trace: how many events of each thread have happened.
#[derive(Clone, Debug, Serialize)]
pub struct Lattice {
    /// In lexical order.
    pub states: Vec<Vec<u32>>,
}

#[derive(Serialize)]
pub(super) struct Data {
    version: &'static str,
    name: Option<String>,
    command: String,
    size: [usize; 4],
    model: &'static str,
    method: String,
    unknown: u64,
    suppressed: u64,
    left_out: usize,
    recordings: Vec<Recording>,
    files: BTreeMap<String, Vec<Passage>>,
    findings: Vec<FindingData>,
    ruled_out: Vec<RuledOut>,
    lattice: Option<Lattice>,
    /// What was searched, in sentences.
    covered: Vec<String>,
    suite: Option<SuiteData>,
}

/// A whole test command.
#[derive(Serialize)]
struct SuiteData {
    command: String,
    status: u8,
    tests: Vec<TestData>,
}

#[derive(Serialize)]
struct TestData {
    name: String,
    outcome: TestOutcome,
    runs: u64,
    behaviours: u64,
    seconds: String,
    result: String,
    findings: Vec<String>,
    /// Its own report, seen from this one.
    page: Option<String>,
}

/// A recording that findings are of; the first is the run's own.
#[derive(Serialize)]
struct Recording {
    threads: Vec<String>,
    created: Vec<Option<String>>,
    events: Columns,
}

/// The events that are shown, in the order of the trace, column by column.
#[derive(Default, Serialize)]
struct Columns {
    ids: Vec<u32>,
    threads: Vec<u32>,
    /// Indices of `kinds`.
    kind: Vec<usize>,
    /// Indices of `operations`: what is done to what.
    operation: Vec<usize>,
    /// Indices of `objects`: what is acted on.
    object: Vec<usize>,
    /// Indices of `places`.
    place: Vec<usize>,
    kinds: Vec<String>,
    operations: Vec<String>,
    objects: Vec<String>,
    places: Vec<LocationData>,
}

#[derive(Serialize)]
struct FindingData {
    id: String,
    /// The number of its recording.
    recording: usize,
    kind: &'static str,
    kind_title: &'static str,
    title: String,
    rung: &'static str,
    guaranteed: bool,
    count: u64,
    object: String,
    statement: String,
    /// What the program did when it happened.
    effect: Option<String>,
    /// What would fix it, verified.
    fix: Option<String>,
    harm: Option<&'static str>,
    /// How its output differed.
    difference: Vec<String>,
    /// Of a failure: its message.
    message: Option<String>,
    /// Of a failure: where the failing thread was, and what the others were doing.
    ended: Vec<EndedThread>,
    /// Of a failure: where it is in the source, which need not be where the thread's last event was.
    fails_at: Option<LocationData>,
    /// Of a failure: how often it was met.
    frequency: Option<String>,
    command: Option<String>,
    replay: Option<String>,
    events: Vec<i64>,
    locations: Vec<String>,
    /// Where else the same cause shows.
    further: Vec<String>,
    /// The tests that show it.
    tests: Vec<String>,
    accesses: Vec<Access>,
    allocations: Vec<Allocation>,
    threads: Vec<usize>,
    observed: Order,
    predicted: Order,
    next: usize,
    waits: Vec<Wait>,
}

#[derive(Serialize)]
struct Access {
    /// Nothing for a call that is no event: what is around it is not known.
    event: Option<u32>,
    text: String,
    held: String,
    stack: Vec<String>,
}

/// A thread when the program failed.
#[derive(Serialize)]
struct EndedThread {
    heading: String,
    stack: Vec<String>,
}

/// Where memory that the finding is about comes from.
#[derive(Serialize)]
struct Allocation {
    block: String,
    text: String,
    stack: Vec<String>,
}

/// Events in an order, as runs of consecutive ids, with its arrows.
#[derive(Serialize)]
struct Order {
    skipped: usize,
    runs: Vec<[u32; 2]>,
    edges: Vec<(usize, usize, EdgeKind)>,
    /// Steps at which a read sees something else than in the trace, and what.
    changed: Vec<(usize, String)>,
}

/// Who waits for what, and who has it.
#[derive(Serialize)]
struct Wait {
    thread: usize,
    object: String,
    holder: usize,
}

/// Gathers what the page holds.
pub(super) fn of(contexts: &Contexts<'_>, predictions: &Predictions, extras: Extras) -> Data {
    let findings = &predictions.findings[..predictions.findings.len().min(MOST_FINDINGS)];
    let mut room = Room::default();
    let mut used = vec![BTreeSet::new(); contexts.all().count()];
    let told = findings.iter().map(|finding| {
        let (context, number) = (contexts.of(finding), contexts.number(finding));
        let windows = room.windows(context, finding);
        used[number].extend(windows.observed.events.iter().chain(&windows.predicted.events));
        used[number].extend(finding.named_events());
        FindingData { recording: number, ..finding_data(context, finding, &windows) }
    });
    let told: Vec<FindingData> = told.collect();
    let recordings: Vec<Recording> =
        contexts.all().zip(&used).map(|(context, used)| recording(context, used)).collect();
    let places = recordings.iter().flat_map(|recording| &recording.events.places);
    let places = places.chain(told.iter().filter_map(|finding| finding.fails_at.as_ref()));
    let size = &predictions.trace;
    Data {
        version: env!("CARGO_PKG_VERSION"),
        name: contexts.own.name.clone(),
        command: contexts.own.trace.metadata().command.join(" "),
        size: [size.events, size.threads, size.locks, size.variables],
        model: predictions.model.name(),
        method: predictions.method.clone(),
        unknown: predictions.unknown,
        suppressed: predictions.suppressed,
        left_out: predictions.findings.len() - findings.len(),
        files: files(&contexts.own, places),
        recordings,
        findings: told,
        ruled_out: extras.ruled_out,
        lattice: extras.lattice,
        covered: covered(predictions, &extras.hidden),
        suite: predictions.suite.as_ref().map(suite),
    }
}

/// What was searched, and what was not.
fn covered(predictions: &Predictions, hidden: &str) -> Vec<String> {
    let Size { events, threads, locks, variables, .. } = predictions.trace;
    let sizes = [(events, "event"), (threads, "thread"), (locks, "lock"), (variables, "shared variable")];
    let sizes = listed(sizes.map(|(count, what)| counted(count as u64, what)).to_vec());
    let mut lines = vec![format!("The recorded run has {sizes}.")];
    if predictions.candidates > 0 {
        let candidates = counted(predictions.candidates, "candidate");
        lines.push(format!("Looked at: {candidates} in other orders of these events."));
    }
    if let Some(coverage) = &predictions.coverage {
        let (runs, behaviours) = (counted(coverage.runs, "run"), counted(coverage.behaviours, "behaviour"));
        lines.push(match coverage.exhausted {
            true => format!("In {runs} all of the program's {behaviours} for this input happened."),
            false => format!(
                "The program showed {behaviours} in {runs}; other input and other runs may show more."
            ),
        });
    } else {
        lines.push("Another run may reach other code.".to_owned());
    }
    lines.extend(hidden.lines().map(str::to_owned));
    let rest = summary(predictions);
    lines.extend(rest.lines().filter(|line| !line.starts_with("SUMMARY:")).map(str::to_owned));
    lines
}

fn suite(suite: &Suite) -> SuiteData {
    let test = |test: &SuiteTest| TestData {
        name: printable(&test.name),
        outcome: test.outcome,
        runs: test.runs,
        behaviours: test.behaviours,
        seconds: format!("{:.1}", test.milliseconds as f64 / 1000.0),
        result: result_in_words(test),
        findings: test.findings.clone(),
        page: test.directory.as_ref().map(|directory| {
            format!("{}/report.html", directory.replace('%', "%25").replace('?', "%3f").replace('#', "%23"))
        }),
    };
    let tests = suite.tests.iter().map(test).collect();
    SuiteData { command: printable(&suite.command.join(" ")), status: suite.status, tests }
}

/// What is shown of a recording.
fn recording(context: &Context<'_>, used: &BTreeSet<EventId>) -> Recording {
    let (trace, words) = (context.trace, context.words());
    let threads = (0..trace.symbols().threads.len()).map(trace::ThreadId::new);
    let created = threads.clone().map(|thread| {
        let fork = trace.fork_of(thread)?;
        Some(format!("created by {} at {}", words.thread_of(fork), words.location(fork)))
    });
    Recording {
        created: created.collect(),
        threads: threads.map(|thread| words.thread(thread)).collect(),
        events: columns(context, used),
    }
}

fn finding_data(context: &Context<'_>, finding: &Finding, windows: &Windows) -> FindingData {
    let words = context.words();
    let question = finding.question.about(context.trace).ok();
    let replay = finding.replay.as_ref().map(|replay| {
        let seen = format!("Happened in {} of {}", replay.confirmed, counted(replay.times, "replay"));
        replay.divergence.as_ref().map_or(seen.clone(), |where_| format!("{seen}; {where_}"))
    });
    let shown_events = context.shown_events(finding);
    let access = |(index, event): (usize, EventId)| match finding.locations.get(index) {
        Some(at) if !shown_events.contains(&event) => Access {
            event: None,
            text: format!("{} at {}", context.misuse_in_words(finding, event), shown(at)),
            held: String::new(),
            stack: Vec::new(),
        },
        _ => Access {
            event: Some(event.0),
            text: words.event_without_id(event),
            held: context.held_in_words(event),
            stack: context.shown_stack(event).iter().map(frame).collect(),
        },
    };
    let allocation = |(block, event): (BlockId, EventId)| Allocation {
        block: shown(context.trace.symbols().block(block)),
        text: format!("allocated by {} at {}", words.thread_of(event), words.location(event)),
        stack: context.shown_stack(event).iter().map(frame).collect(),
    };
    FindingData {
        id: finding.id.clone(),
        recording: 0,
        kind: finding.kind.name(),
        kind_title: finding.kind.title(),
        title: title(finding),
        rung: finding.rung.name(),
        guaranteed: finding.guaranteed,
        count: finding.count,
        object: shown_object(finding.kind, &finding.object),
        statement: statement(finding, || {
            question.as_ref().map(|question| words.possible(question)).unwrap_or_default()
        }),
        effect: effect(finding),
        fix: fix_in_words(finding).or_else(|| orders_in_words(finding)).or_else(|| no_fix_in_words(finding)),
        harm: finding.harm.map(Harm::name),
        difference: finding.difference.clone(),
        message: finding.failure.as_ref().map(|failure| printable(&failure.message)),
        ended: finding.failure.iter().flat_map(|failure| ended(context, failure)).collect(),
        fails_at: place_of_failure(finding),
        frequency: finding.failure.as_ref().map(frequency),
        command: reproduction(context, finding),
        replay,
        events: match finding.kind {
            FindingKind::Misuse => shown_events.iter().map(|event| i64::from(event.0)).collect(),
            _ => finding.events.clone(),
        },
        locations: finding.locations.iter().map(|location| shown(location)).collect(),
        further: finding.more.iter().map(|places| further_in_words(finding, places)).collect(),
        tests: finding.tests.iter().map(|test| printable(test)).collect(),
        accesses: finding.named_events().enumerate().map(access).collect(),
        allocations: context.allocations(finding).into_iter().map(allocation).collect(),
        threads: context.threads(finding).iter().map(|(thread, _)| thread.index()).collect(),
        observed: order(context.trace, &windows.observed, 0),
        predicted: predicted(context, finding, windows),
        next: windows.next,
        waits: waits(context, question.as_ref()),
    }
}

fn ended(context: &Context<'_>, failure: &Failure) -> Vec<EndedThread> {
    let threads = threads_at_end(context, failure).into_iter();
    let ended = |ThreadAtEnd { heading, stack }: ThreadAtEnd<'_>| EndedThread {
        heading,
        stack: stack.into_iter().map(shown_frame).collect(),
    };
    threads.map(ended).collect()
}

fn frame(frame: &StackFrame) -> String {
    format!("{} {}", shown(&frame.function), shown(&frame.location))
}

/// An order; what is next at its end has not happened, so that no arrow leads there.
fn order(trace: &Trace, window: &Window, next: usize) -> Order {
    let mut runs: Vec<[u32; 2]> = Vec::new();
    for event in &window.events {
        match runs.last_mut() {
            Some([first, count]) if *first + *count == event.0 => *count += 1,
            _ => runs.push([event.0, 1]),
        }
    }
    let edges = edges(trace, &window.events[..window.events.len().saturating_sub(next)]);
    let edges = edges.iter().map(|edge| (edge.from, edge.to, edge.kind)).collect();
    Order { skipped: window.skipped, runs, edges, changed: Vec::new() }
}

fn predicted(context: &Context<'_>, finding: &Finding, windows: &Windows) -> Order {
    let (words, window) = (context.words(), &windows.predicted);
    let positions: HashMap<EventId, usize> =
        window.events.iter().enumerate().map(|(position, &event)| (event, position)).collect();
    let changed = changed_reads(context.trace, &finding.schedule).into_iter().filter_map(|changed| {
        let position = *positions.get(&changed.read)?;
        let (sees, saw) = (words.source(changed.read, changed.sees), words.recorded_source(changed.read));
        Some((position, format!("sees {sees}, not {saw}")))
    });
    Order { changed: changed.collect(), ..order(context.trace, window, windows.next) }
}

/// The circle of a deadlock.
fn waits(context: &Context<'_>, question: Option<&Question>) -> Vec<Wait> {
    let Some(Question::Deadlock(blocked)) = question else { return Vec::new() };
    let wait = |(index, &event): (usize, &EventId)| Wait {
        thread: context.trace.thread(event).index(),
        object: context.words().object(context.trace.op(event)),
        holder: context.trace.thread(blocked[(index + 1) % blocked.len()]).index(),
    };
    blocked.iter().enumerate().map(wait).collect()
}

/// Numbers for things as they are met.
struct Numbers<K> {
    known: HashMap<K, usize>,
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    fn new() -> Self {
        Numbers { known: HashMap::new() }
    }

    /// The number of a thing, and whether it is new.
    fn of(&mut self, key: K) -> (usize, bool) {
        let next = self.known.len();
        let number = *self.known.entry(key).or_insert(next);
        (number, number == next)
    }
}

fn columns(context: &Context<'_>, used: &BTreeSet<EventId>) -> Columns {
    let (trace, words) = (context.trace, context.words());
    let mut columns = Columns::default();
    let (mut kinds, mut operations, mut objects, mut places) =
        (Numbers::new(), Numbers::new(), Numbers::new(), Numbers::new());
    for &event in used {
        let op = trace.op(event);
        columns.ids.push(event.0);
        columns.threads.push(trace.thread(event).0);
        let (kind, new) = kinds.of(op.kind());
        if new {
            columns.kinds.push(trace::text::op_name(op.kind()).to_owned());
        }
        columns.kind.push(kind);
        let (operation, new) = operations.of(words.operation(event));
        if new {
            columns.operations.push(words.operation(event));
        }
        columns.operation.push(operation);
        let (object, new) = objects.of(words.object(op));
        if new {
            columns.objects.push(words.object(op));
        }
        columns.object.push(object);
        let (place, new) = places.of(trace.location(event));
        if new {
            columns.places.push(place_of(context, event));
        }
        columns.place.push(place);
    }
    columns
}
