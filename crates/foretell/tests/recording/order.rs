//! The trace is what happened: each value a racy program read is the one its trace says it read.

use std::collections::HashMap;

use trace::{EventId, Kind, Op};

use crate::support::{Workshop, events, toolchains};

/// Each write of the program writes its own number, each read logs what it saw, so the trace can be held against it.
#[test]
fn reads_see_what_the_trace_says() {
    for with in toolchains() {
        let workshop = Workshop::new();
        workshop.compile(with, "values.c", &[]);
        for policy in ["random", "pct", "round-robin", "os"] {
            let recorded = workshop.record(&["--policy", policy, "--quantum", "3"]);
            let trace = &recorded.trace;
            let seen: Vec<(String, Vec<u64>)> = recorded
                .stdout()
                .lines()
                .map(|line| {
                    let mut words = line.split(' ');
                    let thread = words.next().expect("a thread").to_owned();
                    (thread, words.map(|word| word.parse().expect("a number")).collect())
                })
                .collect();
            // The n-th write of a thread writes 1000 times the thread's number and n.
            let mut written: HashMap<u32, u64> = HashMap::new();
            let mut values: HashMap<EventId, u64> = HashMap::new();
            let mut reads: HashMap<u32, Vec<u64>> = HashMap::new();
            let cell = trace.symbols().variables.find("cell").expect("it is shared");
            for (event, thread, op) in trace.events() {
                match op {
                    Op::Write(variable) if variable.index() == cell => {
                        let count = written.entry(thread.0).or_default();
                        *count += 1;
                        values.insert(event, 1000 * u64::from(thread.0) + *count);
                    }
                    Op::Read(variable) if variable.index() == cell => {
                        let value = trace.reads_from(event).map_or(0, |write| values[&write]);
                        reads.entry(thread.0).or_default().push(value);
                    }
                    _ => {}
                }
            }
            let mut foreign = 0;
            for (thread, seen) in seen {
                let thread: u32 = thread.parse().expect("a number");
                assert_eq!(reads[&thread], seen, "{with:?} {policy} thread {thread}");
                foreign += seen.iter().filter(|&&value| value / 1000 != u64::from(thread)).count();
            }
            assert!(foreign > 0 || policy != "random", "{with:?}: no thread saw another's write");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let workshop = Workshop::new();
    let with = toolchains()[0];
    workshop.compile(with, "values.c", &[]);
    let first = events(&workshop.record(&["--seed", "11"]).trace);
    assert_eq!(events(&workshop.record(&["--seed", "11"]).trace), first);
    let others = ["12", "13", "14"].map(|seed| events(&workshop.record(&["--seed", seed]).trace));
    assert!(others.iter().any(|other| *other != first), "no other seed gives another order");
}

#[test]
fn what_is_recorded_can_be_replayed() {
    let workshop = Workshop::new();
    workshop.compile(toolchains()[0], "values.c", &[]);
    let trace = workshop.record(&[]).trace;
    assert!(trace.can_be_replayed());
    let metadata = trace.metadata();
    assert_eq!(metadata.command, ["./program"]);
    assert!(metadata.binary.as_ref().is_some_and(|binary| binary.path.ends_with("/program")));
    assert!(metadata.variables.iter().any(|variable| variable.name == "PATH" && variable.length > 0));
    let notes = trace.notes().expect("a recording has notes");
    let threads: Vec<EventId> =
        trace.events().filter(|(_, _, op)| op.kind() == Kind::Begin).map(|(event, _, _)| event).collect();
    let paths: Vec<String> =
        threads.iter().map(|&begin| notes.path(trace.thread(begin)).expect("a path").to_string()).collect();
    assert!(paths.contains(&"0".to_owned()) && paths.contains(&"0.2".to_owned()), "{paths:?}");
    let places = notes.places(&trace, &threads).unwrap();
    assert!(places.iter().all(|&place| place == Some(0)), "a thread's begin is its first place: {places:?}");
    let bare = workshop.record(&["--no-environment"]).trace;
    assert!(bare.metadata().environment.is_empty() && bare.metadata().variables.is_empty());
}
