//! What `decide --json` prints and `check` reads: an answer with everything that is needed to verify
//! it but the trace. The contract is docs/json.md.
//!
//! Reading does not trust its input: ids may be absurd, values of any type, objects nested without
//! end. What is wrong is told with its line and column; [`ids_named`] then finds ids that a trace does not
//! have, with their paths.

use std::collections::BTreeMap;

use check::{End, Model, Question, Reason, Refutation, Source, Split, Step};
use serde::{Deserialize, Deserializer, Serialize};
use trace::{EventId, ThreadId, Trace};

use crate::fingerprint::Fingerprint;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// How deep objects and arrays may be nested. A case within a case takes two levels.
pub const DEEPEST: usize = 4096;

/// An answer and its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The version of this form: [`SCHEMA`].
    pub schema: u32,
    /// The answer.
    pub verdict: VerdictName,
    /// Whether the program can follow the schedule whatever it is.
    pub guaranteed: Option<bool>,
    /// The model the question was asked under.
    pub model: ModelName,
    /// Event ids in order, if feasible.
    pub schedule: Option<Vec<EventId>>,
    /// Why there is no schedule, if infeasible.
    #[serde(default, deserialize_with = "refutation")]
    pub refutation: Option<Refutation>,
    /// What was asked.
    pub question: Asked,
    /// The trace it was asked about.
    pub trace: About,
    /// The steps that were not enough, if unknown.
    pub budget: Option<u64>,
}

/// The trace that evidence is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Where it was; `null` if it came through a pipe.
    pub path: Option<String>,
    /// How many events it has.
    pub events: usize,
    /// The checksum of its [`Fingerprint`].
    pub checksum: String,
}

impl About {
    /// A trace at this path.
    pub fn new(path: Option<String>, fingerprint: Fingerprint) -> Self {
        About { path, events: fingerprint.events, checksum: fingerprint.checksum }
    }
}

/// The answer, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum VerdictName {
    Feasible,
    Infeasible,
    Unknown,
}

/// A model, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of check::Model")]
pub enum ModelName {
    Sync,
    Rf,
    Branch,
}

impl ModelName {
    /// `sync`, `rf` or `branch`.
    pub fn name(self) -> &'static str {
        match self {
            ModelName::Sync => "sync",
            ModelName::Rf => "rf",
            ModelName::Branch => "branch",
        }
    }

    /// The model with this name.
    pub fn named(name: &str) -> Option<ModelName> {
        [ModelName::Sync, ModelName::Rf, ModelName::Branch].into_iter().find(|model| model.name() == name)
    }
}

impl From<ModelName> for Model {
    fn from(name: ModelName) -> Model {
        match name {
            ModelName::Sync => Model::Sync,
            ModelName::Rf => Model::ReadsFrom,
            ModelName::Branch => Model::Branch,
        }
    }
}

/// A question as JSON holds it: threads by name, the initial value as -1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of check::Question")]
pub enum Asked {
    Race(Pair),
    Deadlock(Vec<EventId>),
    Order(Vec<EventId>),
    Reads(ReadAndSource),
    Cut(BTreeMap<String, u32>),
}

/// Two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<EventId>", into = "Vec<EventId>")]
pub struct Pair(pub EventId, pub EventId);

impl From<Pair> for Vec<EventId> {
    fn from(Pair(a, b): Pair) -> Vec<EventId> {
        vec![a, b]
    }
}

impl TryFrom<Vec<EventId>> for Pair {
    type Error = &'static str;

    fn try_from(events: Vec<EventId>) -> Result<Self, Self::Error> {
        match events[..] {
            [a, b] => Ok(Pair(a, b)),
            _ => Err("`race` is a list of two events"),
        }
    }
}

/// A read, and what it is to see if that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct ReadAndSource {
    /// The read.
    pub read: EventId,
    /// `None`: something else than in the trace.
    pub source: Option<Source>,
}

impl From<ReadAndSource> for Vec<i64> {
    fn from(ReadAndSource { read, source }: ReadAndSource) -> Vec<i64> {
        let source = source.map(|source| match source {
            Source::Initial => -1,
            Source::Write(write) => i64::from(write.0),
        });
        [Some(i64::from(read.0)), source].into_iter().flatten().collect()
    }
}

