//! What the user states about a program, in a file: orders that must not be, and conditions over global states. docs/rules.md
//! describes it.
//!
//! ```toml
//! [[order]]
//! name = "the log is closed too early"   # optional
//! rule = "close.c:12 < write.c:40"
//!
//! [[order]]                               # the same, spelled out
//! before = "close.c:12"
//! after = "write.c:40"
//!
//! [[predicate]]
//! name = "both inside"
//! possibly = "holds(T1, m) && holds(T2, n)"
//! ```

use std::ops::Range;
use std::path::Path;

use candidates::orders::{Rule, RuleError};
use serde::Deserialize;
use states::Predicate;
use toml::Spanned;
use trace::Trace;

use crate::error::{Error, ErrorKind, Excerpt, SourcePosition};
use crate::observer::Observer;

/// A file of rules, as it is written.
#[derive(Clone, Debug)]
pub struct RulesFile {
    name: String,
    text: String,
    rules: Rules,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default)]
    order: Vec<Spanned<OrderRule>>,
    #[serde(default)]
    predicate: Vec<Spanned<PredicateRule>>,
}

/// An order that must not be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderRule {
    name: Option<String>,
    rule: Option<Spanned<String>>,
    before: Option<Spanned<String>>,
    after: Option<Spanned<String>>,
}

/// A condition over global states, as `foretell states` takes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PredicateRule {
    name: Option<String>,
    possibly: Option<Spanned<String>>,
    definitely: Option<Spanned<String>>,
}

/// A condition over global states that the user states.
#[derive(Clone, Debug)]
pub struct NamedPredicate {
    /// What it is called: its name, or as it is written.
    pub name: String,
    /// What would be wrong.
    pub wrong: Wrong,
    /// The condition.
    pub predicate: Predicate,
}

/// What would be wrong about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// That some state has it: `possibly`.
    Reached,
    /// That some run has no state with it: `definitely`.
    Avoided,
}

type Located = (Result<Rule, RuleError>, Range<usize>);

impl RulesFile {
    /// Reads a file of rules.
    pub fn open(file: &Path) -> Result<RulesFile, Error> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| Error::io("read", &name, error))?;
        RulesFile::parse(name, text)
    }

    /// The rules in a text that is called this.
    pub fn parse(name: String, text: String) -> Result<RulesFile, Error> {
        match toml::from_str(&text) {
            Ok(rules) => Ok(RulesFile { name, text, rules }),
            Err(error) => {
                let place = place(&name, &text, error.span().unwrap_or(0..0));
                Err(mistake(error.message(), place).help("docs/rules.md describes the format"))
            }
        }
    }

    /// The orders, about this trace. The file may be for many runs: a place that this one did not come to is worth a warning only.
    pub fn orders(&self, trace: &Trace, observer: &mut dyn Observer) -> Result<Vec<Rule>, Error> {
        let mut rules = Vec::new();
        for order in &self.rules.order {
            let (rule, span) = self.order(trace, order)?;
            let wrong = |error: &RuleError| mistake(&error.to_string(), self.place(span));
            match rule {
                Ok(rule) => rules.push(rule),
                Err(error @ RuleError::NoSuchPlace(_)) => observer.warning(wrong(&error)),
                Err(error) => return Err(wrong(&error)),
            }
        }
        Ok(rules)
    }

    /// The conditions over global states, about this trace.
    pub fn predicates(&self, trace: &Trace) -> Result<Vec<NamedPredicate>, Error> {
        self.rules.predicate.iter().map(|rule| self.predicate(trace, rule)).collect()
    }

    fn predicate(&self, trace: &Trace, rule: &Spanned<PredicateRule>) -> Result<NamedPredicate, Error> {
        let PredicateRule { name, possibly, definitely } = rule.get_ref();
        let (text, wrong) = match (possibly, definitely) {
            (Some(text), None) => (text, Wrong::Reached),
            (None, Some(text)) => (text, Wrong::Avoided),
            _ => {
                let title = "a predicate has either `possibly` or `definitely`";
                return Err(mistake(title, self.place(rule.span())));
            }
        };
        let predicate = Predicate::parse(text.get_ref(), trace).map_err(|error| {
            mistake(&error.message, self.place(self.within(text, error.span))).help_if(error.help)
        })?;
        let name = name.clone().unwrap_or_else(|| text.get_ref().clone());
        Ok(NamedPredicate { name, wrong, predicate })
    }

    /// Where a part of a text is in the file: the whole text, if it is spelled with escapes.
    fn within(&self, text: &Spanned<String>, part: Range<usize>) -> Range<usize> {
        let (span, value) = (text.span(), text.get_ref());
        match self.text[span.clone()].find(value.as_str()) {
            Some(quotes) => {
                let start = span.start + quotes;
                // The end of the text has no character of its own: its closing quote is pointed at.
                start + part.start..start + part.end.max(part.start + 1)
            }
            None => span,
        }
    }

    /// An order, or what is wrong about it, and where in the file it is.
    fn order(&self, trace: &Trace, order: &Spanned<OrderRule>) -> Result<Located, Error> {
        let OrderRule { name, rule, before, after } = order.get_ref();
        let (read, span) = match (rule, before, after) {
            (Some(rule), None, None) => (Rule::parse(trace, rule.get_ref()), rule.span()),
            (None, Some(before), Some(after)) => {
                let (first, second) = (before.get_ref(), after.get_ref());
                let spelled = format!("{first} < {second}");
                (Rule::between(trace, first, second, &spelled), before.span().start..after.span().end)
            }
            _ => {
                let title = "an order is either a `rule = \"A < B\"` or has both `before` and `after`";
                return Err(mistake(title, self.place(order.span())));
            }
        };
        let named = |rule: Rule| Rule { name: name.clone().unwrap_or(rule.name), ..rule };
        Ok((read.map(named), span))
    }

    fn place(&self, span: Range<usize>) -> SourcePosition {
        place(&self.name, &self.text, span)
    }
}

fn mistake(what: &str, place: SourcePosition) -> Error {
    Error::from(ErrorKind::Rule(what.to_owned())).at(place)
}

/// The line that a span begins in.
fn place(name: &str, text: &str, span: Range<usize>) -> SourcePosition {
    let start = report::character_start(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let within = start - line_start..span.end.saturating_sub(line_start).min(line.len());
    SourcePosition {
        file: name.to_owned(),
        line: Some(text[..start].matches('\n').count() + 1),
        excerpt: Some(Excerpt { text: line.to_owned(), span: within, label: String::new() }),
    }
}
