//! `cargo xtask bench llvm`: the programs that LLVM tests ThreadSanitizer with, each recorded once, foretold and replayed. Each says by its
//! CHECK lines what ThreadSanitizer must report, or that it must be silent.
//!
//! They are not in this repository. `FORETELL_LLVM_TSAN` names the directory `compiler-rt/test/tsan` of LLVM's sources, as
//! unpacked. Their own RUN lines say how they are built and run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use xtask::Outcome;
use xtask::cargo::{cargo, root};
use xtask::machine::circumstances;
use xtask::results::replace_section;
use xtask::scratch::with_directory;

/// How long a test may take in all, and each of its hunts, in seconds.
const LIMIT: &str = "60";
const HUNT_LIMIT: &str = "20";

/// Tests that say nothing about us: the beginning of their names, and why.
const NOT_ASKED: &[(&str, &str)] = &[
    ("java", "Java's heap"),
    ("fiber", "fibers: several stacks in one thread"),
    ("bench_", "measures ThreadSanitizer"),
    ("suppress", "ThreadSanitizer's suppressions"),
    ("race_top_suppression", "ThreadSanitizer's suppressions"),
    ("ignorelist", "files that the compiler must not instrument"),
    ("ignore_lib", "libraries that ThreadSanitizer must ignore"),
    ("ignore-noninstrumented", "libraries that ThreadSanitizer must ignore"),
    ("ignored-interceptors", "libraries that ThreadSanitizer must ignore"),
    ("debug", "ThreadSanitizer's interface to debuggers"),
    ("default_options", "ThreadSanitizer's options"),
    ("default_suppressions", "ThreadSanitizer's suppressions"),
    ("halt_on_error", "ThreadSanitizer's options"),
    ("force_background_thread", "ThreadSanitizer's own thread"),
    ("Linux/pie_no_aslr", "is started by another program"),
    (
        "Linux/fork_deadlock",
        "ThreadSanitizer's hooks for system calls made by hand, which the library does not have",
    ),
    (
        "Linux/fork_syscall",
        "ThreadSanitizer's hooks for system calls made by hand, which the library does not have",
    ),
    (
        "Linux/syscall",
        "ThreadSanitizer's hooks for system calls made by hand, which the library does not have",
    ),
    (
        "static_init3",
        "unordered only by weak memory orders; every atomic operation is sequentially consistent here",
    ),
    ("flush_memory", "ThreadSanitizer's own memory"),
    ("restore_stack", "ThreadSanitizer's own history"),
    ("mmap_lots", "ThreadSanitizer's own memory"),
    ("on_initialize_finalize", "hooks of ThreadSanitizer's own start and end"),
    ("printf-1", "what ThreadSanitizer may be made to print"),
    (
        "atomic_store",
        "unordered only by weak memory orders; every atomic operation is sequentially consistent here",
    ),
    (
        "atomic_free3",
        "unordered only by weak memory orders; every atomic operation is sequentially consistent here",
    ),
    (
        "compare_exchange",
        "unordered only by weak memory orders; every atomic operation is sequentially consistent here",
    ),
    ("cond_race", "destroying a condition variable is not an access here"),
    ("race_on_mutex", "creating and destroying a lock is not an access here"),
    ("race_on_barrier", "creating and destroying a barrier is not an access here"),
    ("mutex_lock_destroyed", "creating and destroying a lock is not an access here"),
    ("fd_dup_race", "closing a file is not an access here"),
    ("fd_location", "closing a file is not an access here"),
    ("fd_pipe_race", "closing a file is not an access here"),
    ("fd_tid_recycled", "closing a file is not an access here"),
    ("ignore_sync", "synchronisation that the program wants ignored"),
    (
        "malloc_stack",
        "unordered only by weak memory orders; every atomic operation is sequentially consistent here",
    ),
    ("mutex_cycle", "locks taken in a cycle by one thread, which is no deadlock"),
    ("free_race2", "a use of freed memory in a program of one thread"),
    ("fork_multithreaded3", "a race in a child process; a hunt records the first"),
    ("sunrpc", "needs a library that is not there"),
    ("Linux/mutex_robust2", "expects a report that its own comment calls a false alarm"),
    ("Linux/user_", "a C library of the program's own"),
];

/// What a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ExpectedReport {
    Race,
    Deadlock,
    /// Another kind of report, by its name.
    Other(String),
    Silence,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Confirmed,
    Predicted,
    Silent,
    Missed,
    FalseAlarm,
    Failed,
    NotAsked,
}

