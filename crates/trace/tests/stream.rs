//! Streamed events are those of the trace, under the same ids and names, whatever the blocks and chunks they come in.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use trace::stream::Batch;
use trace::{EventId, Op, Trace, native, text};

/// Longer than a block of text and than a chunk of the native form, with threads called by number on the way.
fn long() -> String {
    let mut lines = String::from("#! semaphore s 3\nmain|fork(1)|a.c:1\n");
    for index in 0..150_000 {
        let thread = if index % 3 == 0 { "T1" } else { "main" };
        let _ = writeln!(lines, "{thread}|{}(x{})|a.c:{}", ["r", "w"][index % 2], index % 777, index % 99);
    }
    lines.push_str("main|join(1)|a.c:2\nmain|fork(1)|a.c:3\nT1|w(y)|a.c:4\nmain|take(s)|a.c:5\n");
    lines
}

/// An event with its names: id, thread, operation, variable, location.
type Named = (EventId, String, Op, Option<String>, String);

fn streamed(read: impl FnOnce(&mut dyn FnMut(&Batch<'_>) -> ControlFlow<()>)) -> (Vec<Named>, usize) {
    let (mut all, mut batches) = (Vec::new(), 0);
    read(&mut |batch| {
        batches += 1;
        for (event, thread, op, location) in batch.events() {
            let names = batch.names;
            let variable = op.access().map(|access| names.variables.get(access.variable.index()).to_owned());
            let location = names.locations.get(location.index()).to_owned();
            all.push((event, names.threads.get(thread.index()).to_owned(), op, variable, location));
        }
        assert_eq!(batch.declared_permits, [Some(3)]);
        ControlFlow::Continue(())
    });
    (all, batches)
}

fn expected(trace: &Trace) -> Vec<Named> {
    let symbols = trace.symbols();
    let named = |(event, thread, op): (EventId, _, Op)| {
        let variable = op.access().map(|access| symbols.variable(access.variable).to_owned());
        let location = symbols.location(trace.location(event)).to_owned();
        (event, symbols.thread(thread).to_owned(), op, variable, location)
    };
    trace.events().map(named).collect()
}

#[test]
fn text_and_native_stream_what_they_read() {
    let long = long();
    let trace = text::read(long.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    native::write(&trace, &mut bytes).unwrap();
    let (from_text, blocks) = streamed(|take| text::stream(long.as_bytes(), take).unwrap());
    let (from_native, chunks) = streamed(|take| {
        native::stream(&bytes, take).unwrap();
    });
    assert!(blocks > 10 && chunks > 1, "{blocks} blocks, {chunks} chunks");
    assert_eq!(trace.symbols().threads.len(), 3, "the second T1 is another thread");
    assert!(from_text == expected(&trace));
    assert!(from_native == expected(&trace));
}

#[test]
fn who_wants_no_more_gets_no_more() {
    let long = long();
    let mut batches = 0;
    let mut once = |_: &Batch<'_>| {
        batches += 1;
        ControlFlow::Break(())
    };
    text::stream(long.as_bytes(), &mut once).unwrap();
    assert_eq!(batches, 1);
}
