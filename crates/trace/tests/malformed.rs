//! Runs that cannot have happened: each fault, told in lines of the text and in events.

use trace::text;
use trace::{Fault, Op, ThreadId, TraceBuilder};

fn check(text: &str, expected: &str) {
    let error = text::read_bytes(text.as_bytes()).expect_err("the run is impossible");
    assert_eq!(error.to_string(), expected, "{text}");
    assert!(matches!(error, text::ReadError::Malformed { .. }));
}

#[test]
fn a_thread_acts_after_it_was_joined() {
    check(
        "# the lines count\nM|fork(T)|1\nT|r(x)|1\n\nM|join(T)|1\nT|r(x)|1\n",
        "line 6: thread T acts here, but it was joined at line 5; a join comes after the joined thread's last event",
    );
}

#[test]
fn a_thread_runs_before_its_fork() {
    check(
        "\nT|r(x)|1\nM|fork(T)|1\n",
        "line 3: thread T is forked here, but it has run since line 2; a fork comes before its child's first event",
    );
}

#[test]
fn a_thread_is_forked_twice() {
    check(
        "M|fork(T)|1\nT|r(x)|1\nM|fork(T)|1\n",
        "line 3: thread T is forked here, but it was forked already at line 1",
    );
}

#[test]
fn a_thread_forks_or_joins_itself() {
    check("T|fork(T)|1\n", "line 1: thread T cannot fork or join itself");
    check("T|r(x)|1\nT|join(T)|1\n", "line 2: thread T cannot fork or join itself");
}

#[test]
fn a_lock_is_taken_while_it_is_held() {
    check(
        "T|acq(l)|1\nU|acq(l)|1\n",
        "line 2: lock l is taken here, but thread T holds it since line 1; it must be released first",
    );
    check(
        "T|acq(l)|1\nU|racq(l)|1\n",
        "line 2: lock l is taken here, but thread T holds it since line 1; it must be released first",
    );
    check(
        "V|r(x)|1\nT|racq(l)|1\nU|racq(l)|1\nT|rrel(l)|1\nV|acq(l)|1\n",
        "line 5: lock l is taken here, but thread U holds it since line 3; it must be released first",
    );
    check(
        "T|racq(l)|1\nU|racq(l)|1\nT|acq(l)|1\n",
        "line 3: lock l is taken here, but thread U holds it since line 2; it must be released first",
    );
}

#[test]
fn a_lock_is_released_that_is_not_held() {
    let message = "lock l is released here, but thread T does not hold it; a release needs an acquire before it, of the same form (exclusive or shared)";
    check("T|rel(l)|1\n", &format!("line 1: {message}"));
    check("T|acq(l)|1\nT|rel(l)|1\nT|rel(l)|1\n", &format!("line 3: {message}"));
    check("T|racq(l)|1\nT|rel(l)|1\n", &format!("line 2: {message}"));
    check("T|acq(l)|1\nT|rrel(l)|1\n", &format!("line 2: {message}"));
    check("U|racq(l)|1\nT|rrel(l)|1\n", &format!("line 2: {message}"));
}

#[test]
fn a_lock_is_released_by_another_thread() {
    check(
        "T|acq(l)|1\nU|rel(l)|1\n",
        "line 2: lock l is released here by thread U, but thread T holds it since line 1; only the holder can release it",
    );
}

#[test]
fn a_barrier_is_left_that_was_not_entered() {
    let message = "barrier b is left here, but thread T did not enter it; an exit needs an enter of the same thread before it";
    check("U|benter(b)|1\nT|bexit(b)|1\n", &format!("line 2: {message}"));
    check("T|benter(b)|1\nT|bexit(b)|1\nT|bexit(b)|1\n", &format!("line 3: {message}"));
}

#[test]
fn a_semaphore_is_taken_too_often() {
    check(
        "#! semaphore s 1\nT|take(s)|1\nT|post(s)|1\nT|take(s)|1\nU|take(s)|1\n",
        "line 5: semaphore s is taken here, but it has no permit left: all of its initial 1 and of those posted are taken",
    );
}

#[test]
fn a_region_ends_that_did_not_begin() {
    check(
        "T|abegin(a)|1\nT|aend(a)|1\nT|aend(a)|1\n",
        "line 3: atomic region a ends here, but it did not begin in thread T",
    );
    check(
        "T|abegin(a)|1\nU|aend(a)|1\n",
        "line 2: atomic region a ends here, but it did not begin in thread U",
    );
    // A transaction, because it is not the last event.
    check(
        "T|end|1\nT|r(x)|1\n",
        "line 1: atomic region transaction ends here, but it did not begin in thread T",
    );
}

/// In text, a begin that is late and an end that is early are transactions; other readers have these.
#[test]
fn a_life_that_begins_late_or_goes_on_after_its_end() {
    let build = |ops: &[Op]| {
        let mut builder = TraceBuilder::new();
        let (thread, location) = (builder.thread("T").unwrap(), builder.location("1").unwrap());
        for &op in ops {
            builder.push(thread, op, location);
        }
        builder.finish().unwrap_err()
    };
    let late = build(&[Op::Fence, Op::Begin]);
    assert_eq!(
        late.to_string(),
        "event 1: thread T begins here, but it has acted since event 0; a begin must be its thread's first event"
    );
    let early = build(&[Op::End, Op::Fence]);
    assert_eq!(
        early.to_string(),
        "event 1: thread T acts here, but it ended at event 0; an end must be its thread's last event"
    );
    assert!(matches!(early.fault, Fault::ActsAfterEnd { thread: ThreadId(0), .. }));
}
