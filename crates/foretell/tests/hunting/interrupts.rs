//! Ctrl-C in each stage: what was found is kept, and can be reported.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{foretell, json};

/// Two races that locks hide, in a run that takes a while.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first, second, last;

static void note(int who)
{
    pthread_mutex_lock(&lock);
    last = who;
    pthread_mutex_unlock(&lock);
}

static void *early(void *unused)
{
    first = 1;
    second = 1;
    note(1);
    return unused;
}

static void *late(void *unused)
{
    usleep(50000);
    note(2);
    first = 2;
    second = 2;
    return unused;
}

int main(int count, char **words)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, early, NULL);
    pthread_create(&threads[1], NULL, late, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf(\"worked: %d %d %d\\n\", first, second, last);
    fflush(stdout);
    if (count > 1)
        pause();
    return words[0][0] == 0;
}
";

fn start(here: &Path, more: &[&str]) -> Child {
    std::fs::write(here.join("work.c"), PROGRAM).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(here).args(["hunt", "work.c", "--rounds", "1"]).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(hunt: &Child) {
    let sent = Command::new("kill").args(["-INT", &hunt.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the hunt says something that starts so; standard error is read on from there.
fn says(hunt: &mut Child, what: &str) -> impl Iterator<Item = String> + use<> {
    let mut lines = BufReader::new(hunt.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find(|line| line.starts_with(what));
    assert!(said.is_some(), "it never said `{what}`");
    lines
}

fn reported(here: &Path) -> Vec<Value> {
    let report = json(&foretell(here, &["report", "--json"]));
    report["findings"].as_array().unwrap().clone()
}

#[test]
fn while_recording_the_program_is_ended_and_what_was_recorded_is_searched() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut hunt = start(here, &["--times", "1", "--timeout", "40", "--", "for-long"]);
    let output = here.join(".foretell/1/output.txt");
    let waited = Instant::now();
    while !std::fs::read_to_string(&output).unwrap_or_default().contains("worked") {
        assert!(waited.elapsed() < Duration::from_secs(60), "it does not get there");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&hunt);
    let _lines = says(&mut hunt, "predicted");
    // Its replays would not end.
    interrupt(&hunt);
    assert_eq!(hunt.wait().unwrap().code(), Some(1));
    assert_eq!(reported(here).len(), 2);
}

/// What a pipe holds.
const PIPE_BYTES: usize = 1 << 16;

/// The interrupt arrives after the recording and before the search: standard error is a full pipe, so the hunt waits there, at the line that says
/// what was recorded, until it is read.
#[test]
fn before_the_search_the_trace_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("work.c"), PROGRAM).unwrap();
    assert!(foretell(here, &["cc", "-pthread", "work.c", "-o", "work"]).status.success());
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'.'; PIPE_BYTES]).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(here).args(["hunt", "--rounds", "1", "--", "./work"]);
    let mut hunt = command.stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    // It has the other copy of the writing end, which would keep the pipe open.
    drop(command);
    let started = Instant::now();
    let trace = here.join(".foretell/1/trace.ftr");
    while !trace.is_file() {
        assert!(started.elapsed() < Duration::from_secs(60), "it never records anything");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&hunt);
    // The handler is a thread of its own.
    std::thread::sleep(Duration::from_secs(1));
    let mut said = Vec::new();
    reader.read_to_end(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said[PIPE_BYTES..]);
    assert!(said.starts_with("recorded") && said.contains("interrupted"), "{said}");
    assert_eq!(hunt.wait().unwrap().code(), Some(3), "{said}");
    assert!(trace.is_file());
    assert_eq!(reported(here).len(), 0);
}

#[test]
fn while_replaying_what_was_confirmed_is_kept_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut hunt = start(here, &["--times", "1000"]);
    let mut lines = says(&mut hunt, "predicted 2 findings");
    // Findings are replayed once, and again when there is nothing new to be tried.
    for _ in 0..2 {
        assert!(lines.any(|line| line.starts_with("confirmed after")), "a replay confirms each");
    }
    let asked = Instant::now();
    interrupt(&hunt);
    let said: Vec<String> = lines.collect();
    assert!(
        said.iter().any(|line| line.starts_with("covered") && line.ends_with("; interrupted")),
        "{said:?}"
    );
    assert_eq!(hunt.wait().unwrap().code(), Some(1));
    assert!(asked.elapsed() < Duration::from_secs(20), "it ends soon: {:?}", asked.elapsed());
    assert!(here.join(".foretell/latest/report.html").is_file());
    let findings = reported(here);
    assert_eq!(findings.len(), 2);
    let replay = &findings[0]["replay"];
    assert!(replay["times"].as_u64() > Some(0) && replay["times"] == replay["confirmed"], "{findings:#?}");
    assert!(findings.iter().all(|finding| finding["rung"] == "confirmed"), "{findings:#?}");
}
