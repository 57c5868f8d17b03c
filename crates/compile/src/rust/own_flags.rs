//! The user's own flags for rustc and rustdoc. Cargo uses only one source of flags, so ours are added to these
//! and passed on together.
//!
//! The order is cargo's: the environment, then the configuration for the target, then that for any build.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::process::Command;

use serde_json::Value;

/// Whose flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagsOf {
    Rustc,
    Rustdoc,
}

impl FlagsOf {
    /// The variable that has them, separated by spaces.
    const fn variable(self) -> &'static str {
        match self {
            FlagsOf::Rustc => "RUSTFLAGS",
            FlagsOf::Rustdoc => "RUSTDOCFLAGS",
        }
    }

    /// The variable that has them in a form of its own, and wins.
    pub(super) const fn encoded(self) -> &'static str {
        match self {
            FlagsOf::Rustc => "CARGO_ENCODED_RUSTFLAGS",
            FlagsOf::Rustdoc => "CARGO_ENCODED_RUSTDOCFLAGS",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            FlagsOf::Rustc => "rustflags",
            FlagsOf::Rustdoc => "rustdocflags",
        }
    }
}

/// What decides which flags are the user's, apart from the environment.
#[derive(Debug)]
pub(super) struct Configuration {
    values: Value,
    facts: HashSet<String>,
    target: &'static str,
}

impl Configuration {
    /// Asks cargo and rustc. A cargo that does not know the question has no answer that counts.
    pub(super) fn ask(mut cargo: Command, mut rustc: Command, target: &'static str) -> Configuration {
        let said = |command: &mut Command| {
            let output = command.output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
        };
        let values = said(cargo.args(["-Zunstable-options", "config", "get", "--format", "json"]));
        let facts = said(rustc.args(["--print", "cfg", "--target", target]));
        Configuration {
            values: serde_json::from_str(&values).unwrap_or_default(),
            facts: facts.lines().map(str::to_owned).collect(),
            target,
        }
    }

    /// The flags the user has set.
    pub(super) fn flags(&self, whose: FlagsOf) -> Vec<String> {
        let set = |variable: &str| env::var(variable).ok();
        if let Some(encoded) = set(whose.encoded()) {
            return split(&encoded, |letter| letter == '\x1f');
        }
        if let Some(flags) = set(whose.variable()) {
            return split(&flags, char::is_whitespace);
        }
        let named = |section: &str| {
            let section = section.to_uppercase().replace('-', "_");
            split(
                &set(&format!("CARGO_{section}_{}", whose.variable())).unwrap_or_default(),
                char::is_whitespace,
            )
        };
        let mut flags = self.of_target(whose);
        flags.extend(named(&format!("target-{}", self.target)));
        if flags.is_empty() {
            flags = words(&self.values["build"][whose.key()]);
            flags.extend(named("build"));
        }
        flags
    }

    /// The linker the user has set, by a flag or for the target.
    pub(super) fn linker(&self) -> Option<String> {
        let flags = self.flags(FlagsOf::Rustc);
        let mut words = flags.iter().map(String::as_str);
        let mut flag = None;
        while let Some(word) = words.next() {
            let setting = if word == "-C" { words.next() } else { word.strip_prefix("-C") };
            flag = setting.and_then(|setting| setting.strip_prefix("linker=")).or(flag);
        }
        let variable = format!("CARGO_TARGET_{}_LINKER", self.target.to_uppercase().replace('-', "_"));
        let of_target = || self.values["target"][self.target]["linker"].as_str().map(str::to_owned);
        flag.map(str::to_owned).or_else(|| env::var(variable).ok()).or_else(of_target)
    }

    fn of_target(&self, whose: FlagsOf) -> Vec<String> {
        let sections = self.values["target"].as_object();
        let fits = |name: &str| name == self.target || holds(name, &self.facts);
        let fitting = sections.into_iter().flatten().filter(|(name, _)| fits(name));
        fitting.flat_map(|(_, section)| words(&section[whose.key()])).collect()
    }
}

