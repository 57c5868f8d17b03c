//! `--drive`: servers with a client, recorded, hunted in and replayed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::{foretell, json};

/// A server with a thread for each connection. The number of requests is counted without a lock.
const SERVER: &str = r#"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int requests;

static void *serve(void *connection)
{
    int file = (int)(long)connection;
    char line[64];
    ssize_t length;

    while ((length = read(file, line, sizeof line)) > 0) {
        requests = requests + 1;
        if (write(file, line, length) != length)
            break;
    }
    close(file);
    return NULL;
}

int main(int count, char **words)
{
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};

    address.sin_port = htons(atoi(words[count - 1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) {
        perror("listen");
        return 1;
    }
    puts("the server is ready");
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            return 1;
        pthread_create(&thread, NULL, serve, (void *)(long)connection);
        pthread_detach(thread);
    }
}
"#;

/// Two connections at the same time, each with two requests whose answers are awaited.
const CLIENT: &str = r#"
exec 3<>/dev/tcp/127.0.0.1/$1 4<>/dev/tcp/127.0.0.1/$1
for i in 1 2; do
  echo "a$i" >&3; echo "b$i" >&4
  read -r a <&3; read -r b <&4
  echo "$a $b"
done
"#;

fn project() -> (tempfile::TempDir, u16) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("server.c"), SERVER).unwrap();
    fs::write(directory.path().join("client.sh"), CLIENT).unwrap();
    let built = foretell(directory.path(), &["cc", "-g", "-O1", "-pthread", "server.c", "-o", "server"]);
    assert!(built.status.success(), "{built:?}");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    (directory, port)
}

fn hunt(directory: &Path, port: u16, more: &[&str]) -> (Option<i32>, Value) {
    let (port, client) = (port.to_string(), format!("bash client.sh {port}"));
    let common = ["hunt", "--json", "--quiet", "--timeout", "40", "--drive", &client];
    let output = foretell(directory, &[&common, more, &["--", "./server", &port]].concat());
    (output.status.code(), json(&output))
}

#[test]
fn a_race_of_a_server_is_confirmed_with_its_client() {
    if !testing::has("bash") {
        return;
    }
    let (project, port) = project();
    for ready in [&["--ready", "server is ready"][..], &[]] {
        let (status, report) = hunt(project.path(), port, ready);
        assert_eq!(status, Some(1), "{report:#}");
        let findings = report["findings"].as_array().unwrap();
        let race =
            findings.iter().find(|finding| finding["kind"] == "race" && finding["object"] == "requests");
        let race = race.unwrap_or_else(|| panic!("{findings:#?}"));
        assert_eq!(race["rung"], "confirmed", "{race:#}");
        // The client got its answers, and what it printed is kept beside what the server printed.
        let read = |name| fs::read_to_string(project.path().join(".foretell/latest").join(name)).unwrap();
        assert_eq!(read("output.txt"), "the server is ready\n");
        assert_eq!(read("client.txt"), "a1 b1\na2 b2\n");
    }
}

#[test]
fn a_client_that_is_to_be_run_again_is() {
    if !testing::has("bash") {
        return;
    }
    let (project, port) = project();
    let (status, report) = hunt(project.path(), port, &["--client-input", "live", "--rounds", "1"]);
    assert_eq!(status, Some(1), "{report:#}");
    let directory = project.path().join(".foretell/latest");
    let printed = fs::read_to_string(directory.join("output.txt")).unwrap();
    assert_eq!(printed, "the server is ready\na1 b1\na2 b2\n");
    assert!(!directory.join(KEPT).exists() && !directory.join("client.txt").exists());
    let refused = foretell(project.path(), &["replay", "race-1"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

/// What the client of a hunt's first run sent.
const KEPT: &str = "trace.clients";

/// Two threads wait for the requests of a connection each, with an epoll of their own, and read until there is nothing more. `late` is
/// changed without a lock, by the first request of the second connection and the third of the first; `last` by the third of both, after the
/// answer.
const EVENT_LOOPS: &str = r#"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int late, last;

/* As a library does that is not instrumented: how often it asks for the time is different in each run. */
__attribute__((no_sanitize("thread"))) static void let_time_pass(void)
{
    struct timespec now, begin;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 100000);
}

static void answer(int connection)
{
    char line[256];
    ssize_t length;

    while ((length = read(connection, line, sizeof line)) > 0) {
        let_time_pass();
        if (!strncmp(line, "a3", 2) || !strncmp(line, "b1", 2))
            late = late + 1;
        if (write(connection, "ok\n", 3) != 3)
            exit(1);
        if (line[1] == '3')
            last = last + 1;
    }
    if (length == 0)
        close(connection);
    else if (errno != EAGAIN)
        exit(1);
}

static void *work(void *argument)
{
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(*(int *)argument, &event, 1, -1) == 1)
            answer(event.data.fd);
    }
}

