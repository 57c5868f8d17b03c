//! Programs of known test frameworks, split into their cases, so that each is hunted in by itself.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::time::Duration;

use memchr::memmem;
use report::TestOutcome;
use run::Cancellation;
use run::job::Job;
use run::mapping::map_file;

use super::plan::Test;

/// How long a program may take to list its cases.
const LISTING: Duration = Duration::from_secs(30);

/// A framework that can list the cases of a program and run one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framework {
    GoogleTest,
    /// Catch2 up to version 2, in one header.
    Catch,
    /// Catch2 from version 3 on.
    Catch2,
    /// Rust's own.
    Libtest,
    /// Takes libtest's options, and more.
    Criterion,
}

impl Framework {
    /// The framework of a program, told by the options that it knows.
    fn of(program: &[u8]) -> Option<Framework> {
        let knows = |text: &str| memmem::find(program, text.as_bytes()).is_some();
        match () {
            () if knows("gtest_list_tests") => Some(Framework::GoogleTest),
            () if knows("list-test-names-only") => Some(Framework::Catch),
            () if knows("Catch2") && knows("--list-tests") => Some(Framework::Catch2),
            () if knows("CRITERION_HOME") => Some(Framework::Criterion),
            () if knows("RUST_TEST_THREADS") => Some(Framework::Libtest),
            () => None,
        }
    }

    /// The arguments with which a program lists its cases.
    fn listing(self) -> &'static [&'static str] {
        match self {
            Framework::GoogleTest => &["--gtest_list_tests"],
            Framework::Catch => &["--list-test-names-only"],
            Framework::Catch2 => &["--list-tests", "--verbosity", "quiet"],
            Framework::Libtest | Framework::Criterion => &["--list"],
        }
    }

    /// Whether this is how a program ends that has listed its cases.
    fn has_listed(self, status: u8) -> bool {
        // Catch says how many there are, as far as that fits.
        status == 0 || self == Framework::Catch
    }

    /// The cases in what a program lists.
    fn cases(self, listed: &str) -> Vec<String> {
        let lines = listed.lines();
        match self {
            Framework::GoogleTest => {
                let mut suite = "";
                let mut cases = Vec::new();
                for line in lines {
                    // Parameters follow as a comment.
                    let name = line.split('#').next().unwrap_or_default().trim();
                    match line.starts_with("  ") {
                        true if is_disabled(suite) || is_disabled(name) => {}
                        true if !suite.is_empty() => cases.push(format!("{suite}{name}")),
                        true => {}
                        false => suite = if name.ends_with('.') { name } else { "" },
                    }
                }
                cases
            }
            Framework::Catch | Framework::Catch2 => {
                lines.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            Framework::Libtest | Framework::Criterion => {
                let case = |line: &str| {
                    line.strip_suffix(": test").or(line.strip_suffix(": benchmark")).map(str::to_owned)
                };
                lines.filter_map(case).collect()
            }
        }
    }

    /// Of the arguments that a program had, those that are kept when a case is selected: no filters. Libtest and Criterion would run what
    /// either selects, Catch what has the names of both.
    fn arguments_for_case(self, arguments: &[OsString]) -> Vec<OsString> {
        let kept = self.without_filters(arguments);
        match self {
            // A benchmark repeats its work for seconds. What its threads can do wrong, they can in one pass.
            Framework::Criterion => {
                let once = |word: OsString| if word == "--bench" { "--test".into() } else { word };
                kept.into_iter().map(once).collect()
            }
            Framework::GoogleTest | Framework::Catch | Framework::Catch2 | Framework::Libtest => kept,
        }
    }

    /// The arguments that select no cases.
    fn without_filters(self, arguments: &[OsString]) -> Vec<OsString> {
        let mut is_value = false;
        let is_kept = |word: &&OsString| {
            let is_option = word.as_encoded_bytes().starts_with(b"-");
            let is_kept = match self {
                // A filter is an option there, and what is no option is the program's own.
                Framework::GoogleTest => !word.as_encoded_bytes().starts_with(b"--gtest_filter="),
                _ => is_option || is_value,
            };
            is_value = is_option && self.with_values().iter().any(|option| *word == option);
            is_kept
        };
        arguments.iter().filter(is_kept).cloned().collect()
    }

    /// The options whose value may be the next word.
    fn with_values(self) -> &'static [&'static str] {
        match self {
            Framework::GoogleTest => &[],
            Framework::Catch | Framework::Catch2 => OF_CATCH,
            Framework::Libtest | Framework::Criterion => OF_LIBTEST,
        }
    }

    /// The arguments that select one case. Those that the program had come first.
    fn selecting(self, case: &str) -> Vec<OsString> {
        match self {
            Framework::GoogleTest => vec![format!("--gtest_filter={case}").into()],
            // Commas and brackets have a meaning of their own.
            Framework::Catch | Framework::Catch2 => {
                let escaped = case.replace('\\', "\\\\").replace(',', "\\,").replace('[', "\\[");
                vec![escaped.into()]
            }
            Framework::Libtest | Framework::Criterion => vec![case.into(), "--exact".into()],
        }
    }
}

/// The cases of a test, each a test of its own; the test itself if it cannot be split.
pub(super) fn cases(test: Test) -> Vec<Test> {
    if test.outcome != TestOutcome::NotReached {
        return vec![test];
    }
    let listed = framework(&test).and_then(|framework| Some((framework, listed(&test, framework).ok()?)));
    let Some((framework, listed)) = listed else { return vec![test] };
    let cases = framework.cases(&listed);
    let kept = framework.arguments_for_case(&test.arguments);
    let has_filter = kept.len() < test.arguments.len();
    if cases.is_empty() || has_filter && cases.len() == 1 {
        return vec![test];
    }
    cases
        .into_iter()
        .map(|case| Test {
            name: format!("{} {case}", test.name),
            arguments: kept.iter().cloned().chain(framework.selecting(&case)).collect(),
            ..test.clone()
        })
        .collect()
}

