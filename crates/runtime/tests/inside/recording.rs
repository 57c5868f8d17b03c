//! Small programs of one kind each: what they do is what the log says.

use std::collections::HashMap;

use crate::support::{Program, compile, compile_with, count};
use wire::{Event, Hold, Op, Stop, Waker};

/// The log's order is exact: every value that a racy program read is the one the log's last write put there.
#[test]
fn the_order_predicts_every_value_read() {
    let program = compile("order.c");
    for seed in 0..8 {
        let policy = ["random", "pct", "round-robin", "os"][seed % 4];
        let run = program.record(&[&format!("seed={seed}"), &format!("policy={policy}")], &[]);
        run.ended_with(0);
        let met = check_values(&run.stdout(), &run.events());
        assert!(met > 50 || policy != "random", "threads met {met} times only");
    }
}

/// Compares what was printed with what the log predicts; how often a thread read what another wrote.
fn check_values(stdout: &str, events: &[Event<'_>]) -> u32 {
    let mut lines = stdout.lines();
    let base = u64::from_str_radix(lines.next().unwrap(), 16).unwrap();
    let mut printed: Vec<u32> =
        lines.next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
    printed.retain(|&value| value != 0);
    let mut memory: HashMap<u64, u32> = HashMap::new();
    let mut writes = [0u32; 4];
    let mut predicted = vec![Vec::new(); 4];
    let mut foreign = 0;
    for event in events {
        let thread = event.thread as usize;
        match event.op {
            Op::Write { address, size: 4 } if (base..base + 16).contains(&address) => {
                writes[thread] += 1;
                memory.insert(address, event.thread * 1_000_000 + writes[thread]);
            }
            Op::Read { address, size: 4 } if thread > 0 && (base..base + 16).contains(&address) => {
                let value = memory.get(&address).copied().unwrap_or(0);
                predicted[thread].extend((value != 0).then_some(value));
                foreign += u32::from(value / 1_000_000 != event.thread);
            }
            _ => {}
        }
    }
    assert_eq!(predicted.concat(), printed);
    foreign
}

#[test]
fn mutexes() {
    let run = compile("mutex.c").record(&["seed=3"], &[]);
    run.ended_with(0);
    let events = run.events();
    let exclusive = Hold::Exclusive;
    let acquired = count(&events, |op| matches!(op, Op::Acquire { hold, .. } if *hold == exclusive));
    let released = count(&events, |op| matches!(op, Op::Release { hold, .. } if *hold == exclusive));
    assert_eq!(acquired, 400 + 1 + 2 + 1);
    assert_eq!(released, acquired);
    assert_eq!(count(&events, |op| matches!(op, Op::TryFailed { .. })), 3);
    assert!(count(&events, |op| matches!(op, Op::Request { .. })) >= 2);
    locks_have_one_holder(&events);
}

/// No lock is held twice, except by the holder of a recursive one.
fn locks_have_one_holder(events: &[Event<'_>]) {
    let mut holders: HashMap<u64, Vec<u32>> = HashMap::new();
    for event in events {
        match event.op {
            Op::Acquire { lock, hold: Hold::Exclusive } => {
                let holders = holders.entry(lock).or_default();
                assert!(holders.iter().all(|&holder| holder == event.thread));
                holders.push(event.thread);
            }
            Op::Release { lock, hold: Hold::Exclusive } | Op::Wait { lock, .. } => {
                assert_eq!(holders.entry(lock).or_default().pop(), Some(event.thread));
            }
            _ => {}
        }
    }
}

#[test]
fn conditions() {
    let run = compile("condition.c").record(&["seed=5", "quantum=20"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "40200\n");
    let events = run.events();
    locks_have_one_holder(&events);
    let waits = count(&events, |op| matches!(op, Op::Wait { .. }));
    assert_eq!(count(&events, |op| matches!(op, Op::Woken { .. })), waits);
    assert_eq!(count(&events, |op| matches!(op, Op::Woken { by: Waker::Broadcast, .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::Woken { by: Waker::Timeout, .. })), 2);
    assert_eq!(count(&events, |op| matches!(op, Op::Signal { .. })), 800);
}

#[test]
fn other_synchronisation() {
    let run = compile("other_sync.c").record(&["seed=1"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "150 1 1\n");
    let events = run.events();
    assert_eq!(count(&events, |op| matches!(op, Op::BarrierInit { count: 4, .. })), 1);
    assert_eq!(count(&events, |op| matches!(op, Op::BarrierEnter { .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::BarrierExit { .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::SemaphoreInit { value: 1, .. })), 1);
    assert_eq!(count(&events, |op| matches!(op, Op::Take { .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::TakeFailed { .. })), 1);
    assert_eq!(count(&events, |op| matches!(op, Op::Post { .. })), 3);
    assert_eq!(count(&events, |op| matches!(op, Op::Acquire { hold: Hold::Shared, .. })), 151);
    assert_eq!(count(&events, |op| matches!(op, Op::Create { .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::Join { .. })), 4);
    assert_eq!(count(&events, |op| matches!(op, Op::Begin { .. })), 5);
    let last_enter = events.iter().rposition(|event| matches!(event.op, Op::BarrierEnter { .. }));
    let first_exit = events.iter().position(|event| matches!(event.op, Op::BarrierExit { .. }));
    assert!(last_enter < first_exit);
}

#[test]
fn a_deadlock_ends_the_run() {
    let run = compile("deadlock.c").record(&["seed=2"], &[]);
    assert_eq!(run.output.status.code(), Some(99));
    let events = run.events();
    assert_eq!(events.last().unwrap().op, Op::Stop(Stop::Deadlock));
    for thread in 0..2 {
        let mut own = events.iter().rev().filter(|event| event.thread == thread);
        let last = own.find(|event| !matches!(event.op, Op::Stop(_))).unwrap();
        assert!(matches!(last.op, Op::Awaits { object: Some(_) }), "{last:?}");
        let before = own.next().unwrap();
        assert!(matches!(before.op, Op::Request { .. }), "{before:?}");
    }
}

#[test]
fn atomic_operations_do_what_they_should() {
    for (compiler, flags) in
        [("gcc", &["-O1", "-mcx16", "-latomic"][..]), ("gcc", &["-O0", "-mcx16", "-latomic"])]
    {
        let Some(program) = compile_with(compiler, "atomics.c", flags) else { continue };
        let run = program.record(&[], &[]);
        run.ended_with(0);
        let events = run.events();
        for size in [1, 2, 4, 8] {
            let of_size = |op: &Op<'_>| match *op {
                Op::AtomicRead { size: s, .. } => u32::from(s == size),
                Op::AtomicWrite { size: s, .. } => 100 * u32::from(s == size),
                Op::AtomicUpdate { size: s, .. } => 10_000 * u32::from(s == size),
                _ => 0,
            };
            let total: u32 = events.iter().map(|event| of_size(&event.op)).sum();
            assert_eq!(total, 3 + 100 + 9 * 10_000, "size {size}");
        }
        assert_eq!(count(&events, |op| matches!(op, Op::Fence { .. })), 1);
    }
}

#[test]
fn memory_and_marks() {
    let program = compile_with("gcc", "memory.c", &["-O1", "-fno-builtin"]).unwrap();
    let run = program.record(&[], &[]);
    run.ended_with(0);
    let events = run.events();
    let length =
        |wanted: u64| count(&events, |op| matches!(op, Op::WriteRange { length, .. } if *length == wanted));
    assert_eq!((length(50), length(40), length(20), length(100)), (1, 1, 1, 1));
    for size in [1, 2, 4, 8] {
        assert!(count(&events, |op| matches!(op, Op::Write { size: s, .. } if *s == size)) >= 1);
    }
    let ops: Vec<Op<'_>> = events.iter().map(|event| event.op).collect();
    assert!(ops.contains(&Op::RegionBegin { name: b"work" }));
    assert!(ops.contains(&Op::RegionEnd { name: b"work" }));
    assert!(ops.contains(&Op::Mark { name: b"open", value: -3 }));
    let sizes: Vec<u64> = ops
        .iter()
        .filter_map(|op| if let Op::Allocate { size, .. } = op { Some(*size) } else { None })
        .collect();
    assert_eq!(sizes, [100, 20000, 10, 21]);
    assert_eq!(count(&events, |op| matches!(op, Op::Free { .. })), 4);
}

/// The same seed gives the same log, but for what the kernel numbers.
#[test]
fn the_same_seed_gives_the_same_log() {
    let program = compile("condition.c");
    for policy in ["random", "pct", "round-robin"] {
        let settings = ["seed=11", &format!("policy={policy}")];
        let first = shape(&program, &settings);
        for _ in 0..4 {
            assert!(shape(&program, &settings) == first, "{policy}");
        }
        if policy != "round-robin" {
            assert!(shape(&program, &["seed=12", &format!("policy={policy}")]) != first);
        }
    }
}

/// Whose event, and of what kind: addresses differ from run to run.
fn shape(program: &Program, settings: &[&str]) -> Vec<(u32, Option<u64>, String)> {
    let run = program.record(settings, &[]);
    run.ended_with(0);
    let kind = |op: Op<'_>| format!("{op:?}").split(' ').next().unwrap_or_default().to_owned();
    run.events().iter().map(|event| (event.thread, event.place, kind(event.op))).collect()
}
