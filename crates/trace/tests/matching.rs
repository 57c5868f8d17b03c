//! Who belongs to whom, on small traces whose answer is plain to see.

use trace::{EventId, SemaphoreId, ThreadId, Trace};

/// The trace of these lines, each without its location.
fn trace(lines: &str) -> Trace {
    let text: String = lines.lines().map(|line| format!("{line}|here\n")).collect();
    trace::text::read_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What each event is linked with; -1 for nothing.
fn links(lines: &str) -> Vec<i64> {
    let trace = trace(lines);
    (0..trace.len())
        .map(|index| trace.link(EventId::new(index)).event().map_or(-1, |event| i64::from(event.0)))
        .collect()
}

#[test]
fn a_read_sees_the_last_write() {
    let seen = links("T|r(x)\nT|w(x)\nU|w(x)\nT|r(x)\nU|rmw(x)\nT|r(x)\nT|r(y)\nT|aw(y)\nU|ar(y)");
    assert_eq!(seen, [-1, -1, -1, 2, 2, 4, -1, -1, 7]);
    let trace = trace("T|w(x)\nU|r(x)\nU|r(y)");
    assert_eq!(trace.reads_from(EventId(1)), Some(EventId(0)));
    assert_eq!(trace.reads_from(EventId(2)), None);
}

#[test]
fn an_acquire_belongs_to_its_release_and_a_request_to_its_acquire() {
    assert_eq!(links("T|req(l)\nT|acq(l)\nT|rel(l)\nT|acq(l)"), [1, 2, 1, -1]);
    // A nested acquire answers its request; a request that was given up is answered by no other lock.
    assert_eq!(links("T|acq(l)\nT|req(l)\nT|acq(l)\nT|acq(m)"), [-1, 2, 2, -1]);
    assert_eq!(links("T|req(l)\nT|acq(m)"), [-1, -1]);
    assert_eq!(links("T|acq(l)\nT|acq(m)\nT|rel(l)\nU|acq(l)\nT|rel(m)\nU|rel(l)"), [2, 4, 0, 5, 1, 3]);
}

#[test]
fn what_is_nested_is_linked_with_itself() {
    let lines = "T|acq(l)\nT|acq(l)\nT|rel(l)\nT|rel(l)\nU|acq(l)";
    assert_eq!(links(lines), [3, 1, 2, 0, -1]);
    let trace = trace(lines);
    assert!(trace.is_nested(EventId(1)) && trace.is_nested(EventId(2)) && !trace.is_nested(EventId(0)));
    assert_eq!(trace.section_end(EventId(0)), Some(EventId(3)));
    assert_eq!(trace.section_end(EventId(1)), None);
    assert_eq!(trace.section_end(EventId(4)), None);
    assert_eq!(links("T|racq(l)\nT|racq(l)\nU|racq(l)\nT|rrel(l)\nT|rrel(l)"), [4, 1, -1, 3, 0]);
}

#[test]
fn shared_sections_overlap_and_a_thread_may_downgrade_or_upgrade() {
    assert_eq!(links("T|rreq(l)\nT|racq(l)\nU|racq(l)\nT|rrel(l)\nU|rrel(l)\nT|acq(l)"), [1, 3, 4, 1, 2, -1]);
    // Downgrade: shared is taken before exclusive is given up.
    assert_eq!(links("T|acq(l)\nT|racq(l)\nT|rel(l)\nU|racq(l)\nT|rrel(l)"), [2, 4, 0, -1, 1]);
    // Upgrade by the only reader.
    assert_eq!(links("T|racq(l)\nT|acq(l)\nT|rel(l)\nT|rrel(l)"), [3, 2, 1, 0]);
}

#[test]
fn a_wait_is_woken_by_the_first_free_signal_since_it_began() {
    // T and U wait since 0 and 1; each signal wakes one of them.
    assert_eq!(links("T|r(x)\nU|r(x)\nM|signal(c)\nM|signal(c)\nU|wait(c)\nT|wait(c)")[4..], [2, 3]);
    // A signal before a wait began wakes nobody.
    assert_eq!(links("M|signal(c)\nT|r(x)\nM|signal(c)\nT|wait(c)")[3], 2);
    // A broadcast wakes all, and a signal after it is left to others.
    let seen = links("T|r(x)\nU|r(x)\nV|r(x)\nM|broadcast(c)\nM|signal(c)\nT|wait(c)\nU|wait(c)\nV|wait(c)");
    assert_eq!(seen[5..], [3, 3, 3]);
    // A thread with no event before waits since the start.
    assert_eq!(links("M|signal(c)\nM|r(x)\nT|wait(c)")[2], 0);
    // A thread does not wake itself from a wait that its own signal came before.
    assert_eq!(links("T|signal(c)\nM|signal(c)\nT|wait(c)")[2], 1);
    // Conditions are apart.
    assert_eq!(links("T|r(x)\nM|signal(d)\nM|signal(c)\nT|wait(c)")[3], 2);
}

#[test]
fn a_wait_without_a_signal_in_its_time_keeps_the_last_one_before() {
    assert_eq!(links("M|signal(c)\nM|signal(c)\nT|r(x)\nT|wait(c)")[3], 1);
    // The only signal in its time woke another.
    assert_eq!(links("T|r(x)\nU|r(x)\nM|signal(c)\nT|wait(c)\nU|wait(c)")[3..], [2, 2]);
    assert_eq!(links("T|r(x)\nT|wait(c)")[1], -1);
}

#[test]
fn as_many_waits_are_matched_as_can_be() {
    // W began last and only the last signal is in its time; T and U take the earlier ones.
    let lines =
        "T|r(x)\nU|r(x)\nM|signal(c)\nM|signal(c)\nW|r(x)\nM|signal(c)\nT|wait(c)\nW|wait(c)\nU|wait(c)";
    assert_eq!(links(lines)[6..], [2, 5, 3]);
}

#[test]
fn each_use_of_a_barrier_is_an_instance() {
    let lines =
        "T|benter(b)\nU|benter(b)\nU|bexit(b)\nU|benter(b)\nT|bexit(b)\nT|benter(b)\nT|bexit(b)\nU|bexit(b)";
    let trace = trace(lines);
    let instances: Vec<u32> =
        (0..trace.len()).map(|index| trace.barrier_instance(EventId::new(index)).0).collect();
    // U enters again before T has left: that is the next use.
    assert_eq!(instances, [0, 0, 0, 1, 0, 1, 1, 1]);
    let enters: Vec<&[EventId]> =
        trace.matching().barrier_instances().iter().map(|instance| &instance.enters[..]).collect();
    assert_eq!(enters, [&[EventId(0), EventId(1)], &[EventId(3), EventId(5)]]);
}

#[test]
fn permits_are_declared_or_the_fewest_that_do() {
    let permits = |text: &str| {
        let trace = trace::text::read_bytes(text.as_bytes()).unwrap();
        (trace.declared_permits(SemaphoreId(0)), trace.initial_permits(SemaphoreId(0)))
    };
    assert_eq!(permits("T|post(s)|1\nT|take(s)|1\n"), (None, 0));
    assert_eq!(permits("T|take(s)|1\nU|take(s)|1\nT|post(s)|1\nT|take(s)|1\n"), (None, 2));
    assert_eq!(permits("#! semaphore s 5\nT|take(s)|1\n"), (Some(5), 5));
    // Where the declaration stands does not matter.
    assert_eq!(permits("T|take(s)|1\n#! semaphore s 1\n"), (Some(1), 1));
}

#[test]
fn forks_lead_to_first_events_and_joins_come_from_last_ones() {
    let lines = "M|fork(T)\nM|fork(U)\nT|r(x)\nT|r(x)\nM|join(T)\nM|join(U)\nM|join(V)";
    assert_eq!(links(lines), [2, -1, -1, -1, 3, -1, -1]);
    let trace = trace(lines);
    assert_eq!(trace.fork_of(ThreadId(1)), Some(EventId(0)));
    assert_eq!(trace.fork_of(ThreadId(0)), None);
}

#[test]
fn memory_and_regions_are_paired() {
    assert_eq!(links("T|free(b)\nT|alloc(b)\nU|free(b)\nT|alloc(b)\nT|free(c)"), [-1, 2, 1, -1, -1]);
    let nested =
        "T|abegin(a)\nT|abegin(a)\nU|abegin(a)\nT|abegin(b)\nT|aend(a)\nT|aend(b)\nT|aend(a)\nT|abegin(a)";
    assert_eq!(links(nested), [6, 4, -1, 5, 1, 3, 0, -1]);
}
