//! Minimal witnesses: a failed run is run again with fewer switches between threads, as long as it fails in the same way.
//!
//! The order of a run is a list of legs: a thread runs so far, then another one. Legs are left out, many at a time at first and one by one at
//! last, so that their threads do that part later; or a leg is done together with its thread's leg before it. At the end of the route threads go on without
//! being interrupted. Whatever fails in the same way with fewer legs is the next to be reduced, so each step is verified by a run. In the end no
//! single leg can be left out or moved up, unless the runs or the time for this ran out.

use std::time::{Duration, Instant};

use run::failure::RunFailure;
use run::replay::{Command, FollowSettings, Replay, follow};
use trace::{Ending, EventId, ThreadPath, Trace};

use super::Rounds;
use super::behaviours::carrier;
use crate::budget::Cancellation;
use crate::error::Error;
use crate::observer::Observer;
use crate::parallel::{cores, map_in_parallel};
use crate::recorded_command::{ChosenBy, command_of};
use crate::trace_file::TraceFile;

/// Runs that the reduction of one failure may take.
const MOST_RUNS: usize = 80;
/// The share of the time left that it may take, and no more than this.
const SHARE: u32 = 8;
const LONGEST: Duration = Duration::from_secs(6);
/// No order of more legs is reduced.
const MOST_LEGS: usize = 2_000;

/// A thread, and how many events it has performed at the end of the leg.
type Leg = (ThreadPath, u64);

/// A run that failed in the same way.
struct Witness {
    legs: Vec<Leg>,
    replay: Replay,
}

impl Rounds<'_> {
    /// The failure and the recording of it, with as few switches between threads as still fail; none if there is no time to read that. `name`
    /// is the recording's file.
    pub(super) fn reduce(
        &mut self,
        failure: RunFailure,
        name: &str,
        file: TraceFile,
        observer: &mut dyn Observer,
    ) -> Result<Option<(RunFailure, TraceFile)>, Error> {
        let Ok(command) = command_of(self.first.trace.metadata(), ChosenBy::User) else {
            return Ok(Some((failure, file)));
        };
        let legs = legs_of_trace(&file.trace);
        // Each run that hangs would take all the time.
        let hangs = failure.ending == Ending::TimedOut;
        if hangs || self.options.times == 0 || self.is_over() || !(2..=MOST_LEGS).contains(&legs.len()) {
            return Ok(Some((failure, file)));
        }
        let time = self.options.budget.time_left().map_or(LONGEST, |left| (left / SHARE).min(LONGEST));
        let mut reduction = Reduction {
            command: &command,
            cancellation: &self.options.cancellation,
            identity: failure.identity(),
            end: Instant::now() + time,
            limit: time,
            runs: 0,
        };
        let found = reduction.minimal(legs)?;
        self.explorer.counts.count_more(reduction.runs as u64);
        match found {
            Some(Witness { replay, .. }) => {
                self.explorer.rewrite(name, &carrier(&command), &replay, self.first)?;
                let file = self.open(name, observer)?;
                Ok(file.map(|file| (replay.failure.unwrap_or(failure), file)))
            }
            None => Ok(Some((failure, file))),
        }
    }
}

/// A reduction under way.
struct Reduction<'a> {
    command: &'a Command,
    cancellation: &'a Cancellation,
    /// What makes it the same failure.
    identity: String,
    end: Instant,
    limit: Duration,
    runs: usize,
}

impl Reduction<'_> {
    /// The run with the fewest legs; none if the failure does not happen again.
    fn minimal(&mut self, legs: Vec<Leg>) -> Result<Option<Witness>, Error> {
        let Some(mut best) = self.shortest(vec![legs, Vec::new()])? else { return Ok(None) };
        let mut size = best.legs.len().div_ceil(2);
        while size > 0 {
            let before = best.legs.len();
            let mut at = 0;
            while at < best.legs.len() {
                let next = (at + size).min(best.legs.len());
                let candidates = if size == 1 {
                    vec![without(&best.legs, at..next), moved_up(&best.legs, at)]
                } else {
                    let after = next..(next + size).min(best.legs.len());
                    vec![without(&best.legs, at..next), without(&best.legs, after)]
                };
                match self.shortest(candidates)?.filter(|found| found.legs.len() < best.legs.len()) {
                    Some(found) => best = found,
                    None => at += if size == 1 { 1 } else { 2 * size },
                }
                if self.is_over() {
                    return Ok(Some(best));
                }
            }
            // What could not be left out before may be now.
            if size > 1 || best.legs.len() == before {
                size /= 2;
            }
        }
        Ok(Some(best))
    }

    fn is_over(&self) -> bool {
        self.runs >= MOST_RUNS || Instant::now() >= self.end || self.cancellation.is_cancelled()
    }

    /// Runs the program along each of these; the run with the fewest legs that fails in the same way.
    fn shortest(&mut self, routes: Vec<Vec<Leg>>) -> Result<Option<Witness>, Error> {
        self.runs += routes.len();
        // Threads go on as long as they can.
        let runtime = wire::RuntimeSettings {
            policy: wire::Policy::RoundRobin,
            new_threads: wire::NewThreads::Last,
            quantum: std::num::NonZeroU64::new(u64::MAX),
            ..wire::RuntimeSettings::DEFAULT
        };
        let (limit, cancellation) = (self.limit, self.cancellation);
        let mut shortest: Option<Witness> = None;
        // Servers would get into each other's way.
        let at_once = if self.command.drive.is_some() { 1 } else { cores() };
        for chunk in routes.chunks(at_once) {
            let ran = map_in_parallel(chunk.to_vec(), at_once, |route| {
                let settings = FollowSettings { runtime, limit, cancellation: cancellation.clone() };
                let ran = follow(&to_the_end(route), self.command, &settings);
                ran.map_err(|error| carrier(self.command).cannot_run(&error.to_string()))
            })?;
            for replay in ran {
                let is_same =
                    replay.failure.as_ref().is_some_and(|failure| failure.identity() == self.identity);
                let Some(log) = replay.log().filter(|_| is_same) else { continue };
                let legs = legs_of_log(log);
                if shortest.as_ref().is_none_or(|known| legs.len() < known.legs.len()) {
                    shortest = Some(Witness { legs, replay });
                }
            }
        }
        Ok(shortest)
    }
}