/// The options among cargo's arguments that change its configuration.
pub(super) fn configuring(arguments: &[OsString]) -> Vec<OsString> {
    let mut found = Vec::new();
    let mut rest = arguments.iter().take_while(|word| *word != "--");
    while let Some(word) = rest.next() {
        if word == "--config" {
            found.push(word.clone());
            found.extend(rest.next().cloned());
        } else if word.as_encoded_bytes().starts_with(b"--config=") {
            found.push(word.clone());
        }
    }
    found
}

fn split(flags: &str, at: impl Fn(char) -> bool) -> Vec<String> {
    flags.split(at).filter(|flag| !flag.is_empty()).map(str::to_owned).collect()
}

/// Flags in the configuration are a list, or a text with spaces.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => split(text, char::is_whitespace),
        Value::Array(list) => list.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    }
}

/// Whether `cfg(..)` holds for a target with these facts, as rustc prints them.
fn holds(condition: &str, facts: &HashSet<String>) -> bool {
    let condition = condition.trim();
    let inside = |name: &str| condition.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')');
    if let Some(inner) = inside("cfg") {
        holds(inner, facts)
    } else if let Some(inner) = inside("all") {
        parts(inner).into_iter().all(|part| holds(part, facts))
    } else if let Some(inner) = inside("any") {
        parts(inner).into_iter().any(|part| holds(part, facts))
    } else if let Some(inner) = inside("not") {
        !holds(inner, facts)
    } else {
        let fact = condition.split('=').map(str::trim).collect::<Vec<_>>().join("=");
        fact == "true" || facts.contains(&fact)
    }
}

/// What commas separate, apart from those in parentheses.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(values: &str) -> Configuration {
        Configuration {
            values: serde_json::from_str(values).unwrap(),
            facts: ["unix", "target_os=\"linux\""].map(str::to_owned).into(),
            target: "x86_64-unknown-linux-gnu",
        }
    }

    #[test]
    fn what_a_target_has_comes_before_what_all_builds_have() {
        let build = r#"{"build": {"rustflags": ["-a", "b c"]}}"#;
        assert_eq!(configured(build).flags(FlagsOf::Rustdoc), [""; 0]);
        let both = r#"{"build": {"rustdocflags": "-a"},
            "target": {"x86_64-unknown-linux-gnu": {"rustdocflags": "-b  -c"},
                       "cfg(windows)": {"rustdocflags": "-d"},
                       "cfg(all(unix, not(target_os = \"macos\")))": {"rustdocflags": ["-e"]}}}"#;
        let mut flags = configured(both).flags(FlagsOf::Rustdoc);
        flags.sort();
        assert_eq!(flags, ["-b", "-c", "-e"]);
        let build =
            r#"{"build": {"rustdocflags": ["-a", "b c"]}, "target": {"other": {"rustdocflags": "-x"}}}"#;
        assert_eq!(configured(build).flags(FlagsOf::Rustdoc), ["-a", "b c"]);
        assert_eq!(configured("null").flags(FlagsOf::Rustdoc), [""; 0]);
    }

    #[test]
    fn the_linker_of_the_target_is_the_users() {
        let set = r#"{"target": {"x86_64-unknown-linux-gnu": {"linker": "clang"}}}"#;
        assert_eq!(configured(set).linker().as_deref(), Some("clang"));
        let flag = r#"{"build": {"rustflags": ["-Ca=b", "-C", "linker=gcc-12"]}}"#;
        assert_eq!(configured(flag).linker().as_deref(), Some("gcc-12"));
        assert_eq!(configured("{}").linker(), None);
    }

    #[test]
    fn conditions_are_cargos() {
        let facts = configured("{}").facts;
        for (condition, expected) in [
            ("cfg(unix)", true),
            ("cfg(target_os=\"linux\")", true),
            ("cfg(any(windows, all(unix, not(windows))))", true),
            ("cfg(all())", true),
            ("cfg(any())", false),
            ("cfg(not(unix))", false),
            ("cfg((", false),
            ("aarch64-unknown-linux-gnu", false),
        ] {
            assert_eq!(holds(condition, &facts), expected, "{condition}");
        }
    }

    #[test]
    fn options_that_configure_are_found_before_the_programs_arguments() {
        let arguments = ["run", "--config", "a=1", "--config=b=2", "--", "--config", "c"].map(OsString::from);
        assert_eq!(configuring(&arguments), ["--config", "a=1", "--config=b=2"]);
    }
}
