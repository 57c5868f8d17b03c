//! Each rule of a schedule and each kind of question on a trace small enough to be checked by hand.
//! Every answer is taken from both ways of asking.

use check::Model::{Branch, ReadsFrom, Sync};
use check::{Model, Question, Source};
use trace::{EventId, LocationId, Op, Trace, TraceBuilder};

/// A trace from lines `thread op object`; `permits s 2` declares a semaphore.
fn trace(text: &str) -> Trace {
    let mut builder = TraceBuilder::new();
    let location = builder.location("here").unwrap();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        push(&mut builder, line, location);
    }
    builder.finish().unwrap()
}

fn push(b: &mut TraceBuilder, line: &str, location: LocationId) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words[0] == "permits" {
        let semaphore = b.semaphore(words[1]).unwrap();
        return b.declare_permits(semaphore, words[2].parse().unwrap());
    }
    let thread = b.thread(words[0]).unwrap();
    let o = words.get(2).copied().unwrap_or_default();
    let op = match words[1] {
        "begin" => Op::Begin,
        "end" => Op::End,
        "fork" => Op::Fork(b.thread(o).unwrap()),
        "join" => Op::Join(b.thread(o).unwrap()),
        "r" => Op::Read(b.variable(o).unwrap()),
        "w" => Op::Write(b.variable(o).unwrap()),
        "ar" => Op::AtomicRead(b.variable(o).unwrap()),
        "aw" => Op::AtomicWrite(b.variable(o).unwrap()),
        "rmw" => Op::AtomicUpdate(b.variable(o).unwrap()),
        "req" => Op::Request(b.lock(o).unwrap()),
        "acq" => Op::Acquire(b.lock(o).unwrap()),
        "rel" => Op::Release(b.lock(o).unwrap()),
        "reqs" => Op::RequestShared(b.lock(o).unwrap()),
        "acqs" => Op::AcquireShared(b.lock(o).unwrap()),
        "rels" => Op::ReleaseShared(b.lock(o).unwrap()),
        "wait" => Op::Wait(b.condition(o).unwrap()),
        "signal" => Op::Signal(b.condition(o).unwrap()),
        "broadcast" => Op::Broadcast(b.condition(o).unwrap()),
        "enter" => Op::BarrierEnter(b.barrier(o).unwrap()),
        "exit" => Op::BarrierExit(b.barrier(o).unwrap()),
        "post" => Op::Post(b.semaphore(o).unwrap()),
        "take" => Op::Take(b.semaphore(o).unwrap()),
        "branch" => Op::Branch(o.parse().unwrap()),
        other => panic!("no such operation: {other}"),
    };
    b.push(thread, op, location);
}

fn e(index: u32) -> EventId {
    EventId(index)
}

fn ids(indices: &[u32]) -> Vec<EventId> {
    indices.iter().copied().map(EventId).collect()
}

fn race(a: u32, b: u32) -> Question {
    Question::Race(e(a), e(b))
}

fn deadlock(events: &[u32]) -> Question {
    Question::Deadlock(ids(events))
}

fn order(events: &[u32]) -> Question {
    Question::Order(ids(events))
}

fn reads(read: u32, write: u32) -> Question {
    Question::Reads(e(read), Some(Source::Write(e(write))))
}

fn reads_initial(read: u32) -> Question {
    Question::Reads(e(read), Some(Source::Initial))
}

fn reads_other(read: u32) -> Question {
    Question::Reads(e(read), None)
}

#[track_caller]
fn check(trace: &Trace, model: Model, cases: &[(Question, bool)]) {
    let questions: Vec<Question> = cases.iter().map(|(question, _)| question.clone()).collect();
    let answers = oracle::answer_all(trace, model, &questions);
    for ((question, expected), answer) in cases.iter().zip(answers) {
        question.validate(trace).unwrap();
        let schedule = oracle::decide(trace, question, model);
        assert_eq!(schedule.is_some(), *expected, "{question:?} under {model:?}: {schedule:?}");
        assert_eq!(answer, *expected, "{question:?} under {model:?}, asked with others");
    }
}

#[test]
fn a_race_hidden_by_the_order_of_two_sections() {
    let t = trace(
        "A w x
         A acq l
         A rel l
         B acq l
         B rel l
         B w x",
    );
    for model in [Sync, ReadsFrom, Branch] {
        check(&t, model, &[(race(0, 5), true)]);
    }
    assert_eq!(oracle::decide(&t, &race(0, 5), Sync), Some(ids(&[3, 4])));
}

#[test]
fn a_common_lock_prevents_a_race() {
    let t = trace(
        "A acq l
         A w x
         A rel l
         B acq l
         B w x
         B rel l",
    );
    check(&t, Sync, &[(race(1, 4), false), (order(&[3, 0]), true), (order(&[3, 0, 5]), false)]);
}