static int listen_at(const char *place)
{
    int one = 1, listener;

    if (*place == '/') {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strcpy(address.sun_path, place);
        unlink(place);
        listener = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(listener, (struct sockaddr *)&address, sizeof address))
            exit(1);
    } else {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(place))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(listener, (struct sockaddr *)&address, sizeof address))
            exit(1);
    }
    if (listen(listener, 8))
        exit(1);
    return listener;
}

int main(int count, char **words)
{
    int next, epolls[2], listener = listen_at(words[count - 1]);

    for (next = 0; next < 2; next++) {
        pthread_t thread;
        epolls[next] = epoll_create1(0);
        pthread_create(&thread, NULL, work, &epolls[next]);
        pthread_detach(thread);
    }
    if (words[count - 1][0] != '/') {
        /* A connection that is no client's. */
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[count - 1]))};
        int own = socket(AF_INET, SOCK_STREAM, 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(own, (struct sockaddr *)&address, sizeof address) || write(own, "own\n", 4) != 4)
            exit(1);
    }
    puts("ready");
    fflush(stdout);
    for (next = 0;; next = !next) {
        struct epoll_event event = {.events = EPOLLIN};
        event.data.fd = accept(listener, NULL, NULL);
        if (event.data.fd < 0)
            exit(1);
        fcntl(event.data.fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(epolls[next], EPOLL_CTL_ADD, event.data.fd, &event);
    }
}
"#;

/// Waits for the answers on both connections before it sends the next requests.
const PATIENT_CLIENT: &str = r#"
exec 3<>/dev/tcp/127.0.0.1/$1 4<>/dev/tcp/127.0.0.1/$1
for i in 1 2 3; do
  echo "a$i s3cr3t" >&3; echo "b$i s3cr3t" >&4
  read -r a <&3; read -r b <&4
  [ "$a$b" = okok ] || exit 1
done
"#;

/// The same through a socket with a name.
const PATIENT_NAMED_CLIENT: &str = r#"
import socket, sys
connections = [socket.socket(socket.AF_UNIX) for _ in "ab"]
for connection in connections:
    connection.connect(sys.argv[1])
for i in "123":
    for letter, connection in zip("ab", connections):
        connection.sendall(f"{letter}{i} s3cr3t\n".encode())
    for connection in connections:
        assert connection.recv(3) == b"ok\n"
"#;

/// Hunts in the event loops with a client, whose file is removed then; the project, and the race on a variable, which is confirmed.
fn hunt_in_event_loops(
    client: (&str, &str),
    variable: &str,
    place: impl FnOnce(&Path) -> String,
) -> (tempfile::TempDir, String) {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("loops.c"), EVENT_LOOPS).unwrap();
    fs::write(project.path().join("client"), client.1).unwrap();
    let built = foretell(project.path(), &["cc", "-g", "-O1", "-pthread", "loops.c", "-o", "loops"]);
    assert!(built.status.success(), "{built:?}");
    let place = place(project.path());
    let drive = format!("{} client {place}", client.0);
    let options = ["hunt", "--json", "--quiet", "--timeout", "40", "--only", "race", "--ready", "ready"];
    let more = ["--drive", &drive, "--", "./loops", &place];
    let output = foretell(project.path(), &[&options[..], &more].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = json(&output);
    let findings = report["findings"].as_array().unwrap();
    let race = findings.iter().find(|finding| finding["object"] == variable);
    let race = race.unwrap_or_else(|| panic!("{findings:#?}"));
    assert_eq!(race["rung"], "confirmed", "{race:#}");
    fs::remove_file(project.path().join("client")).unwrap();
    let id = race["id"].as_str().unwrap().to_owned();
    (project, id)
}

