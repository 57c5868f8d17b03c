//! The user's regions: what breaks them, in the words of the definitions, and traces that have them.

use candidates::atomicity::{LIMITS, Method};
use check::Model;
use trace::{EventId, Op, Trace};

use crate::atomicity::run;
use crate::{ids, read};

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
    let settings = generate::Settings {
        events: 14,
        threads: 2 + (seed % 2) as u32,
        locks: 1,
        variables: 2,
        weights,
        disciplined: 0.0,
        ..generate::Settings::tiny(seed)
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
    let settings = generate::Settings {
        events: 13,
        threads: 3 + (seed % 2) as u32,
        locks: 1,
        variables: 3 + (seed / 2 % 2) as u32,
        weights,
        disciplined: 0.0,
        skew: 0.0,
        ..generate::Settings::tiny(seed)
    };
    generate::generate(&settings).expect("the settings are valid")
}

#[test]
fn conflicts_that_come_back_through_a_third_thread() {
    // T2 passes on to T3 what the region has begun, and T3 has it before the region ends.
    let text = "T1|abegin(m)
        T1|w(x)
        T1|r(z)
        T1|aend(m)
        T2|r(x)
        T2|w(y)
        T3|r(y)
        T3|w(z)";
    let (reported, counts) = run(&read(text), Model::ReadsFrom, Method::Exact, LIMITS);
    assert_eq!(reported.events(), [ids(&[1, 4, 5, 6, 7, 2])]);
    assert_eq!(reported.found[0].object, candidates::Object::Named("x, y, z".to_owned()));
    assert!(!counts.cut_short);
    // In the other order T3 has nothing of the region to pass on.
    let (reported, _) = run(
        &read(&text.replace("T3|r(y)\n        T3|w(z)", "T3|w(z)\n        T3|r(y)")),
        Model::ReadsFrom,
        Method::Exact,
        LIMITS,
    );
    assert!(reported.found.is_empty());
}

#[test]
fn a_region_over_two_variables_is_not_serialisable() {
    // Both balances are consistent with each other only as long as nobody moves money between the two looks.
    let text = "T1|abegin(audit)
        T1|r(x)
        T1|r(y)
        T1|aend(audit)
        T2|w(x)
        T2|w(y)";
    let (reported, _) = run(&read(text), Model::ReadsFrom, Method::Exact, LIMITS);
    assert_eq!(reported.events(), [ids(&[1, 4, 5, 2])]);
    assert_eq!(reported.found[0].object, candidates::Object::Named("x, y".to_owned()));
    // In the other order they are as if after the region, or before it.
    let swapped =
        text.replace("T2|w(x)", "T2|w(z)").replace("T2|w(y)", "T2|w(x)").replace("T2|w(z)", "T2|w(y)");
    let (reported, _) = run(&read(&swapped), Model::ReadsFrom, Method::Exact, LIMITS);
    assert!(reported.found.is_empty());
    let locked = text
        .replace("T1|r(x)", "T1|acq(l)\nT1|r(x)")
        .replace("T1|r(y)", "T1|r(y)\nT1|rel(l)")
        .replace("T2|w(x)", "T2|acq(l)\nT2|w(x)\nT2|rel(l)");
    let (reported, counts) = run(&read(&locked), Model::ReadsFrom, Method::Exact, LIMITS);
    assert!(reported.found.is_empty());
    assert_eq!(counts.asked, 0, "no question for what a lock keeps apart");
}

#[test]
fn regions_say_what_is_meant_to_be_atomic() {
    let trace = read(
        "T1|r(x)
         T1|w(x)
         T1|abegin(m)
         T1|w(y)
         T1|r(y)
         T1|w(y)
         T1|aend(m)
         T2|w(x)
         T2|r(y)",
    );
    let (reported, _) = run(&trace, Model::ReadsFrom, Method::Exact, LIMITS);
    assert_eq!(reported.events(), [ids(&[3, 8, 5])]);
}
