//! C++ programs: other standard libraries than gcc's, parallel algorithms, and where threads are created.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json, line_of};

/// Compiles a program in a directory.
fn compile(directory: &Path, source: &Path, compilers: &[(&str, &str)], flags: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.arg("c++").args(["-g", "-std=c++20", "-pthread"]).arg(source).args(["-o", "program"]).args(flags);
    let built = command.envs(compilers.iter().copied()).current_dir(directory).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

fn shown(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true).collect()
}

const CLANG: [(&str, &str); 2] = [("FORETELL_CC", "clang"), ("FORETELL_CXX", "clang++")];

/// What LLVM's library does in its own code is out of sight, and no reason for alarms.
#[test]
fn programs_with_libcxx_run_and_are_silent() {
    if !testing::has("clang") || !Path::new("/usr/include/c++/v1/version").exists() {
        return testing::skip("there is no libc++ (libc++-dev)");
    }
    let modern = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recording/programs/modern.cc");
    for optimise in ["-O0", "-O2"] {
        let directory = tempfile::tempdir().unwrap();
        compile(directory.path(), &modern, &CLANG, &["-stdlib=libc++", optimise]);
        let recorded = foretell(directory.path(), &["record", "--quiet", "--", "./program"]);
        assert_eq!(String::from_utf8_lossy(&recorded.stdout), "2 3 2 1 2 2 4 1 2 3 3\n", "{recorded:?}");
        let hunted =
            foretell(directory.path(), &["hunt", "--json", "--quiet", "--timeout", "8", "--", "./program"]);
        let report = json(&hunted);
        assert_eq!(shown(&report).len(), 0, "{report:#}");
    }
}

#[test]
fn mistakes_in_programs_with_libcxx_are_found() {
    if !testing::has("clang") || !Path::new("/usr/include/c++/v1/version").exists() {
        return testing::skip("there is no libc++ (libc++-dev)");
    }
    let directory = tempfile::tempdir().unwrap();
    let pair = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pairs/latch_results_bug.cc");
    compile(directory.path(), &pair, &CLANG, &["-stdlib=libc++", "-O1"]);
    let hunted =
        foretell(directory.path(), &["hunt", "--json", "--quiet", "--timeout", "20", "--", "./program"]);
    let report = json(&hunted);
    assert_eq!(hunted.status.code(), Some(1), "{report:#}");
    assert!(shown(&report).iter().any(|finding| finding["rung"] == "confirmed"), "{report:#}");
}

/// Hunts in a program with LLVM's library, which is no library that orders threads out of sight. None: there is no libc++.
fn hunt_with_libcxx(name: &str) -> Option<(Option<i32>, Value)> {
    if !testing::has("clang") || !Path::new("/usr/include/c++/v1/version").exists() {
        testing::skip("there is no libc++ (libc++-dev)");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), &program(&format!("cpp/{name}")), &CLANG, &["-stdlib=libc++"]);
    let hunted = foretell(directory.path(), &["hunt", "--json", "--timeout", "8", "--", "./program"]);
    let said = String::from_utf8_lossy(&hunted.stderr);
    assert!(!said.contains("orders threads in ways"), "{said}");
    Some((hunted.status.code(), json(&hunted)))
}

#[test]
fn what_libcxx_orders_in_its_own_code_is_silent() {
    let Some((status, report)) = hunt_with_libcxx("library_orders.cc") else { return };
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// Waiting for an atomic object has a time limit in the library, after which it waits again.
#[test]
fn locks_and_semaphores_of_libcxx_deadlock() {
    for name in ["shared_mutex_order.cc", "semaphore_order.cc"] {
        let Some((status, report)) = hunt_with_libcxx(name) else { return };
        let [deadlock] = shown(&report)[..] else { panic!("{report:#}") };
        assert_eq!((status, &deadlock["rung"]), (Some(1), &"confirmed".into()), "{report:#}");
    }
}

/// `std::execution::par` runs on libtbb. It is named, and what it orders out of sight is not reported; a race is.
#[test]
fn parallel_algorithms_are_silent_and_their_library_is_named() {
    if !Path::new("/usr/include/oneapi/tbb.h").exists() {
        return testing::skip("there is no libtbb (libtbb-dev)");
    }
    for (flags, races) in [(&["-ltbb"][..], false), (&["-DRACY", "-ltbb"], true)] {
        let directory = tempfile::tempdir().unwrap();
        compile(directory.path(), &program("cpp/par_sum.cc"), &[], flags);
        let hunted = foretell(directory.path(), &["hunt", "--json", "--timeout", "10", "--", "./program"]);
        let (said, report) = (String::from_utf8_lossy(&hunted.stderr).into_owned(), json(&hunted));
        assert!(said.contains("libtbb.so") && said.contains("orders threads in ways"), "{said}");
        let found: Vec<&Value> = shown(&report).iter().map(|finding| &finding["object"]).collect();
        assert_eq!(hunted.status.code(), Some(i32::from(races)), "{report:#}");
        assert!(if races { found.contains(&&"plain".into()) } else { found.is_empty() }, "{report:#}");
    }
}

/// Threads are created where the program says so, not in the library's headers.
#[test]
fn threads_are_created_at_the_program_s_lines() {
    let directory = tempfile::tempdir().unwrap();
    let source = program("cpp/created.cc");
    std::fs::copy(&source, directory.path().join("created.cc")).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "created.cc", "--timeout", "8"]);
    let said = String::from_utf8_lossy(&hunted.stdout);
    let text = std::fs::read_to_string(&source).unwrap();
    for fragment in ["// a thread", "// a task"] {
        let line = line_of(&text, fragment);
        assert!(said.contains(&format!("was created by main at created.cc:{line}")), "{line}: {said}");
    }
}
