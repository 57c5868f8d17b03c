//! What `foretell hunt` is to report on the programs of corpus/pairs: `expected.toml`, and how a report is compared with it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// All programs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// In the order of the file.
    pub program: Vec<Program>,
}

/// A program and what is found in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its file.
    pub file: String,
    /// Nothing is reported.
    #[serde(default)]
    pub silent: bool,
    /// How many behaviours it has, if they were counted.
    pub behaviours: Option<u64>,
    /// It fails or hangs in every schedule.
    #[serde(default)]
    pub always: bool,
    /// Its mistakes.
    #[serde(default)]
    pub finding: Vec<Mistake>,
}

/// A mistake in a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// The kind of finding.
    pub kind: String,
    /// The variable in the source.
    pub object: Option<String>,
    /// The worst outcome of a schedule with the finding, if that is certain.
    pub harm: Option<String>,
    /// Part of what the failing program prints.
    pub message: Option<String>,
}

impl Pairs {
    /// Where the programs are.
    pub fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pairs")
    }

    /// Reads what is expected.
    ///
    /// # Panics
    ///
    /// If the file is missing, or says what nobody compares.
    pub fn read() -> Pairs {
        let file = Pairs::directory().join("expected.toml");
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// A program by its file.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn program(&self, file: &str) -> &Program {
        self.program.iter().find(|program| program.file == file).unwrap_or_else(|| panic!("no `{file}`"))
    }
}

impl Program {
    /// The findings of a report that are shown.
    pub fn shown(report: &Value) -> Vec<&Value> {
        let findings = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        findings.iter().filter(|finding| finding["shown"] == true).collect()
    }

    /// What a report of a hunt lacks, in a few words each.
    pub fn lacks(&self, report: &Value) -> Vec<String> {
        let shown = Program::shown(report);
        self.finding.iter().filter_map(|mistake| mistake.lacks(&shown)).collect()
    }
}

impl Mistake {
    /// What is not as expected.
    fn lacks(&self, shown: &[&Value]) -> Option<String> {
        let Mistake { kind, object, harm, message } = self;
        let of_kind: Vec<&Value> =
            shown.iter().copied().filter(|finding| finding["kind"] == **kind).collect();
        let name = |finding: &&Value| finding["object"].as_str().unwrap_or_default().to_owned();
        if of_kind.is_empty() {
            return Some(format!("no {kind}"));
        }
        let meant = of_kind
            .iter()
            .filter(|finding| object.as_ref().is_none_or(|object| names(&name(finding), object)));
        let meant: Vec<&Value> = meant.copied().collect();
        if meant.is_empty() {
            let others: Vec<String> = of_kind.iter().map(name).collect();
            let object = object.as_deref().unwrap_or_default();
            return Some(format!("no {kind} on {object}, but on {}", others.join(", ")));
        }
        let failures = || shown.iter().copied().filter(|finding| finding["failure"].is_object());
        let tells = |finding: &Value| {
            let text = finding["failure"]["message"].as_str().unwrap_or_default();
            message.as_ref().is_none_or(|message| text.contains(message.as_str()))
        };
        if message.is_some() && !failures().any(tells) {
            return Some(format!("no failure with {}", message.as_deref().unwrap_or_default()));
        }
        // The same mistake may show as a failure of its own.
        let with_harm = |finding: &Value| harm.as_ref().is_none_or(|harm| finding["harm"] == **harm);
        let is_there = meant.iter().any(|finding| with_harm(finding))
            || failures().any(|finding| with_harm(finding) && tells(finding));
        (!is_there).then(|| format!("no {kind} with harm {}", harm.as_deref().unwrap_or_default()))
    }
}

/// Whether the name of an object names a variable of the source: `lock` in `bank::lock[3].owner`.
fn names(object: &str, variable: &str) -> bool {
    object.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == variable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lacks(mistake: &str, findings: &Value) -> Vec<String> {
        let program: Program =
            toml::from_str(&format!("file = \"a.c\"\n[[finding]]\n{mistake}")).expect("a program");
        program.lacks(&json!({ "findings": findings }))
    }

    #[test]
    fn each_field_is_compared() {
        let findings = json!([
            {"kind": "race", "object": "bank::total[2]", "harm": "none", "shown": true, "failure": null},
            {"kind": "race", "object": "hidden", "harm": "none", "shown": false},
            {"kind": "failure", "object": "assertion", "harm": "failure", "shown": true,
             "failure": {"message": "assertion `total == 15` failed"}},
        ]);
        let race = "kind = \"race\"\nobject = \"total\"\n";
        let found = |rest: &str| lacks(&format!("{race}{rest}"), &findings);
        assert_eq!(found("harm = \"failure\"\nmessage = \"total == 15\""), [""; 0]);
        assert_eq!(found("harm = \"none\""), [""; 0]);
        assert_eq!(found("harm = \"hang\""), ["no race with harm hang"]);
        assert_eq!(found("harm = \"failure\"\nmessage = \"total == 9\""), ["no failure with total == 9"]);
        let elsewhere = lacks("kind = \"race\"\nobject = \"hidden\"\nharm = \"none\"", &findings);
        assert_eq!(elsewhere, ["no race on hidden, but on bank::total[2]"]);
        assert_eq!(lacks("kind = \"deadlock\"\nharm = \"hang\"", &findings), ["no deadlock"]);
    }

    #[test]
    fn what_nobody_compares_is_refused() {
        assert!(toml::from_str::<Program>("file = \"a.c\"\nlines = 3").is_err());
        assert!(toml::from_str::<Mistake>("kind = \"race\"\nharm = \"none\"\nrung = \"confirmed\"").is_err());
    }

    #[test]
    fn the_file_is_read() {
        let pairs = Pairs::read();
        assert!(pairs.program("mutex_counter.c").silent);
        assert!(pairs.program.iter().all(|program| program.silent == program.finding.is_empty()));
    }
}