#[test]
fn reads_keep_their_writes_in_a_race() {
    let t = trace(
        "A w x
         A w flag
         B r flag
         B r x",
    );
    check(&t, Sync, &[(race(0, 3), true), (race(1, 2), true)]);
    check(&t, ReadsFrom, &[(race(0, 3), false), (race(1, 2), true)]);
    // The thread reads the flag but takes no branch on it.
    check(&t, Branch, &[(race(0, 3), true)]);
}

#[test]
fn a_branch_binds_the_reads_before_it_once_the_thread_goes_beyond_it() {
    let t = trace(
        "A w x
         A w flag
         B r flag
         B branch 1
         B w y
         B r x",
    );
    let none = trace(
        "A w x
         A w flag
         B r flag
         B branch 0
         B w y
         B r x",
    );
    // The branch may be the last event contributed, so the write of y can be next, but not happen.
    let cuts = |counts: [u32; 2]| Question::Cut(counts.to_vec());
    check(&t, ReadsFrom, &[(cuts([0, 1]), false), (cuts([2, 1]), true)]);
    check(&t, Branch, &[(cuts([0, 1]), true), (cuts([0, 2]), true), (cuts([0, 3]), false)]);
    check(&t, Branch, &[(race(0, 5), false), (order(&[4, 0]), false), (order(&[3, 0]), true)]);
    check(&none, Branch, &[(race(0, 5), true), (order(&[4, 0]), true)]);
    // Exempt, the read binds nobody.
    check(&t, Branch, &[(order(&[2, 1]), true), (order(&[2, 4, 0]), true), (reads_initial(5), false)]);
}

#[test]
fn a_stopped_thread_does_not_read() {
    let t = trace(
        "A w flag
         B r flag
         B branch 2
         B r x
         A w x",
    );
    // B's read of x comes after the branch, so it happens only after the flag was seen.
    check(&t, Branch, &[(order(&[3, 0]), false), (reads(3, 4), true)]);
    check(&t, ReadsFrom, &[(order(&[3, 0]), false), (reads(3, 4), true)]);
}

#[test]
fn reads_of_each_source() {
    let t = trace(
        "A w x
         B w x
         C r x
         C r x
         B w x",
    );
    for model in [Sync, ReadsFrom, Branch] {
        check(&t, model, &[(reads(2, 0), true), (reads(2, 1), true), (reads(2, 4), true)]);
        check(&t, model, &[(reads_initial(2), true), (reads_other(2), true), (reads_other(3), true)]);
    }
    // The first read must have seen write 1, so the second no longer sees the initial value.
    check(&t, ReadsFrom, &[(reads_initial(3), false), (reads(3, 0), true), (reads(3, 4), true)]);
    check(&t, Sync, &[(reads_initial(3), true)]);
}

#[test]
fn an_update_reads_and_writes() {
    let t = trace(
        "A rmw x
         B rmw x
         C ar x",
    );
    check(&t, ReadsFrom, &[(order(&[1, 0]), true), (reads_initial(1), true), (reads(2, 0), true)]);
    // Only the named updates are exempt: seen through the third thread the order is fixed.
    check(&t, ReadsFrom, &[(order(&[1, 2]), true), (order(&[2, 1]), true), (reads(0, 1), false)]);
    check(&t, Sync, &[(reads(0, 1), true)]);
}

#[test]
fn a_lock_inversion_deadlocks() {
    let t = trace(
        "A acq l
         A acq m
         A rel m
         A rel l
         B acq m
         B acq l
         B rel l
         B rel m",
    );
    check(&t, ReadsFrom, &[(deadlock(&[1, 5]), true), (deadlock(&[5, 1]), true), (deadlock(&[0, 5]), false)]);
}

#[test]
fn a_gate_lock_prevents_the_deadlock() {
    let t = trace(
        "A acq g
         A acq l
         A acq m
         A rel m
         A rel l
         A rel g
         B acq g
         B acq m
         B acq l
         B rel l
         B rel m
         B rel g",
    );
    check(&t, Sync, &[(deadlock(&[2, 8]), false)]);
}

#[test]
fn three_threads_deadlock_in_the_order_of_the_cycle() {
    let t = trace(
        "A acq l
         A acq m
         A rel m
         A rel l
         B acq m
         B acq n
         B rel n
         B rel m
         C acq n
         C acq l",
    );
    check(&t, Sync, &[(deadlock(&[1, 5, 9]), true), (deadlock(&[1, 9, 5]), false)]);
}

