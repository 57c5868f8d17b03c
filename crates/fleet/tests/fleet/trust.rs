//! What workers run, and as whom.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::support::{Project, Server, findings};

/// A counter without a lock that reads a file first, and looks around if it is to.
const LOOKS_AROUND: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static int total;
static void *add(void *unused) { total = total + 1; return unused; }
static int is_limited(int what) {
    struct rlimit limit;
    return !getrlimit(what, &limit) && limit.rlim_cur != RLIM_INFINITY;
}
int main(void) {
    FILE *data = fopen("data/numbers.txt", "r");
    int number = 0;
    if (!data || fscanf(data, "%d", &number) != 1 || number != 42) { puts("no numbers"); return 3; }
    fclose(data);
    if (getenv("ON_A_WORKER")) {
        if (getenv("SECRET") || getenv("NATS_URL")) { puts("sees too much"); return 4; }
        if (!is_limited(RLIMIT_AS) || !is_limited(RLIMIT_FSIZE) || !is_limited(RLIMIT_CPU) || !is_limited(RLIMIT_NPROC)) {
            puts("is not limited"); return 5;
        }
        if (getuid() == 0 || geteuid() == 0) { puts("is root"); return 6; }
        if (!access("other.txt", F_OK)) { puts("is not in a fresh directory"); return 7; }
        FILE *other = fopen("other.txt", "w");
        if (!other) { puts("cannot write in its directory"); return 8; }
        fclose(other);
        unlink("other.txt");
    }
    pthread_t one, two;
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("%d\n", total);
    return 0;
}
"#;

/// The name of a file in the store.
fn digest(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn project() -> Project {
    let project = Project::empty();
    project.build(LOOKS_AROUND, "looks");
    fs::create_dir(project.path("data")).unwrap();
    fs::write(project.path("data/numbers.txt"), "42\n").unwrap();
    fs::write(project.path("other.txt"), "not an input\n").unwrap();
    project
}

#[test]
fn jobs_run_confined_with_the_inputs_that_were_named() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let arguments = [
        "--input",
        "data/numbers.txt",
        "--env",
        "ON_A_WORKER=1",
        "--hunt",
        "--rounds 1",
        "--seeds",
        "3",
        "--",
        "./looks",
    ];
    let campaign = project.submit(&server, &arguments);
    project.worker(&server, &["--drain"]).wait();
    let report = project.collect(&server, &campaign);
    let race = |finding: &String| finding.starts_with("race total confirmed");
    assert!(findings(&report).iter().any(race), "{report:#}");
    let status = project.status(&server, &campaign);
    assert_eq!((&status["done"], &status["failed"]), (&3.into(), &0.into()));
}

#[test]
fn a_job_that_fails_five_times_is_set_aside_and_reported() {
    let Some(server) = Server::start() else { return };
    let project = project();
    // Without its input the program gives up.
    let campaign = project.submit(&server, &["--", "./looks"]);
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    let status = project.status(&server, &campaign);
    let expected = (&0.into(), &1.into(), &0.into());
    assert_eq!((&status["done"], &status["failed"], &status["queued"]), expected, "{status}");
    let output = project.run(&["collect", "--nats", &server.url(), &campaign]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("failed 5 times") && said.contains("looks"), "{said}");
}

#[test]
fn a_program_that_somebody_has_exchanged_is_not_run() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let arguments = ["--input", "data/numbers.txt", "--", "./looks"];
    let campaign = project.submit(&server, &arguments);
    let program = fs::read(project.path("looks")).unwrap();
    let name = digest(&program);
    server.with_client(async |jetstream| {
        let files = jetstream.get_object_store("foretell-files").await.unwrap();
        let before = files.info(&name).await.expect("the program is stored by its digest");
        assert_eq!(before.size, program.len());
        files.put(name.as_str(), &mut "#!/bin/sh\ntouch /tmp/hostile\n".as_bytes()).await.unwrap();
    });
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    let output = project.run(&["collect", "--nats", &server.url(), &campaign]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is not what its digest says"), "{said}");
}

#[test]
fn what_is_stored_is_not_uploaded_again() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let submit = || project.submit(&server, &["--input", "data/numbers.txt", "--", "./looks"]);
    let objects = || {
        server.with_client(async |jetstream| {
            let stream = jetstream.get_stream("OBJ_foretell-files").await.unwrap();
            stream.cached_info().state.last_sequence
        })
    };
    submit();
    let first = objects();
    submit();
    // The description of the second campaign, in one chunk.
    assert_eq!(objects(), first + 2);
}