/// Whether GoogleTest leaves out a suite or a case of this name. Those with parameters have a prefix.
fn is_disabled(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with("DISABLED_"))
}

/// Options of libtest and Criterion whose value may be the next word.
const OF_LIBTEST: &[&str] = &[
    "--skip",
    "--test-threads",
    "--format",
    "--color",
    "--logfile",
    "--shuffle-seed",
    "-Z",
    "-c",
    "--colour",
    "--save-baseline",
    "-s",
    "--baseline",
    "-b",
    "--baseline-lenient",
    "--load-baseline",
    "--sample-size",
    "--warm-up-time",
    "--measurement-time",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
    "--profile-time",
    "--plotting-backend",
    "--output-format",
];

/// Options of Catch, in all its versions, whose value may be the next word.
const OF_CATCH: &[&str] = &[
    "-r",
    "--reporter",
    "-o",
    "--out",
    "-n",
    "--name",
    "-x",
    "--abortx",
    "-w",
    "--warn",
    "-d",
    "--durations",
    "-D",
    "--min-duration",
    "-f",
    "--input-file",
    "-c",
    "--section",
    "-v",
    "--verbosity",
    "--order",
    "--rng-seed",
    "--use-colour",
    "--colour-mode",
    "--wait-for-keypress",
    "--benchmark-samples",
    "--benchmark-resamples",
    "--benchmark-confidence-interval",
    "--benchmark-warmup-time",
    "--shard-count",
    "--shard-index",
];

fn framework(test: &Test) -> Option<Framework> {
    Framework::of(&map_file(&test.program).ok()?)
}

fn listed(test: &Test, framework: Framework) -> io::Result<String> {
    let directory = tempfile::tempdir()?;
    let output = directory.path().join("cases");
    let mut environment = test.environment();
    run::survey::add_runtime(&mut environment)?;
    let listing = framework.listing().iter().map(OsString::from);
    let job = Job {
        program: test.program.clone(),
        arguments: test.arguments.iter().cloned().chain(listing).collect(),
        directory: test.directory.clone(),
        environment,
        input: None,
        output: output.clone(),
        messages: Some(directory.path().join("messages")),
        limit: LISTING,
        confinement: None,
    };
    match job.run(&Cancellation::default())? {
        status if framework.has_listed(status) => {
            Ok(String::from_utf8_lossy(&fs::read(output)?).into_owned())
        }
        status => Err(io::Error::other(format!("status {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_as_frameworks_list_them() {
        let gtest = "Running main() from gtest_main.cc\nQueue.\n  Push\n  Pop\nSizes/Ring.\n  Wraps/0  # GetParam() = 4\n";
        assert_eq!(Framework::GoogleTest.cases(gtest), ["Queue.Push", "Queue.Pop", "Sizes/Ring.Wraps/0"]);
        let libtest = "tests::push: test\nbench: benchmark\n\n1 test, 1 benchmark\n";
        assert_eq!(Framework::Libtest.cases(libtest), ["tests::push", "bench"]);
        assert_eq!(Framework::Catch2.cases("push, then pop\nring [wraps]\n\n").len(), 2);
        assert_eq!(Framework::Catch2.selecting("push, then [x]"), ["push\\, then \\[x]"]);
        for framework in [Framework::GoogleTest, Framework::Catch2, Framework::Libtest] {
            assert_eq!(framework.cases(""), [""; 0]);
        }
        let disabled =
            "DISABLED_Queue.\n  Push\nRing.\n  DISABLED_Wraps\n  Fills\nAll/DISABLED_P.\n  Works/0\n";
        assert_eq!(Framework::GoogleTest.cases(disabled), ["Ring.Fills"]);
    }

    #[test]
    fn options_keep_their_values_and_filters_go() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = words("push --test-threads 2 --skip slow --nocapture pop --format=terse");
        let kept = words("--test-threads 2 --skip slow --nocapture --format=terse");
        assert_eq!(Framework::Libtest.arguments_for_case(&given), kept);
        assert_eq!(
            Framework::Criterion.arguments_for_case(&words("--bench ring --sample-size 10")),
            words("--test --sample-size 10")
        );
        assert_eq!(
            Framework::Catch.arguments_for_case(&words("push [fast] -s -r junit -b --order rand ~slow")),
            words("-s -r junit -b --order rand")
        );
        assert_eq!(
            Framework::GoogleTest.arguments_for_case(&words("own --gtest_filter=A.* --gtest_color=no")),
            words("own --gtest_color=no")
        );
    }

    #[test]
    fn frameworks_are_told_by_their_options() {
        assert_eq!(Framework::of(b"..gtest_list_tests.."), Some(Framework::GoogleTest));
        assert_eq!(Framework::of(b"..RUST_TEST_THREADS.."), Some(Framework::Libtest));
        assert_eq!(Framework::of(b"..CRITERION_HOME..RUST_TEST_THREADS.."), Some(Framework::Criterion));
        assert_eq!(Framework::of(b"..--list-tests.."), None);
        assert_eq!(Framework::of(b"..Catch2..--list-tests.."), Some(Framework::Catch2));
        assert_eq!(Framework::of(b"..--list-tests..--list-test-names-only.."), Some(Framework::Catch));
    }
}
