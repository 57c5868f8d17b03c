//! `foretell generate`, and what happens when the user or the reader of a pipe goes away.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Workplace;
use ::generate::{TraceSettings, generate};

#[test]
fn the_same_seed_gives_the_same_trace_in_every_form() {
    let place = Workplace::new();
    let make = |seed: &str, to: &str| {
        place
            .run(&["generate", "-q", "--events", "5k", "--threads", "4", "--seed", seed, "-o", to])
            .succeeded();
    };
    make("7", "a.std");
    make("7", "b.std");
    make("7", "c.ftr");
    make("8", "d.std");
    place.run(&["convert", "-q", "c.ftr", "c.std"]).succeeded();
    assert_eq!(place.read("a.std"), place.read("b.std"));
    assert_eq!(place.read("a.std"), place.read("c.std"));
    assert_ne!(place.read("a.std"), place.read("d.std"));
}

/// The command writes events without keeping them; the library keeps them. Both are the same run.
#[test]
fn the_stream_is_what_the_library_makes() {
    let place = Workplace::new();
    for seed in 0..10 {
        place.run(&["generate", "-q", "--tiny", "--seed", &seed.to_string(), "-o", "t.std"]).succeeded();
        let mut expected = Vec::new();
        trace::text::write(&generate(&TraceSettings::tiny(seed)).unwrap(), &mut expected).unwrap();
        let events = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(events(&place.read("t.std")), events(&expected), "seed {seed}");
    }
}

#[test]
fn the_knobs_turn() {
    let place = Workplace::new();
    let stats = |arguments: &[&str]| {
        let base = ["generate", "-q", "--events", "10_000", "-o", "t.ftr"];
        place.run(&[&base, arguments].concat()).succeeded();
        place.run(&["stats", "--json", "t.ftr"]).succeeded().json()
    };
    let json = stats(&["--threads", "3", "--locks", "2", "--variables", "10", "--locations", "4"]);
    assert_eq!(json["trace"]["events"], 10_000);
    assert_eq!(json["trace"]["threads"], 3);
    assert_eq!(json["trace"]["locks"], 2);
    assert_eq!(json["trace"]["variables"], 10);
    assert_eq!(json["trace"]["locations"], 4);
    let acquires = |json: &serde_json::Value| json["kinds"]["acquire"].as_u64().unwrap_or(0);
    let (few, many) = (stats(&["--sync-percent", "1"]), stats(&["--sync-percent", "60"]));
    assert!(acquires(&few) * 10 < acquires(&many), "{few} {many}");
    assert_eq!(acquires(&stats(&["--sync-percent", "0"])), 0);
}

#[test]
fn says_what_it_wrote() {
    let place = Workplace::new();
    let ran = place.run(&["generate", "--events", "1k", "--seed", "3", "--json", "-o", "t.ftr"]).succeeded();
    let size = place.read("t.ftr").len();
    let expected = serde_json::json!({"schema": 1, "to": "t.ftr", "events": 1000, "bytes": size, "seed": 3});
    assert_eq!(ran.json(), expected);
    let ran = place.run(&["generate", "--events", "1k", "-o", "t.std"]).succeeded();
    assert!(ran.stderr.starts_with("wrote 1,000 events to t.std ("), "{}", ran.stderr);
}

/// A reader that has seen enough is not an error, and the program does not go on without it.
#[test]
fn a_broken_pipe_is_quiet() {
    let place = Workplace::new();
    let mut child = place.command(&["generate", "--events", "1e9", "-o", "-"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.ends_with('\n'));
    let status = wait(&mut child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

/// An interrupt removes what was begun.
#[test]
fn an_interrupt_leaves_nothing_half_written() {
    for signal in ["INT", "TERM"] {
        let place = Workplace::new();
        let mut child = place.command(&["generate", "--events", "4e9", "-o", "t.ftr"]).spawn().unwrap();
        let begun = Instant::now();
        while place.files().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing is written");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_ne!(place.files(), ["t.ftr"], "it must not appear before it is whole");
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        // As when a limit is reached.
        assert_eq!(wait(&mut child), Some(3));
        assert!(place.files().is_empty(), "{:?}", place.files());
    }
}

fn wait(child: &mut std::process::Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
