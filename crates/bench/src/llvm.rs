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
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// How long a test may take in all, and each of its hunts, in seconds.
const LIMIT: &str = "60";
const HUNT_LIMIT: &str = "6";

/// Why tests may come out otherwise than ThreadSanitizer says: the beginnings of their names, and the reason. All tests are run; a reason is looked for
/// where the outcome is another.
const REASONS: &[(&str, &str)] = &[
    ("java", "Java's heap is not known"),
    ("fiber", "fibers of one thread are in that thread's order, and do not race with each other"),
    ("bench_", "measures ThreadSanitizer, and runs longer than the time given"),
    ("suppress", "the suppressions are in TSAN_OPTIONS, which Foretell does not read"),
    ("race_top_suppression", "the suppressions are in TSAN_OPTIONS, which Foretell does not read"),
    ("default_suppressions", "the program brings its suppressions along, which Foretell does not ask for"),
    ("ignorelist", "the ignore list is named by an option that is replaced"),
    ("ignore_lib", "libraries to ignore are named in TSAN_OPTIONS, which Foretell does not read"),
    ("ignore-noninstrumented", "libraries to ignore are named in TSAN_OPTIONS, which Foretell does not read"),
    ("ignored-interceptors", "libraries to ignore are named in TSAN_OPTIONS, which Foretell does not read"),
    ("debug", "asks ThreadSanitizer's interface for debuggers, which is empty here"),
    ("default_options", "is about an option of ThreadSanitizer's"),
    ("halt_on_error", "is about an option of ThreadSanitizer's"),
    ("print_full_thread_history", "is about an option of ThreadSanitizer's"),
    ("force_background_thread", "is about ThreadSanitizer's own thread"),
    ("Linux/pie_no_aslr", "is started by another program"),
    ("Linux/fork_", "needs ThreadSanitizer's hooks for system calls made by hand"),
    ("Linux/syscall", "needs ThreadSanitizer's hooks for system calls made by hand"),
    ("Linux/clone_", "needs ThreadSanitizer's hooks for system calls made by hand"),
    ("flush_memory", "is about ThreadSanitizer's own memory"),
    ("mmap_lots", "is about ThreadSanitizer's own memory"),
    ("on_initialize_finalize", "is about hooks of ThreadSanitizer's own start and end"),
    ("printf-1", "is about what ThreadSanitizer may be made to print"),
    ("race_on_barrier2", "POSIX allows to destroy a barrier when all threads have arrived"),
    (
        "annotate_happens_before",
        "the test's barrier, which blocks no thread in a replay, is what keeps the annotated accesses apart",
    ),
    ("custom_mutex3", "an option of ThreadSanitizer's turns the report of the locked mutex off"),
    ("custom_mutex2", "the home-made lock spins another number of times in a replay"),
    ("race_on_mutex.c", "reported as misuse: the mutex is used before it is initialised"),
    ("race_on_barrier.c", "reported as a failure: the barrier is used before it is initialised"),
    ("malloc_stack", "reported as a failure: a null pointer"),
    ("thread_end_with_ignore", "annotations that are left open at the end of a thread are not reported"),
    ("fd_", "closing a pipe or a copy of a file while another thread uses it is not found"),
    ("atomic_free3", "use of freed memory does not depend on memory orders here"),
    ("ignore_sync", "the lock whose order is to be ignored still keeps the accesses apart in a replay"),
    ("mutex_cycle", "one thread takes the locks in a cycle, which is no deadlock"),
    ("deadlock_detector_stress", "its deadlocks are of one thread, or it runs longer than the time given"),
    ("free_race2", "a use of freed memory in a program of one thread"),
    ("fork_multithreaded", "what happens in a child process after a fork; a hunt records the first process"),
    ("sunrpc", "needs a library that is not there"),
    ("Linux/mutex_robust2", "expects a report that its own comment calls a false alarm"),
    ("Linux/user_", "a C library of the program's own"),
];

/// What a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ExpectedReport {
    Race,
    Deadlock,
    /// Another kind of report, a misuse, by its name.
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
    NotRun,
}

impl Verdict {
    /// Whether it is another outcome than ThreadSanitizer's.
    fn is_open(self) -> bool {
        matches!(self, Verdict::Missed | Verdict::FalseAlarm | Verdict::Failed)
    }
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
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let headline = format!(
        "of {} tests {} are confirmed, {} silent as expected, {} missed, {} false alarms, {} did not end",
        rows.len(),
        count(Verdict::Confirmed) + count(Verdict::Predicted),
        count(Verdict::Silent),
        count(Verdict::Missed),
        count(Verdict::FalseAlarm),
        count(Verdict::Failed)
    );
    store_report("llvm", &headline, &section(&rows))
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
        let (verdict, mut remark) = match text.contains("%run") {
            false => (Verdict::NotRun, "its RUN lines run nothing".to_owned()),
            true => self.hunted(name, &source, &text, &expected)?,
        };
        let reason = REASONS.iter().find(|(begin, _)| name.starts_with(begin));
        if let (true, Some((_, why))) = (verdict.is_open(), reason) {
            remark = if remark.is_empty() { (*why).to_owned() } else { format!("{why} ({remark})") };
        }
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
            "{} hunt -q --json --times 3 --timeout {HUNT_LIMIT} --results {}/results --only race,deadlock,order,misuse --",
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
    // What a user is not shown is not reported.
    let is = |finding: &Value, kinds: &[&str]| {
        kinds.contains(&finding["kind"].as_str().unwrap_or_default()) && finding["shown"] != false
    };
    let kinds: &[&str] = match expected {
        ExpectedReport::Race => &["race", "order"],
        ExpectedReport::Deadlock => &["deadlock"],
        ExpectedReport::Other(kind) if kind.starts_with("double lock") => &["misuse", "deadlock"],
        ExpectedReport::Other(kind) if kind.starts_with("use of an invalid") => &["misuse", "race"],
        ExpectedReport::Other(_) => &["misuse"],
        ExpectedReport::Silence => &["race", "order", "deadlock", "misuse"],
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
        "\n`FORETELL_LLVM_TSAN=.. cargo xtask bench llvm`: {} programs, built with clang by `foretell cc` as their own RUN lines say, each hunted for {HUNT_LIMIT} seconds \
         by `foretell hunt --only race,deadlock,order,misuse`. A test that expects a race counts as found if one is shown (or a use of freed memory), one that expects another report if a misuse is. The barriers with which the tests arrange their runs order nothing, and block no thread in a replay. No test is set apart.\n\n\
         | expected | confirmed by replay | only predicted | kept silent | missed | false alarm | did not come to an end | runs nothing |\n|---|---|---|---|---|---|---|---|\n",
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
            Verdict::NotRun,
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
        assert!(script.trim_end().ends_with("--only race,deadlock,order,misuse -- /w/a/program"), "{script}");
    }
}
