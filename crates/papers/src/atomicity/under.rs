//! Under-approximation: every read keeps what it saw, a write or the initial value, those of the violation too.
//!
//! The paper's table 1 counts two rows as covered (1 and 4) in which a read that saw the initial value sees a write: it
//! keeps reads-from as orders, and the initial value is no event. Here the initial value counts like any other.
//!
//! A question about an order lets the reads it names see anything. So that it need not name them, the trace is
//! copied with a mark right before and right after every access that may be named; `a < c < b` is then an order of
//! marks. Marks constrain nothing, so the copy has the same schedules.

use bounds::Bounds;
use candidates::atomicity::Criterion;
use candidates::{SearchSettings, ask};
use check::{Model, Question};
use decide::{Index, Verdict};
use trace::{EventId, Mark, Op, Trace, TraceBuilder};

/// A copy of a trace with marks around its accesses.
#[derive(Debug)]
pub(super) struct MarkedTrace {
    trace: Trace,
    /// The event of the copy for each event of the original.
    copies: Vec<EventId>,
}

impl MarkedTrace {
    /// Puts marks around the accesses of contested variables: no others can be in a violation.
    pub(super) fn new(trace: &Trace) -> Self {
        let variables = order::contested_variables(trace);
        const LEGAL: &str = "a copy with a few more marks is as legal";
        let mut builder = TraceBuilder::with_capacity(trace.len() * 3);
        copy_names(trace, &mut builder);
        let mark = Op::Mark(builder.mark("", 0).expect(LEGAL));
        let mut copies = Vec::with_capacity(trace.len());
        for (event, thread, op) in trace.events() {
            let location = trace.location(event);
            let around = op.access().is_some_and(|access| variables[access.variable.index()]);
            if around {
                builder.push(thread, mark, location);
            }
            copies.push(EventId::new(builder.len()));
            builder.push(thread, op, location);
            if around {
                builder.push(thread, mark, location);
            }
        }
        MarkedTrace { trace: builder.finish().expect(LEGAL), copies }
    }

    /// The question whether these events can come in this order while every read keeps what it saw.
    fn order_of_marks(&self, events: &[EventId]) -> Question {
        let around = |event: &EventId| {
            let copy = self.copies[event.index()];
            [EventId(copy.0 - 1), EventId(copy.0 + 1)]
        };
        Question::Order(events.iter().flat_map(around).collect())
    }
}

/// Counts what can happen while every read keeps what it saw.
pub(super) struct Under<'m> {
    marked: &'m MarkedTrace,
    index: Index<'m>,
}

impl<'m> Under<'m> {
    pub(super) fn new(marked: &'m MarkedTrace, bounds: Bounds) -> Self {
        Under { marked, index: Index::within(&marked.trace, bounds) }
    }
}

impl Criterion for Under<'_> {
    fn exempts_named_reads(&self) -> bool {
        false
    }

    /// The schedule is that of the original question, which has no marks.
    fn verdict(&self, index: &Index<'_>, question: &Question, settings: SearchSettings) -> Verdict {
        let marks = self.marked.order_of_marks(&question.named());
        match ask(&self.index, &marks, SearchSettings { model: Model::ReadsFrom, ..settings }) {
            Verdict::Feasible(_) => ask(index, question, settings),
            refuted_or_unknown => refuted_or_unknown,
        }
    }
}

/// Gives everything the id it has in the original, by naming it in the same order.
fn copy_names(trace: &Trace, builder: &mut TraceBuilder) {
    const FITS: &str = "as many names as the original has";
    let symbols = trace.symbols();
    macro_rules! copy {
        ($($table:ident => $method:ident),* $(,)?) => {$(
            for index in 0..symbols.$table.len() {
                builder.$method(symbols.$table.get(index)).expect(FITS);
            }
        )*};
    }
    copy! {
        threads => thread, variables => variable, locks => lock, conditions => condition, barriers => barrier,
        semaphores => semaphore, blocks => block, regions => region, locations => location,
    }
    for &Mark { name, value } in trace.marks() {
        builder.mark(symbols.marks.get(name as usize), value).expect(FITS);
    }
    for index in 0..symbols.semaphores.len() {
        let semaphore = trace::SemaphoreId::new(index);
        builder.declare_permits(semaphore, trace.initial_permits(semaphore));
    }
}