struct Row {
    name: String,
    expected: ExpectedReport,
    verdict: Verdict,
    remark: String,
}

pub(crate) fn run() -> Outcome {
    let Some(tests) = std::env::var_os("FORETELL_LLVM_TSAN").map(PathBuf::from) else {
        return Err(
            "set FORETELL_LLVM_TSAN to the directory compiler-rt/test/tsan of LLVM's sources".to_owned()
        );
    };
    // Nothing is timed, so any build will do; this one is there already.
    cargo(&["build", "--quiet", "--package", "foretell"])?;
    let names = names(&tests)?;
    let rows = with_directory(|directory| {
        // A copy, so that building goes on beside.
        let foretell = directory.join("foretell").to_string_lossy().into_owned();
        std::fs::copy(root().join("target/debug/foretell"), &foretell)
            .map_err(|error| format!("cannot copy foretell: {error}"))?;
        let suite = Suite { foretell: &foretell, tests: &tests, directory };
        names.iter().map(|name| suite.row(name)).collect::<Result<Vec<Row>, String>>()
    })?;
    replace_section("llvm", &section(&rows))
}

/// The tests, by their paths below the directory: those for every system, and those for Linux.
fn names(tests: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for below in ["", "Linux/"] {
        let entries =
            std::fs::read_dir(tests.join(below)).map_err(|error| format!("{}: {error}", tests.display()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".c", ".cc", ".cpp"].iter().any(|end| name.ends_with(end)) {
                names.push(format!("{below}{name}"));
            }
        }
    }
    names.sort();
    Ok(names)
}

struct Suite<'a> {
    foretell: &'a str,
    tests: &'a Path,
    directory: &'a Path,
}

impl Suite<'_> {
    fn row(&self, name: &str) -> Result<Row, String> {
        let source = self.tests.join(name);
        let bytes = std::fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let expected = expected(&text);
        let not_asked = NOT_ASKED.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| *why);
        let not_asked = match &expected {
            _ if not_asked.is_some() => not_asked.map(str::to_owned),
            ExpectedReport::Other(kind) => Some(format!(
                "expects the report \"{kind}\", a kind of mistake that Foretell does not search for"
            )),
            _ if !text.contains("%run") => Some("is not run".to_owned()),
            _ => None,
        };
        let (verdict, remark) = match not_asked {
            Some(why) => (Verdict::NotAsked, why),
            None => self.hunted(name, &source, &text, &expected)?,
        };
        eprintln!("{name}: {verdict:?} {remark}");
        Ok(Row { name: name.to_owned(), expected, verdict, remark })
    }

    fn hunted(
        &self,
        name: &str,
        source: &Path,
        text: &str,
        expected: &ExpectedReport,
    ) -> Result<(Verdict, String), String> {
        let work = self.directory.join(name.replace('/', "-"));
        std::fs::create_dir_all(&work).map_err(|error| format!("cannot make a directory: {error}"))?;
        let script = self.script(source, text, &work);
        let mut command = Command::new("timeout");
        command.args([LIMIT, "sh", "-c", &script]).current_dir(&work);
        command.env("FORETELL_CC", "clang").env("FORETELL_CXX", "clang++");
        let output = command.output().map_err(|error| format!("cannot run sh: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let _ = std::fs::remove_dir_all(&work);
        let hunts: Vec<Value> = said
            .lines()
            .filter(|line| line.starts_with("{\"schema\""))
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if hunts.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let last = errors.lines().last().unwrap_or_default().to_owned();
            let why = if output.status.code() == Some(124) { "its time ran out".to_owned() } else { last };
            return Ok((Verdict::Failed, why));
        }
        let findings = hunts.iter().filter_map(|hunt| hunt["findings"].as_array()).flatten();
        Ok(judged(expected, &findings.collect::<Vec<_>>()))
    }

    /// The test's own RUN lines as one command, with our compilers and a hunt where it is run.
    fn script(&self, source: &Path, text: &str, work: &Path) -> String {
        let hunt = format!(
            "{} hunt -q --json --times 3 --timeout {HUNT_LIMIT} --results {}/results --only race --only deadlock --only order --",
            self.foretell,
            work.display()
        );
        let above = self.tests.parent().unwrap_or(self.tests);
        let include = format!("-I{} -I{}", above.display(), self.tests.display());
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines().filter_map(|line| line.split_once("RUN:")).map(|(_, line)| line.trim()) {
            match lines.last_mut().filter(|before| before.ends_with('\\')) {
                Some(before) => {
                    before.pop();
                    before.push_str(line);
                }
                None => lines.push(line.to_owned()),
            }
        }
        let commands = lines.iter().filter(|line| !line.starts_with("FileCheck")).map(|line| {
            // What the report must look like is not our affair.
            let line = line.split('|').next().unwrap_or_default().replace("2>&1", "");
            let words = line.split(' ').filter(|word| !word.starts_with("%env_tsan_opts=") && *word != "not");
            words
                .collect::<Vec<_>>()
                .join(" ")
                .replace("%clangxx_tsan", &format!("{} c++ -std=c++11 {include}", self.foretell))
                .replace("%clang_tsan", &format!("{} cc {include}", self.foretell))
                .replace("%link_libcxx_tsan", "")
                .replace("%darwin_min_target_with_tls_support", "")
                .replace("%deflake", "")
                .replace("%run", &hunt)
                .replace("%p", &source.parent().unwrap_or(source).to_string_lossy())
                .replace("%s", &source.to_string_lossy())
                .replace("%t", &work.join("program").to_string_lossy())
                .replace("%T", &work.to_string_lossy())
        });
        // A hunt that finds something ends with another status than 0.
        commands.collect::<Vec<_>>().join("\n")
    }
}

