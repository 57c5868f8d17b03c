//! How fast states are enumerated and counted. Prints tables. Seconds on one core are those of the processor, so that what
//! else the machine does matters less; on all cores they are those of the clock, with those of the processor beside them.
//!
//! 1. Paper 2's table 1, as far as it can be rebuilt (corpus/states), with strong feasibility as there, and its seconds.
//! 2. The same by the paper's baselines, which store what they visit.
//! 3. Other shapes, and counting of what cannot be visited.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use states::{Baseline, Class, Loset, StateLimits, count, walk, walk_on_all_cores, walk_stored};
use trace::Trace;

/// A row of the paper's table: what it is called there and here, its states, and its seconds by BFS, DFS and its own method.
struct Row {
    name: &'static str,
    file: &'static str,
    states: u64,
    breadth_first: f64,
    depth_first: Option<f64>,
    own: f64,
}

const fn row(
    name: &'static str,
    file: &'static str,
    states: u64,
    breadth_first: f64,
    depth_first: Option<f64>,
    own: f64,
) -> Row {
    Row { name, file, states, breadth_first, depth_first, own }
}

const ROWS: &[Row] = &[
    row("bank", "table1-bank-7", 664_325, 0.99, Some(3.20), 0.09),
    row("bank", "table1-bank-9", 53_808_433, 350.27, None, 4.47),
    row("arraylist1", "fork-join-12", 354_293, 0.57, Some(1.06), 0.07),
    row("arraylist1", "fork-join-16", 28_697_813, 175.80, None, 1.66),
    row("arraylist2", "table1-arraylist2-7", 3_045_808, 4.48, Some(30.28), 0.22),
    row("arraylist2", "table1-arraylist2-8", 25_740_144, 104.81, None, 1.75),
    row("set1", "table1-set1-6", 947_951, 1.36, Some(5.25), 1.16),
    row("set1", "table1-set1-7", 15_040_942, 40.21, None, 23.02),
    row("set2", "table1-set2-6", 2_762_420, 3.55, Some(28.70), 3.16),
    row("set2", "table1-set2-7", 78_130_591, 452.43, None, 160.38),
    row("sor", "fork-join-14", 3_188_645, 9.16, Some(32.29), 0.22),
    row("sor", "fork-join-16", 28_697_813, 174.48, None, 1.64),
    row("raytracer", "table1-raytracer-9", 4_882_833, 10.36, Some(42.57), 0.54),
    row("raytracer", "table1-raytracer-10", 24_414_083, 98.15, None, 2.83),
    row("moldyn", "table1-moldyn-13", 3_188_633, 8.66, Some(23.77), 0.22),
    row("moldyn", "table1-moldyn-15", 28_697_831, 166.83, None, 2.08),
    row("montecarlo", "table1-montecarlo-12", 354_315, 1.53, Some(1.06), 0.05),
    row("montecarlo", "table1-montecarlo-16", 28_697_835, 227.51, None, 1.88),
    row("hedc", "table1-hedc-7", 458_334, 0.64, Some(1.50), 0.38),
    row("hedc", "table1-hedc-9", 24_522_560, 108.37, None, 7.30),
    row("tsp", "table1-tsp-8", 1_235_981, 1.99, Some(11.26), 0.17),
    row("tsp", "table1-tsp-10", 25_000_001, 115.77, None, 52.33),
];

/// Beyond this the baselines take gigabytes.
const MOST_STORED: u64 = 2_000_000;

fn main() {
    // `cargo bench --bench states -- NAME`: only the rows of this name, to profile them.
    if let Some(name) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        return table_of_rows(|row| row.name == name);
    }
    table_of_rows(|_| true);
    table_of_baselines();
    println!(
        "\n| shape | class | states | one core: processor s | million states/s |\n|---|---|---|---|---|"
    );
    other("one lock, 13 threads", &fork_join(13, &["acq(m)", "w(x)", "rel(m)"]), Class::Strong);
    other("one lock, 13 threads", &fork_join(13, &["acq(m)", "w(x)", "rel(m)"]), Class::Reachable);
    let nested = ["acq(m)", "acq(n)", "rel(n)", "rel(m)"];
    other("two locks, 11 threads", &fork_join(11, &nested), Class::Strong);
    println!("\n| counted | states | milliseconds |\n|---|---|---|");
    counted("64 independent threads of 2 events", &independent(64, &["w(x)", "w(y)"]), Class::Reachable);
    counted("100 independent threads of 2 events", &independent(100, &["w(x)", "w(y)"]), Class::Reachable);
    counted("fork-join, 60 threads", &fork_join(60, &["w(x)", "w(y)"]), Class::Reachable);
    counted("one lock, 40 threads", &fork_join(40, &["w(x)", "acq(m)", "rel(m)", "w(y)"]), Class::Reachable);
    for file in ["table1-bank-9", "table1-set2-7"] {
        counted(file, &corpus(file), Class::Strong);
    }
}

