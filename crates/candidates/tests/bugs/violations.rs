//! Atomicity violations in the words of the definitions, and traces with regions. Also used by the tests of `papers`.

use std::collections::BTreeSet;

use candidates::atomicity::Triple;
use check::{Model, Question};
use trace::{EventId, Op, Trace};

pub(crate) type Events = Vec<Option<EventId>>;

/// All unserialisable triples, in the words of the definition.
pub(crate) fn triples(trace: &Trace) -> Vec<Triple> {
    let access = |event: EventId| trace.op(event).access();
    let events: Vec<EventId> = (0..trace.len()).map(EventId::new).filter(|&e| access(e).is_some()).collect();
    let regions = trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)));
    let kinds = |event: EventId| {
        let access = access(event).expect("an access");
        ["R", "W"].into_iter().zip([access.reads, access.writes]).filter(|(_, is)| *is).map(|(kind, _)| kind)
    };
    let mut triples = Vec::new();
    for &first in &events {
        for &second in events.iter().filter(|&&second| second > first) {
            let alike =
                |event: EventId| access(event).map(|a| a.variable) == access(first).map(|a| a.variable);
            let own = |event: EventId| trace.thread(event) == trace.thread(first) && alike(event);
            if !own(second) {
                continue;
            }
            let mut inside = events.iter().filter(|&&event| own(event) && event > first && event < second);
            let intended = if regions {
                let here = region(trace, second);
                let is_last_of = |kind: &str| {
                    kinds(first).any(|k| k == kind) && !inside.clone().any(|&e| kinds(e).any(|k| k == kind))
                };
                here.is_some() && region(trace, first) == here && (is_last_of("R") || is_last_of("W"))
            } else {
                inside.next().is_none()
            };
            if !intended {
                continue;
            }
            for &between in events.iter().filter(|&&c| alike(c) && trace.thread(c) != trace.thread(first)) {
                let patterns = kinds(first).flat_map(|a| {
                    kinds(between).flat_map(move |c| kinds(second).map(move |b| format!("{a}{c}{b}")))
                });
                let bad = ["RWR", "RWW", "WWW", "WRW", "WWR"];
                if patterns.into_iter().any(|pattern| bad.contains(&pattern.as_str())) {
                    triples.push(Triple { first, between, second });
                }
            }
        }
    }
    triples
}

/// Everything that could be a violation.
pub(crate) fn candidates(trace: &Trace) -> Vec<Vec<EventId>> {
    let three = triples(trace).into_iter().map(|t| vec![t.first, t.between, t.second]);
    three.chain(cycles(trace)).collect()
}

pub(crate) fn feasible(trace: &Trace, model: Model) -> BTreeSet<Events> {
    let candidates = candidates(trace);
    let questions: Vec<Question> = candidates.iter().cloned().map(Question::Order).collect();
    let answers = oracle::answer_all(trace, model, &questions);
    let feasible = candidates.into_iter().zip(answers).filter(|(_, feasible)| *feasible);
    feasible.map(|(events, _)| events.into_iter().map(Some).collect()).collect()
}

/// The outermost region an event is in, as where it begins.
pub(crate) fn region(trace: &Trace, event: EventId) -> Option<EventId> {
    let thread = trace.thread(event);
    let (mut depth, mut begin) = (0, None);
    for (id, _, op) in trace.events().take(event.index()).filter(|&(_, other, _)| other == thread) {
        match op {
            Op::RegionBegin(_) => {
                begin = if depth == 0 { Some(id) } else { begin };
                depth += 1;
            }
            Op::RegionEnd(_) => depth -= 1,
            _ => {}
        }
    }
    begin.filter(|_| depth > 0)
}

/// All cycles of conflicts through a region, in the words of the definition: from one of its accesses to a later one on another
/// variable, neighbours of different threads in conflict, no others; of each other thread one event, or two in its order.
pub(crate) fn cycles(trace: &Trace) -> Vec<Vec<EventId>> {
    let mut all = Vec::new();
    let accesses = (0..trace.len()).map(EventId::new).filter(|&event| trace.op(event).access().is_some());
    let accesses: Vec<EventId> = accesses.collect();
    let inside = |&&event: &&EventId| region(trace, event).is_some();
    for &a in accesses.iter().filter(inside) {
        lengthened(trace, &accesses, &mut vec![a], &mut all);
    }
    all
}

fn lengthened(trace: &Trace, accesses: &[EventId], path: &mut Vec<EventId>, all: &mut Vec<Vec<EventId>>) {
    let access = |event: EventId| trace.op(event).access().expect("an access");
    let conflict = |a: EventId, b: EventId| {
        let (one, two) = (access(a), access(b));
        trace.thread(a) != trace.thread(b) && one.variable == two.variable && (one.writes || two.writes)
    };
    let (first, last) = (path[0], path[path.len() - 1]);
    for &next in accesses {
        let thread = trace.thread(next);
        let of_thread = path.iter().filter(|&&event| trace.thread(event) == thread).count();
        let goes_on = match trace.thread(last) == thread {
            true => path.len() > 1 && of_thread == 1 && next > last,
            false => conflict(last, next) && (of_thread == 0 || thread == trace.thread(first)),
        };
        if !goes_on || path[..path.len() - 1].iter().any(|&earlier| conflict(earlier, next)) {
            continue;
        }
        path.push(next);
        if thread != trace.thread(first) {
            lengthened(trace, accesses, path, all);
        } else if next > first
            && access(next).variable != access(first).variable
            && region(trace, next) == region(trace, first)
        {
            all.push(path.clone());
        }
        path.pop();
    }
}

/// A tiny trace of two or three threads that mostly access two variables in regions.
pub(crate) fn with_regions(seed: u64) -> Trace {
    let weights = generate::Weights {
        read: 4,
        write: 4,
        acquire: 1,
        release: 1,
        region_begin: 3,
        region_end: 1,
        ..Default::default()
    };
    let settings = generate::TraceSettings {
        events: 14,
        threads: 2 + (seed % 2) as u32,
        locks: 1,
        variables: 2,
        weights,
        disciplined: 0.0,
        ..generate::TraceSettings::tiny(seed)
    };
    generate::generate(&settings).expect("the settings are valid")
}

/// Likewise of three or four threads and as many variables, so that conflicts go in circles.
pub(crate) fn with_regions_of_many(seed: u64) -> Trace {
    let weights = generate::Weights {
        read: 5,
        write: 5,
        acquire: 1,
        release: 1,
        region_begin: 2,
        region_end: 1,
        ..Default::default()
    };
    let settings = generate::TraceSettings {
        events: 13,
        threads: 3 + (seed % 2) as u32,
        locks: 1,
        variables: 3 + (seed / 2 % 2) as u32,
        weights,
        disciplined: 0.0,
        skew: 0.0,
        ..generate::TraceSettings::tiny(seed)
    };
    generate::generate(&settings).expect("the settings are valid")
}
