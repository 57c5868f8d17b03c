//! Runs written by hand, loaded, and read back: so each trace passes the check of well-formedness too.

mod bulk;

use std::path::Path;

use trace::native::{self, Completeness};
use trace::{EventId, Metadata, Trace, text};
use wire::{Event, Hold, Op, Waker};

use super::*;

const EXCLUSIVE: Hold = Hold::Exclusive;
const SHARED: Hold = Hold::Shared;

/// A thread's number and what it did; each is at its own place, and at the address 0x10 times its thread's number.
type Run<'a> = &'a [(u32, Op<'a>)];

fn events<'a>(run: Run<'a>) -> Vec<Event<'a>> {
    let mut places = [0; 8];
    let numbered = run.iter().map(|&(thread, op)| {
        let unplaced = matches!(
            op,
            Op::FunctionEntry { .. }
                | Op::FunctionExit
                | Op::Branches { .. }
                | Op::Request { .. }
                | Op::Limited
        );
        let next = &mut places[thread as usize];
        let place = (!unplaced).then_some(*next);
        *next += u64::from(!unplaced);
        Event { thread, place, pc: 0x10 * u64::from(thread + 1), op }
    });
    numbered.collect()
}

fn loaded_with(run: Run<'_>, options: &Options) -> Trace {
    let events = events(run);
    let mut first = FirstPass::default();
    events.iter().for_each(|event| first.see(event, event));
    let modules = || Modules::listed("", Path::new("/"));
    let choose = |shared: &_| Chosen::by(options, modules(), events.iter().copied(), shared);
    let writer = Writer::new(Vec::new()).unwrap();
    let mut translator = first.second_pass(modules(), choose, &Metadata::default(), options, writer).unwrap();
    events.iter().for_each(|event| translator.event(event).unwrap());
    let bytes = translator.finish(&mut Loaded::default()).unwrap().finish().unwrap();
    let (trace, completeness) = native::read(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(completeness, Completeness::Complete);
    assert_eq!(lines_of(&trace), lines_of(&in_memory(&events, options)), "a trace in memory is the same");
    trace
}

/// The same run, loaded into memory.
fn in_memory(events: &[Event<'_>], options: &Options) -> Trace {
    let mut first = FirstPass::default();
    events.iter().for_each(|event| first.see(event, event));
    let modules = || Modules::listed("", Path::new("/"));
    let choose = |shared: &_| Chosen::by(options, modules(), events.iter().copied(), shared);
    let memory = InMemory::default();
    let mut translator = first.second_pass(modules(), choose, &Metadata::default(), options, memory).unwrap();
    events.iter().for_each(|event| translator.event(event).unwrap());
    translator.finish(&mut Loaded::default()).unwrap().finish().unwrap()
}

/// The trace of a run as text without locations and metadata.
fn lines_of(trace: &Trace) -> Vec<String> {
    let mut written = Vec::new();
    text::write(trace, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let is_heading = |line: &&str| ["#! metadata", "#! wait"].iter().any(|start| line.starts_with(start));
    let lines = written.lines().filter(|line| !is_heading(line));
    lines.map(|line| line.rsplit_once('|').map_or(line, |(event, _)| event).to_owned()).collect()
}

#[track_caller]
fn check(run: Run<'_>, expected: &[&str]) {
    assert_eq!(lines_of(&loaded_with(run, &Options::default())), expected);
}

fn read(address: u64) -> Op<'static> {
    Op::Read { address, size: 4 }
}

fn write(address: u64) -> Op<'static> {
    Op::Write { address, size: 4 }
}

fn acquire(lock: u64) -> Op<'static> {
    Op::Acquire { lock, hold: EXCLUSIVE }
}

fn release(lock: u64) -> Op<'static> {
    Op::Release { lock, hold: EXCLUSIVE }
}

#[test]
fn threads_and_accesses() {
    let begin = |low| Op::Begin { stack_low: low, stack_high: low + 64, kernel_id: 7, thread_pointer: 0 };
    check(
        &[
            (0, begin(1000)),
            (0, write(0x500)),
            (0, Op::Create { child: 1 }),
            (0, Op::ThreadName { thread: 1, name: b"worker" }),
            (1, begin(2000)),
            (1, Op::ReadWrite { address: 0x500, size: 4 }),
            (1, write(2004)),
            (1, Op::Fence { order: 5 }),
            (1, Op::End),
            (0, Op::Join { child: 1 }),
            (0, Op::AtomicUpdate { address: 0x500, size: 4 }),
        ],
        &[
            "main|begin(main)",
            "main|w(0x500)",
            "main|fork(worker)",
            "worker|begin(worker)",
            "worker|r(0x500)",
            "worker|w(0x500)",
            "worker|fence()",
            "worker|end(worker)",
            "main|join(worker)",
            "main|rmw(0x500)",
        ],
    );
}