fn expected(text: &str) -> ExpectedReport {
    // `CHECK:`, `CHECK-NEXT:`, `CHECK-LINUX:` and the like; prose may speak of CHECK, too.
    let is_check = |line: &&str| {
        let after = line.split_once("CHECK").map_or("", |(_, after)| after);
        let name: &str = after.split(':').next().unwrap_or_default();
        after.contains(':') && !name.contains(' ') && !name.ends_with("-NOT")
    };
    let checks = text.lines().filter(is_check);
    let checks: String = checks.collect::<Vec<_>>().join("\n");
    let has = |what: &str| checks.contains(what);
    if has("data race") || has("heap-use-after-free") || has("race on") || has("invalid vptr") {
        return ExpectedReport::Race;
    }
    if has("lock-order-inversion") {
        return ExpectedReport::Deadlock;
    }
    match checks.split_once("ThreadSanitizer: ") {
        Some((_, rest)) => {
            let kind: String = rest.chars().take_while(|&letter| letter != '\n' && letter != '(').collect();
            ExpectedReport::Other(kind.trim().to_owned())
        }
        None if has("WARNING: ThreadSanitizer") => ExpectedReport::Other("any".to_owned()),
        // It is run until there is a report.
        None if text.contains("%deflake") => ExpectedReport::Race,
        None => ExpectedReport::Silence,
    }
}

fn judged(expected: &ExpectedReport, findings: &[&Value]) -> (Verdict, String) {
    let is = |finding: &Value, kinds: &[&str]| kinds.contains(&finding["kind"].as_str().unwrap_or_default());
    let kinds: &[&str] = match expected {
        ExpectedReport::Race => &["race", "order"],
        ExpectedReport::Deadlock => &["deadlock"],
        ExpectedReport::Other(_) | ExpectedReport::Silence => &["race", "order", "deadlock"],
    };
    let mut wanted = findings.iter().filter(|finding| is(finding, kinds)).peekable();
    let told = wanted.peek().map(|finding| in_words(finding)).unwrap_or_default();
    let confirmed = findings.iter().any(|finding| is(finding, kinds) && finding["rung"] == "confirmed");
    match (expected, wanted.count(), confirmed) {
        (ExpectedReport::Silence, 0, _) => (Verdict::Silent, String::new()),
        (ExpectedReport::Silence, ..) => (Verdict::FalseAlarm, told),
        (_, 0, _) => (Verdict::Missed, String::new()),
        (.., true) => (Verdict::Confirmed, String::new()),
        (.., false) => (Verdict::Predicted, told),
    }
}