fn table_of_rows(wanted: impl Fn(&Row) -> bool) {
    println!(
        "| row | threads | states, paper | states, here | s, paper | million/s, paper | one core: processor s | million/s \
         | all cores: s | processor s | million/s | one core to paper | all cores to paper |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for row in ROWS.iter().filter(|row| wanted(row)) {
        let trace = corpus(row.file);
        let loset = Loset::of(&trace);
        let one = best(|| walked(&trace, &loset, Class::Strong));
        let all = best(|| walked_on_all_cores(&trace, &loset, Class::Strong));
        assert_eq!(one.states, all.states, "{}", row.file);
        let rate = |seconds: f64| one.states as f64 / seconds / 1e6;
        let paper = row.states as f64 / row.own / 1e6;
        println!(
            "| {} | {} | {} | {} | {:.2} | {paper:.2} | {:.3} | {:.1} | {:.3} | {:.3} | {:.1} | {:.1} | {:.1} |",
            row.name,
            loset.threads(),
            row.states,
            one.states,
            row.own,
            one.processor,
            rate(one.processor),
            all.clock,
            all.processor,
            rate(all.clock),
            rate(one.processor) / paper,
            rate(all.clock) / paper
        );
    }
}

fn table_of_baselines() {
    println!(
        "\n| row | states | BFS s, paper | BFS s | DFS s, paper | DFS s | ours s, one core |\n|---|---|---|---|---|---|---|"
    );
    for row in ROWS {
        let trace = corpus(row.file);
        let loset = Loset::of(&trace);
        let (Some(depth_first), true) = (row.depth_first, row.states <= MOST_STORED) else { continue };
        let stored = |baseline| {
            let (start, mut states) = (processor_seconds(), 0u64);
            let _finished = walk_stored(&loset, baseline, |_| {
                states += 1;
                ControlFlow::Continue(())
            });
            (states, processor_seconds() - start)
        };
        let ours = walked(&trace, &loset, Class::Strong);
        let (breadth, depth) = (stored(Baseline::BreadthFirst), stored(Baseline::DepthFirst));
        assert_eq!((breadth.0, depth.0), (ours.states, ours.states), "{}", row.file);
        println!(
            "| {} | {} | {:.2} | {:.2} | {depth_first:.2} | {:.2} | {:.3} |",
            row.name, ours.states, row.breadth_first, breadth.1, depth.1, ours.processor
        );
    }
}

/// What a walk took.
struct Took {
    states: u64,
    processor: f64,
    clock: f64,
}

/// The fastest of three: what else runs can only add.
fn best(measure: impl Fn() -> Took) -> Took {
    let runs = (0..3).map(|_| measure());
    runs.min_by(|a, b| a.clock.total_cmp(&b.clock)).expect("there are three")
}

fn walked(trace: &Trace, loset: &Loset, class: Class) -> Took {
    let (mut states, mut sum) = (0u64, 0u64);
    let (clock, start) = (Instant::now(), processor_seconds());
    let end = walk(trace, loset, class, StateLimits::default(), |state| {
        states += 1;
        // What a visitor at least does: look at the state.
        sum = sum.wrapping_add(u64::from(state[state.len() - 1]));
        ControlFlow::Continue(())
    });
    let took = Took { states, processor: processor_seconds() - start, clock: clock.elapsed().as_secs_f64() };
    let _finished = end.expect("no budget is set");
    black_box(sum);
    took
}

fn walked_on_all_cores(trace: &Trace, loset: &Loset, class: Class) -> Took {
    #[derive(Default)]
    struct Seen {
        states: u64,
        sum: u64,
    }
    let mut all = Seen::default();
    let (clock, start) = (Instant::now(), processor_seconds());
    let visit = |seen: &mut Seen, state: &[u32]| {
        seen.states += 1;
        seen.sum = seen.sum.wrapping_add(u64::from(state[state.len() - 1]));
        ControlFlow::Continue(())
    };
    let end = walk_on_all_cores(trace, loset, class, StateLimits::default(), visit, |seen, _| {
        all.states += seen.states;
        all.sum = all.sum.wrapping_add(seen.sum);
        ControlFlow::Continue(())
    });
    let processor = processor_seconds() - start;
    let took = Took { states: all.states, processor, clock: clock.elapsed().as_secs_f64() };
    let _finished = end.expect("no budget is set");
    black_box(all.sum);
    took
}

fn other(name: &str, trace: &Trace, class: Class) {
    let took = best(|| walked(trace, &Loset::of(trace), class));
    let rate = took.states as f64 / took.processor / 1e6;
    println!("| {name} | {class:?} | {} | {:.3} | {rate:.1} |", took.states, took.processor);
}

fn processor_seconds() -> f64 {
    let time = getrusage(UsageWho::RUSAGE_SELF).expect("a process can ask about itself").user_time();
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

fn counted(name: &str, trace: &Trace, class: Class) {
    let start = Instant::now();
    let loset = Loset::of(trace);
    let states = count(trace, &loset, class, StateLimits::default(), |_| {}).expect("no budget is set");
    println!("| {name} | {states} | {:.2} |", start.elapsed().as_secs_f64() * 1e3);
}

fn corpus(name: &str) -> Trace {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/states/{name}.std"));
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    trace::text::read(&bytes[..]).expect("a sound trace")
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
