//! Tables that must be whole.

use std::process::Command;

use crate::page;

/// The names of ThreadSanitizer's options, from the `_flags.inc` of LLVM's sources.
const FLAGS: &str = include_str!("tsan-flags.txt");

/// What libtsan exports for programs and for the compiler's calls. Interceptors are not among them, nor is what a program may define.
const FUNCTIONS: &str = include_str!("tsan-functions.txt");

/// What a program may define for ThreadSanitizer to call.
const HOOKS: [&str; 6] = [
    "__tsan_default_options",
    "__tsan_default_suppressions",
    "__tsan_on_initialize",
    "__tsan_on_finalize",
    "__tsan_on_report",
    "__tsan_symbolize_external",
];

/// How ThreadSanitizer calls each of its reports.
const REPORTS: [&str; 18] = [
    "data race",
    "data race on vptr",
    "heap-use-after-free",
    "heap-use-after-free (virtual call vs free)",
    "race on external object",
    "thread leak",
    "destroy of a locked mutex",
    "double lock of a mutex",
    "use of an invalid mutex",
    "unlock of an unlocked mutex (or by a wrong thread)",
    "read lock of a write locked mutex",
    "read unlock of a write locked mutex",
    "signal-unsafe call inside of a signal",
    "signal handler spoils errno",
    "lock-order-inversion (potential deadlock)",
    "mutex held in the wrong context",
    "joining a thread that was joined or detached",
    "thread finished with ignores enabled",
];

/// The rows of the page's tables, as their cells.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Whether a name is in the first cell of a row, by itself or as the beginning of names that end with two dots.
fn has(rows: &[Vec<&str>], name: &str) -> bool {
    let in_code =
        |cell: &&str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    rows.iter().filter_map(|row| row.first()).flat_map(in_code).any(|known| {
        known == name
            || known.strip_suffix("..").is_some_and(|begin| !begin.is_empty() && name.starts_with(begin))
    })
}

#[test]
fn every_row_of_the_page_about_threadsanitizer_says_what_corresponds() {
    let page = page("docs/from-tsan.md");
    let rows = rows(&page);
    assert!(rows.len() > 80, "{} rows", rows.len());
    for cells in rows {
        assert!(cells.len() == 2 && cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
    }
}

#[test]
fn everything_that_threadsanitizer_has_is_in_the_tables() {
    let page = page("docs/from-tsan.md");
    let rows = rows(&page);
    let names = FLAGS.split_whitespace().chain(FUNCTIONS.split_whitespace()).chain(HOOKS);
    let missing: Vec<&str> = names.filter(|name| !has(&rows, name)).collect();
    assert!(missing.is_empty(), "not in docs/from-tsan.md: {missing:?}");
    for report in REPORTS {
        assert!(rows.iter().any(|row| row[0].starts_with(report)), "not in docs/from-tsan.md: {report}");
    }
}

/// A program may use any of them: it links.
#[test]
fn everything_that_libtsan_exports_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let declared: String =
        FUNCTIONS.split_whitespace().map(|name| format!("extern char {name}[];\n")).collect();
    let used: String = FUNCTIONS.split_whitespace().map(|name| format!("{name},\n")).collect();
    let source =
        format!("{declared}char *volatile all[] = {{ {used} }};\nint main(void) {{ return !all[0]; }}\n");
    std::fs::write(directory.path().join("all.c"), source).unwrap();
    let mut build = Command::new(env!("CARGO_BIN_EXE_foretell"));
    let built = build.args(["cc", "-w", "-fno-builtin", "all.c", "-o", "all"]).current_dir(directory.path());
    let built = built.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
