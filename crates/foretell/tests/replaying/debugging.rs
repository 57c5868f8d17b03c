//! Replays in gdb: where it stands, what it hides, and its commands to go through the schedule.

use std::io::Write;
use std::process::Stdio;

use crate::judging::Program;
use crate::options::race;
use crate::support::{Workshop, succeeded};

/// What gdb printed for each of these commands, after what it printed at the start.
fn gdb(shop: &Workshop, replay: &[&str], commands: &[&str]) -> Vec<String> {
    const MARK: &str = "-- the next command --";
    let mut debug = shop.foretell(&[&["replay"], replay, &["--gdb"]].concat());
    // What the user's own settings say must not matter.
    debug.env("HOME", shop.path("."));
    debug.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = debug.spawn().expect("it can be run");
    let mut input = String::new();
    for command in commands {
        input.push_str(&format!("echo {MARK}\\n\n{command}\n"));
    }
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("gdb reads it");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts: Vec<String> = said.split(MARK).map(str::to_owned).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(parts.len(), commands.len() + 1, "{said}\n{errors}");
    parts
}

#[track_caller]
fn assert_has(said: &str, expected: &[&str]) {
    for part in expected {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
}

#[test]
fn gdb_stands_at_the_racing_lines_and_hides_the_runtime() {
    if !testing::has("gdb") {
        return;
    }
    let (program, id) = race();
    let commands = ["backtrace", "print session->user", "info threads", "thread 4", "info frame"];
    let said = gdb(&program.shop, &["run.ftr", &id, "--order", "ab"], &commands);
    assert_has(
        &said[0],
        &[
            "both accesses of the race are next",
            "T1: r(session) at",
            "T2: w(session) at",
            "in serve (unused=",
            "race-buggy.c:28",
            "current = session;",
            "* 3  T1  serve () at race-buggy.c:28",
            "  4  T2  shut () at race-buggy.c:39",
        ],
    );
    assert!(!said[0].contains("foretell_stopped"), "{}", said[0]);
    assert_has(&said[1], &["serve (unused="]);
    assert!(!said[1].contains("foretell_"), "{}", said[1]);
    assert_has(&said[2], &["$1 = 7"]);
    assert_has(&said[3], &["\"main\"", "\"T1\"", "\"T2\""]);
    // `info threads` shows where threads stand in the program, too.
    assert_has(&said[3], &["serve () at race-buggy.c:28", "shut () at race-buggy.c:39"]);
    assert!(!said[3].contains("libtsan") && !said[3].contains("foretell_"), "{}", said[3]);
    assert_has(&said[4], &["in shut (unused=", "race-buggy.c:39", "session = NULL;"]);
    assert_has(&said[5], &["in shut", "race-buggy.c:39"]);
}

#[test]
fn the_schedule_is_gone_through_in_both_directions() {
    if !testing::has("gdb") {
        return;
    }
    let (program, id) = race();
    let commands = [
        "foretell step",
        "print session",
        "foretell back",
        "print session",
        "foretell goto 0",
        "foretell step",
        "foretell steps",
        "foretell goto 400",
        "foretell step 10",
        "foretell step",
        "foretell step",
        "backtrace",
        "foretell back",
        "foretell goto 2",
        "foretell threads",
    ];
    let said = gdb(&program.shop, &["run.ftr", &id, "--order", "ba"], &commands);
    assert_has(&said[0], &["Step 9 of 11.", "Next: T2: w(session)"]);
    assert_has(&said[1], &["Step 10 of 11.", "Next: T1: r(session)", "race-buggy.c:28"]);
    assert_has(&said[2], &["= (struct session *) 0x0"]);
    assert_has(&said[3], &["Step 9 of 11."]);
    assert_has(&said[4], &["<only>"]);
    assert_has(&said[5], &["Step 0 of 11.", "Next: main: begin(main)"]);
    assert_has(&said[6], &["Step 1 of 11.", "Next: main: fork(T1)"]);
    assert_has(&said[7], &["=> 2  main: fork(T1)", "8  T2: rel(journal) at"]);
    let whole = said.concat();
    assert!(!whole.contains("Traceback") && !whole.contains("Python Exception"), "{whole}");
    assert_has(&said[9], &["Step 10 of 11."]);
    assert_has(&said[10], &["Step 11 of 11."]);
    assert_has(&said[11], &["received signal SIGABRT", "serve (unused=", "assert(current != NULL);"]);
    assert_has(&said[12], &["serve (unused="]);
    assert!(!said[12].contains("libtsan"), "{}", said[12]);
    assert_has(&said[13], &["Step 11 of 11."]);
    // T1 has not begun: it may still have the name of its creator, but it is main that comes next.
    assert_has(&said[14], &["Step 2 of 11.", "Next: main: fork(T2)"]);
    assert!(!said[14].contains("not in the program's code"), "{}", said[14]);
    assert_has(&said[15], &["main  start () at scenario.h", "not in the program's code"]);
    assert!(!said[15].contains("main  not in the program's code"), "{}", said[15]);
}

#[test]
fn a_deadlock_is_seen_from_both_sides() {
    if !testing::has("gdb") {
        return;
    }
    let program = Program::new("replay/deadlock-buggy.c");
    let id = program.first();
    let said = gdb(&program.shop, &["run.ftr", &id], &["foretell threads"]);
    assert_has(&said[0], &["each of these threads waits for the next one", "pthread_mutex_lock(&"]);
    let threads = said[1].lines().filter(|line| line.contains("deadlock-buggy.c:")).count();
    assert!(threads >= 2, "{}", said[1]);
}

/// Its arguments and its input are those of the recording, however they are spelt.
#[test]
fn a_failure_is_seen_where_it_happens() {
    if !testing::has("gdb") {
        return;
    }
    const SOURCE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <string.h>
static int *shared, zero;
static char line[40];
static void *reader(void *unused)
{
    *shared += 1;
    return unused;
}
int main(int count, char **arguments)
{
    pthread_t thread;
    if (fgets(line, sizeof line, stdin) && !strcmp(line, "crash\n") && count == 2)
        shared = strcmp(arguments[1], "a  'b' $HOME <x") ? &zero : NULL;
    else
        shared = &zero;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_join(thread, NULL);
    return 0;
}
"#;
    let shop = Workshop::new();
    shop.write("crash.c", SOURCE);
    shop.write("input", "crash\n");
    succeeded(&mut shop.foretell(&["cc", "-g", "crash.c", "-o", "program", "-pthread"]));
    let mut hunt = shop.foretell(&["hunt", "-q", "--timeout", "5", "--", "./program", "a  'b' $HOME <x"]);
    hunt.stdin(std::fs::File::open(shop.path("input")).expect("it is there"));
    assert_eq!(hunt.output().expect("it can be run").status.code(), Some(1));
    let said = gdb(&shop, &["failure-1"], &["print shared", "foretell back", "foretell threads"]);
    assert_has(&said[0], &["received signal SIGSEGV", "crash.c:8", "* 3  T1  reader () at crash.c:8"]);
    assert_has(&said[1], &["= (int *) 0x0"]);
    assert_has(&said[2], &["Step ", "the program is about to fail: SIGSEGV at", "crash.c:8"]);
    assert_has(&said[3], &["T1  reader () at crash.c:8"]);
}

/// A program in one file that fails in one order of its threads, hunted in.
fn hunted(name: &str, source: &str) -> Workshop {
    let shop = Workshop::new();
    shop.write(name, source);
    let hunt = shop.foretell(&["hunt", name, "--quiet", "--timeout", "10"]).output().expect("it can be run");
    assert_eq!(hunt.status.code(), Some(1), "{}", String::from_utf8_lossy(&hunt.stderr));
    shop
}

/// The frames of the panic itself are passed over, and the user's are there with their variables.
#[test]
fn a_panic_of_rust_is_seen_where_it_happens() {
    if !testing::has("gdb") {
        return;
    }
    const SOURCE: &str = r#"use std::sync::{Arc, Mutex};
use std::thread;
fn take(account: &Mutex<i64>) {
    let before = *account.lock().unwrap();
    let mut held = account.lock().unwrap();
    assert_eq!(*held, before, "changed meanwhile");
    *held -= 10;
}
fn main() {
    let account = Arc::new(Mutex::new(100));
    let start = |account: Arc<Mutex<i64>>| thread::spawn(move || take(&account));
    let threads = [start(account.clone()), start(account)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
"#;
    let shop = hunted("panic.rs", SOURCE);
    let said = gdb(&shop, &["failure-1"], &["backtrace", "foretell threads", "foretell back"]);
    assert_has(&said[0], &["panic.rs:6", "take"]);
    assert_has(&said[1], &["panic::take", "panic.rs:6"]);
    assert!(!said[1].contains("foretell_") && !said[1].contains("libtsan"), "{}", said[1]);
    // The other thread may have ended.
    assert_has(&said[2], &["  main  ", "take () at panic.rs:6"]);
    assert_has(&said[3], &["Step "]);
}

#[test]
fn a_race_of_cpp_is_seen_at_the_users_lines() {
    if !testing::has("gdb") {
        return;
    }
    const SOURCE: &str = r#"#include <thread>
#include <vector>
struct Job {
    int state = 0;
    void finish() { state++; }
};
int main()
{
    std::vector<Job> jobs(2);
    auto work = [&] { jobs[1].finish(); };
    std::thread first(work), second(work);
    first.join();
    second.join();
}
"#;
    let shop = hunted("jobs.cc", SOURCE);
    let said = gdb(&shop, &["race-1"], &["backtrace 1", "info threads", "foretell step"]);
    assert_has(&said[0], &["both accesses of the race are next", "jobs.cc:5", "state++"]);
    assert_has(&said[1], &["jobs.cc:5"]);
    assert!(!said[1].contains("foretell_"), "{}", said[1]);
    assert_has(&said[2], &["\"main\"", "\"T1\"", "\"T2\"", "jobs.cc"]);
    assert_has(&said[3], &["Step "]);
}