impl TryFrom<Vec<i64>> for ReadAndSource {
    type Error = &'static str;

    fn try_from(numbers: Vec<i64>) -> Result<Self, Self::Error> {
        let expected =
            "`reads` is a list of the read and, if one is asked for, the write (-1: the initial value)";
        let event = |number: i64| u32::try_from(number).map(EventId).map_err(|_| expected);
        match numbers[..] {
            [read] => Ok(ReadAndSource { read: event(read)?, source: None }),
            [read, -1] => Ok(ReadAndSource { read: event(read)?, source: Some(Source::Initial) }),
            [read, write] => {
                Ok(ReadAndSource { read: event(read)?, source: Some(Source::Write(event(write)?)) })
            }
            _ => Err(expected),
        }
    }
}

/// A cut names a thread that the trace does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cut names thread `{0}`, which the trace does not have")]
pub struct NoSuchThread(pub String);

impl Asked {
    /// The question about this trace as JSON holds it.
    pub fn of(trace: &Trace, question: &Question) -> Asked {
        match question {
            Question::Race(a, b) => Asked::Race(Pair(*a, *b)),
            Question::Deadlock(events) => Asked::Deadlock(events.clone()),
            Question::Order(events) => Asked::Order(events.clone()),
            Question::Reads(read, source) => Asked::Reads(ReadAndSource { read: *read, source: *source }),
            Question::Cut(counts) => {
                let named = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
                let thread = |index| trace.symbols().thread(ThreadId::new(index)).to_owned();
                Asked::Cut(named.map(|(index, &count)| (thread(index), count)).collect())
            }
        }
    }

    /// The question it stands for. It may make no sense about the trace: see [`Question::validate`].
    pub fn about(&self, trace: &Trace) -> Result<Question, NoSuchThread> {
        Ok(match self {
            Asked::Race(Pair(a, b)) => Question::Race(*a, *b),
            Asked::Deadlock(events) => Question::Deadlock(events.clone()),
            Asked::Order(events) => Question::Order(events.clone()),
            Asked::Reads(ReadAndSource { read, source }) => Question::Reads(*read, *source),
            Asked::Cut(counts) => {
                let mut by_id = vec![0; trace.symbols().threads.len()];
                for (index, name) in trace.symbols().threads.iter().enumerate() {
                    by_id[index] = counts.get(name).copied().unwrap_or(0);
                }
                let known = |name: &&String| trace.symbols().threads.find(name).is_some();
                if let Some(unknown) = counts.keys().find(|name| !known(name)) {
                    return Err(NoSuchThread(unknown.clone()));
                }
                Question::Cut(by_id)
            }
        })
    }
}

/// Why a text is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum EvidenceError {
    #[error("{message}")]
    Json { line: usize, column: usize, message: String },
    #[error("the JSON is nested more than {DEEPEST} deep")]
    TooDeep,
    #[error("the evidence has schema {0}, but this program knows schema {SCHEMA} only")]
    Schema(u64),
}

impl Evidence {
    /// Reads JSON. Recursive: for what [`DEEPEST`] allows it needs 64 MiB of stack.
    pub fn parse(json: &[u8]) -> Result<Evidence, EvidenceError> {
        if nesting(json) > DEEPEST {
            return Err(EvidenceError::TooDeep);
        }
        let mut input = serde_json::Deserializer::from_slice(json);
        // `nesting` has seen to it.
        input.disable_recursion_limit();
        let evidence = Evidence::deserialize(&mut input)
            .map_err(|error| other_schema(json).unwrap_or_else(|| wrong(&error)))?;
        if evidence.schema != SCHEMA {
            return Err(EvidenceError::Schema(evidence.schema.into()));
        }
        input.end().map_err(|error| EvidenceError::Json {
            line: error.line(),
            column: error.column(),
            message: "something follows after the end of the evidence".to_owned(),
        })?;
        Ok(evidence)
    }
}

/// How deep objects and arrays are nested, strings aside.
fn nesting(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// Another schema may differ anywhere, so what it differs in is not what to tell.
fn other_schema(json: &[u8]) -> Option<EvidenceError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u64,
    }
    let mut input = serde_json::Deserializer::from_slice(json);
    input.disable_recursion_limit();
    let Version { schema } = Version::deserialize(&mut input).ok()?;
    (schema != u64::from(SCHEMA)).then_some(EvidenceError::Schema(schema))
}