/// Wants much of one thing, and aborts if it gets it: then the hunt has found a failure.
const GREEDY: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int total;
static void *add(void *unused) { total = total + 1; return unused; }
static int gets_memory(void) {
    return mmap(0, 9ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}
static int gets_processes(void) {
    static pid_t children[700];
    int count = 0, refused = 0;
    while (count < 700 && !refused) {
        pid_t child = fork();
        if (child == 0) for (;;) pause();
        if (child < 0) refused = errno == EAGAIN;
        else children[count++] = child;
    }
    for (int i = 0; i < count; i++) { kill(children[i], SIGKILL); waitpid(children[i], 0, 0); }
    return !refused;
}
static int gets_a_file(void) {
    static char block[1 << 20];
    signal(SIGXFSZ, SIG_IGN);
    FILE *file = fopen("much", "w");
    int written = 0;
    while (file && written < 64 && fwrite(block, 1, sizeof block, file) == sizeof block) written++;
    if (file) fclose(file);
    unlink("much");
    return written == 64;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    const char *wish = getenv("WISH");
    if (!wish) return 0;
    if (!strcmp(wish, "time")) for (;;) usleep(1000);
    int got = !strcmp(wish, "memory") ? gets_memory() : !strcmp(wish, "processes") ? gets_processes() : gets_a_file();
    if (got) abort();
    return 0;
}
"#;

/// Each limit stops a program that wants more, and only that; the race that the program has is found all the same.
#[test]
fn limits_hold_for_programs_that_want_more() {
    let Some(server) = Server::start() else { return };
    let project = Project::empty();
    project.build(GREEDY, "greedy");
    let fails = |wish: &str, limits: &[&str]| {
        let variable = format!("WISH={wish}");
        let submit = ["--env", &variable, "--hunt", "--rounds 1 --times 0", "--", "./greedy"];
        let campaign = project.submit(&server, &submit);
        project.worker(&server, &[&["--drain", "--jobs", "1"], limits].concat()).wait();
        let report = project.collect(&server, &campaign);
        let found = findings(&report);
        assert!(found.iter().any(|finding| finding.starts_with("race total")), "{wish}: {report:#}");
        found.iter().any(|finding| finding.starts_with("failure"))
    };
    for (wish, option, enough, little) in [
        ("memory", "--max-memory", "60G", "8G"),
        ("processes", "--max-processes", "4000", "600"),
        ("a file", "--max-file-size", "100M", "60M"),
    ] {
        assert!(fails(wish, &[option, enough]), "{wish}: {enough} is enough");
        assert!(!fails(wish, &[option, little]), "{wish}: {little} is not enough");
    }
}

/// A program that does not end costs the time of its job, and no more.
#[test]
fn a_program_that_never_ends_is_stopped() {
    let Some(server) = Server::start() else { return };
    let project = Project::empty();
    project.build(GREEDY, "greedy");
    let campaign = project.submit(&server, &["--env", "WISH=time", "--timeout", "4", "--", "./greedy"]);
    let started = Instant::now();
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let status = project.status(&server, &campaign);
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &0.into()), "{status}");
    assert_eq!(project.job_directories(), 0);
}

/// Whoever can submit chooses the program and options of hunts, but not what else is run: neither with `submit`, nor with a job made by hand.
#[test]
fn nothing_is_run_but_the_submitted_program() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let hostile = project.path("hostile");
    let drive = format!("--drive touch${{IFS}}{}", hostile.display());
    let submit = ["submit", "--nats", &server.url(), "--input", "data/numbers.txt"];
    let refused = project.run(&[&submit[..], &["--hunt", &drive, "--", "./looks"]].concat());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("workers do not take `--drive`"), "{said}");
    let campaign = project.submit(&server, &["--input", "data/numbers.txt", "--", "./looks"]);
    let mut job = server.messages("FORETELL_JOBS").remove(0);
    server.with_client(async |jetstream| {
        let files = jetstream.get_object_store("foretell-files").await.unwrap();
        let mut content = Vec::new();
        let mut described = files.get(job["described_in"].as_str().unwrap()).await.unwrap();
        described.read_to_end(&mut content).await.unwrap();
        let mut described: Value = serde_json::from_slice(&content).unwrap();
        let options = drive.split_whitespace().map(|word| json!({ "Unix": word.as_bytes() }));
        described["hunt"] = options.collect();
        let content = described.to_string().into_bytes();
        let name = digest(&content);
        files.put(name.as_str(), &mut content.as_slice()).await.unwrap();
        (job["described_in"], job["seed"]) = (name.into(), 7.into());
        let subject = format!("foretell.jobs.{campaign}.0-seed-7");
        jetstream.publish(subject, job.to_string().into()).await.unwrap().await.unwrap();
    });
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    let status = project.status(&server, &campaign);
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()), "{status}");
    let reason = server.messages("FORETELL_DEAD")[0]["reason"].to_string();
    assert!(reason.contains("workers do not take `--drive`"), "{reason}");
    assert!(!hostile.exists());
}