#[test]
fn only_the_first_use_of_what_another_allocated_is_kept() {
    let allocate = Op::Allocate { address: 0x1000, size: 16 };
    check(
        &[
            (0, Op::Create { child: 1 }),
            (0, allocate),
            (0, Op::Zeroed { address: 0x1000, length: 16 }),
            (1, write(0x1000)),
            (1, write(0x1004)),
            (1, write(0x1000)),
            (1, Op::Free { address: 0x1000 }),
        ],
        &["main|fork(T1)", "main|alloc(block (0xf))", "T1|w(block (0xf)+0)", "T1|free(block (0xf))"],
    );
}

#[test]
fn memory_orders_are_those_of_the_operation_that_follows() {
    let order = |order| Op::Order { order };
    check(
        &[
            (0, Op::Create { child: 1 }),
            (0, order(3)),
            (0, Op::AtomicWrite { address: 0x500, size: 8 }),
            (1, order(0)),
            (1, Op::AtomicRead { address: 0x500, size: 8 }),
            (1, order(1)),
            (1, Op::AtomicRead { address: 0x500, size: 8 }),
            // Memory that only one thread touches is no variable; its order is not that of what comes next.
            (1, order(0)),
            (1, Op::AtomicWrite { address: 0x700, size: 8 }),
            (1, Op::AtomicUpdate { address: 0x500, size: 8 }),
            (1, Op::Branches { count: 2 }),
            (1, Op::Fence { order: 4 }),
            (1, order(5)),
            (1, Op::AtomicUpdate { address: 0x500, size: 8 }),
        ],
        &[
            "main|fork(T1)",
            "main|aw.release(0x500)",
            "T1|ar.relaxed(0x500)",
            "T1|ar.acquire(0x500)",
            "T1|rmw(0x500)",
            "T1|branch(2)",
            "T1|fence.acq_rel()",
            "T1|rmw(0x500)",
        ],
    );
}

#[test]
fn waits_are_release_wait_acquire() {
    let wait = Op::Wait { condition: 0x60, lock: 0x50 };
    check(
        &[
            (0, Op::Create { child: 1 }),
            (1, acquire(0x50)),
            (1, wait),
            (0, acquire(0x50)),
            (0, Op::Signal { condition: 0x60 }),
            (0, release(0x50)),
            (1, Op::Woken { condition: 0x60, by: Waker::Signal }),
            (1, Op::Request { lock: 0x50, hold: EXCLUSIVE }),
            (1, acquire(0x50)),
            (1, wait),
            (1, Op::Woken { condition: 0x60, by: Waker::Timeout }),
            (1, acquire(0x50)),
        ],
        &[
            "main|fork(T1)",
            "T1|acq(0x50)",
            "T1|rel(0x50)",
            "main|acq(0x50)",
            "main|signal(0x60)",
            "main|rel(0x50)",
            "T1|wait(0x60)",
            "T1|req(0x50)",
            "T1|acq(0x50)",
            "T1|rel(0x50)",
            "T1|acq(0x50)",
        ],
    );
}

/// A race that is meant is no order, and says nothing about the order of what follows.
#[test]
fn intended_races_order_nothing() {
    let write = Op::Write { address: 0x100, size: 4 };
    check(
        &[
            (0, Op::Create { child: 1 }),
            (0, Op::Benign { address: 0x100, length: 4 }),
            (0, write),
            (0, Op::HappensBefore { object: 0x200 }),
            (1, Op::HappensAfter { object: 0x200 }),
            (1, write),
        ],
        &[
            "main|fork(T1)",
            "main|aw.relaxed(0x100)",
            "main|aw(order at 0x200)",
            "T1|ar(order at 0x200)",
            "T1|aw.relaxed(0x100)",
        ],
    );
}

/// Who runs finalizers comes after all that other threads have done.
#[test]
fn finalizers_come_after_everything() {
    let everything = Op::HappensAfter { object: wire::Passage::Everything.object() };
    check(
        &[(0, Op::Create { child: 1 }), (1, write(0x100)), (0, everything), (0, read(0x100))],
        &["main|fork(T1)", "T1|w(0x100)", "T1|aw(finalizers)", "main|ar(finalizers)", "main|r(0x100)"],
    );
}

#[test]
fn what_cannot_have_happened_is_left_out_or_is_another_object() {
    check(
        &[
            (0, Op::Create { child: 1 }),
            (0, release(0x50)),
            (0, acquire(0x50)),
            (0, acquire(0x50)),
            (1, acquire(0x50)),
            (1, release(0x50)),
            (1, Op::BarrierExit { barrier: 0x70 }),
            (1, Op::RegionEnd { name: b"r" }),
            (1, Op::Join { child: 1 }),
            (1, Op::End),
            (1, acquire(0x50)),
        ],
        &[
            "main|fork(T1)",
            "main|acq(0x50)",
            "main|acq(0x50)",
            "T1|acq(0x50#2)",
            "T1|rel(0x50#2)",
            "T1|end(T1)",
        ],
    );
}

