//! What a linear method reports, as it stands: the trace is read as a stream, and memory does not grow with its length.
//!
//! Nothing is decided, since that takes the whole trace: a pair reported has no rung and no schedule, and need not be able to happen.

mod places;

use std::ffi::OsStr;
use std::ops::ControlFlow;

use papers::races::Method;
use papers::races::hb::Hb;
use papers::races::lockset::Lockset;
use report::Stopped;
use trace::stream::Batch;
use trace::{EventId, LocationId, MemoryOrder, Op, SemaphoreId, ThreadId};

use crate::budget::{Bounds, stopped_by};
use crate::error::{Error, ErrorKind};
use crate::observer::Observer;
use crate::trace_file;
pub use places::{Places, Racy};

/// Takes racy events as the trace is read.
pub trait RacySink {
    /// A racy event at the second of these places races with one at the first; `racy` says more.
    fn take<'a>(&mut self, places: [LocationId; 2], racy: impl FnOnce() -> Racy<'a>);

    /// Some events were read; whether more are wanted.
    fn flush(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// How much was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All events.
    pub events: u64,
    /// Those that race with an earlier one.
    pub racy: u64,
    /// Why that is not all of the trace, if it is not.
    pub stopped: Option<Stopped>,
}

/// Reads a trace up to where the bounds are reached, and passes on what the method reports.
pub fn report_races<S: RacySink>(
    argument: &OsStr,
    method: Method,
    bounds: Bounds,
    sink: &mut S,
    observer: &mut dyn Observer,
) -> Result<Totals, Error> {
    let mut reader = Reader { method: Linear::named(method)?, totals: Totals::default(), declared: 0, sink };
    trace_file::stream(argument, bounds, observer, &mut |batch| reader.take(batch))?;
    reader.totals.stopped = bounds.reached().map(|bound| stopped_by(bounds, bound));
    match reader.totals.events {
        0 if reader.totals.stopped.is_none() => Err(super::nothing_in(&argument.to_string_lossy())),
        _ => Ok(reader.totals),
    }
}

/// A method that streams.
enum Linear {
    Hb(Box<Hb>),
    Lockset(Box<Lockset>),
}

impl Linear {
    fn named(method: Method) -> Result<Linear, Error> {
        match method {
            Method::Hb => Ok(Linear::Hb(Box::default())),
            Method::Lockset => Ok(Linear::Lockset(Box::default())),
            _ => {
                Err(Error::from(ErrorKind::NotStreaming(method))
                    .help("use `--method hb` or `--method lockset`"))
            }
        }
    }

    /// Takes in the next event. If it is racy: where an earlier one is that it races with.
    #[inline]
    fn step(
        &mut self,
        event: EventId,
        thread: ThreadId,
        op: Op,
        location: LocationId,
        order: MemoryOrder,
    ) -> Option<LocationId> {
        // What is to be known of a partner is where it was.
        let known_as = EventId(location.0);
        let partner = match self {
            Linear::Hb(hb) => hb.step_as(event, known_as, thread, op, order),
            Linear::Lockset(lockset) => lockset.step(known_as, thread, op),
        };
        partner.map(|partner| LocationId(partner.0))
    }

    fn declare(&mut self, permits: &[Option<u32>]) {
        if let Linear::Hb(hb) = self {
            for (index, permits) in permits.iter().enumerate() {
                if let Some(permits) = permits {
                    hb.declare_permits(SemaphoreId::new(index), *permits);
                }
            }
        }
    }
}

struct Reader<'s, S> {
    method: Linear,
    totals: Totals,
    /// How many semaphores the method knows the permits of.
    declared: usize,
    sink: &'s mut S,
}

impl<S: RacySink> Reader<'_, S> {
    fn take(&mut self, batch: &Batch<'_>) -> ControlFlow<()> {
        if batch.declared_permits.len() > self.declared {
            self.declared = batch.declared_permits.len();
            self.method.declare(batch.declared_permits);
        }
        self.totals.events += batch.events().len() as u64;
        for (event, thread, op, location) in batch.events() {
            if let Some(partner) = self.method.step(event, thread, op, location, batch.memory_order(event)) {
                self.totals.racy += 1;
                let places = [partner, location];
                self.sink.take(places, || Racy {
                    object: op
                        .access()
                        .map_or("", |access| batch.names.variables.get(access.variable.index())),
                    locations: places.map(|location| batch.names.locations.get(location.index())),
                    count: 1,
                    event: event.0,
                });
            }
        }
        self.sink.flush()
    }
}
