//! Counts beyond what can be visited, and memory that does not depend on how many are.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use states::{Class, Loset, StateLimits, count, walk, walk_on_all_cores};
use trace::Trace;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn read(text: &str) -> Trace {
    trace::text::read(text.as_bytes()).expect("a sound trace")
}

fn independent(threads: usize) -> Trace {
    read(&(0..threads).map(|thread| format!("T{thread}|w(x)|1\nT{thread}|w(y)|2\n")).collect::<String>())
}

fn fork_join(threads: usize) -> Trace {
    let mut text = String::new();
    (1..threads).for_each(|worker| writeln!(text, "T0|fork(T{worker})|0").expect("a string takes all"));
    for worker in 1..threads {
        write!(text, "T{worker}|acq(m{})|0\nT{worker}|rel(m{0})|0\n", worker / 2)
            .expect("a string takes all");
    }
    (1..threads).for_each(|worker| writeln!(text, "T0|join(T{worker})|0").expect("a string takes all"));
    read(&text)
}

/// The tests of this file run one after the other: they watch time and memory.
#[test]
fn counts_and_memory() {
    products_of_any_size_are_counted_at_once();
    memory_does_not_grow_with_the_number_of_states();
}

fn products_of_any_size_are_counted_at_once() {
    let powers_of_three = [
        (64, "3433683820292512484657849089281"),
        (81, "443426488243037769948249630619149892803"),
        (100, "515377520732011331036461129765621272702107522001"),
    ];
    for (threads, expected) in powers_of_three {
        let trace = independent(threads);
        let start = Instant::now();
        let loset = Loset::of(&trace);
        for class in Class::ALL {
            let counted =
                count(&trace, &loset, class, StateLimits::default(), |_| {}).expect("no budget is set");
            assert_eq!(counted.to_string(), expected, "{class:?}");
        }
        // Five counts in what one may take.
        assert!(start.elapsed() < Duration::from_secs(1), "{threads} threads took {:?}", start.elapsed());
    }
}

fn memory_does_not_grow_with_the_number_of_states() {
    let [small, large] = [11, 15].map(peak_of_walking);
    assert!(large.0 > 20 * small.0, "{} and {} states", small.0, large.0);
    assert!(large.1 < small.1 + (1 << 20), "{} and {} bytes", small.1, large.1);
}

/// How many states there are, and the most memory that walking them took, on one core and on all.
fn peak_of_walking(threads: usize) -> (u64, usize) {
    let trace = fork_join(threads);
    let loset = Loset::of(&trace);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut states = 0u64;
    let walked = walk(&trace, &loset, Class::Reachable, StateLimits::default(), |_| {
        states += 1;
        ControlFlow::Continue(())
    });
    let mut again = 0u64;
    let visit = |states: &mut u64, _: &[u32]| {
        *states += 1;
        ControlFlow::Continue(())
    };
    let all =
        walk_on_all_cores(&trace, &loset, Class::Reachable, StateLimits::default(), visit, |states, _| {
            again += states;
            ControlFlow::Continue(())
        });
    assert_eq!((walked, all, again), (Ok(ControlFlow::Continue(())), Ok(ControlFlow::Continue(())), states));
    (states, MEMORY.peak_usage() - before)
}
