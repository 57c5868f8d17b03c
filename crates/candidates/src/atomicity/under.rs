//! Under-approximation: every read keeps what it saw, a write or the initial value, those of the violation too.
//!
//! The paper's table 1 counts two rows as covered (1 and 4) in which a read that saw the initial value sees a write: it
//! keeps reads-from as orders, and the initial value is no event. Here it counts like any other, as in every other place.
//!
//! A question about an order lets the reads it names see anything. So that it need not name them, the trace is
//! copied with a mark right before and right after every access that may be named; `a < c < b` is then an order of
//! marks. Marks take part in nothing, so the copy has the same schedules.

use check::{Model, Question};
use decide::{Options, Setup};
use trace::{EventId, Mark, Op, Trace, TraceBuilder};

use crate::Settings;
use crate::asking::{Judged, decided};

/// A trace with its accesses between marks.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) trace: Trace,
    /// Where each event of the original is.
    places: Vec<EventId>,
}

impl Marked {
    /// Puts marks around the accesses of these variables.
    pub(super) fn of(trace: &Trace, variables: &[bool]) -> Self {
        const LEGAL: &str = "a copy with a few more marks is as legal";
        let mut builder = TraceBuilder::with_capacity(trace.len() * 3);
        copy_names(trace, &mut builder);
        let mark = Op::Mark(builder.mark("", 0).expect(LEGAL));
        let mut places = Vec::with_capacity(trace.len());
        for (event, thread, op) in trace.events() {
            let location = trace.location(event);
            let around = op.access().is_some_and(|access| variables[access.variable.index()]);
            if around {
                builder.push(thread, mark, location);
            }
            places.push(EventId::new(builder.len()));
            builder.push(thread, op, location);
            if around {
                builder.push(thread, mark, location);
            }
        }
        Marked { trace: builder.finish().expect(LEGAL), places }
    }

    /// Whether these events can come in this order.
    pub(super) fn decide(&self, setup: &Setup<'_>, events: &[EventId], options: Options) -> Judged {
        let around = |event: &EventId| {
            let place = self.places[event.index()];
            [EventId(place.0 - 1), EventId(place.0 + 1)]
        };
        let question = Question::Order(events.iter().flat_map(around).collect());
        decided(setup, &question, Settings { model: Model::ReadsFrom, options })
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
