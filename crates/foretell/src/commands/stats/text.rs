//! The figures as tables for a person.

use trace::{EventId, Kind, Op, ThreadId, Trace};

use crate::table::Align::{Left, Right};
use crate::table::{Table, bytes, counted, name, number, share, title};
use pipeline::TraceFile;
use pipeline::survey::{Survey, ThreadFigures, VariableUse};

/// Everything, with at most `top` rows where rows could be many.
pub(super) fn render(opened: &TraceFile, survey: &Survey, top: usize) -> String {
    let trace = &opened.trace;
    let mut text = summary(opened);
    if trace.is_empty() {
        return text;
    }
    text.push_str(&threads(trace, survey, top));
    text.push_str(&kinds(trace, survey));
    text.push_str(&variables(trace, survey));
    text.push_str(&locks(trace, survey));
    text.push_str(&nesting(survey));
    text.push_str(&open_sections(trace, survey));
    text
}

fn summary(opened: &TraceFile) -> String {
    let trace = &opened.trace;
    let symbols = trace.symbols();
    let events = trace.len() as u64;
    let mut lines = vec![("trace", name(&opened.name))];
    let mut form = opened.form_in_words();
    if let Some(size) = opened.bytes {
        form = format!("{form}, {}{}", bytes(size), per_event(size, events));
    }
    lines.push(("form", form));
    lines.extend(opened.completeness_in_words().map(|complete| ("complete", complete)));
    let metadata = trace.metadata();
    if !metadata.command.is_empty() {
        lines.push(("command", metadata.command.iter().map(|word| name(word)).collect::<Vec<_>>().join(" ")));
    }
    if !metadata.directory.is_empty() {
        lines.push(("directory", name(&metadata.directory)));
    }
    for (setting, value) in &metadata.settings {
        lines.push(("recorder", format!("{} = {}", name(setting), name(value))));
    }
    if trace.notes().is_some() {
        lines.push(("replay", replay(trace).to_owned()));
    }
    lines.push(("events", number(events)));
    let objects = [
        (symbols.threads.len(), "thread"),
        (symbols.variables.len(), "variable"),
        (symbols.locks.len(), "lock"),
        (symbols.conditions.len(), "condition"),
        (symbols.barriers.len(), "barrier"),
        (symbols.semaphores.len(), "semaphore"),
        (symbols.blocks.len(), "memory block"),
        (symbols.regions.len(), "atomic region"),
        (symbols.marks.len(), "mark"),
        (symbols.locations.len(), "source location"),
    ];
    let present = objects.iter().filter(|(count, _)| *count > 0);
    let objects: Vec<String> = present.map(|&(count, what)| counted(count as u64, what)).collect();
    if !objects.is_empty() {
        lines.push(("objects", objects.join(", ")));
    }
    let (in_events, in_names) = trace.memory();
    let of_events = format!("{} for events{}", bytes(in_events as u64), per_event(in_events as u64, events));
    let memory = format!("{of_events}, {} for names", bytes(in_names as u64));
    lines.push(("memory", memory));
    lines.iter().map(|(what, value)| format!("{what:<10}{}\n", wrapped(value))).collect()
}

/// Whether a recording can be replayed, and if not, why.
fn replay(trace: &Trace) -> &'static str {
    match trace.can_be_replayed() {
        true => "can be replayed",
        false if trace.metadata().command.is_empty() => "cannot be replayed: its command is unknown",
        false => "cannot be replayed: some events have no place in the run",
    }
}

/// Lists are broken after a comma where the line gets long, and go on below their start.
fn wrapped(value: &str) -> String {
    const WIDTH: usize = 90;
    let mut text = String::new();
    let mut width = 0;
    for part in value.split_inclusive(", ") {
        let length = part.chars().count();
        if width > 0 && width + length > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n          ");
            width = 0;
        }
        text.push_str(part);
        width += length;
    }
    text
}

fn per_event(bytes: u64, events: u64) -> String {
    if events == 0 {
        String::new()
    } else {
        format!(" ({:.1} bytes per event)", bytes as f64 / events as f64)
    }
}

/// `THREADS`, or `THREADS (10 of 64)`.
fn title_of_top(what: &str, shown: usize, of: usize) -> String {
    if shown == of { title(what) } else { title(&format!("{what} ({shown} of {})", number(of as u64))) }
}

fn threads(trace: &Trace, survey: &Survey, top: usize) -> String {
    let mut by_events: Vec<&ThreadFigures> = survey.threads.iter().collect();
    by_events.sort_by_key(|figures| std::cmp::Reverse(figures.events));
    by_events.truncate(top);
    let mut table = Table::new(&[
        ("thread", Left),
        ("events", Right),
        ("share", Right),
        ("first", Right),
        ("last", Right),
        ("forked by", Left),
        ("at event", Right),
        ("ended", Left),
    ]);
    for figures in &by_events {
        let event = |event: Option<EventId>| event.map_or("-".to_owned(), |e| number(e.0.into()));
        table.row([
            name(trace.symbols().thread(figures.thread)),
            number(figures.events),
            share(figures.events, trace.len() as u64),
            event(figures.span.map(|(first, _)| first)),
            event(figures.span.map(|(_, last)| last)),
            figures.fork.map_or("-".to_owned(), |fork| name(trace.symbols().thread(trace.thread(fork)))),
            event(figures.fork),
            if figures.ended { "yes" } else { "no" }.to_owned(),
        ]);
    }
    title_of_top("Threads", by_events.len(), survey.threads.len()) + &table.render()
}

