//! The RUN lines of a test as a shell script, with our compilers and a hunt where it is run, or with those of ThreadSanitizer.

use std::path::Path;

use super::expected::run_lines;

/// Who runs a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool<'a> {
    /// The program `foretell` at this path. The time limit of each hunt is in seconds.
    Foretell {
        program: &'a str,
        limit: u64,
    },
    ThreadSanitizer,
}

/// Where a test is, and where it is built.
pub(super) struct Places<'a> {
    pub(super) tests: &'a Path,
    pub(super) source: &'a Path,
    pub(super) work: &'a Path,
}

/// What a line of the output begins with before the output of a run.
pub(super) const MARK: &str = "@@ run";

/// The script. Before each line that runs the program it prints a mark.
pub(super) fn script(tool: Tool<'_>, text: &str, places: &Places<'_>) -> String {
    let lines = run_lines(text);
    let commands = lines.iter().filter(|line| !line.starts_with("FileCheck")).map(|line| {
        let mark = if line.contains("%run") { format!("echo; echo '{MARK}'\n") } else { String::new() };
        mark + &command(tool, line, places)
    });
    commands.collect::<Vec<_>>().join("\n")
}

fn command(tool: Tool<'_>, line: &str, places: &Places<'_>) -> String {
    let Places { tests, source, work } = places;
    // What the report must look like is not our affair.
    let line = line.split('|').next().unwrap_or_default();
    let line = if line.contains("%run") { line.split(" > ").next().unwrap_or_default() } else { line };
    let above = tests.parent().unwrap_or(tests);
    let include = format!("-g -I{} -I{}", above.display(), tests.display());
    let line = match tool {
        // A hunt that finds something ends with another status than 0.
        Tool::Foretell { program: foretell, limit } => {
            let hunt = format!(
                "{foretell} hunt -q --json --times 3 --timeout {limit} --children follow --results {}/results \
                 --only race,deadlock,order,misuse --",
                work.display()
            );
            line.replace("2>&1", "")
                .replace("%clangxx_tsan", &format!("{foretell} c++ -std=c++11 {include}"))
                .replace("%clang_tsan", &format!("{foretell} cc {include}"))
                .replace("%env_tsan_opts=", "env TSAN_OPTIONS=")
                .replace("not %deflake", "%deflake")
                .replace("%deflake", "")
                .replace("not %run", "%run")
                .replace("%run", &hunt)
        }
        Tool::ThreadSanitizer => line
            .replace("%clangxx_tsan", &format!("clang++ -std=c++11 -fsanitize=thread {include}"))
            .replace("%clang_tsan", &format!("clang -fsanitize=thread {include}"))
            .replace("%env_tsan_opts=", "env TSAN_OPTIONS=atexit_sleep_ms=0:")
            .replace("not %deflake", "%deflake")
            .replace("%deflake", &format!("bash {}/deflake.bash 10", tests.display()))
            .replace("not %run", "%run")
            .replace("%run", "timeout 30"),
    };
    line.replace("%link_libcxx_tsan", "")
        .replace("%darwin_min_target_with_tls_support", "")
        .replace("%ld_flags_rpath_so", "")
        .replace("%ld_flags_rpath_exe", "-Wl,-rpath,%T %dynamiclib")
        .replace("%dynamiclib", "%T/libdynamic.so")
        .replace("%os", "Linux")
        .replace("%p", &source.parent().unwrap_or(source).to_string_lossy())
        .replace("%s", &source.to_string_lossy())
        .replace("%t", &work.join("program").to_string_lossy())
        .replace("%T", &work.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lines_become_hunts() {
        let places = Places {
            tests: Path::new("/t/tsan"),
            source: Path::new("/t/tsan/a.cpp"),
            work: Path::new("/w/a"),
        };
        let text = "// RUN: %clangxx_tsan -O1 %s -o %t && %deflake %env_tsan_opts=a=1 not %run %t 2>&1 | FileCheck %s\n";
        let ours = script(Tool::Foretell { program: "foretell", limit: 4 }, text, &places);
        let build = "foretell c++ -std=c++11 -g -I/t -I/t/tsan -O1 /t/tsan/a.cpp -o /w/a/program &&";
        assert!(ours.contains(build), "{ours}");
        assert!(ours.contains("env TSAN_OPTIONS=a=1 foretell hunt"), "{ours}");
        assert!(ours.trim_end().ends_with("--only race,deadlock,order,misuse -- /w/a/program"), "{ours}");
        let theirs = script(Tool::ThreadSanitizer, text, &places);
        assert!(
            theirs.contains(
                "bash /t/tsan/deflake.bash 10 env TSAN_OPTIONS=atexit_sleep_ms=0:a=1 timeout 30 /w/a/program"
            ),
            "{theirs}"
        );
    }
}
