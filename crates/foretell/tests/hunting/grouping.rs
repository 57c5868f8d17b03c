//! What is one finding: one variable and one pair of functions, never two variables, however many accesses a line has.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

fn hunted(name: &str, check: impl FnOnce(&std::path::Path, Vec<Value>)) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program(name), directory.path().join(name)).unwrap();
    let output = foretell(directory.path(), &["hunt", name, "--json", "--quiet", "--sarif", "found.sarif"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    check(directory.path(), json(&output)["findings"].as_array().unwrap().clone());
}

#[test]
fn a_lost_update_on_one_line_is_found_with_its_failure() {
    hunted("one_line.rs", |_, findings| {
        let of_kind = |kind: &str| findings.iter().find(|finding| finding["kind"] == kind);
        let lost = of_kind("atomicity").unwrap_or_else(|| panic!("{findings:#?}"));
        assert_eq!((&lost["harm"], &lost["pattern"]), (&"failure".into(), &"RWW".into()), "{lost:#}");
        assert_eq!(lost["shown"], true, "{lost:#}");
        let failure = of_kind("failure").unwrap_or_else(|| panic!("{findings:#?}"));
        assert!(failure["object"].as_str().unwrap().contains("left == right"), "{failure:#}");
    });
}

#[test]
fn variables_are_never_merged_and_lines_of_one_are_listed() {
    hunted("one_macro.c", |here, findings| {
        let races: Vec<&Value> = findings.iter().filter(|finding| finding["kind"] == "race").collect();
        let mut objects: Vec<&str> = races.iter().map(|race| race["object"].as_str().unwrap()).collect();
        objects.sort_unstable();
        assert_eq!(objects, ["dropped", "received", "sent"], "{races:#?}");
        let dropped = races.iter().find(|race| race["object"] == "dropped").unwrap();
        assert_eq!(dropped["functions"], serde_json::json!(["drop_one", "drop_one"]), "{dropped:#}");
        assert!(!dropped["more"].as_array().unwrap().is_empty(), "{dropped:#}");
        // Ids are dense, in the order of the report.
        let ids: Vec<&str> = races.iter().map(|race| race["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["race-1", "race-2", "race-3"]);
        for race in &races {
            let id = race["id"].as_str().unwrap();
            assert!(here.join(".foretell/latest").join(format!("{id}.sched")).is_file(), "{id}");
            let replayed = json(&foretell(here, &["replay", id, "--json"]));
            assert_eq!(replayed["confirmed"], 1, "{replayed:#}");
        }
        let predicted = json(&foretell(here, &["predict", ".foretell/latest/trace.ftr", "--json"]));
        let id_of = |findings: &Value, object: &str| {
            let mut races = findings.as_array().unwrap().iter().filter(|finding| finding["kind"] == "race");
            races.find(|finding| finding["object"] == object).map(|finding| finding["id"].clone())
        };
        for race in &races {
            let object = race["object"].as_str().unwrap();
            assert_eq!(id_of(&predicted["findings"], object), Some(race["id"].clone()), "{predicted:#}");
        }
        let sarif = std::fs::read_to_string(here.join("found.sarif")).unwrap();
        // Places that the pair itself has are not said again.
        let own = dropped["locations"].as_array().unwrap();
        let further =
            dropped["more"].as_array().unwrap().iter().flat_map(|more| more["locations"].as_array().unwrap());
        let has_further = further.clone().any(|location| !own.contains(location));
        assert_eq!(sarif.contains("dropped: the same cause shows here"), has_further, "{sarif}");
        let shown = foretell(here, &["show", dropped["id"].as_str().unwrap()]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.contains("The same cause shows at:"), "{text}");
    });
}

/// Two modules made alike, each with a counter and a lock of its own under the same names, and a program that uses both.
const MODULE: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void bump(void) { count++; }
void run_NAME(void) { bump(); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
";
const MODULES: &str = "\
#include <pthread.h>
#include <stddef.h>
void run_one(void);
void run_other(void);
static void *work(void *unused) { run_one(); run_other(); return unused; }
int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
";

/// A macro that makes a variable at each use, elements and blocks of one line, and a variable of one thread that another one writes.
const ALIKE: &str = "\
#include <pthread.h>
#include <stdlib.h>
#define COUNT() do { static int hits; hits++; } while (0)
int stats[2], *one, *other;
static _Thread_local int errors;
static int *of_main;
static void *work(void *unused)
{
    COUNT();
    COUNT();
    stats[0]++, stats[1]++;
    (*one)++, (*other)++;
    (*of_main)++;
    return unused;
}
int main(void)
{
    pthread_t first, second;
    one = calloc(1, sizeof *one), other = calloc(1, sizeof *other);
    of_main = &errors;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
";

/// The races of a program that is built of these files with a compiler, and recorded once.
fn races(compiler: &str, here: &Path, files: &[&str]) -> Vec<Value> {
    let build = [&["cc", "-g", "-O1", "-pthread", "-o", "program"], files].concat();
    for arguments in [&build[..], &["record", "--quiet", "-o", "run.ftr", "--", "./program"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        let ran = command.current_dir(here).args(arguments).env("FORETELL_CC", compiler).output().unwrap();
        assert!(ran.status.success(), "{compiler}: {ran:?}");
    }
    let found = json(&foretell(here, &["predict", "run.ftr", "--only", "race", "--json"]));
    found["findings"].as_array().unwrap().clone()
}

fn objects(races: &[Value]) -> Vec<&str> {
    let mut objects: Vec<&str> = races.iter().map(|race| race["object"].as_str().unwrap()).collect();
    objects.sort_unstable();
    objects
}

#[test]
fn variables_of_one_name_in_two_files_are_two() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["one", "other"] {
        std::fs::write(here.join(format!("{name}.c")), MODULE.replace("NAME", name)).unwrap();
    }
    std::fs::write(here.join("main.c"), MODULES).unwrap();
    let found = races("gcc", here, &["one.c", "other.c", "main.c"]);
    assert_eq!(objects(&found), ["count (one.c)", "count (other.c)"], "{found:#?}");
}

#[test]
fn variables_of_a_macro_elements_and_thread_locals_have_their_names() {
    for compiler in ["gcc", "clang"] {
        if !testing::has(compiler) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("alike.c"), ALIKE).unwrap();
        let found = races(compiler, directory.path(), &["alike.c"]);
        let names = objects(&found);
        let expected = [
            "errors of main",
            "int (alike.c:19)",
            "stats[0]",
            "work::hits (alike.c:10)",
            "work::hits (alike.c:9)",
        ];
        assert_eq!(names, expected, "{compiler}: {found:#?}");
        let more = |object: &str| {
            let race = found.iter().find(|race| race["object"] == object).unwrap();
            let further = race["more"].as_array().unwrap().iter();
            further.map(|places| places["object"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(more("stats[0]"), ["stats[1]"], "{compiler}");
        assert_eq!(more("int (alike.c:19)"), ["int (alike.c:19)#2"], "{compiler}");
    }
}

#[test]
fn ids_are_dense_and_the_same_with_each_seed() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("alike.c"), ALIKE).unwrap();
    let hunted = |seed: &str| {
        let hunt = ["hunt", "alike.c", "--seed", seed, "--timeout", "3", "--json", "--quiet"];
        let report = json(&foretell(directory.path(), &hunt));
        let shown = report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true);
        let mut ids: Vec<String> = shown.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect();
        let races = ids.iter().filter(|id| id.starts_with("race-")).count();
        let expected: Vec<String> = (1..=races).map(|number| format!("race-{number}")).collect();
        ids.retain(|id| id.starts_with("race-"));
        assert_eq!(ids, expected, "{report:#}");
        ids
    };
    let first = hunted("1");
    assert!(first.len() >= 5);
    assert_eq!([hunted("2"), hunted("3")], [first.clone(), first]);
}

/// A lost update that nobody notices is counted, on the page as well as in the terminal.
#[test]
fn a_page_without_findings_counts_what_is_not_shown() {
    const SOURCE: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int hits;
static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = hits;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    hits = seen + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, serve, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
";
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hits.c"), SOURCE).unwrap();
    let output = foretell(directory.path(), &["hunt", "hits.c", "--html", "hits.html"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    const COUNTED: &str = "1 more finding is not shown: 1 atomicity pattern without visible effect";
    assert!(output.status.code() == Some(0) && said.contains(COUNTED), "{output:?}");
    let page = std::fs::read_to_string(directory.path().join("hits.html")).unwrap();
    assert!(page.contains(COUNTED), "{page}");
}
