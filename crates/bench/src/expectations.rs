//! What a program of the corpus is expected to show: the lines at its head, as corpus/scenarios/README.md spells them.
//! Also read by the tests of `foretell`.

/// All that the head of a program says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expectations {
    /// To be foretold.
    pub(crate) expected: Vec<Bug>,
    /// Feasible under `sync` only.
    pub(crate) possible: Vec<Bug>,
    /// Atomicity violations may be reported as well.
    pub(crate) atomicity_allowed: bool,
    /// What the program does when the bug happens.
    pub(crate) failure: Option<Failure>,
}

/// A bug, by its kind and the lines of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The first of these kinds: `race`, `deadlock`, `atomicity`, `order` or `nondeterminism`; and line numbers from 1, none for the
    /// initial value.
    Events(String, Vec<Option<usize>>),
    /// A condition over states.
    Predicate(String),
}

/// What a program does when its bug happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Exit(i32),
    Abort,
    Hang,
}

impl Expectations {
    /// Reads the head of a program.
    pub(crate) fn of(source: &str) -> Result<Expectations, String> {
        let mut all = Expectations::default();
        for line in source.lines() {
            let Some((word, rest)) = line.strip_prefix("// ").and_then(|line| line.split_once(": ")) else {
                break;
            };
            match (word, rest) {
                ("expect", "none") => {}
                ("expect", bug) => all.expected.push(bug_of(bug, source)?),
                ("possible", bug) => all.possible.push(bug_of(bug, source)?),
                ("allow", "atomicity") => all.atomicity_allowed = true,
                ("fails", "abort") => all.failure = Some(Failure::Abort),
                ("fails", "hang") => all.failure = Some(Failure::Hang),
                ("fails", text) => {
                    let status = text.strip_prefix("exit ").and_then(|status| status.parse().ok());
                    all.failure = Some(Failure::Exit(status.ok_or(format!("`{text}` is no failure"))?));
                }
                _ => break,
            }
        }
        Ok(all)
    }
}

fn bug_of(text: &str, source: &str) -> Result<Bug, String> {
    let (head, events) = text.split_once('@').ok_or(format!("`{text}` has no `@`"))?;
    let kind = head.split_whitespace().next().unwrap_or_default();
    if kind == "predicate" {
        return Ok(Bug::Predicate(events.trim().to_owned()));
    }
    let mut lines = Vec::new();
    let mut rest = events.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("initial") {
            lines.push(None);
            rest = after;
        } else {
            let (fragment, after) = quoted(rest).ok_or(format!("`{rest}` is no fragment"))?;
            lines.push(Some(line_with(&fragment, source)?));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', '~', '<', '>', '-']);
    }
    Ok(Bug::Events(kind.to_owned(), lines))
}

/// The text in quotes at the start, and what comes after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut fragment = String::new();
    let mut characters = text.strip_prefix('"')?.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((fragment, &text[at + 2..])),
            '\\' => fragment.push(characters.next()?.1),
            other => fragment.push(other),
        }
    }
    None
}

/// The number of the one line with this fragment, directives not counted.
fn line_with(fragment: &str, source: &str) -> Result<usize, String> {
    let directive = |line: &str| {
        ["expect", "possible", "allow", "fails"].iter().any(|word| line.starts_with(&format!("// {word}: ")))
    };
    let lines = source.lines().enumerate().filter(|(_, line)| !directive(line) && line.contains(fragment));
    match lines.map(|(index, _)| index + 1).collect::<Vec<_>>()[..] {
        [line] => Ok(line),
        ref lines => Err(format!("`{fragment}` is on {} lines", lines.len())),
    }
}

impl Expectations {
    /// Whether a finding is expected, or one that the program may have besides.
    pub(crate) fn allow(&self, kind: &str, locations: &[String]) -> bool {
        let atomicity = self.atomicity_allowed || !self.expected.is_empty();
        let allowed = kind == "nondeterminism" || (kind == "atomicity" && atomicity);
        allowed || self.expected.iter().any(|bug| bug.is(kind, locations))
    }
}

impl Bug {
    /// The options of `foretell` under which it is looked for in a trace of the program `file`; a condition is in the file `rules`.
    pub(crate) fn options(&self, file: &str, rules: &str, replaying: bool) -> Vec<String> {
        match self {
            Bug::Predicate(_) => vec!["--rules".to_owned(), rules.to_owned()],
            Bug::Events(kind, lines) if kind == "order" => {
                let place = |line: Option<usize>| format!("{file}:{}", line.unwrap_or(0));
                let option = if replaying { "--forbidden-order" } else { "--order" };
                vec![option.to_owned(), format!("{} < {}", place(lines[0]), place(lines[1]))]
            }
            Bug::Events(..) => Vec::new(),
        }
    }

    /// Whether a finding of this kind at these locations (`file:line`, or `initial`) is this bug.
    pub(crate) fn is(&self, kind: &str, locations: &[String]) -> bool {
        let Bug::Events(own, lines) = self else { return kind == "predicate" };
        let found: Vec<Option<usize>> = locations
            .iter()
            .map(|location| location.rsplit(':').next().and_then(|line| line.parse().ok()))
            .collect();
        if own != kind {
            return false;
        }
        let rotated = |by: usize| [&found[by..], &found[..by]].concat();
        match kind {
            "race" => found == *lines || found.iter().rev().copied().eq(lines.iter().copied()),
            // A lost wake-up is identified by the wait alone.
            "deadlock" if lines.len() == 1 => found.contains(&lines[0]),
            "deadlock" => (0..found.len()).any(|by| rotated(by) == *lines),
            _ => found == *lines,
        }
    }
}