#[test]
fn semaphores_barriers_marks_regions_and_shared_locks() {
    check(
        &[
            (0, Op::SemaphoreInit { semaphore: 0x80, value: 1 }),
            (0, Op::Take { semaphore: 0x80 }),
            (0, Op::Take { semaphore: 0x80 }),
            (0, Op::Post { semaphore: 0x80 }),
            (0, Op::TakeFailed { semaphore: 0x80 }),
            (0, Op::BarrierInit { barrier: 0x70, count: 1 }),
            (0, Op::BarrierEnter { barrier: 0x70 }),
            (0, Op::BarrierExit { barrier: 0x70 }),
            (0, Op::RegionBegin { name: b"r" }),
            (0, Op::Mark { name: b"m", value: -3 }),
            (0, Op::RegionEnd { name: b"r" }),
            (0, Op::Acquire { lock: 0x50, hold: SHARED }),
            (1, Op::Acquire { lock: 0x50, hold: SHARED }),
            (0, Op::Release { lock: 0x50, hold: EXCLUSIVE }),
            (1, Op::Release { lock: 0x50, hold: SHARED }),
        ],
        &[
            "#! semaphore 0x80 2",
            "main|take(0x80)",
            "main|take(0x80)",
            "main|post(0x80)",
            "main|benter(0x70)",
            "main|bexit(0x70)",
            "main|abegin(r)",
            "main|mark(m,-3)",
            "main|aend(r)",
            "main|racq(0x50)",
            "T1|racq(0x50)",
            "main|rrel(0x50)",
            "T1|rrel(0x50)",
        ],
    );
}

#[test]
fn blocks_are_named_for_where_they_come_from() {
    let allocate = Op::Allocate { address: 0x1000, size: 32 };
    check(
        &[
            (0, Op::Create { child: 1 }),
            (0, allocate),
            (0, allocate),
            (0, write(0x1008)),
            (0, acquire(0x1010)),
            (1, read(0x1008)),
            (1, Op::Free { address: 0x1000 }),
            (1, read(0x1008)),
            (0, allocate),
            (0, release(0x1010)),
            (0, acquire(0x1010)),
        ],
        &[
            "main|fork(T1)",
            "main|alloc(block (0xf)#2)",
            "main|w(block (0xf)#2+8)",
            "main|acq(block (0xf)#2+16)",
            "T1|r(block (0xf)#2+8)",
            "T1|free(block (0xf)#2)",
            "T1|r(block (0xf)#2+8)",
            "main|acq(block (0xf)#3+16)",
        ],
    );
}

#[test]
fn places_count_what_was_dropped() {
    let run = [
        (0, write(0x900)),
        (0, write(0x500)),
        (0, Op::WriteRange { address: 0x500, length: 8 }),
        (0, write(0x900)),
        (0, write(0x504)),
        (1, Op::Branches { count: 3 }),
        (1, read(0x500)),
        (1, read(0x800)),
        (1, Op::Branches { count: 2 }),
        (1, Op::FunctionEntry { call: 5 }),
        (1, Op::Branches { count: 2 }),
        (1, read(0x504)),
    ];
    let trace = loaded_with(&run, &Options::default());
    assert_eq!(
        lines_of(&trace),
        [
            "main|w(0x500)",
            "main|w(0x500)",
            "main|w(0x504)",
            "main|w(0x504)",
            "T1|r(0x500)",
            "T1|branch(7)",
            "T1|r(0x504)",
        ]
    );
    let all: Vec<EventId> = (0..trace.len()).map(EventId::new).collect();
    let places = trace.notes().unwrap().places(&trace, &all).unwrap();
    let expected = [1, 2, 2, 4, 0, 0, 2].map(Some);
    assert_eq!(places, expected);
}

#[test]
fn stacks_follow_the_calls() {
    let enter = |call| (0, Op::FunctionEntry { call });
    let run = [
        enter(0x100),
        (0, write(0x500)),
        enter(0x200),
        (0, write(0x500)),
        (0, Op::FunctionExit),
        (0, write(0x500)),
        (1, read(0x500)),
    ];
    let trace = loaded_with(&run, &Options::default());
    let notes = trace.notes().unwrap();
    // Without modules nothing is known of the code, so there are no frames.
    assert!(notes.stacks().is_empty());
    assert_eq!(trace.len(), 4);
}

