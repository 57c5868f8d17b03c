//! Rounds: a bug on a way that no ordinary run takes.

use std::path::Path;

use serde_json::Value;

use crate::{foretell, json};

/// In the recorded run the reader comes late and finds the letter. Only a reader that finds none writes its complaint where the
/// writer has written, too.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t box = PTHREAD_MUTEX_INITIALIZER;
static int delivered, letter, complaints;

static void *write_letter(void *unused)
{
    letter = 1;
    pthread_mutex_lock(&box);
    delivered = 1;
    pthread_mutex_unlock(&box);
    complaints = 0;
    return unused;
}

static void *read_letter(void *unused)
{
    usleep(50000);
    pthread_mutex_lock(&box);
    int found = delivered;
    pthread_mutex_unlock(&box);
    if (found)
        letter = 2;
    else
        complaints = 1;
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, write_letter, NULL);
    pthread_create(&threads[1], NULL, read_letter, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf(\"letter %d, complaints %d\\n\", letter, complaints);
    return 0;
}
";

fn hunt(here: &Path, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    std::fs::write(here.join("letter.c"), PROGRAM).unwrap();
    let output =
        foretell(here, &[&["hunt", "letter.c", "--json", "--quiet", "--timeout", "20"], more].concat());
    (output.status.code(), json(&output)["findings"].as_array().unwrap().clone())
}

fn about<'f>(findings: &'f [Value], object: &str) -> &'f Value {
    let mut found = findings.iter().filter(|finding| finding["object"] == object);
    let finding = found.next().unwrap_or_else(|| panic!("nothing about {object}: {findings:#?}"));
    assert!(found.next().is_none(), "each bug is told once: {findings:#?}");
    finding
}

#[test]
fn one_round_sees_nothing_of_it() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(hunt(directory.path(), &["--rounds", "1"]), (Some(0), Vec::new()));
}

#[test]
fn a_read_that_sees_something_else_leads_there() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let (status, findings) = hunt(here, &[]);
    assert_eq!(status, Some(1));
    let race = about(&findings, "complaints");
    assert_eq!((&race["kind"], &race["rung"]), (&"race".into(), &"confirmed".into()), "{race:#}");
    let recording = race["recording"].as_str().expect("it is of another recording").to_owned();
    let run = here.join(".foretell/latest");
    assert!(run.join(&recording).is_file() && run.join("race-1.sched").is_file());
    // The other commands find it there, by its id or by its recording.
    for of in [".foretell/latest".to_owned(), format!(".foretell/latest/{recording}")] {
        let shown = foretell(here, &["show", &of, "race-1"]);
        assert!(String::from_utf8_lossy(&shown.stdout).contains("complaints"), "{shown:?}");
        let replayed = json(&foretell(here, &["replay", &of, "race-1", "--json", "--times", "5"]));
        assert_eq!(replayed["confirmed"], 5, "{replayed:#}");
    }
    let outputs = ["--sarif", "a.sarif", "--junit", "a.xml", "--perfetto", "a.json", "--html", "a.html"];
    let reported = foretell(here, &[&["report", "--json"], &outputs[..]].concat());
    assert_eq!(about(json(&reported)["findings"].as_array().unwrap(), "complaints"), race);
    for file in ["a.sarif", "a.xml", "a.json", "a.html"] {
        let text = std::fs::read_to_string(here.join(file)).unwrap();
        assert!(text.contains("letter.c") && text.contains("complaints"), "{file}");
    }
    // What names no recording beside the findings is refused.
    let saved = std::fs::read_to_string(run.join("findings.json")).unwrap();
    std::fs::write(run.join("findings.json"), saved.replace(&recording, "../elsewhere.ftr")).unwrap();
    let refused = foretell(here, &["report"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not the name of a recording"), "{refused:?}");
}

#[test]
fn so_does_a_replay_that_leaves_its_schedule() {
    let directory = tempfile::tempdir().unwrap();
    let (_, findings) = hunt(directory.path(), &["--model", "sync", "--only", "race"]);
    let left = about(&findings, "letter");
    assert_eq!((&left["rung"], left.get("recording")), (&"diverged".into(), None), "{left:#}");
    let divergence = "the end, T2: expected w(letter) at letter.c:25, found w at letter.c:27";
    assert_eq!(left["replay"]["divergence"], divergence, "{left:#}");
    let shown = foretell(directory.path(), &["show", left["id"].as_str().unwrap()]);
    let shown = String::from_utf8_lossy(&shown.stdout).replace("\n    ", " ");
    assert!(shown.contains(divergence), "{shown}");
    let race = about(&findings, "complaints");
    assert_eq!(race["rung"], "confirmed", "{race:#}");
    assert!(race["recording"].is_string(), "{race:#}");
}
