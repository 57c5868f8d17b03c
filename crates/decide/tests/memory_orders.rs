//! The rules of C, C++ and Rust about release and acquire, one by one: which races follow from a memory order.
//!
//! In each trace thread `A` publishes and thread `B` receives. The engine, its evidence and the oracle must agree with the standard.

use check::{Model, Question, check_refutation, check_schedule};
use decide::{Index, Options, Verdict, decide};
use trace::{EventId, Op, Trace};

fn read(lines: &str) -> Trace {
    let numbered = lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
    let text: String = numbered.map(|(number, line)| format!("{line}|{number}\n")).collect();
    trace::text::read(text.as_bytes()).expect("a trace")
}

/// Whether the accesses of a variable race: the first write of it, and the first access of it by another thread.
fn races(trace: &Trace, name: &str) -> bool {
    let of_variable =
        |op: Op| op.access().filter(|access| trace.symbols().variable(access.variable) == name).is_some();
    let mut accesses = trace.events().filter(|&(_, _, op)| of_variable(op));
    let (first, thread, _) = accesses.next().expect("a write");
    let (second, ..) = accesses.find(|&(_, other, _)| other != thread).expect("an access of another thread");
    let (question, model) = (Question::Race(first, second), Model::ReadsFrom);
    let index = Index::new(trace);
    let expected = oracle::decide(trace, &question, model).is_some();
    match decide(&index, &question, model, Options::default()).expect("a question") {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(&index, &question, model);
            check_schedule(trace, &question, model, &schedule).expect("a schedule");
            assert!(expected);
            true
        }
        Verdict::Infeasible(refutation) => {
            check_refutation(trace, &question, model, &refutation).expect("a refutation");
            assert!(!expected);
            false
        }
        Verdict::Unknown { .. } => panic!("unknown"),
    }
}

#[track_caller]
fn check(lines: &str, racy: &[&str], ordered: &[&str]) {
    let trace = read(lines);
    for name in racy {
        assert!(races(&trace, name), "`{name}` should race");
    }
    for name in ordered {
        assert!(!races(&trace, name), "`{name}` should not race");
    }
    // With sequential consistency alone nothing of this races.
    let strong = trace.without_memory_orders();
    for name in racy.iter().chain(ordered) {
        assert!(!races(&strong, name), "`{name}` should not race if all is seq_cst");
    }
}

/// "An atomic operation A that performs a release operation on an atomic object M synchronizes with an atomic operation B that performs
/// an acquire operation on M and takes its value from any side effect in the release sequence headed by A."
#[test]
fn a_release_store_synchronises_with_an_acquire_load() {
    let with =
        |store: &str, load: &str| format!("A|w(data)\nA|aw.{store}(flag)\nB|ar.{load}(flag)\nB|r(data)");
    for (store, load) in
        [("release", "acquire"), ("seq_cst", "acquire"), ("release", "seq_cst"), ("seq_cst", "seq_cst")]
    {
        check(&with(store, load), &[], &["data"]);
    }
    for (store, load) in [
        ("relaxed", "relaxed"),
        ("relaxed", "acquire"),
        ("release", "relaxed"),
        ("relaxed", "seq_cst"),
        ("seq_cst", "relaxed"),
    ] {
        check(&with(store, load), &["data"], &[]);
    }
}

/// A successful compare-exchange reads and writes with its success order, one that fails only reads.
#[test]
fn updates_release_and_acquire_as_their_order_says() {
    let with = |first: &str, second: &str| {
        format!("A|w(data)\nA|rmw.{first}(flag)\nB|rmw.{second}(flag)\nB|r(data)")
    };
    for (first, second) in [("release", "acquire"), ("acq_rel", "acq_rel"), ("seq_cst", "acquire")] {
        check(&with(first, second), &[], &["data"]);
    }
    for (first, second) in [("acquire", "acquire"), ("release", "release"), ("relaxed", "acq_rel")] {
        check(&with(first, second), &["data"], &[]);
    }
}

/// "A release sequence headed by a release operation A on an atomic object M is a maximal contiguous sub-sequence of side effects in the
/// modification order of M, where the first operation is A, and every subsequent operation is an atomic read-modify-write operation", and
/// in C also what "is performed by the same thread that performed the release".
#[test]
fn release_sequences_go_on_through_updates() {
    let through =
        |between: &str| format!("A|w(data)\nA|aw.release(flag)\n{between}\nB|ar.acquire(flag)\nB|r(data)");
    check(&through("C|rmw.relaxed(flag)"), &[], &["data"]);
    check(&through("C|rmw.relaxed(flag)\nD|rmw.relaxed(flag)"), &[], &["data"]);
    check(&through("A|aw.relaxed(flag)"), &[], &["data"]);
    check(&through("C|rmw.relaxed(flag)\nA|aw.relaxed(flag)"), &[], &["data"]);
    // A store of another thread ends the sequence. That thread has seen nothing, so nothing is in order at all.
    let ended = read(&through("C|aw.relaxed(flag)"));
    assert!(races(&ended, "data"));
}

