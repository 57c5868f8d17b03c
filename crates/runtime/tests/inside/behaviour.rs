//! The runtime is not in the way: programs behave under it as they do without.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use wire::{Header, Op, Stop};

use crate::support::{compile, compile_with, count, events};

#[test]
fn hundreds_of_threads() {
    let run = compile("many_threads.c").record(&["seed=1"], &["500"]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "45150 800\n");
    let events = run.events();
    assert_eq!(count(&events, |op| matches!(op, Op::Create { .. })), 800);
    assert_eq!(count(&events, |op| matches!(op, Op::Join { .. })), 550);
    assert_eq!(count(&events, |op| matches!(op, Op::Detach { .. })), 250);
    assert_eq!(count(&events, |op| matches!(op, Op::ThreadName { thread: 8, name: b"seven" })), 1);
    let begins = count(&events, |op| matches!(op, Op::Begin { .. }));
    let ends = count(&events, |op| matches!(op, Op::End));
    assert!(begins > 550 && ends < begins && ends >= 550, "{begins} {ends}");
}

#[test]
fn signals_are_handled_between_events() {
    let run = compile("signals.c").record(&["seed=4"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "21\n");
}

#[test]
fn calls_that_block_let_others_run() {
    let run = compile("outside.c").record(&["seed=4"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "100 got\n");
}

#[test]
fn children_have_logs_of_their_own_or_none() {
    let program = compile("children.c");
    for (setting, logs) in [("children=ignore", 1), ("children=follow", 4)] {
        let run = program.record(&["seed=4", setting], &[]);
        assert_eq!(run.output.status.code(), Some(0), "{:?}", run.output);
        assert_eq!(run.stdout(), "38\n");
        assert_eq!(run.logs.len(), logs, "{setting}");
        let mut threads: Vec<usize> =
            run.logs.iter().map(|log| count(&events(log), |op| matches!(op, Op::Begin { .. }))).collect();
        threads.sort_unstable();
        assert_eq!(threads, if logs == 1 { vec![2] } else { vec![2, 3, 3, 3] });
    }
}

#[test]
fn every_ending_leaves_a_readable_log() {
    let program = compile("endings.c");
    let cases = [
        ("exit", Some(4), None, Some(Stop::Exit(4)), "bye\n"),
        ("_exit", Some(5), None, Some(Stop::Exit(5)), ""),
        ("return", Some(6), None, Some(Stop::Exit(6)), "bye\n"),
        ("pthread_exit", Some(0), None, Some(Stop::Exit(0)), "last\nbye\n"),
        ("abort", None, Some(6), Some(Stop::Killed(6)), ""),
        ("crash", None, Some(11), Some(Stop::Killed(11)), ""),
        ("killed", None, Some(9), None, ""),
    ];
    for (how, code, signal, stop, output) in cases {
        let run = program.record(&["seed=4"], &[how]);
        assert_eq!(run.output.status.code(), code, "{how}");
        assert_eq!(run.output.status.signal(), signal, "{how}");
        assert_eq!(run.stdout(), output, "{how}");
        let events = run.events();
        let last = events.last().unwrap().op;
        assert_eq!(if let Op::Stop(stop) = last { Some(stop) } else { None }, stop, "{how}");
        let writes = count(&events, |op| matches!(op, Op::Write { size: 8, .. }));
        assert!(writes >= 1000, "{how}: {writes}");
    }
}

/// Killed from outside in the middle of writing, at an arbitrary moment.
#[test]
fn a_killed_program_leaves_what_it_wrote() {
    let program = compile("endless.c");
    for bytes in [1000, 10_000, 77_777] {
        let (mut command, directory) = program.recording(&["seed=4"], &[]);
        let mut child = command.spawn().unwrap();
        let log = directory.join(format!("{}.log", child.id()));
        let start = Instant::now();
        while written(&log) < bytes && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let log = std::fs::read(&log).unwrap();
        let events = events(&log[..log.len().min(200_000)]);
        assert!(events.len() as u64 > bytes / 8, "{} events in {bytes} bytes", events.len());
        assert!(events.iter().all(|event| event.thread < 3));
    }
}

/// How much of a log is written: its head says so.
fn written(log: &Path) -> u64 {
    let head = std::fs::File::open(log).and_then(|mut file| {
        let mut head = [0; 24];
        file.read_exact(&mut head).map(|()| head)
    });
    head.ok().and_then(|head| Header::read(&head)).map_or(0, |header| header.progress.written())
}

#[test]
fn c_plus_plus() {
    let program = compile("cxx.cc");
    for seed in 0..6 {
        let run = program.record(&[&format!("seed={seed}"), "quantum=30"], &[]);
        run.ended_with(0);
        assert_eq!(run.stdout(), "48 1 4 1\n");
        let events = run.events();
        assert!(count(&events, |op| matches!(op, Op::Wait { .. })) <= 4);
        assert!(count(&events, |op| matches!(op, Op::Allocate { .. })) > 4);
    }
}

#[test]
fn without_a_run_directory_nothing_is_recorded() {
    for (name, arguments, output) in [
        ("cxx.cc", &[][..], "48 1 4 1\n"),
        ("other_sync.c", &[], "150 1 1\n"),
        ("endings.c", &["exit"], "bye\n"),
    ] {
        let program = compile(name);
        let result = program.passive(arguments);
        assert_eq!(String::from_utf8(result.stdout).unwrap(), output);
        assert_eq!(String::from_utf8(result.stderr).unwrap(), "");
        let left: Vec<_> = std::fs::read_dir(program.directory()).unwrap().collect();
        assert_eq!(left.len(), 2, "the program and the library");
    }
}

#[test]
fn recording_stops_at_the_limit() {
    let run = compile("order.c").record(&["seed=4", "max-events=500"], &[]);
    assert_eq!(run.output.status.code(), Some(0));
    let events = run.events();
    assert_eq!(events.last().unwrap().op, Op::Stop(Stop::Limit));
    assert!((500..520).contains(&events.iter().filter(|event| event.place.is_some()).count()));
}

/// Code that was loaded late, and is gone at the end, can still be found by its addresses.
#[test]
fn a_plugin_is_among_the_modules() {
    let program = compile("plugin.c");
    let library = compile_with("gcc", "plugin.c", &["-shared", "-fPIC"]).unwrap();
    std::fs::copy(library.directory().join("program"), program.directory().join("libplugin.so")).unwrap();
    let run = program.record(&["seed=1"], &[]);
    run.ended_with(0);
    let events = run.events();
    let in_plugin: Vec<u64> = events
        .iter()
        .filter(|event| event.thread > 0 && matches!(event.op, Op::Write { .. }))
        .map(|event| event.pc)
        .collect();
    assert_eq!(in_plugin.len(), 200);
    for pc in in_plugin {
        let found = run.modules.lines().any(|line| {
            let mut fields = line.splitn(4, ' ');
            let mut number = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
            let (start, end, _) = (number(), number(), number());
            (start..end).contains(&pc) && line.ends_with("libplugin.so")
        });
        assert!(found, "{pc:x} is not in\n{}", run.modules);
    }
}

#[test]
fn cancelled_threads_clean_up() {
    let run = compile("cancel.c").record(&["seed=1"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "4 4\n");
    let events = run.events();
    assert_eq!(count(&events, |op| matches!(op, Op::End)), 4);
}

#[test]
fn a_thread_that_spins_out_of_sight_loses_the_token() {
    let run = compile("spin.c").record(&["seed=1"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "400\n");
}

/// Of two threads either may have the higher priority, and it has from the beginning.
#[test]
fn a_new_thread_may_come_before_its_maker() {
    let program = compile("hasty.c");
    let crashes = |seed: u32| {
        let run = program.record(&[&format!("seed={seed}"), "policy=pct"], &[]);
        run.output.status.signal() == Some(11)
    };
    let crashed = (0..20).filter(|&seed| crashes(seed)).count();
    assert!((3..=17).contains(&crashed), "{crashed} of 20 runs crashed");
    assert_eq!((0..4).map(crashes).collect::<Vec<_>>(), (0..4).map(crashes).collect::<Vec<_>>());
}

/// Nobody but the program has events: the watchdog, who sees to this, least of all.
#[test]
fn a_thread_that_blocks_out_of_sight_lets_sleepers_run() {
    let run = compile("stuck.c").record(&["seed=1"], &[]);
    run.ended_with(0);
    assert_eq!(run.stdout(), "3\n");
    let ours: Vec<(u64, u64)> =
        run.modules.lines().filter(|line| line.ends_with("libtsan.so.2")).map(range).collect();
    assert!(!ours.is_empty());
    for event in run.events() {
        assert!(!ours.iter().any(|&(start, end)| (start..end).contains(&event.pc)), "{event:?}");
    }
}

/// Where a line of the modules file says that something is mapped.
fn range(line: &str) -> (u64, u64) {
    let mut fields = line.split(' ').map(|field| u64::from_str_radix(field, 16).unwrap());
    (fields.next().unwrap(), fields.next().unwrap())
}