#[test]
fn a_request_blocks_like_its_acquire_and_happens_regardless() {
    let t = trace(
        "A acq l
         A req m
         B acq m
         B req l",
    );
    check(&t, ReadsFrom, &[(deadlock(&[1, 3]), true)]);
    check(&t, Sync, &[(Question::Cut(vec![2, 2]), true)]);
}

#[test]
fn a_thread_is_deadlocked_with_one_that_holds_and_not_with_one_that_held() {
    let t = trace(
        "A acq l
         A rel l
         A acq m
         A rel m
         B acq m
         B acq l",
    );
    check(&t, Sync, &[(deadlock(&[2, 5]), false)]);
}

#[test]
fn shared_sections_overlap_each_other_only() {
    let t = trace(
        "A acqs l
         A r x
         A rels l
         B acqs l
         B w x
         B rels l
         C acq l
         C w x
         C rel l",
    );
    check(&t, ReadsFrom, &[(race(1, 4), true), (race(1, 7), false), (race(4, 7), false)]);
    check(&t, Sync, &[(order(&[0, 3, 2, 5]), true), (order(&[0, 6, 2]), false), (order(&[6, 0, 8]), false)]);
}

#[test]
fn readers_deadlock_with_writers_only() {
    let shared = trace(
        "A acqs l
         A acqs m
         A rels m
         A rels l
         B acqs m
         B acqs l",
    );
    let mixed = trace(
        "A acqs l
         A acq m
         A rel m
         A rels l
         B acqs m
         B acq l",
    );
    let half = trace(
        "A acqs l
         A acqs m
         A rels m
         A rels l
         B acq m
         B acq l",
    );
    check(&shared, Sync, &[(deadlock(&[1, 5]), false)]);
    check(&mixed, Sync, &[(deadlock(&[1, 5]), true)]);
    check(&half, Sync, &[(deadlock(&[1, 5]), true)]);
}

#[test]
fn an_upgrade_by_two_readers_deadlocks() {
    let t = trace(
        "A acqs l
         A acq l
         A rel l
         A rels l
         B acqs l
         B acq l",
    );
    check(&t, Sync, &[(deadlock(&[1, 5]), true)]);
}

#[test]
fn nested_acquires_have_no_effect() {
    let t = trace(
        "A acq l
         A acq l
         A rel l
         A w x
         A rel l
         B acq l
         B w x
         B rel l",
    );
    check(&t, Sync, &[(race(3, 6), false), (order(&[1, 5, 4]), false), (order(&[5, 0]), true)]);
    check(&t, Sync, &[(deadlock(&[1, 5]), false)]);
}

#[test]
fn a_section_open_at_the_end_keeps_the_others_out() {
    let t = trace(
        "A acq l
         A rel l
         B acq l
         B w x",
    );
    check(&t, Sync, &[(order(&[2, 0]), false), (order(&[0, 3]), true), (Question::Cut(vec![0, 2]), true)]);
}

#[test]
fn forks_and_joins_order() {
    let t = trace(
        "A w x
         A fork B
         A w y
         B w x
         B w y
         A join B
         A w x",
    );
    check(&t, Sync, &[(race(0, 3), false), (race(2, 4), true)]);
    check(&t, Sync, &[(race(3, 6), false), (order(&[3, 1]), false), (order(&[5, 4]), false)]);
}

#[test]
fn a_thread_that_is_not_forked_has_no_next_event() {
    let t = trace(
        "C acq l
         C w x
         C rel l
         A acq l
         A fork B
         B w x",
    );
    // Once B is forked, A keeps the lock for good, and C cannot be at its write.
    check(&t, Sync, &[(race(1, 5), false), (Question::Cut(vec![1, 2]), false)]);
    check(&t, Sync, &[(Question::Cut(vec![0, 2, 1]), true), (Question::Cut(vec![0, 1, 1]), false)]);
}

#[test]
fn a_join_deadlocks_with_a_lock() {
    let t = trace(
        "A fork B
         B acq l
         B rel l
         A acq l
         A join B
         A rel l",
    );
    check(&t, ReadsFrom, &[(deadlock(&[4, 1]), true), (deadlock(&[3, 1]), false)]);
}

#[test]
fn a_wait_comes_after_its_signal() {
    let t = trace(
        "A acq l
         A rel l
         B acq l
         B w x
         B signal c
         B rel l
         A wait c
         A acq l
         A w x
         A rel l",
    );
    check(&t, Sync, &[(order(&[6, 4]), false), (race(3, 8), false), (order(&[4, 0]), true)]);
}