#[test]
fn repeated_accesses_can_be_dropped_without_changing_what_reads_see() {
    let run = [
        (0, write(0x500)),
        (0, write(0x500)),
        (0, read(0x500)),
        (1, read(0x500)),
        (1, read(0x500)),
        (0, write(0x500)),
        (0, acquire(0x50)),
        (0, write(0x500)),
        (0, read(0x500)),
        (0, Op::AtomicUpdate { address: 0x600, size: 4 }),
        (0, Op::ReadWrite { address: 0x500, size: 4 }),
        (0, Op::ReadWrite { address: 0x500, size: 4 }),
        (1, Op::AtomicUpdate { address: 0x600, size: 4 }),
    ];
    let options = Options { drop_repeated: true, ..Options::default() };
    assert_eq!(
        lines_of(&loaded_with(&run, &options)),
        [
            "main|w(0x500)",
            "T1|r(0x500)",
            "main|w(0x500)",
            "main|acq(0x50)",
            "main|w(0x500)",
            "main|rmw(0x600)",
            "main|r(0x500)",
            "main|w(0x500)",
            "T1|rmw(0x600)"
        ]
    );
}

#[test]
fn a_sample_keeps_variables_whole() {
    let mut run = Vec::new();
    for variable in 0..100 {
        run.extend([(0, write(0x1000 + variable * 8)), (1, read(0x1000 + variable * 8))]);
    }
    let sample = |share| Options { sample: Some(Sample { share, seed: 1 }), ..Options::default() };
    let half = loaded_with(&run, &sample(0.5)).len();
    assert!((40..160).contains(&half) && half.is_multiple_of(2), "{half}");
    assert_eq!(loaded_with(&run, &sample(1.0)).len(), 200);
    assert_eq!(loaded_with(&run, &sample(0.0)).len(), 0);
}

#[test]
fn patterns_choose_variables_and_never_synchronisation() {
    // Code of main is at 0xf, that of the thread at 0x1f.
    let atomic = Op::AtomicWrite { address: 0x700, size: 4 };
    let run = [
        (0, write(0x500)),
        (1, write(0x500)),
        (0, write(0x600)),
        (2, read(0x600)),
        (0, acquire(0x50)),
        (0, atomic),
        (2, Op::AtomicRead { address: 0x700, size: 4 }),
    ];
    let rest = ["main|acq(0x50)", "main|aw(0x700)", "T2|ar(0x700)"];
    let with = |options: &Options| lines_of(&loaded_with(&run, options));
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text)).collect::<Vec<_>>();
    // A variable is kept with all that is done to it, so that reads saw what the trace says.
    let of_thread = [&["main|w(0x500)", "T1|w(0x500)"], &rest[..]].concat();
    let include = Options { include: patterns(&["0x1f"]), ..Options::default() };
    assert_eq!(with(&include), of_thread);
    let exclude = Options { exclude: patterns(&["0xf", "0x2f"]), ..Options::default() };
    assert_eq!(with(&exclude), of_thread);
    let nothing = Options { include: patterns(&["nowhere"]), ..Options::default() };
    assert_eq!(with(&nothing), rest);
    let sample = Options { sample: Some(Sample { share: 0.0, seed: 1 }), ..Options::default() };
    assert_eq!(with(&sample), rest);
}

#[test]
fn a_spinning_thread_is_cut_short_and_sees_the_write_in_the_end() {
    let spin = std::iter::repeat_n((1, Op::AtomicRead { address: 0x500, size: 4 }), 1000);
    let mut run = vec![(0, write(0x600))];
    run.extend(spin.clone());
    run.push((0, Op::AtomicWrite { address: 0x500, size: 4 }));
    run.push((1, Op::AtomicRead { address: 0x500, size: 4 }));
    run.push((1, read(0x600)));
    let trace = lines_of(&loaded_with(&run, &Options::default()));
    assert_eq!(trace.len(), 1 + 16 + 3);
    assert_eq!(trace[16..], ["T1|ar(0x500)", "main|aw(0x500)", "T1|ar(0x500)", "T1|r(0x600)"]);
}

#[test]
fn a_trace_ends_at_the_limit_and_not_a_single_event_later() {
    let run = [
        (0, write(0x500)),
        (1, read(0x500)),
        (1, Op::Branches { count: 3 }),
        (1, Op::ReadWrite { address: 0x500, size: 4 }),
        (0, acquire(0x50)),
        (0, Op::WriteRange { address: 0x4f8, length: 64 }),
        (1, read(0x508)),
    ];
    let whole = lines_of(&loaded_with(&run, &Options::default()));
    assert_eq!(whole.len(), 9);
    assert_eq!(whole[2], "T1|branch(3)");
    for most in 1..=10 {
        let options = Options { max_events: NonZeroU64::new(most), ..Options::default() };
        assert_eq!(lines_of(&loaded_with(&run, &options)), whole[..whole.len().min(most as usize)]);
    }
}
