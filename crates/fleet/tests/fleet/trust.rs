//! What workers run, and as whom.

use std::fs;

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
    let digest = ring::digest::digest(&ring::digest::SHA256, &program);
    let name: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let files = async_nats::jetstream::new(client).get_object_store("foretell-files").await.unwrap();
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = async_nats::connect(server.url()).await.unwrap();
            let stream = async_nats::jetstream::new(client).get_stream("OBJ_foretell-files").await.unwrap();
            stream.cached_info().state.last_sequence
        })
    };
    submit();
    let first = objects();
    submit();
    // The description of the second campaign, in one chunk.
    assert_eq!(objects(), first + 2);
}
