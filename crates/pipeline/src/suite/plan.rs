//! The tests of a suite, and how far each has come: `suite.json` in the run's directory.
//!
//! That file is to be read, uploaded and merged, and may come from somebody else. So it has no values of environment variables, and nothing is
//! run because it says so: resuming a suite makes a new plan ([`resume`](super::resume)).

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use report::TestOutcome;
use run::environment::Environment;
use run::program::{Program, Recordability};
use run::survey::{Survey, SurveyedProcess};
use serde::{Deserialize, Serialize};

use super::{SuiteOptions, names, split};
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::saved;

const PLAN: &str = "suite.json";
const SCHEMA: u32 = 1;
/// Where the results of a hunt that is no suite's go when it is merged.
const HUNT: &str = "hunt";

/// The tests of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    schema: u32,
    /// The test command.
    pub command: Vec<OsString>,
    /// The status that it ended with.
    pub status: u8,
    /// Which tests there are of those that it runs.
    #[serde(default)]
    pub selection: Selection,
    /// Its tests, in the order in which they ran; each as often as there are seeds.
    pub tests: Vec<Test>,
}

/// What becomes a test of what a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// How many seeds each test is hunted in with, each by itself.
    pub seeds: u64,
    /// Whether programs of known test frameworks are split into their cases.
    pub split: bool,
    /// Which part of the tests is ours.
    pub shard: Shard,
}

impl Default for Selection {
    fn default() -> Self {
        Selection { seeds: 1, split: false, shard: Shard::WHOLE }
    }
}

/// A test: an instrumented program, with what it was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// The variables that it has and we have not, or with another value. Never in a file of a suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(OsString, OsString)>,
    /// The variables that we have and it has not.
    pub without: Vec<OsString>,
    /// Its standard input, if that is a file.
    pub input: Option<PathBuf>,
    /// Whether it is not instrumented itself, but loads a library that is: Python, with an extension module.
    #[serde(default)]
    pub only_sync: bool,
    /// Which order its threads run in while they are recorded.
    #[serde(default)]
    pub seed: u64,
    /// The result so far.
    pub outcome: TestOutcome,
    /// Whether the hunt was called off: what it found counts, and it is done again when the suite is taken up again.
    pub interrupted: bool,
    /// Why it could not be hunted in.
    pub message: Option<String>,
    /// How long that took.
    pub milliseconds: u64,
    /// Where its results are, in the directory of the suite.
    pub results: String,
}

/// A part of the tests: `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, from 1.
    pub part: u64,
    /// How many parts there are.
    pub parts: u64,
}

impl FromStr for Shard {
    type Err = String;

    /// A part and the number of parts, such as `2/8`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let (part, parts) = text.split_once('/').unwrap_or_default();
        let shard = part.parse().ok().zip(parts.parse().ok()).map(|(part, parts)| Shard { part, parts });
        shard
            .filter(|shard| shard.exists())
            .ok_or_else(|| "expected a part and a number of parts, such as 2/8".to_owned())
    }
}

impl Shard {
    /// All tests.
    pub const WHOLE: Shard = Shard { part: 1, parts: 1 };

    /// Whether there is such a part.
    fn exists(self) -> bool {
        (1..=self.parts).contains(&self.part)
    }

    /// Whether a test with this name and seed is in it. It depends on these alone: tests may run in any order.
    fn has(self, name: &str, seed: u64) -> bool {
        let number = u64::from_str_radix(&run::program::checksum(name.as_bytes()), 16).unwrap_or(0);
        let number = number.wrapping_add(seed);
        number % self.parts.max(1) == self.part - 1
    }
}

impl Plan {
    /// A plan without tests.
    pub fn new(command: Vec<OsString>) -> Plan {
        Plan { schema: SCHEMA, command, status: 0, selection: Selection::default(), tests: Vec::new() }
    }

