//! The files in crates/pipeline/integrations/ with small projects: CMake, Meson, Autotools, and Bazel's scripts by themselves.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::tutorial::copy;
use super::workflow::{root, shell};
use super::{foretell, json, row, tests};

/// A copy of an example, with what `foretell init` adds for its build system.
fn project(example: &str, integration: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(&root().join("examples").join(example), directory.path());
    let init = foretell(directory.path(), &["init", "--with", integration]);
    assert!(init.status.success(), "{init:?}");
    directory
}

#[track_caller]
fn run(script: &str, directory: &Path) -> Output {
    let output = shell(&format!("exec 2>&1; {script}"), directory).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stdout));
    output
}

/// What `foretell test` finds in a project whose only bug is the race on `counter`.
#[track_caller]
fn has_race(directory: &Path, command: &[&str], name: &str) {
    let arguments = [&["test", "--json", "--timeout", "20", "--"], command].concat();
    let output = foretell(directory, &arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = json(&output);
    assert_eq!(tests(&report), [row(name, "hunted", true)]);
    let race =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == "race").unwrap();
    assert_eq!((&race["object"], &race["rung"]), (&Value::from("counter"), &Value::from("confirmed")));
    assert_eq!(race["locations"][0], "counter_test.c:9", "{race:#}");
}

#[test]
fn cmake_hunts_in_instrumented_targets_by_its_module() {
    if !(testing::has("cmake") && testing::has("ctest")) {
        return;
    }
    let project = project("cmake-queue", "cmake");
    let here = project.path();
    let mut lists = fs::read_to_string(here.join("CMakeLists.txt")).unwrap();
    lists.push_str(
        "list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)\n\
         find_package(Foretell 0.1 REQUIRED)\n\
         foretell_instrument(queue close_test order_test)\n\
         add_executable(plain tests/order_test.c src/queue.c)\n\
         target_include_directories(plain PRIVATE src)\n\
         target_link_libraries(plain PRIVATE Threads::Threads)\n\
         foretell_add_test(NAME close.foretell COMMAND close_test an-argument TIMEOUT 20 OPTIONS --quiet)\n",
    );
    fs::write(here.join("CMakeLists.txt"), lists).unwrap();
    run("cmake -B build && cmake --build build", here);
    // The ordinary tests pass, and the hunt fails with the report that it left.
    run("ctest --test-dir build -LE foretell", here);
    let hunted =
        shell("exec 2>&1; ctest --test-dir build -L foretell --output-on-failure", here).output().unwrap();
    let said = String::from_utf8_lossy(&hunted.stdout);
    assert!(
        !hunted.status.success() && said.contains("1 data race") && said.contains("1 deadlock"),
        "{said}"
    );
    assert!(here.join("build/foretell/close.foretell/latest/report.html").is_file());
    let findings = fs::read(here.join("build/foretell/close.foretell/latest/findings.json")).unwrap();
    let findings: Value = serde_json::from_slice(&findings).unwrap();
    assert!(findings["findings"].as_array().unwrap().iter().any(|finding| finding["rung"] == "confirmed"));
    // What is not instrumented stays so.
    let has_hooks = |program: &str| {
        let symbols = run(&format!("nm -D build/{program}"), here);
        String::from_utf8_lossy(&symbols.stdout).contains("__tsan")
    };
    assert!(has_hooks("order_test") && !has_hooks("plain"));
}

#[test]
fn meson_builds_with_the_native_file() {
    if !(testing::has("meson") && testing::has("ninja")) {
        return;
    }
    let project = project("meson-counter", "meson");
    run("meson setup build --native-file foretell-native.ini && meson compile -C build", project.path());
    has_race(project.path(), &["meson", "test", "-C", "build"], "counter_test");
}

#[test]
fn autotools_build_with_our_compiler() {
    if !(testing::has("autoreconf") && testing::has("automake")) {
        return;
    }
    let project = tempfile::tempdir().unwrap();
    copy(&root().join("examples/autotools-counter"), project.path());
    run("autoreconf --install && ./configure CC='foretell cc' && make check", project.path());
    has_race(project.path(), &["make", "check", "TESTS=counter_test"], "counter_test");
}

/// Bazel itself cannot be had everywhere: its scripts are called as it would call them.
#[test]
fn the_scripts_for_bazel_build_and_hunt() {
    let project = project("bazel-counter", "bazel");
    let here = project.path();
    // As Bazel compiles and links: parameters of the linker are in a file.
    run("tools/foretell/foretell_cc.sh -c counter_test.c -o counter_test.o", here);
    fs::write(here.join("counter_test.params"), "-o\ncounter_test\ncounter_test.o\n-pthread\n-lstdc++\n")
        .unwrap();
    run("tools/foretell/foretell_cc.sh @counter_test.params", here);
    let test = "TEST_TIMEOUT=30 TEST_UNDECLARED_OUTPUTS_DIR=$PWD/outputs XML_OUTPUT_FILE=$PWD/test.xml \
                TEST_TARGET=//:counter_test tools/foretell/foretell_run.sh ./counter_test";
    let hunted = shell(&format!("exec 2>&1; {test}"), here).output().unwrap();
    assert_eq!(hunted.status.code(), Some(1), "{hunted:?}");
    assert!(here.join("outputs/foretell/latest/report.html").is_file());
    let cases = fs::read_to_string(here.join("test.xml")).unwrap();
    assert!(cases.contains("data race on counter"), "{cases}");
    let usage = shell("tools/foretell/foretell_run.sh", here).output().unwrap();
    assert_eq!(usage.status.code(), Some(2), "{usage:?}");
}

#[test]
fn init_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let with = [
        "init", "--with", "cmake", "--with", "meson", "--with", "bazel", "--with", "github", "--with",
        "gitlab",
    ];
    let first = foretell(directory.path(), &with);
    assert!(first.status.success(), "{first:?}");
    assert_eq!(String::from_utf8_lossy(&first.stdout).matches("wrote ").count(), 9, "{first:?}");
    fs::write(directory.path().join("foretell-native.ini"), "mine").unwrap();
    let again = foretell(directory.path(), &["init", "--with", "meson"]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert_eq!(fs::read_to_string(directory.path().join("foretell-native.ini")).unwrap(), "mine");
    assert_eq!(foretell(directory.path(), &["init"]).status.code(), Some(2));
}
