//! What `decide --json` prints and `check` reads: an answer with everything that is needed to verify
//! it but the trace. The contract is docs/json.md.
//!
//! Reading does not trust its input: ids may be absurd, values of any type, objects nested without
//! end. What is wrong is told with its line and column; [`ids_named`] then finds ids that a trace does not
//! have, with their paths.

use check::{End, Model, Reason, Refutation, Split, Step, WrittenQuestion};
use serde::{Deserialize, Deserializer, Serialize};
use trace::EventId;

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
    pub model: Model,
    /// Event ids in order, if feasible.
    pub schedule: Option<Vec<EventId>>,
    /// Why there is no schedule, if infeasible.
    #[serde(default, deserialize_with = "refutation")]
    pub refutation: Option<Refutation>,
    /// What was asked.
    pub question: WrittenQuestion,
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