#[test]
fn a_race_that_its_client_keeps_apart_is_confirmed_with_what_it_sent() {
    if !testing::has("bash") {
        return;
    }
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (project, race) = hunt_in_event_loops(("bash", PATIENT_CLIENT), "late", |_| port().to_string());
    let replayed = foretell(project.path(), &["replay", &race, "--times", "20", "--json"]);
    let result = json(&replayed);
    assert_eq!((&result["times"], &result["confirmed"]), (&20.into(), &20.into()), "{result:#}");
    let said = String::from_utf8_lossy(&replayed.stderr);
    assert!(said.contains(&format!(", sent what is in {}", project.path().display())), "{said}");
    nothing_else_has_what_was_sent(&project.path().join(".foretell/latest"));
    // What is not what was recorded is not sent.
    let kept = project.path().join(".foretell/latest").join(KEPT);
    let mut sent = fs::read(&kept).unwrap();
    let at = sent.windows(6).position(|bytes| bytes == b"s3cr3t").unwrap();
    sent[at] = b'S';
    fs::write(&kept, sent).unwrap();
    let refused = foretell(project.path(), &["replay", &race]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--drive 'bash client "), "{refused:?}");
}

/// What a client sent is in one file, which nobody else can read.
fn nothing_else_has_what_was_sent(directory: &Path) {
    let mode = directory.join(KEPT).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let has = |bytes: &[u8]| bytes.windows(6).any(|part| part == b"s3cr3t");
    assert!(has(&fs::read(directory.join(KEPT)).unwrap()));
    let text = foretell(directory, &["convert", "trace.ftr", "trace.std"]);
    assert!(text.status.success(), "{text:?}");
    for report in [&["report", "."][..], &["show", ".", "race-1"], &["stats", "trace.ftr", "--json"]] {
        let report = foretell(directory, report);
        assert!(!has(&report.stdout) && !has(&report.stderr), "{report:?}");
    }
    let others = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    for other in others.filter(|path| path.extension().is_none_or(|extension| extension != "clients")) {
        if other.is_file() {
            assert!(!has(&fs::read(&other).unwrap()), "{}", other.display());
        }
    }
}

#[test]
fn what_was_sent_to_a_socket_with_a_name_is_sent_again() {
    if !testing::has("python3") {
        return;
    }
    let place = |project: &Path| project.join("socket").display().to_string();
    let (project, race) = hunt_in_event_loops(("python3", PATIENT_NAMED_CLIENT), "last", place);
    let replayed = json(&foretell(project.path(), &["replay", &race, "--times", "3", "--json"]));
    assert_eq!(replayed["confirmed"], 3, "{replayed:#}");
}

#[test]
fn a_client_is_not_run_because_a_file_says_so() {
    if !testing::has("bash") {
        return;
    }
    let (project, port) = project();
    let client = format!("bash client.sh {port}");
    let port = port.to_string();
    let recorded = foretell(
        project.path(),
        &["record", "--drive", &client, "--ready", &format!(":{port}"), "--", "./server", &port],
    );
    assert!(String::from_utf8_lossy(&recorded.stdout).contains("a2 b2"), "{recorded:?}");
    let predicted = foretell(project.path(), &["predict", "foretell.ftr", "--only", "race"]);
    assert_eq!(predicted.status.code(), Some(1), "{predicted:?}");
    let refused = foretell(project.path(), &["replay", "foretell.ftr", "race-1"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(words.contains(&format!("--drive 'bash client.sh {port}'")), "{words}");
    let replayed = foretell(project.path(), &["replay", "foretell.ftr", "race-1", "--drive", &client]);
    assert_eq!(replayed.status.code(), Some(1), "{replayed:?}");
    let pattern =
        foretell(project.path(), &["record", "--drive", &client, "--ready", "x", "--", "./server", &port]);
    assert_eq!(pattern.status.code(), Some(2), "{pattern:?}");
}