    /// A test for each process that was started, once.
    pub(super) fn of(options: &SuiteOptions, survey: &Survey) -> Plan {
        let mut seen = HashSet::new();
        let is_new = |process: &&SurveyedProcess| {
            seen.insert((process.program.clone(), process.arguments.clone(), process.directory.clone()))
        };
        let runner = names::Runner::of(&options.command);
        let ours = Environment::ours();
        let started = survey.processes.iter().filter(|process| !asks_for_names(process));
        let tests = started.filter(is_new).map(|process| Test::of(process, &runner, &ours));
        let mut plan = Plan {
            schema: SCHEMA,
            command: options.command.clone(),
            status: survey.code,
            selection: options.selection,
            tests: tests.collect(),
        };
        let Selection { seeds, split, shard } = options.selection;
        if split {
            plan.tests = plan.tests.into_iter().flat_map(split::cases).collect();
        }
        plan.settle_names();
        plan.repeat(seeds);
        for test in &mut plan.tests {
            if test.outcome == TestOutcome::NotReached && !shard.has(&test.name, test.seed) {
                test.outcome = TestOutcome::OtherShard;
            }
        }
        plan
    }

    /// The plan of the suite in this directory; of the directory of a hunt, a plan with that hunt as its only test.
    pub(super) fn load_or_hunt(directory: &Path) -> Result<Plan, Error> {
        match Plan::load(directory) {
            Err(error) => match directory.join(saved::FINDINGS).is_file() {
                true => Plan::of_hunt(directory),
                false => Err(error),
            },
            plan => plan,
        }
    }

    fn of_hunt(directory: &Path) -> Result<Plan, Error> {
        let predictions = saved::read(&directory.join(saved::FINDINGS))?;
        let trace = saved::trace_for(&directory.join(saved::FINDINGS), &predictions)?;
        let bytes = run::mapping::map_file(&trace)
            .map_err(|error| Error::io("read", format!("`{}`", trace.display()), error))?;
        let metadata = trace::native::metadata(&bytes).ok().flatten().unwrap_or_default();
        let program = metadata.binary.map(|binary| PathBuf::from(binary.path)).unwrap_or_default();
        let words: Vec<OsString> = metadata.command.iter().map(OsString::from).collect();
        let named = Path::new(words.first().map_or(OsStr::new("program"), |word| word)).file_name();
        let named = named.unwrap_or_default().to_string_lossy().into_owned();
        let arguments: Vec<OsString> = words.iter().skip(1).cloned().collect();
        let name = metadata.command.iter().skip(1).fold(named, |name, word| format!("{name} {word}"));
        let test = Test {
            name,
            program,
            arguments,
            directory: metadata.directory.into(),
            variables: Vec::new(),
            without: Vec::new(),
            input: None,
            only_sync: false,
            seed: 0,
            outcome: TestOutcome::Hunted,
            interrupted: false,
            message: None,
            milliseconds: 0,
            results: HUNT.to_owned(),
        };
        Ok(Plan { tests: vec![test], ..Plan::new(words) })
    }

    /// Whether it is that of a single hunt.
    pub(super) fn is_hunt(&self) -> bool {
        matches!(&self.tests[..], [only] if only.results == HUNT)
    }

    /// One plan of several: of each test the result that says most; of single hunts all, which may have had other seeds.
    pub(super) fn merged(plans: impl IntoIterator<Item = Plan>) -> Plan {
        let mut all = Plan::new(Vec::new());
        let mut numbers = HashMap::new();
        for plan in plans {
            let is_hunt = plan.tests.iter().any(|test| test.results.ends_with(HUNT));
            all.status = all.status.max(plan.status);
            all.command = if all.command.is_empty() { plan.command } else { all.command };
            for mut test in plan.tests {
                let mut number = 2;
                let name = test.name.clone();
                while is_hunt && numbers.contains_key(&(test.name.clone(), test.seed)) {
                    test.name = format!("{name} ({number})");
                    number += 1;
                }
                match numbers.get(&(test.name.clone(), test.seed)) {
                    Some(&number) if test.says_more_than(&all.tests[number]) => all.tests[number] = test,
                    Some(_) => {}
                    None => {
                        numbers.insert((test.name.clone(), test.seed), all.tests.len());
                        all.tests.push(test);
                    }
                }
            }
        }
        all
    }

    /// Makes names different, and gives each test a directory by its name.
    fn settle_names(&mut self) {
        let mut used = HashSet::new();
        for (index, test) in self.tests.iter_mut().enumerate() {
            let name = test.name.clone();
            let mut number = 2;
            while !used.insert(test.name.clone()) {
                test.name = format!("{name} ({number})");
                number += 1;
            }
            test.results = format!("tests/{:03}-{}", index + 1, file_name(&test.name));
        }
    }