/// A store of the thread that heads the sequence goes on with it, relaxed or not atomic at all; that of another thread ends it for good,
/// whatever follows.
#[test]
fn release_sequences_end_at_a_store_of_another_thread() {
    let through =
        |between: &str| format!("A|w(data)\nA|aw.release(flag)\n{between}\nB|ar.acquire(flag)\nB|r(data)");
    check(&through("A|w(flag)"), &[], &["data"]);
    check(&through("A|aw.relaxed(flag)\nC|rmw.relaxed(flag)\nA|aw.relaxed(flag)"), &[], &["data"]);
    check(&through("C|aw.relaxed(flag)\nA|aw.relaxed(flag)"), &["data"], &[]);
    check(&through("C|aw.relaxed(flag)\nA|rmw.relaxed(flag)"), &["data"], &[]);
    // A head of its own begins a new sequence.
    check(&through("C|aw.relaxed(flag)\nA|aw.release(flag)"), &[], &["data"]);
}

/// A store that releases heads a sequence of its own: it publishes what its thread did, and not what the head before it published.
#[test]
fn a_release_store_does_not_go_on_with_the_sequence_of_another_thread() {
    let trace = read(
        "A|w(data)
         A|aw.release(flag)
         C|w(other)
         C|aw.release(flag)
         B|ar.acquire(flag)
         B|r(data)
         B|r(other)",
    );
    assert!(races(&trace, "data"));
    assert!(!races(&trace, "other"));
}

/// The thread in the middle of a release sequence publishes nothing of its own.
#[test]
fn a_relaxed_update_in_a_release_sequence_publishes_only_what_its_head_did() {
    check(
        "A|w(data)
         A|aw.release(flag)
         C|w(other)
         C|rmw.relaxed(flag)
         B|ar.acquire(flag)
         B|r(data)
         B|r(other)",
        &["other"],
        &["data"],
    );
}

/// "A release fence A synchronizes with an acquire fence B if there exist atomic operations X and Y, both operating on some atomic object
/// M, such that A is sequenced before X, X modifies M, Y is sequenced before B, and Y reads the value written by X or a value written by any
/// side effect in the hypothetical release sequence X would head if it were a release operation."
#[test]
fn a_release_fence_synchronises_with_an_acquire_fence() {
    let with = |release: &str, acquire: &str| {
        format!(
            "A|w(data)\nA|fence.{release}()\nA|w(late)\nA|aw.relaxed(flag)\n\
             B|ar.relaxed(flag)\nB|r(early)\nB|fence.{acquire}()\nB|r(data)\nB|r(late)"
        )
        .replace("A|w(data)", "A|w(early)\nA|w(data)")
    };
    for (release, acquire) in [("release", "acquire"), ("acq_rel", "acq_rel"), ("seq_cst", "seq_cst")] {
        check(&with(release, acquire), &["early", "late"], &["data"]);
    }
    check(&with("acquire", "acquire"), &["early", "late", "data"], &[]);
    check(&with("release", "release"), &["early", "late", "data"], &[]);
}

#[test]
fn a_fence_synchronises_through_a_hypothetical_release_sequence() {
    check(
        "A|w(data)
         A|fence.release()
         A|aw.relaxed(flag)
         C|rmw.relaxed(flag)
         B|ar.relaxed(flag)
         B|fence.acquire()
         B|r(data)",
        &[],
        &["data"],
    );
}

/// "A release fence A synchronizes with an atomic operation B that performs an acquire operation on an atomic object M if there exists an
/// atomic operation X such that A is sequenced before X, X modifies M, and B reads the value written by X."
#[test]
fn a_release_fence_synchronises_with_an_acquire_load() {
    check(
        "A|w(data)
         A|fence.release()
         A|w(late)
         A|aw.relaxed(flag)
         B|ar.acquire(flag)
         B|r(data)
         B|r(late)",
        &["late"],
        &["data"],
    );
}

