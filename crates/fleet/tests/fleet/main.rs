//! The fleet with a real server: nothing lost, nothing doubled.

mod schemas;
mod servers;
mod support;
mod trust;

use std::collections::BTreeSet;
use std::time::Duration;

use support::{Project, Server, findings};

/// Of the corpus: C, C++ and Rust; races, deadlocks and failures, and two programs without a bug.
const PROGRAMS: [&str; 8] = [
    "pairs/lock_order_bug.c",
    "pairs/lock_order.c",
    "pairs/cond_mailbox_bug.c",
    "pairs/thread_argument_bug.c",
    "pairs/once_config_bug.c",
    "pairs/scoped_lock_bug.cc",
    "pairs/mutex_order_bug.rs",
    "pairs/mutex_order.rs",
];

/// The corpus with 200 seeds, 25 for each program: three workers, of which one is killed, find what one machine finds.
#[test]
fn three_workers_of_which_one_is_killed_find_what_one_machine_finds() {
    let Some(server) = Server::start() else { return };
    let project = Project::of_corpus(&PROGRAMS);
    // 200 in all; `FORETELL_FLEET_SEEDS` names another number for each program.
    let seeds = std::env::var("FORETELL_FLEET_SEEDS").unwrap_or("25".to_owned());
    let jobs = seeds.parse::<usize>().unwrap() * PROGRAMS.len();
    let campaign = project.submit(&server, &["--seeds", &seeds, "--", "./check.sh"]);
    let lost = project.worker(&server, &["--jobs", "1"]);
    let others = [
        project.worker(&server, &["--drain", "--jobs", "1"]),
        project.worker(&server, &["--drain", "--jobs", "1"]),
    ];
    project.wait_until_done(&server, &campaign, 10);
    lost.kill();
    let report = project.collect(&server, &campaign);
    others.into_iter().for_each(support::Worker::wait);
    let status = project.status(&server, &campaign);
    assert_eq!((&status["done"], &status["queued"], &status["failed"]), (&jobs.into(), &0.into(), &0.into()));
    let together = findings(&report);
    assert_eq!(together, findings(&project.alone(&seeds, "./check.sh")));
    for program in PROGRAMS {
        let name = support::name(program);
        let is_found = together.iter().any(|finding| finding.contains(&format!("\"{name}\"")));
        assert_eq!(is_found, name.ends_with("_bug"), "{name}: {together:#?}");
    }
    assert!(project.path("all/report.html").is_file() && project.path("all/findings.json").is_file());
    assert_eq!(project.job_directories(), 1, "that of the worker that was killed");
    project.worker(&server, &["--drain"]).wait();
    assert_eq!(project.job_directories(), 0, "the next worker removes it");
}

#[test]
fn a_server_that_is_restarted_has_lost_nothing() {
    let Some(mut server) = Server::start() else { return };
    let project = Project::of_corpus(&["pairs/lock_order_bug.c"]);
    let campaign = project.submit(&server, &["--seeds", "24", "--", "./check.sh"]);
    let workers = [project.worker(&server, &["--drain"]), project.worker(&server, &["--drain"])];
    project.wait_until_done(&server, &campaign, 4);
    server.restart();
    std::thread::sleep(Duration::from_millis(300));
    server.restart();
    let report = project.collect(&server, &campaign);
    workers.into_iter().for_each(support::Worker::wait);
    let status = project.status(&server, &campaign);
    assert_eq!((&status["done"], &status["failed"]), (&24.into(), &0.into()), "{status}");
    assert_eq!(findings(&report), findings(&project.alone("24", "./check.sh")));
}

/// A worker stands still for so long that its job goes to another one. Then both finish it.
#[test]
fn two_workers_that_finish_the_same_job_give_one_finding() {
    let Some(server) = Server::start() else { return };
    let project = Project::of_corpus(&["pairs/lock_order_bug.c"]);
    // Many recordings take long enough to be seen.
    let hunt = "--rounds 1 --runs 300";
    let campaign = project.submit(&server, &["--seeds", "1", "--hunt", hunt, "--", "./check.sh"]);
    let slow = project.worker(&server, &["--jobs", "1"]);
    project.wait_until_running(&server, &campaign);
    slow.signal("-STOP");
    assert_eq!(project.status(&server, &campaign)["done"], 0, "it was stopped in time");
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    let before = project.status(&server, &campaign);
    assert_eq!(before["done"], 1);
    slow.signal("-CONT");
    // It does what is left of its job; then it stores what it has.
    std::thread::sleep(Duration::from_secs(7));
    let after = project.status(&server, &campaign);
    assert_eq!((&after["done"], &after["findings"]), (&before["done"], &before["findings"]));
    assert_eq!(findings(&project.collect(&server, &campaign)), findings(&project.alone("1", "./check.sh")));
}