    /// Has each test that can be hunted in once for each seed.
    fn repeat(&mut self, seeds: u64) {
        if seeds < 2 {
            return;
        }
        let with_seeds = |test: Test| {
            let seeds = if test.outcome == TestOutcome::NotReached { seeds } else { 1 };
            (0..seeds).map(move |seed| Test {
                seed,
                results: format!("{}/seed-{seed}", test.results),
                ..test.clone()
            })
        };
        self.tests = std::mem::take(&mut self.tests).into_iter().flat_map(with_seeds).collect();
    }

    /// The words of the command.
    pub fn command_words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The command, as a person types it.
    pub fn command_in_words(&self) -> String {
        self.command_words().join(" ")
    }

    /// Keeps it, without the values of variables.
    pub fn save(&self, directory: &Path) -> Result<(), Error> {
        let plan = Plan { tests: self.tests.iter().map(Test::without_values).collect(), ..self.clone() };
        files::write(&directory.join(PLAN), Form::PLAIN, |out| Ok(serde_json::to_writer_pretty(out, &plan)?))
    }

    /// The plan of the suite in this directory.
    pub fn load(directory: &Path) -> Result<Plan, Error> {
        let path = directory.join(PLAN);
        let shown = path.display().to_string();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::from(ErrorKind::NoSuite(directory.to_owned()))
                    .help("`foretell test -- CMD` makes one"));
            }
            Err(error) => return Err(Error::io("read", format!("`{shown}`"), error)),
        };
        let malformed = |why: String| Error::from(ErrorKind::MalformedSuite(why)).in_file(shown.clone());
        let mut plan: Plan = serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        // Files of earlier versions have values.
        plan.tests.iter_mut().for_each(|test| test.variables.clear());
        // Each test is there once for each seed.
        plan.selection.seeds = plan.selection.seeds.clamp(1, plan.tests.len().max(1) as u64);
        match plan {
            Plan { selection, .. } if !selection.shard.exists() => {
                Err(malformed("it is of a shard that does not exist".to_owned()))
            }
            Plan { schema: SCHEMA, .. } if plan.tests.iter().all(|test| saved::is_below(&test.results)) => {
                Ok(plan)
            }
            Plan { schema: SCHEMA, .. } => Err(malformed("results lie outside of its directory".to_owned())),
            Plan { schema, .. } => {
                Err(malformed(format!("its schema is {schema}, and {SCHEMA} was expected")))
            }
        }
    }
}

impl Test {
    fn of(process: &SurveyedProcess, runner: &names::Runner, ours: &Environment) -> Test {
        let theirs = &process.environment;
        let is_other = |(name, value): &(&OsStr, &OsStr)| ours.get(name) != Some(value);
        let program = Program::find(process.program.as_os_str());
        let only_sync = program.is_ok_and(|program| program.recordability == Recordability::SyncOnly);
        // The survey does not see the threads of a program that loads the runtime late.
        let may_have_threads = process.has_threads || only_sync;
        Test {
            name: runner.name(process),
            program: process.program.clone(),
            arguments: process.arguments.clone(),
            directory: process.directory.clone(),
            variables: theirs
                .variables()
                .filter(is_other)
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            without: ours
                .variables()
                .filter(|(name, _)| theirs.get(name).is_none())
                .map(|(name, _)| name.to_owned())
                .collect(),
            input: process.input.clone(),
            only_sync,
            seed: 0,
            outcome: if may_have_threads { TestOutcome::NotReached } else { TestOutcome::NoThreads },
            interrupted: false,
            message: None,
            milliseconds: 0,
            results: String::new(),
        }
    }

    /// Whether it is to be hunted in.
    pub(super) fn is_left(&self) -> bool {
        self.outcome == TestOutcome::NotReached || self.interrupted
    }

    /// Whether it is started in the same way.
    pub(super) fn is_started_as(&self, other: &Test) -> bool {
        let start =
            |test: &Test| (test.program.clone(), test.arguments.clone(), test.directory.clone(), test.seed);
        start(self) == start(other)
    }