fn in_words(finding: &Value) -> String {
    let places = finding["locations"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let places: Vec<&str> = places.map(|place| place.rsplit('/').next().unwrap_or(place)).collect();
    let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    format!("{} {} at {}", word("rung"), word("kind"), places.join(" and "))
}

fn section(rows: &[Row]) -> String {
    let count = |expected: &dyn Fn(&ExpectedReport) -> bool, verdict: Verdict| {
        rows.iter().filter(|row| expected(&row.expected) && row.verdict == verdict).count()
    };
    let mut text = format!("## LLVM's tests of ThreadSanitizer\n\n{}", circumstances());
    let _ = write!(
        text,
        "\n`FORETELL_LLVM_TSAN=.. cargo xtask bench llvm`: {} programs, built with clang by `foretell cc` as their own RUN lines say, each recorded once (seed 0) by \
         `foretell hunt --only race --only deadlock --only order`. A test that expects a race counts as found if one is reported (or a use of freed memory). The barriers with which the tests arrange their runs order nothing, and block no thread in a replay. Among the tests that were not run, those about weak memory orders, closing files, and creating or destroying locks expect races that Foretell does not see. They are misses by design, and were set apart after they had been missed.\n\n\
         | expected | confirmed by replay | only predicted | kept silent | missed | false alarm | did not come to an end | not asked |\n|---|---|---|---|---|---|---|---|\n",
        rows.len()
    );
    type IsKind<'a> = &'a dyn Fn(&ExpectedReport) -> bool;
    let kinds: [(&str, IsKind<'_>); 4] = [
        ("a race", &|expected| *expected == ExpectedReport::Race),
        ("a deadlock", &|expected| *expected == ExpectedReport::Deadlock),
        ("silence", &|expected| *expected == ExpectedReport::Silence),
        ("another report", &|expected| matches!(expected, ExpectedReport::Other(_))),
    ];
    for (name, kind) in kinds {
        let _ = write!(text, "| {name} |");
        for verdict in [
            Verdict::Confirmed,
            Verdict::Predicted,
            Verdict::Silent,
            Verdict::Missed,
            Verdict::FalseAlarm,
            Verdict::Failed,
            Verdict::NotAsked,
        ] {
            let _ = write!(text, " {} |", count(kind, verdict));
        }
        text.push('\n');
    }
    text.push_str("\nThose that were only predicted, were missed, raised a false alarm, or did not end:\n\n| test | expected | what came |\n|---|---|---|\n");
    let open = [Verdict::Predicted, Verdict::Missed, Verdict::FalseAlarm, Verdict::Failed];
    for row in rows.iter().filter(|row| open.contains(&row.verdict)) {
        let _ = writeln!(text, "| {} | {:?} | {:?} {} |", row.name, row.expected, row.verdict, row.remark);
    }
    text.push_str("\nThose that were not asked, by the reason:\n\n");
    let mut reasons: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::NotAsked) {
        if !reasons.contains(&row.remark.as_str()) {
            reasons.push(&row.remark);
        }
    }
    for reason in reasons {
        let names = rows.iter().filter(|row| row.verdict == Verdict::NotAsked && row.remark == reason);
        let names: Vec<&str> = names.map(|row| row.name.as_str()).collect();
        let _ = writeln!(text, "- {reason}: {}", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_say_what_is_expected() {
        assert_eq!(expected("// CHECK: WARNING: ThreadSanitizer: data race\n"), ExpectedReport::Race);
        assert_eq!(
            expected("// CHECK-NOT: WARNING: ThreadSanitizer: data race\n// CHECK: DONE\n"),
            ExpectedReport::Silence
        );
        assert_eq!(
            expected("// The data race CHECK-NOT below must be CHECK, since: it races\n"),
            ExpectedReport::Silence
        );
        assert_eq!(expected("// CHECK: ThreadSanitizer: lock-order-inversion\n"), ExpectedReport::Deadlock);
        assert_eq!(
            expected("// CHECK: ThreadSanitizer: thread leak (x)\n"),
            ExpectedReport::Other("thread leak".into())
        );
    }

    #[test]
    fn run_lines_become_hunts() {
        let suite = Suite { foretell: "foretell", tests: Path::new("/t/tsan"), directory: Path::new("/w") };
        let text = "// RUN: %clangxx_tsan -O1 %s -o %t && %deflake %env_tsan_opts=a=1 not %run %t 2>&1 | FileCheck %s\n";
        let script = suite.script(Path::new("/t/tsan/a.cpp"), text, Path::new("/w/a"));
        assert!(
            script.starts_with("foretell c++ -std=c++11 -I/t -I/t/tsan -O1 /t/tsan/a.cpp -o /w/a/program &&"),
            "{script}"
        );
        assert!(script.trim_end().ends_with("--only order -- /w/a/program"), "{script}");
    }
}