fn wrong(error: &serde_json::Error) -> EvidenceError {
    let (line, column) = (error.line(), error.column());
    let whole = error.to_string();
    let bare = whole.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&whole);
    let message = match error.is_eof() {
        true => "the JSON ends in the middle".to_owned(),
        false => bare.replace("u32", "a whole number of 32 bits").replace("u64", "a whole number of 64 bits"),
    };
    EvidenceError::Json { line, column, message }
}

/// The fields of a refutation, of either form. [`Refutation`] can be read as well, but as a choice of forms it
/// cannot say what is wrong, or where.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    steps: Vec<Step>,
    end: Option<End>,
    split: Option<Split>,
    cases: Option<Vec<Formed>>,
}

#[derive(Deserialize)]
#[serde(try_from = "Fields")]
struct Formed(Refutation);

impl TryFrom<Fields> for Formed {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let Fields { steps, end, split, cases } = fields;
        match (end, split, cases) {
            (Some(end), None, None) => Ok(Formed(Refutation::Chain { steps, end })),
            (None, Some(split), Some(cases)) => {
                let cases = cases.into_iter().map(|Formed(case)| case).collect();
                Ok(Formed(Refutation::Split { steps, split, cases }))
            }
            _ => Err("a refutation has either `end`, or `split` and `cases`"),
        }
    }
}

fn refutation<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Refutation>, D::Error> {
    Ok(Option::<Formed>::deserialize(input)?.map(|Formed(refutation)| refutation))
}

/// Every event id in a refutation, with the path to it from the refutation on (`.cases[1].steps[0].before`).
pub fn ids_named(refutation: &Refutation, found: &mut impl FnMut(&dyn Fn() -> String, EventId)) {
    visit(refutation, &[], found);
}

fn visit(refutation: &Refutation, cases: &[usize], found: &mut impl FnMut(&dyn Fn() -> String, EventId)) {
    let prefix = || cases.iter().map(|case| format!(".cases[{case}]")).collect::<String>();
    let steps = match refutation {
        Refutation::Chain { steps, .. } | Refutation::Split { steps, .. } => steps,
    };
    for (index, step) in steps.iter().enumerate() {
        let (x, y) = step.before;
        [x, y].iter().for_each(|&id| found(&|| format!("{}.steps[{index}].before", prefix()), id));
        let (Reason::Exclusion { path } | Reason::BeforeOverwrite { path } | Reason::BeforeSource { path }) =
            &step.because
        else {
            continue;
        };
        path.iter().for_each(|&id| found(&|| format!("{}.steps[{index}].because", prefix()), id));
    }
    match refutation {
        Refutation::Chain { end, .. } => {
            let ids: Vec<EventId> = match end {
                End::Cycle(events) | End::NoPermits(events) => events.clone(),
                End::CannotHappen(event) | End::NotBlocked(event) | End::PermitsLeft(event) => vec![*event],
                End::NeverReleased { held, wanted, path } => [&[*held, *wanted], path.as_slice()].concat(),
            };
            ids.iter().for_each(|&id| found(&|| format!("{}.end", prefix()), id));
        }
        Refutation::Split { split, cases: nested, .. } => {
            let ids = match split {
                Split::Sections(a, b) => vec![*a, *b],
                Split::Overwrite { read, write } => vec![*read, *write],
                Split::Supply { post, take } => vec![*post, *take],
                Split::Happens(event) | Split::Source(event) => vec![*event],
            };
            ids.iter().for_each(|&id| found(&|| format!("{}.split", prefix()), id));
            let mut path = cases.to_vec();
            for (index, case) in nested.iter().enumerate() {
                path.push(index);
                visit(case, &path, found);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_no_nesting() {
        assert_eq!(nesting(br#"{"a":[1,{"b":"[[[\"[\\"}],"c":[[]]}"#), 3);
        assert_eq!(nesting(b"]]]"), 0);
        assert_eq!(nesting(br#""never ends \"#), 0);
        assert_eq!(nesting(&[b'['; 5000]), 5000);
    }
}