/// Four threads that take turns in more ways than can be tried: a hunt in it takes all the time it has.
const ENDLESS_HUNT: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns[100], count;
static void *work(void *number) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        turns[count++] = *(int *)number;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    int numbers[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, &numbers[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

/// A job that takes three times as long as a worker may be silent is done by the worker that has begun it.
#[test]
fn a_long_job_stays_with_its_worker() {
    let Some(server) = Server::start() else { return };
    let project = Project::empty();
    project.build(ENDLESS_HUNT, "endless");
    let campaign = project.submit(&server, &["--timeout", "9", "--", "./endless"]);
    let workers = [(); 2].map(|()| project.worker(&server, &["--drain", "--jobs", "1"]));
    workers.into_iter().for_each(support::Worker::wait);
    assert_eq!(project.status(&server, &campaign)["done"], 1);
    let results = server.messages("FORETELL_RESULTS");
    assert!(results[0]["milliseconds"].as_u64() > Some(6_000), "{:#}", results[0]["milliseconds"]);
    assert_eq!((&results[0]["attempts"], results.len()), (&1.into(), 1));
}

/// Who ends a worker need not wait for its silence to be noticed: another one has the job at once.
#[test]
fn a_worker_that_is_asked_to_end_gives_its_job_back() {
    let Some(server) = Server::start() else { return };
    let project = Project::empty();
    project.build(ENDLESS_HUNT, "endless");
    let campaign = project.submit(&server, &["--timeout", "5", "--", "./endless"]);
    let first = project.worker(&server, &["--jobs", "1", "--patience", "600"]);
    project.wait_until_running(&server, &campaign);
    first.signal("-TERM");
    first.wait();
    assert_eq!(project.status(&server, &campaign)["done"], 0, "it was asked in time");
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    assert_eq!(project.status(&server, &campaign)["done"], 1);
    assert_eq!(server.messages("FORETELL_RESULTS")[0]["attempts"], 2);
}

/// What one worker has not seen becomes a job for all, until nothing is left.
#[test]
fn targets_become_jobs_until_none_is_left() {
    let Some(server) = Server::start() else { return };
    // The first one has targets for both workers; the failure of the second is at the end of one target.
    let project = Project::of_corpus(&["pairs/cond_stock_bug.c", "pairs/trylock_stats_bug.c"]);
    let campaign = project.submit(&server, &["--seeds", "2", "--targets", "--", "./check.sh"]);
    let workers = [(); 2].map(|()| project.worker(&server, &["--drain", "--jobs", "1"]));
    workers.into_iter().for_each(support::Worker::wait);
    let results = server.messages("FORETELL_RESULTS");
    let of_targets = results.iter().filter(|result| !result["job"]["target"].is_null());
    let workers: BTreeSet<&str> = of_targets.filter_map(|result| result["worker"].as_str()).collect();
    assert_eq!(workers.len(), 2, "both do what either has found: {workers:?}");
    let status = project.status(&server, &campaign);
    let done = status["done"].as_u64().unwrap();
    assert!(done > 4, "two seeds of each, and targets: {status}");
    assert_eq!((&status["queued"], &status["running"], &status["failed"]), (&0.into(), &0.into(), &0.into()));
    let report = project.collect(&server, &campaign);
    // The seeds alone do not run into the assertion; targets lead there.
    let fails = |finding: &String| finding.starts_with("failure") && finding.contains("confirmed");
    assert!(findings(&report).iter().any(fails), "{:#?}", findings(&report));
}

#[test]
fn a_campaign_that_is_called_off_has_no_more_jobs() {
    let Some(server) = Server::start() else { return };
    let project = Project::of_corpus(&["pairs/lock_order_bug.c"]);
    let campaign = project.submit(&server, &["--seeds", "500", "--", "./check.sh"]);
    let _worker = project.worker(&server, &["--jobs", "1"]);
    project.wait_until_done(&server, &campaign, 2);
    let output = project.run(&["cancel", "--nats", &server.url(), &campaign]);
    assert!(output.status.success(), "{output:?}");
    std::thread::sleep(Duration::from_millis(500));
    let first = project.status(&server, &campaign);
    assert_eq!((&first["queued"], &first["cancelled"]), (&0.into(), &true.into()), "{first}");
    std::thread::sleep(Duration::from_secs(1));
    let second = project.status(&server, &campaign);
    assert_eq!(first["done"], second["done"]);
    assert!(!findings(&project.collect(&server, &campaign)).is_empty(), "what was found stays");
}

#[test]
fn mistakes_are_explained() {
    let Some(server) = Server::start() else { return };
    let project = Project::empty();
    let said = |arguments: &[&str]| {
        let output = project.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let nobody = said(&["status", "--nats", "nats://127.0.0.1:1"]);
    assert!(
        nobody.contains("cannot reach the NATS server") && nobody.contains("nats-server -js"),
        "{nobody}"
    );
    let url = server.url();
    assert!(said(&["collect", "--nats", &url]).contains("nothing was submitted"));
    assert!(said(&["collect", "--nats", &url, "0123abcd"]).contains("there is no campaign `0123abcd`"));
    assert!(said(&["cancel", "--nats", &url, "a.>"]).contains("there is no campaign"));
    assert!(
        said(&["submit", "--nats", &url, "--", "true"]).contains("no instrumented"),
        "nothing to hunt in"
    );
    let creds = project.path("no.creds");
    let creds = creds.to_str().unwrap();
    assert!(said(&["status", "--nats", &url, "--creds", creds]).contains("cannot read"));
}
