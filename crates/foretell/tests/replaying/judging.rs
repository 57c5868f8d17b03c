//! A program of the corpus, recorded once, and what is found in it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::expectations::{Bug, Expectations, Failure};
use crate::support::{Workshop, succeeded};

/// A program and the place it is tried in.
pub(crate) struct Program {
    source: PathBuf,
    expectations: Expectations,
    pub(crate) shop: Workshop,
}

/// What a command printed as JSON.
pub(crate) struct Printed {
    pub(crate) status: Option<i32>,
    pub(crate) json: Value,
}

impl Program {
    /// A program below `corpus/`, compiled and recorded.
    pub(crate) fn new(name: &str) -> Program {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let source = corpus.join(name).canonicalize().expect("it is in the corpus");
        let text = std::fs::read_to_string(&source).expect("it can be read");
        let expectations = Expectations::of(&text).expect("its head can be read");
        let program = Program { source, expectations, shop: Workshop::new() };
        program.compile();
        succeeded(&mut program.shop.foretell(&["record", "-q", "-o", "run.ftr", "--", "./program"]));
        program
    }

    fn compile(&self) {
        let source = self.source.to_str().expect("a path in UTF-8");
        let (word, compiler) = if source.ends_with(".cc") { ("c++", "g++") } else { ("cc", "gcc") };
        assert!(testing::has(compiler), "these tests need {compiler}");
        // What is expected of them (steps, rungs) is that of runs without counts of branches.
        let arguments =
            [word, "--no-branches", "-g", "-O1", "-pthread", "-Wno-tsan", source, "-o", "program"];
        succeeded(self.shop.foretell(&arguments).env("FORETELL_CC", "gcc").env("FORETELL_CXX", "g++"));
    }

    /// Runs `foretell` and reads the JSON it prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Printed {
        let output = self.shop.foretell(arguments).output().expect("it can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"));
        Printed { status: output.status.code(), json }
    }

    /// Every bug expected is foretold and confirmed each time; what is not expected is not foretold, and what is only possible
    /// never confirmed.
    pub(crate) fn judge(&self, times: u32) {
        for bug in &self.expectations.expected {
            self.confirm(bug, times);
        }
        self.nothing_else();
        for bug in &self.expectations.possible {
            self.never_confirmed(bug);
        }
    }

    /// The options under which a bug is looked for.
    fn options(&self, bug: &Bug, replaying: bool) -> Vec<String> {
        if let Bug::Predicate(condition) = bug {
            let rules = format!("[[predicate]]\nname = \"it\"\npossibly = '{condition}'\n");
            self.shop.write("rules.toml", &rules);
        }
        let file = self.source.file_name().unwrap_or_default().to_string_lossy();
        bug.options(&file, "rules.toml", replaying)
    }

    fn confirm(&self, bug: &Bug, times: u32) {
        let options = self.options(bug, false);
        let found = self.find(bug, &options);
        let Some((id, finding)) = found else {
            panic!("{bug:?} was not foretold of {}", self.source.display())
        };
        assert_eq!(finding["rung"], "predicted", "{finding}");
        let times = times.to_string();
        let mut arguments: Vec<&str> = vec!["replay", "run.ftr", &id, "--json", "--times", &times];
        let options = self.options(bug, true);
        arguments.extend(options.iter().map(String::as_str));
        let Printed { status, json } = self.json(&arguments);
        assert_eq!((&json["result"], &json["confirmed"]), (&"confirmed".into(), &json["times"]), "{json:#}");
        assert_eq!((status, json["divergence"].is_null()), (Some(1), true), "{json:#}");
        let runs = json["runs"].as_array().expect("runs");
        if let Some(failure) = self.expectations.failure {
            assert!(runs.iter().any(|run| fails(run, failure)), "{failure:?}: {json:#}");
        }
    }

    /// The first finding that is this bug.
    pub(crate) fn find(&self, bug: &Bug, options: &[String]) -> Option<(String, Value)> {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let Printed { json, .. } = self.json(&[&["predict", "run.ftr", "--json"], &options[..]].concat());
        let findings = json["findings"].as_array().expect("findings").iter();
        let mut found = findings.filter(|finding| {
            let locations: Vec<String> =
                serde_json::from_value(finding["locations"].clone()).expect("locations");
            bug.is(finding["kind"].as_str().unwrap_or_default(), &locations)
        });
        found.next().map(|finding| (finding["id"].as_str().expect("an id").to_owned(), finding.clone()))
    }

    /// The id of the first bug that is expected.
    pub(crate) fn first(&self) -> String {
        let bug = &self.expectations.expected[0];
        let (id, _) = self.find(bug, &self.options(bug, false)).expect("it is foretold");
        id
    }

    fn nothing_else(&self) {
        let Printed { json, .. } = self.json(&["predict", "run.ftr", "--json"]);
        for finding in json["findings"].as_array().expect("findings") {
            let kind = finding["kind"].as_str().unwrap_or_default();
            let locations: Vec<String> =
                serde_json::from_value(finding["locations"].clone()).expect("locations");
            assert!(self.expectations.allow(kind, &locations), "{}: {finding:#}", self.source.display());
        }
    }

    fn never_confirmed(&self, bug: &Bug) {
        let options = ["--model".to_owned(), "sync".to_owned()];
        let (id, finding) =
            self.find(bug, &options).unwrap_or_else(|| panic!("{bug:?} is not even possible"));
        assert_eq!(finding["rung"], "possible", "{finding}");
        let Printed { status, json } = self.json(&["replay", "run.ftr", &id, "--json", "--model", "sync"]);
        assert_ne!(json["result"], "confirmed", "{json:#}");
        assert_eq!(status, Some(0), "{json:#}");
    }
}

fn fails(run: &Value, failure: Failure) -> bool {
    match failure {
        Failure::Exit(status) => run["end"] == "exited" && run["status"] == status,
        Failure::Abort => run["end"] == "killed" && run["status"] == 6,
        Failure::Hang => run["end"] == "ended",
    }
}
