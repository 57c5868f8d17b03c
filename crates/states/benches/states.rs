//! How fast states are enumerated and counted, on one core. Prints tables; seconds of enumeration are those of the
//! processor, so that what else the machine does matters less.
//!
//! 1. The shapes of paper 2's table 1 with 354,293 to 28,697,813 states: a main thread that forks n - 1 workers
//!    of two events each and joins them in order.
//! 2. Workers that lock: one lock for all, and two locks nested in both orders.
//! 3. Counting of products of 10^30 states.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use states::{Class, Limits, Loset, count, walk};
use trace::Trace;

fn main() {
    println!("| shape | class | states | seconds | million states/s |\n|---|---|---|---|---|");
    for threads in [12, 14, 16] {
        let trace = fork_join(threads, &["w(x)", "w(y)"]);
        row(&format!("fork-join, {threads} threads"), &trace, Class::Strong);
    }
    let fork_join_16 = fork_join(16, &["w(x)", "w(y)"]);
    row("fork-join, 16 threads", &fork_join_16, Class::Reachable);
    let one_lock = fork_join(13, &["acq(m)", "w(x)", "rel(m)"]);
    row("one lock, 13 threads", &one_lock, Class::Feasible);
    row("one lock, 13 threads", &one_lock, Class::Strong);
    row("one lock, 13 threads", &one_lock, Class::Reachable);
    let nested = ["acq(m)", "acq(n)", "rel(n)", "rel(m)"];
    row("two locks, 11 threads", &fork_join(11, &nested), Class::Strong);
    row("hand over hand, 7 threads", &fork_join(7, HAND_OVER_HAND), Class::Feasible);
    row("hand over hand, 7 threads", &fork_join(7, HAND_OVER_HAND), Class::Strong);

    println!("\n| counted | states | milliseconds |\n|---|---|---|");
    counted("64 independent threads of 2 events", &independent(64, &["w(x)", "w(y)"]), Class::Reachable);
    counted("fork-join, 60 threads", &fork_join(60, &["w(x)", "w(y)"]), Class::Reachable);
    counted("one lock, 40 threads", &fork_join(40, &["w(x)", "acq(m)", "rel(m)", "w(y)"]), Class::Reachable);
}

/// Each takes the next lock of a chain before it gives up the last.
const HAND_OVER_HAND: &[&str] =
    &["acq(a)", "acq(b)", "rel(a)", "acq(c)", "rel(b)", "acq(d)", "rel(c)", "w(x)", "rel(d)"];

fn row(name: &str, trace: &Trace, class: Class) {
    let loset = Loset::of(trace);
    let (mut states, mut sum) = (0u64, 0u64);
    let start = processor_seconds();
    let end = walk(trace, &loset, class, Limits::default(), |state| {
        states += 1;
        // What a visitor at least does: look at the state.
        sum = sum.wrapping_add(u64::from(black_box(state)[state.len() - 1]));
        ControlFlow::Continue(())
    });
    let seconds = processor_seconds() - start;
    let _finished = end.expect("no budget is set");
    black_box(sum);
    println!("| {name} | {class:?} | {states} | {seconds:.3} | {:.1} |", states as f64 / seconds / 1e6);
}

fn processor_seconds() -> f64 {
    let time = getrusage(UsageWho::RUSAGE_SELF).expect("a process can ask about itself").user_time();
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

fn counted(name: &str, trace: &Trace, class: Class) {
    let start = Instant::now();
    let loset = Loset::of(trace);
    let states = count(trace, &loset, class, Limits::default(), |_| {}).expect("within the limits");
    println!("| {name} | {states} | {:.2} |", start.elapsed().as_secs_f64() * 1e3);
}

/// A main thread forks workers, which do these, and joins them in order.
fn fork_join(threads: usize, work: &[&str]) -> Trace {
    let mut text = String::new();
    (1..threads).for_each(|worker| text += &format!("T0|fork(T{worker})|0\n"));
    text += &workers(1..threads, work);
    (1..threads).for_each(|worker| text += &format!("T0|join(T{worker})|0\n"));
    trace::text::read(text.as_bytes()).expect("a sound trace")
}

fn independent(threads: usize, work: &[&str]) -> Trace {
    trace::text::read(workers(0..threads, work).as_bytes()).expect("a sound trace")
}

fn workers(workers: std::ops::Range<usize>, work: &[&str]) -> String {
    let line = |worker, op: &&str| format!("T{worker}|{op}|0\n");
    workers.flat_map(|worker| work.iter().map(move |op| line(worker, op))).collect()
}