    /// Whether it has the same name.
    pub(super) fn is_called_as(&self, other: &Test) -> bool {
        (&self.name, &self.program, self.seed) == (&other.name, &other.program, other.seed)
    }

    /// Its earlier result.
    pub(super) fn take_outcome_of(&mut self, earlier: Test) {
        let Test { outcome, interrupted, message, milliseconds, .. } = earlier;
        *self = Test { outcome, interrupted, message, milliseconds, ..self.clone() };
    }

    /// What it is when the command does not start it any more: it can no longer be hunted in.
    pub(super) fn not_started_again(self) -> Test {
        let (outcome, message) = match self.outcome {
            TestOutcome::NotReached => {
                (TestOutcome::Error, Some("the test command did not start it again".to_owned()))
            }
            outcome => (outcome, self.message.clone()),
        };
        Test { outcome, message, interrupted: false, ..self }
    }

    fn without_values(&self) -> Test {
        Test { variables: Vec::new(), ..self.clone() }
    }

    fn says_more_than(&self, other: &Test) -> bool {
        let weight = |test: &Test| match test.outcome {
            TestOutcome::OtherShard => 0,
            TestOutcome::NotReached => 1,
            TestOutcome::Error => 2,
            TestOutcome::NoThreads | TestOutcome::Hunted => 3,
        };
        weight(self) > weight(other)
    }

    /// The environment that it runs in.
    pub(super) fn environment(&self) -> Environment {
        let mut environment = Environment::ours();
        self.without.iter().for_each(|name| environment.remove(name));
        self.variables.iter().for_each(|(name, value)| environment.set(name, value));
        environment
    }

    /// Its name, and the seed if that is not the first.
    pub fn title(&self) -> String {
        match self.seed {
            0 => self.name.clone(),
            seed => format!("{}, seed {seed}", self.name),
        }
    }

    /// The program and its arguments.
    pub fn command(&self) -> Vec<String> {
        let arguments = self.arguments.iter().map(|word| word.to_string_lossy().into_owned());
        std::iter::once(self.program.display().to_string()).chain(arguments).collect()
    }
}

/// Whether a process was only asked for the names of its tests, as nextest does first.
fn asks_for_names(process: &SurveyedProcess) -> bool {
    const ASKING: [&str; 3] = ["--list", "--gtest_list_tests", "--list-tests"];
    !process.has_threads && process.arguments.iter().any(|word| ASKING.iter().any(|asking| word == asking))
}

/// A name that every file system takes and nobody has to quote.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(60).collect();
    while plain.ends_with(['-', '.']) {
        plain.pop();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_as_people_write_them() {
        assert_eq!("2/8".parse(), Ok(Shard { part: 2, parts: 8 }));
        assert_eq!("1/1".parse(), Ok(Shard::WHOLE));
        for text in ["", "0/8", "9/8", "1/0", "2", "a/b", "1/2/3", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_test_is_in_one_shard() {
        for name in ["a", "b", "queue::tests::push", "bank (2)", ""] {
            for parts in 1..9 {
                let of = |part, seed| Shard { part, parts }.has(name, seed);
                for seed in [0, 1, u64::MAX] {
                    assert_eq!((1..=parts).filter(|&part| of(part, seed)).count(), 1, "{name} {parts}");
                }
            }
        }
    }

    #[test]
    fn listing_tests_is_no_test() {
        let process = |arguments: &[&str], has_threads| SurveyedProcess {
            program: "/t/deps/threads".into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            directory: "/t".into(),
            environment: Environment::default(),
            input: None,
            has_threads,
            hung: false,
        };
        assert!(asks_for_names(&process(&["--list", "--format", "terse"], false)));
        assert!(!asks_for_names(&process(&["--list"], true)), "it does something");
        assert!(!asks_for_names(&process(&["--exact", "list"], false)));
    }

    #[test]
    fn names_of_directories_are_plain() {
        assert_eq!(file_name("queue_test --filter='a b'"), "queue_test---filter--a-b");
        assert_eq!(file_name("../é/x"), "..---x");
        assert_eq!(file_name(&"x".repeat(100)).len(), 60);
    }
}
