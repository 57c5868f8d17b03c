//! The clocks of recorded programs and of their replays.

use std::time::{Duration, Instant};

use crate::support::{Toolchain, Workshop, succeeded};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

/// What the program prints. It sleeps for hours.
fn printed(workshop: &Workshop) -> String {
    let begin = Instant::now();
    let recorded = workshop.record(&[]);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    String::from_utf8(recorded.output.stdout).expect("it prints text")
}

#[test]
fn replays_read_the_times_of_the_recorded_run() {
    let workshop = Workshop::new();
    workshop.compile(CC, "clocked.c", &[]);
    let output = printed(&workshop);
    assert!(output.starts_with("begin ") && output.contains("\nslept 7200\n"), "{output}");
    let replay = ["replay", "foretell.ftr", "race-1", "--json", "--order", "ab"];
    let replayed = workshop.foretell(&replay).output().expect("it runs");
    let replayed: serde_json::Value = serde_json::from_slice(&replayed.stdout).expect("JSON");
    assert_eq!(replayed["result"], "confirmed", "{replayed:#}");
    assert_eq!(replayed["runs"][0]["output"], output.as_str(), "{replayed:#}");
    let trace = workshop.trace("foretell.ftr");
    let clock = &trace.metadata().settings["clock"];
    assert!(clock.starts_with("virtual 1"), "{clock}");
    // Another run starts at another time.
    assert_ne!(printed(&workshop), output);
}

#[test]
fn who_asks_gets_the_machines_clocks() {
    let workshop = Workshop::new();
    workshop.compile(CC, "clocked.c", &[]);
    let run = |options: &[&str], seconds: &str| {
        let all = [&["record"], options, &["--duration", seconds, "--", "./program"]].concat();
        workshop.foretell(&all).output().expect("it runs")
    };
    // It sleeps for hours.
    assert!(!run(&["--real-time"], "1").status.success());
    assert_eq!(workshop.trace("foretell.ftr").metadata().settings["clock"], "real");
    assert!(run(&[], "60").status.success());
    workshop.write("foretell.toml", "[record]\nreal-time = true\n");
    assert!(!run(&[], "1").status.success());
}

#[test]
fn a_hunt_finds_nothing_in_a_test_that_asserts_how_long_it_takes() {
    let workshop = Workshop::new();
    workshop.write("punctual.c", include_str!("../../../runtime/tests/programs/punctual.c"));
    let mut hunt = workshop.foretell(&["hunt", "punctual.c", "--quiet", "--timeout", "10"]);
    succeeded(&mut hunt);
}

#[test]
fn rust_waits_as_long_as_it_says() {
    let workshop = Workshop::new();
    workshop.write("waits.rs", include_str!("programs/waits.rs"));
    for seed in ["1", "2"] {
        // It waits for more than a minute. A run gets 20 seconds.
        let options = ["--quiet", "--rounds", "1", "--times", "0", "--timeout", "60", "--seed", seed];
        succeeded(&mut workshop.foretell(&[&["hunt", "waits.rs"], &options[..]].concat()));
    }
}