#[test]
fn a_lost_signal_deadlocks_through_a_lock() {
    let t = trace(
        "A acq m
         B acq n
         B rel n
         B signal c
         A wait c
         A rel m
         B acq m",
    );
    check(&t, Sync, &[(deadlock(&[4, 6]), false)]);
    let held = trace(
        "A acq m
         B w x
         A rel m
         B acq m
         B signal c
         B rel m
         A wait c",
    );
    check(&held, Sync, &[(deadlock(&[6, 3]), false)]);
    let nested = trace(
        "B acq m
         B rel m
         A acq m
         B signal c
         A wait c
         A rel m",
    );
    check(&nested, Sync, &[(deadlock(&[4, 0]), true)]);
}

#[test]
fn a_barrier_is_left_after_all_entered_it() {
    let t = trace(
        "A w x
         A enter b
         B enter b
         B exit b
         A exit b
         B w x
         A enter b
         A w x",
    );
    check(&t, Sync, &[(race(0, 5), false), (order(&[3, 1]), false), (race(5, 7), true)]);
    check(&t, Sync, &[(order(&[6, 3]), true), (order(&[4, 2]), false)]);
}

#[test]
fn a_barrier_deadlocks_with_a_lock() {
    let t = trace(
        "B acq l
         B rel l
         B enter b
         A acq l
         A enter b
         A exit b
         A rel l
         B exit b",
    );
    check(&t, Sync, &[(deadlock(&[5, 0]), true), (deadlock(&[5, 7]), false)]);
}

#[test]
fn takes_need_permits() {
    let inferred = trace(
        "A w x
         A post s
         B take s
         B w x",
    );
    check(&inferred, Sync, &[(race(0, 3), false), (order(&[2, 1]), false)]);
    let declared = trace(
        "permits s 1
         A w x
         A post s
         B take s
         B w x",
    );
    check(&declared, Sync, &[(race(0, 3), true), (order(&[2, 1]), true)]);
    // Any post will do.
    let two = trace(
        "A post s
         B take s
         C post s
         C take s",
    );
    check(&two, Sync, &[(order(&[2, 1, 0]), true), (order(&[1, 0, 3]), true), (order(&[1, 0, 2]), false)]);
}

#[test]
fn a_take_deadlocks_with_the_one_that_would_post() {
    let t = trace(
        "A post s
         A take t
         B post t
         B take s
         B post s
         A post t",
    );
    check(&t, Sync, &[(deadlock(&[1, 3]), false)]);
    let crossed = trace(
        "permits s 1
         permits t 1
         A take s
         A take t
         A post t
         A post s
         B take t
         B take s
         B post s
         B post t",
    );
    check(&crossed, Sync, &[(deadlock(&[1, 5]), true), (deadlock(&[0, 5]), false)]);
}

#[test]
fn cuts_are_the_reachable_ones() {
    let t = trace(
        "A acq l
         A rel l
         B acq l
         B rel l",
    );
    let cuts = oracle::reachable_cuts(&t, Sync);
    assert_eq!(cuts.len(), 8);
    assert!(!cuts.contains(&vec![1, 1]));
    for a in 0..3 {
        for b in 0..3 {
            let expected = cuts.contains(&vec![a, b]);
            check(&t, Sync, &[(Question::Cut(vec![a, b]), expected)]);
        }
    }
}

#[test]
fn schedules_are_counted() {
    let count = |text: &str, model| {
        let mut count = 0;
        oracle::all_schedules(&trace(text), model, |_| count += 1);
        count
    };
    // Paths from the corner of a 2 x 2 grid: 1 + 2 + 4 + 6 + 6.
    assert_eq!(count("A w x\nA w x\nB w y\nB w y", Sync), 19);
    // (), w, r, wr, rw; and with reads-from (), w, wr.
    assert_eq!(count("A w x\nB r x", Sync), 5);
    assert_eq!(count("A w x\nB r x", ReadsFrom), 3);
    assert_eq!(count("A w x\nB r x", Branch), 5);
}

#[test]
fn paper_1_figure_7_trace_1() {
    let t = trace(
        "A w x
         A w y
         B acq l
         B w y
         B r z
         B rel l
         A acq l
         A signal c
         A w z
         A rel l
         B wait c
         B acq l
         B r x
         B rel l",
    );
    check(&t, ReadsFrom, &[(race(0, 12), false), (race(1, 3), true)]);
}

#[test]
fn paper_1_figure_7_trace_2() {
    let t = trace(
        "A w x
         A w y
         A acq l
         A w z
         A rel l
         B acq l
         B w y
         B r z
         B r x
         B rel l",
    );
    check(&t, ReadsFrom, &[(race(0, 8), false), (race(1, 6), true)]);
    // Without reads-from, x looks like a race: what UCG reports.
    check(&t, Sync, &[(race(0, 8), true), (race(1, 6), true)]);
}
