//! What replays promise whatever the program does: the recorded input, a recording that has the schedule in it, no hanging, and a word when
//! the program goes elsewhere.

use std::fs::File;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trace::{EventId, Kind, Trace};

use crate::judging::Program;
use crate::support::{Workshop, succeeded};

/// A program of this text, compiled and recorded; its race, as `predict` has it.
fn recorded(source: &str, input: Option<&str>) -> (Workshop, Value) {
    let shop = Workshop::new();
    shop.write("program.c", source);
    succeeded(&mut shop.foretell(&["cc", "-g", "-O1", "-pthread", "program.c", "-o", "program"]));
    let mut record = shop.foretell(&["record", "-q", "-o", "run.ftr", "--", "./program"]);
    if let Some(input) = input {
        shop.write("input", input);
        record.stdin(File::open(shop.path("input")).expect("the input"));
    }
    succeeded(&mut record);
    let found = said(&shop, &["predict", "run.ftr", "--json", "--only", "race"]);
    (shop, found["findings"][0].clone())
}

fn said(shop: &Workshop, arguments: &[&str]) -> Value {
    let output = shop.foretell(arguments).output().expect("it can be run");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"))
}

#[test]
fn the_recorded_input_is_read_again() {
    let source = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int users, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *early(void *p) { users = *(int *)p; pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return 0; }
static void *late(void *p) { usleep(20000); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); seen = users; return p; }
int main(void) {
    pthread_t a, b;
    int number;
    if (scanf(\"%d\", &number) != 1) return 9;
    pthread_create(&a, 0, early, &number); pthread_create(&b, 0, late, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    printf(\"read %d\\n\", number);
    return seen > 9999;
}
";
    let (shop, race) = recorded(source, Some("4711\n"));
    let id = race["id"].as_str().expect("a race");
    let replayed = said(&shop, &["replay", "run.ftr", id, "--json", "--times", "3"]);
    assert_eq!(
        (&replayed["result"], &replayed["confirmed"]),
        (&json!("confirmed"), &json!(3)),
        "{replayed:#}"
    );
    for run in replayed["runs"].as_array().expect("runs") {
        assert_eq!(run["output"], "read 4711\n", "{replayed:#}");
    }
}

/// In the recorded run, `early` opens its files first. In the run with the race it has not opened them yet, so they are free when `late` opens its pipe.
#[test]
fn threads_are_given_the_numbers_of_files_again() {
    let source = "\
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int users, seen, file, copy, ends[2], visits[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *early(void *p) {
    users = 1;
    pthread_mutex_lock(&lock);
    file = open(\"/dev/null\", O_RDONLY);
    copy = dup(file);
    pthread_mutex_unlock(&lock);
    return p;
}
static void *late(void *p) {
    usleep(20000);
    pthread_mutex_lock(&lock);
    if (pipe2(ends, O_CLOEXEC)) return p;
    pthread_mutex_unlock(&lock);
    for (int number = 0; number <= ends[1]; number++) visits[number]++;
    seen = users;
    return p;
}
int main(void) {
    pthread_t a, b;
    char byte = 0;
    pthread_create(&a, 0, early, 0); pthread_create(&b, 0, late, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    int closes = fcntl(ends[0], F_GETFD) & fcntl(ends[1], F_GETFD) & FD_CLOEXEC;
    int carries = write(ends[1], \"x\", 1) + read(ends[0], &byte, 1);
    int others = fcntl(file, F_GETFD) | fcntl(copy, F_GETFD);
    printf(\"%d %d %d %d, %d %d %d\\n\", file, copy, ends[0], ends[1], closes, carries, others);
    return seen > 1;
}
";
    let (shop, race) = recorded(source, None);
    let id = race["id"].as_str().expect("a race");
    let replayed = said(&shop, &["replay", "run.ftr", id, "--json", "--times", "20"]);
    assert_eq!(
        (&replayed["result"], &replayed["confirmed"]),
        (&json!("confirmed"), &json!(20)),
        "{replayed:#}"
    );
    let outputs: Vec<&Value> =
        replayed["runs"].as_array().expect("runs").iter().map(|run| &run["output"]).collect();
    let numbers = outputs[0].as_str().expect("a line");
    assert!(numbers.ends_with(", 1 2 0\n"), "{numbers}");
    assert!(outputs.iter().all(|&output| output == numbers), "{outputs:?}");
}

/// How a replay meets an event: by the way to its thread, its place, its kind and where it is.
fn met(trace: &Trace, events: &[EventId]) -> Vec<(String, u64, Kind, String)> {
    let notes = trace.notes().expect("a recording has notes");
    let places = notes.places(trace, events).expect("they can be read");
    let told = events.iter().zip(places).filter_map(|(&event, place)| {
        let kind = trace.op(event).kind();
        // They share the place of what comes after or before them.
        let own = !matches!(kind, Kind::Request | Kind::RequestShared | Kind::Branch);
        let path = notes.path(trace.thread(event))?.to_string();
        let location = trace.symbols().location(trace.location(event)).to_owned();
        own.then_some((path, place?, kind, location))
    });
    told.collect()
}

#[test]
fn the_trace_of_a_replay_has_the_schedule_in_it() {
    for (program, order) in [("replay/race-buggy.c", "ab"), ("replay/sixteen-buggy.c", "ba")] {
        let program = Program::new(program);
        let id = program.first();
        let found = program.json(&["predict", "run.ftr", "--json"]).json;
        let findings = found["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|finding| finding["id"] == id.as_str()).expect("it");
        let schedule: Vec<u32> = serde_json::from_value(finding["schedule"].clone()).expect("a schedule");
        let schedule: Vec<EventId> = schedule.into_iter().map(EventId).collect();
        let arguments = ["replay", "run.ftr", &id, "--json", "--order", order, "--record", "again.ftr"];
        assert_eq!(program.json(&arguments).json["result"], "confirmed");
        // Reading it checks that it is a run that can have happened.
        let again = program.shop.trace("again.ftr");
        let all: Vec<EventId> = (0..again.len()).map(EventId::new).collect();
        let mut happened = met(&again, &all).into_iter();
        for step in met(&program.shop.trace("run.ftr"), &schedule) {
            assert!(happened.any(|event| event == step), "{step:?} is missing, or too early");
        }
    }
}

#[test]
fn a_thread_blocked_outside_our_sight_makes_no_replay_hang() {
    // A read past the C library is not seen, so nobody knows that the pipe orders the two: the schedule wants the reader first.
    let source = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int pages, ends[2];
static void *writer(void *p) { pages = 3; return write(ends[1], \"x\", 1) == 1 ? p : 0; }
static long unseen_read(int file, void *to, long most) {
    long got;
    __asm__ volatile(\"syscall\" : \"=a\"(got) : \"0\"(0L), \"D\"((long)file), \"S\"(to), \"d\"(most) : \"rcx\", \"r11\", \"memory\");
    return got;
}
static void *reader(void *p) { char c; if (unseen_read(ends[0], &c, 1) == 1) pages = 4; return p; }
int main(void) {
    pthread_t a, b;
    if (pipe(ends) != 0) return 9;
    pthread_create(&a, 0, writer, 0); pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    printf(\"%d pages\\n\", pages);
    return 0;
}
";
    let (shop, race) = recorded(source, None);
    let id = race["id"].as_str().expect("a candidate");
    let started = Instant::now();
    let replayed = said(&shop, &["replay", "run.ftr", id, "--json", "--order", "ab"]);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(replayed["result"], "diverged", "{replayed:#}");
    let came = replayed["divergence"]["came"].as_str().expect("a word");
    assert!(came.contains("outside our sight"), "{came}");
}

#[test]
fn a_program_that_leaves_the_schedule_is_ended_or_runs_on() {
    // Locks alone would let the two writes race; a reader that finds no letter ends without one.
    let source = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t box = PTHREAD_MUTEX_INITIALIZER;
static int delivered, letter;
static void *writer(void *p) { letter = 1; pthread_mutex_lock(&box); delivered = 1; pthread_mutex_unlock(&box); return p; }
static void *reader(void *p) {
    usleep(20000);
    pthread_mutex_lock(&box);
    int found = delivered;
    pthread_mutex_unlock(&box);
    if (found) { pthread_mutex_lock(&box); letter = 2; pthread_mutex_unlock(&box); }
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0); pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    printf(\"letter %d\\n\", letter);
    return 0;
}
";
    let (shop, _) = recorded(source, None);
    for (what, end) in [("stop", "ended"), ("continue", "exited")] {
        let arguments = ["replay", "run.ftr", "race-1", "--model", "sync", "--json", "--on-divergence", what];
        let replayed = said(&shop, &arguments);
        assert_eq!(replayed["result"], "diverged", "{replayed:#}");
        assert_eq!(replayed["runs"][0]["end"], end, "{what}: {replayed:#}");
        for part in ["step", "thread", "expected", "came"] {
            assert!(!replayed["divergence"][part].is_null(), "{part}: {replayed:#}");
        }
    }
}

#[test]
fn a_changed_read_tells_what_it_saw_and_would_have_seen() {
    let program = Program::new("replay/nondeterminism-buggy.c");
    let id = program.first();
    let replayed = program.json(&["replay", "run.ftr", &id, "--json"]).json;
    let read = &replayed["runs"][0]["events"][0];
    assert!(read["before"].is_string() && read["recorded"].is_string(), "{replayed:#}");
    assert_ne!(read["before"], read["recorded"], "{replayed:#}");
    let told = program.shop.foretell(&["replay", "run.ftr", &id]).output().expect("it can be run");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("(in the recorded order: "), "{told}");
}

#[test]
fn a_state_that_the_fixed_program_cannot_be_in_is_not_found() {
    let program = Program::new("replay/predicate-fixed.c");
    let condition = "exists t, u: t != u && mark(t, \"open\") > 0 && mark(u, \"open\") > 0";
    program.shop.write("rules.toml", &format!("[[predicate]]\nname = \"it\"\npossibly = '{condition}'\n"));
    let found =
        program.json(&["predict", "run.ftr", "--json", "--only", "predicate", "--rules", "rules.toml"]);
    assert_eq!((found.status, &found.json["findings"]), (Some(0), &json!([])), "{:#}", found.json);
}

#[test]
fn the_command_that_is_told_finds_the_finding_again() {
    let program = Program::new("replay/predicate-buggy.c");
    let condition = "exists t, u: t != u && mark(t, \"open\") > 0 && mark(u, \"open\") > 0";
    let rules = format!("[[predicate]]\nname = \"it\"\npossibly = '{condition}'\n");
    program.shop.write("my rules.toml", &rules);
    let options = ["--only", "predicate", "--rules", "my rules.toml", "--model", "sync"];
    let told = program.shop.foretell(&[&["predict", "run.ftr"], &options[..]].concat()).output();
    let told = String::from_utf8_lossy(&told.expect("it can be run").stdout).into_owned();
    let command = told.lines().find_map(|line| line.trim().strip_prefix("To see it happen: foretell "));
    let command = format!("\"$0\" {}", command.unwrap_or_else(|| panic!("{told}")));
    let seen = program.shop.other("sh", &["-c", &command, env!("CARGO_BIN_EXE_foretell")]).output();
    let seen = String::from_utf8_lossy(&seen.expect("it can be run").stdout).into_owned();
    assert!(seen.starts_with("predicate-1: confirmed"), "{command}: {seen}");
}
