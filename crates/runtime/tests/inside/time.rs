//! The program's clocks show virtual time.

use std::time::{Duration, Instant};

use crate::support::{Program, compile};

/// Where the clocks start.
const START: &str = "clock=virtual 1700000000300000000 5000000000";

/// How much time passed, as each line of the output says.
fn times(output: &str) -> Vec<(String, f64)> {
    let time = |line: &str| {
        let (what, time) = line.rsplit_once(' ')?;
        Some((what.to_owned(), time.parse().ok()?))
    };
    output.lines().map(|line| time(line).unwrap_or_else(|| panic!("{output}"))).collect()
}

#[test]
fn seconds_of_waiting_end_at_once_and_in_order() {
    let program = compile("sleepers.c");
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let begin = Instant::now();
        let run = program.record(&[seed], &[]);
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        run.ended_with(0);
        let times = times(&run.stdout());
        assert!(times.is_sorted_by(|one, other| one.1 <= other.1), "{times:?}");
        let of = |name: &str| -> Vec<f64> {
            times.iter().filter(|(what, _)| what == name).map(|&(_, time)| time.round()).collect()
        };
        assert_eq!((of("T1"), of("T2"), of("T3")), (vec![1., 2., 3.], vec![2., 4., 6.], vec![3., 6., 9.]));
        let expected = [
            ("joined", 9.),
            ("condition", 11.),
            ("semaphore", 12.),
            ("poll", 12.5),
            ("select", 13.),
            ("by hand", 14.),
            ("absolute", 15.),
            ("spin", 16.),
            ("pipe", 16.1),
            ("both clocks", 16.1),
        ];
        for ((what, time), (name, expected)) in times[9..].iter().zip(expected) {
            assert!(what == name && (time - expected).abs() < 0.05, "{what} {time}: {name} {expected}");
        }
    }
}

#[test]
fn twenty_recordings_of_one_seed_read_the_same_times() {
    let program = compile("sleepers.c");
    let outputs: Vec<String> = (0..20).map(|_| program.record(&["seed=7", START], &[]).stdout()).collect();
    assert!(outputs[0].contains("both clocks"), "{}", outputs[0]);
    for output in &outputs {
        assert_eq!(*output, outputs[0]);
    }
}

#[test]
fn event_loops_end_at_once_and_see_what_others_write() {
    let program = compile("event_loop.c");
    let expected = "\
        1.50 0 timeout\n2.00 1 event\n3.50 0 timeout\n4.00 1 event\n5.50 0 timeout\n6.00 1 event\n\
        7.50 0 timeout\n9.00 0 timeout\n10.50 0 timeout\n12.00 0 timeout\n13.50 0 timeout\n\
        15.00 0 timeout\n16.00 1 socket\n20.00 pipe 0 0\n21.00 pipe 1 1\n25.00 pipe 0 0\n26.00 pipe 1 10\n";
    for seed in 0..10 {
        let begin = Instant::now();
        let run = program.record(&[&format!("seed={seed}")], &[]);
        run.ended_with(0);
        assert_eq!(run.stdout(), expected);
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

fn record_at_once(program: &Program, count: u64) -> Vec<(Option<i32>, String)> {
    std::thread::scope(|scope| {
        let record = |seed: u64| {
            let run = program.record(&[&format!("seed={seed}")], &[]);
            (run.output.status.code(), run.stdout())
        };
        let runs: Vec<_> = (0..count).map(|seed| scope.spawn(move || record(seed))).collect();
        runs.into_iter().map(|run| run.join().expect("it does not panic")).collect()
    })
}

#[test]
fn a_busy_machine_makes_no_program_late() {
    let program = compile("punctual.c");
    for (status, printed) in record_at_once(&program, 40) {
        assert_eq!(status, Some(0), "{printed}");
    }
}

#[test]
fn the_machines_clocks_are_there_for_who_asks() {
    let program = compile("punctual.c");
    let begin = Instant::now();
    let run = program.record(&["seed=1", "clock=real"], &[]);
    assert!(begin.elapsed() >= Duration::from_millis(400), "{:?}", begin.elapsed());
    let passed: f64 = run.stdout().trim().parse().expect("a time");
    assert!(passed >= 0.4, "{passed}");
}

#[test]
fn timers_and_clocks_agree() {
    compile("timers.c").record(&["seed=1"], &[]).ended_with(0);
}

#[test]
fn children_and_clocks_agree() {
    compile("time_of_children.c").record(&["seed=1"], &[]).ended_with(0);
}
