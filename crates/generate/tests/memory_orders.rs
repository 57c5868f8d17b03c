//! Memory orders survive both forms of a trace, and files without them stay readable.

use std::ops::ControlFlow;

use generate::tiny_with_memory_orders;
use trace::native::{Completeness, Writer};
use trace::{EventId, MemoryOrder, Trace, native, text};

fn as_text(trace: &Trace) -> String {
    let mut written = Vec::new();
    text::write(trace, &mut written).unwrap();
    String::from_utf8(written).unwrap()
}

fn as_native(trace: &Trace, chunk_events: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap().chunk_events(chunk_events);
    writer.trace(trace).unwrap();
    writer.finish().unwrap()
}

#[test]
fn both_forms_hold_the_same_orders() {
    let mut weak = 0;
    for trace in (0..500).map(tiny_with_memory_orders) {
        weak += usize::from(!trace.is_sequential());
        assert_eq!(text::read(as_text(&trace).as_bytes()).unwrap(), trace);
        for chunk_events in [1, 3, 1000] {
            let (read, complete) = native::read(&as_native(&trace, chunk_events)).unwrap();
            assert_eq!(complete, Completeness::Complete);
            assert_eq!(read, trace);
        }
    }
    assert!(weak > 300, "only {weak} traces have memory orders at all");
}

#[test]
fn events_that_are_streamed_have_their_orders() {
    for trace in (0..50).map(tiny_with_memory_orders) {
        let expected: Vec<MemoryOrder> =
            trace.events().map(|(event, ..)| trace.memory_order(event)).collect();
        let mut streamed = Vec::new();
        let mut take = |batch: &trace::stream::Batch<'_>| {
            streamed.extend(batch.events().map(|(event, ..)| batch.memory_order(event)));
            ControlFlow::Continue(())
        };
        native::stream(&as_native(&trace, 4), &mut take).unwrap();
        assert_eq!(streamed, expected);
        streamed.clear();
        let mut take = |batch: &trace::stream::Batch<'_>| {
            streamed.extend(batch.events().map(|(event, ..)| batch.memory_order(event)));
            ControlFlow::Continue(())
        };
        text::stream(as_text(&trace).as_bytes(), &mut take).unwrap();
        assert_eq!(streamed, expected);
    }
}

#[test]
fn absent_means_seq_cst() {
    let plain = text::read(&b"A|aw(x)|1\nB|ar(x)|2\nB|fence()|3\n"[..]).unwrap();
    let stated = text::read(&b"A|aw.seq_cst(x)|1\nB|ar.seq_cst(x)|2\nB|fence.seq_cst()|3\n"[..]).unwrap();
    assert_eq!(plain, stated);
    assert!(plain.is_sequential());
    let weak = text::read(&b"A|aw.relaxed(x)|1\nB|ar.acquire(x)|2\nB|fence()|3\n"[..]).unwrap();
    assert_eq!(weak.memory_order(EventId(0)), MemoryOrder::Relaxed);
    assert_eq!(weak.memory_order(EventId(1)), MemoryOrder::Acquire);
    assert_eq!(weak.clone().without_memory_orders(), plain);
    assert_ne!(weak, plain);
}

/// The first version of the format had no memory orders and is otherwise the same.
#[test]
fn files_of_the_first_version_are_read() {
    let trace = tiny_with_memory_orders(3).without_memory_orders();
    let mut bytes = as_native(&trace, 1000);
    assert_eq!(bytes[8..12], 2u32.to_le_bytes());
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    assert_eq!(native::read(&bytes).unwrap().0, trace);
    for version in [0u32, 3] {
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        assert!(native::read(&bytes).is_err());
    }
}

#[test]
fn what_is_no_memory_order_is_refused() {
    let refused = |line: &str| text::read(line.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        refused("A|ar.weak(x)|1\n"),
        "line 1, column 3: unknown memory order `weak`; expected relaxed, acquire, release, acq_rel or seq_cst"
    );
    assert_eq!(
        refused("A|w.relaxed(x)|1\n"),
        "line 1, column 3: `w` has no memory order, but `relaxed` is given; only ar, aw, rmw and fence have one"
    );
    assert!(refused("A|foo.relaxed(x)|1\n").contains("unknown operation `foo`"));
}
