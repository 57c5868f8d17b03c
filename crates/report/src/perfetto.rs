//! Findings as Chrome trace events, for ui.perfetto.dev and chrome://tracing.
//!
//! Process 0 is the observed run, each further one the schedule of a finding; a step takes a microsecond. Arrows are flows:
//! synchronisation, and what reads see.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use trace::EventId;

use crate::context::{Context, Contexts};
use crate::edges::edges;
use crate::terminal::title;
use findings::{Finding, Predictions};

/// The most steps of the observed run and of each schedule, from their ends: viewers are slow with more.
const MOST_STEPS: usize = 100_000;
/// The most steps in the whole file.
const MOST_IN_ALL: usize = 1_000_000;

/// The whole file.
pub fn perfetto(contexts: &Contexts<'_>, predictions: &Predictions) -> String {
    let mut events = TraceEvents::default();
    let observed: Vec<EventId> = (0..contexts.own.trace.len()).map(EventId::new).collect();
    let mut left = MOST_IN_ALL;
    process(&contexts.own, &mut events, 0, "observed run", &observed, &[], &mut left);
    for (index, finding) in predictions.findings.iter().enumerate() {
        let name = format!("{}: {}, {}", finding.id, title(finding), finding.rung.name());
        let order = with_next(finding);
        let named: Vec<EventId> = finding.named_events().collect();
        let context = contexts.of(finding);
        process(context, &mut events, index + 1, &name, &order, &named, &mut left);
    }
    let producer = json!({"producer": format!("foretell {}", env!("CARGO_PKG_VERSION"))});
    format!(r#"{{"displayTimeUnit":"ns","otherData":{producer},"traceEvents":[{}]}}"#, events.text) + "\n"
}

/// The events as text: as values, a million of them would take a gigabyte.
#[derive(Default)]
struct TraceEvents {
    text: String,
}

impl TraceEvents {
    fn push(&mut self, event: Value) {
        let comma = if self.text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(self.text, "{comma}{event}");
    }
}

/// The schedule, then the events that are next.
pub(crate) fn with_next(finding: &Finding) -> Vec<EventId> {
    let scheduled: HashSet<EventId> = finding.schedule.iter().copied().collect();
    let next = finding.named_events().filter(|event| !scheduled.contains(event));
    finding.schedule.iter().copied().chain(next).collect()
}

fn process(
    context: &Context<'_>,
    out: &mut TraceEvents,
    process: usize,
    name: &str,
    order: &[EventId],
    named: &[EventId],
    left: &mut usize,
) {
    let words = context.words();
    let skipped = order.len().saturating_sub(MOST_STEPS.min(*left));
    *left -= order.len() - skipped;
    let name = match skipped {
        0 => name.to_owned(),
        _ => format!("{name} (its last {} steps)", order.len() - skipped),
    };
    out.push(json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}));
    out.push(
        json!({"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": process}}),
    );
    let mut threads = HashSet::new();
    for (step, &event) in order.iter().enumerate().skip(skipped) {
        let thread = context.trace.thread(event);
        if threads.insert(thread) {
            let named = json!({"name": words.thread(thread)});
            out.push(
                json!({"ph": "M", "name": "thread_name", "pid": process, "tid": thread.0, "args": named}),
            );
        }
        let mut slice = json!({
            "ph": "X", "pid": process, "tid": thread.0, "ts": step, "dur": 1,
            "name": words.operation(event), "cat": "event",
            "args": {"event": event.0, "location": words.location(event)},
        });
        if named.contains(&event) {
            slice["cname"] = json!("terrible");
            slice["args"]["finding"] = json!(true);
        }
        out.push(slice);
    }
    for (index, edge) in
        edges(context.trace, order).into_iter().enumerate().filter(|(_, edge)| edge.from >= skipped)
    {
        let id = format!("{process}.{index}");
        let end = |ph: &str, step: usize| {
            let tid = context.trace.thread(order[step]).0;
            json!({"ph": ph, "id": id, "name": edge.kind.name(), "cat": edge.kind.name(), "pid": process, "tid": tid, "ts": step})
        };
        out.push(end("s", edge.from));
        let mut finish = end("f", edge.to);
        finish["bp"] = json!("e");
        out.push(finish);
    }
}