/// The last thread does not stop where it failed: the failure comes after its last event.
pub(super) fn to_the_end(mut route: Vec<Leg>) -> Vec<Leg> {
    if let Some((_, until)) = route.last_mut() {
        *until = u64::MAX;
    }
    route
}

/// Without these legs: their threads do that part in their next legs.
fn without(legs: &[Leg], left_out: std::ops::Range<usize>) -> Vec<Leg> {
    let left = legs.iter().enumerate().filter(|(index, _)| !left_out.contains(index));
    joined(left.map(|(_, leg)| leg.clone()))
}

/// One leg is done together with the one before it of the same thread.
fn moved_up(legs: &[Leg], index: usize) -> Vec<Leg> {
    let (thread, until) = &legs[index];
    let earlier = legs[..index].iter().rposition(|(other, _)| other == thread);
    let legs = legs.iter().enumerate().filter_map(|(at, leg)| match Some(at) {
        at if at == earlier => Some((thread.clone(), *until)),
        at if at == Some(index) => None,
        _ => Some(leg.clone()),
    });
    joined(legs)
}

/// Legs of one thread that follow each other are one.
fn joined(legs: impl Iterator<Item = Leg>) -> Vec<Leg> {
    let mut joined: Vec<Leg> = Vec::new();
    for (thread, until) in legs {
        match joined.last_mut() {
            Some((last, end)) if *last == thread => *end = (*end).max(until),
            _ => joined.push((thread, until)),
        }
    }
    joined
}

/// The legs of a recorded run; none if the recording does not say which events of its threads it has.
pub(super) fn legs_of_trace(trace: &Trace) -> Vec<Leg> {
    let Some(notes) = trace.notes() else { return Vec::new() };
    let events: Vec<EventId> = (0..trace.len()).map(EventId::new).collect();
    let Ok(places) = notes.places(trace, &events) else { return Vec::new() };
    let placed = events.iter().zip(places).filter_map(|(&event, place)| {
        let thread = notes.path(trace.thread(event))?;
        Some((thread, place? + 1))
    });
    joined(placed)
}

/// The legs of a log.
fn legs_of_log(log: &[u8]) -> Vec<Leg> {
    let Ok(reader) = wire::Reader::new(log) else { return Vec::new() };
    let mut threads: Vec<(ThreadPath, u32)> = vec![Default::default()];
    let mut legs: Vec<(u32, u64)> = Vec::new();
    for event in reader.map_while(Result::ok) {
        let Some(place) = event.place else { continue };
        if let wire::Op::Create { child } = event.op
            && let Some((path, children)) = threads.get_mut(event.thread as usize)
        {
            *children += 1;
            let path = path.child(*children);
            let count = threads.len().max(child as usize + 1);
            threads.resize_with(count, Default::default);
            threads[child as usize].0 = path;
        }
        match legs.last_mut() {
            Some((thread, until)) if *thread == event.thread => *until = place + 1,
            _ => legs.push((event.thread, place + 1)),
        }
    }
    let path = |thread: u32| threads.get(thread as usize).map(|(path, _)| path.clone()).unwrap_or_default();
    legs.into_iter().map(|(thread, until)| (path(thread), until)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legs(text: &str) -> Vec<Leg> {
        let leg = |word: &str| {
            let (thread, until) = word.split_at(1);
            let number = u32::from(thread.as_bytes()[0] - b'a');
            let path = ThreadPath::default();
            (if number == 0 { path } else { path.child(number) }, until.parse().unwrap())
        };
        text.split_whitespace().map(leg).collect()
    }

    #[test]
    fn a_leg_that_is_left_out_is_done_later() {
        assert_eq!(without(&legs("a10 b5 a20 b9"), 1..2), legs("a20 b9"));
        assert_eq!(without(&legs("a10 b5 a20 b9"), 2..4), legs("a10 b5"));
    }

    #[test]
    fn a_leg_that_is_moved_up_joins_the_one_before() {
        assert_eq!(moved_up(&legs("a10 b5 a20 b9"), 3), legs("a10 b9 a20"));
        assert_eq!(moved_up(&legs("a10 b5 a20 b9"), 2), legs("a20 b9"));
        // The first of its thread has none to join.
        assert_eq!(moved_up(&legs("a10 b5 c3"), 1), legs("a10 c3"));
    }
}