/// "An atomic operation A that is a release operation on an atomic object M synchronizes with an acquire fence B if there exists some atomic
/// operation X on M such that X is sequenced before B and reads the value written by A or a value written by any side effect in the release
/// sequence headed by A."
#[test]
fn a_release_store_synchronises_with_an_acquire_fence() {
    check(
        "A|w(early)
         A|w(data)
         A|aw.release(flag)
         B|ar.relaxed(flag)
         B|r(early)
         B|fence.acquire()
         B|r(data)",
        &["early"],
        &["data"],
    );
}

/// A fence without a word is `seq_cst`: it releases and acquires, with fences and operations of any strength.
#[test]
fn sequentially_consistent_fences_release_and_acquire() {
    let with = |release: &str, store: &str, load: &str, acquire: &str| {
        format!("A|w(data)\n{release}\nA|aw.{store}(flag)\nB|ar.{load}(flag)\n{acquire}\nB|r(data)")
    };
    let (fence_a, fence_b) = ("A|fence()", "B|fence()");
    check(&with(fence_a, "relaxed", "relaxed", fence_b), &[], &["data"]);
    check(&with(fence_a, "relaxed", "relaxed", "B|fence.acquire()"), &[], &["data"]);
    check(&with("A|fence.release()", "relaxed", "relaxed", fence_b), &[], &["data"]);
    check(&with(fence_a, "relaxed", "acquire", ""), &[], &["data"]);
    check(&with("", "release", "relaxed", fence_b), &[], &["data"]);
    check(&with(fence_a, "relaxed", "relaxed", ""), &["data"], &[]);
    check(&with("", "relaxed", "relaxed", fence_b), &["data"], &[]);
}

/// Their single order is no synchronisation: without an operation that carries something over, nothing is in order.
#[test]
fn sequentially_consistent_fences_alone_order_nothing() {
    let trace = read("A|w(data)\nA|fence()\nB|fence()\nB|r(data)");
    assert!(races(&trace, "data"));
    // Both have written before and read afterwards, as in Dekker's algorithm; neither has seen the other.
    let trace = read(
        "A|aw.relaxed(a)\nA|fence()\nB|aw.relaxed(b)\nB|fence()\nA|ar.relaxed(c)\nA|w(data)\nB|ar.relaxed(d)\nB|w(data)",
    );
    assert!(races(&trace, "data"));
}

/// A fence before the load, or after the store, does nothing for them.
#[test]
fn fences_on_the_wrong_side_order_nothing() {
    check(
        "A|w(data)
         A|aw.relaxed(flag)
         A|fence.release()
         B|fence.acquire()
         B|ar.relaxed(flag)
         B|r(data)",
        &["data"],
        &[],
    );
}

/// Happens-before is transitive, through another flag and another thread.
#[test]
fn what_was_received_is_passed_on() {
    check(
        "A|w(data)
         A|aw.release(flag)
         C|ar.acquire(flag)
         C|aw.release(next)
         B|ar.acquire(next)
         B|r(data)",
        &[],
        &["data"],
    );
    check(
        "A|w(data)
         A|aw.release(flag)
         C|ar.relaxed(flag)
         C|aw.release(next)
         B|ar.acquire(next)
         B|r(data)",
        &["data"],
        &[],
    );
}

/// A lock around a relaxed flag orders what the flag does not: its sections cannot be turned round, since the read has seen the write.
#[test]
fn a_lock_around_a_relaxed_flag_protects() {
    check(
        "A|acq(l)
         A|w(data)
         A|aw.relaxed(flag)
         A|rel(l)
         B|acq(l)
         B|ar.relaxed(flag)
         B|rel(l)
         B|r(data)",
        &[],
        &["data"],
    );
    // The flag is set after the lock was released, and seen while it is held.
    check(
        "A|acq(l)
         A|w(data)
         A|rel(l)
         B|acq(l)
         A|aw.relaxed(flag)
         B|ar.relaxed(flag)
         B|rel(l)
         B|r(data)",
        &[],
        &["data"],
    );
}

/// The event ids of evidence are those of the trace, whatever the orders.
#[test]
fn the_shortest_schedule_leaves_the_unordered_write_out() {
    let trace = read("A|w(data)\nA|aw.relaxed(flag)\nB|ar.relaxed(flag)\nB|r(data)");
    let (question, model) = (Question::Race(EventId(0), EventId(3)), Model::ReadsFrom);
    let index = Index::new(&trace);
    let Ok(Verdict::Feasible(witness)) = decide(&index, &question, model, Options::default()) else {
        panic!("should race")
    };
    assert_eq!(witness.schedule(&index, &question, model), [EventId(2)]);
}