fn kinds(trace: &Trace, survey: &Survey) -> String {
    let mut table = Table::new(&[("kind", Left), ("events", Right), ("share", Right)]);
    let mut present: Vec<Kind> = Kind::ALL.iter().copied().filter(|&kind| survey.of_kind(kind) > 0).collect();
    present.sort_by_key(|&kind| std::cmp::Reverse(survey.of_kind(kind)));
    for kind in present {
        let count = survey.of_kind(kind);
        table.row([kind.words(), number(count), share(count, trace.len() as u64)]);
    }
    title("Events by kind") + &table.render()
}

fn variables(trace: &Trace, survey: &Survey) -> String {
    let sharing = survey.sharing;
    let classes = [
        ("one thread only", sharing.local),
        ("several threads, never written", sharing.read_only),
        ("several threads, written", sharing.written),
    ];
    let accesses: u64 = classes.iter().map(|(_, class)| class.accesses).sum();
    if accesses == 0 {
        return String::new();
    }
    let mut table = Table::new(&[
        ("variables used by", Left),
        ("variables", Right),
        ("accesses", Right),
        ("share", Right),
    ]);
    for (what, VariableUse { variables, accesses: of_class }) in classes {
        table.row([what.to_owned(), number(variables), number(of_class), share(of_class, accesses)]);
    }
    let mut text = title("Sharing") + &table.render();

    let reads = survey.reads;
    let all = reads.own_write + reads.other_thread + reads.initial_value;
    if all > 0 {
        let mut table = Table::new(&[("reads that saw", Left), ("reads", Right), ("share", Right)]);
        for (what, count) in [
            ("a write of their own thread", reads.own_write),
            ("a write of another thread", reads.other_thread),
            ("the initial value", reads.initial_value),
        ] {
            table.row([what.to_owned(), number(count), share(count, all)]);
        }
        text = text + "\n" + &table.render();
    }

    let mut table = Table::new(&[
        ("variable", Left),
        ("accesses", Right),
        ("share", Right),
        ("reads", Right),
        ("writes", Right),
        ("threads", Right),
    ]);
    for hot in &survey.hot_variables {
        table.row([
            name(trace.symbols().variable(hot.variable)),
            number(hot.accesses),
            share(hot.accesses, accesses),
            number(hot.reads),
            number(hot.writes),
            number(hot.threads),
        ]);
    }
    let used = sharing.local.variables + sharing.read_only.variables + sharing.written.variables;
    text + &title_of_top("Hottest variables", survey.hot_variables.len(), used as usize) + &table.render()
}

fn locks(trace: &Trace, survey: &Survey) -> String {
    if survey.hot_locks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("lock", Left),
        ("acquires", Right),
        ("shared", Right),
        ("recursive", Right),
        ("threads", Right),
        ("handovers", Right),
        ("most held", Right),
    ]);
    for hot in &survey.hot_locks {
        table.row([
            name(trace.symbols().lock(hot.lock)),
            number(hot.acquires),
            number(hot.shared),
            number(hot.recursive),
            number(hot.threads),
            number(hot.handovers),
            number(hot.deepest.into()),
        ]);
    }
    title_of_top("Hottest locks", survey.hot_locks.len(), trace.symbols().locks.len()) + &table.render()
}

fn nesting(survey: &Survey) -> String {
    let nesting = &survey.nesting;
    if nesting.acquires.is_empty() {
        return String::new();
    }
    let (acquires, accesses) = (nesting.acquires.iter().sum(), nesting.accesses.iter().sum());
    let mut table = Table::new(&[
        ("locks held", Right),
        ("acquires", Right),
        ("share", Right),
        ("accesses", Right),
        ("share", Right),
    ]);
    for depth in 0..nesting.acquires.len().max(nesting.accesses.len()) {
        let at = |histogram: &[u64]| histogram.get(depth).copied().unwrap_or(0);
        let (acquired, accessed) = (at(&nesting.acquires), at(&nesting.accesses));
        table.row([
            depth.to_string(),
            number(acquired),
            share(acquired, acquires),
            number(accessed),
            share(accessed, accesses),
        ]);
    }
    title("Lock nesting") + &table.render()
}

fn open_sections(trace: &Trace, survey: &Survey) -> String {
    if survey.open_sections == 0 {
        return String::new();
    }
    let mut table = Table::new(&[("lock", Left), ("held by", Left), ("since event", Right), ("at", Left)]);
    for &acquire in &survey.open_examples {
        let lock = match trace.op(acquire) {
            Op::Acquire(lock) | Op::AcquireShared(lock) => name(trace.symbols().lock(lock)),
            other => unreachable!("{other:?} does not open a section"),
        };
        table.row([
            lock,
            thread_name(trace, trace.thread(acquire)),
            number(acquire.0.into()),
            name(trace.symbols().location(trace.location(acquire))),
        ]);
    }
    title_of_top("Held at the end", survey.open_examples.len(), survey.open_sections as usize)
        + &table.render()
}

fn thread_name(trace: &Trace, thread: ThreadId) -> String {
    name(trace.symbols().thread(thread))
}
