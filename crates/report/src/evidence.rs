//! What `decide --json` prints and `check` reads: an answer with everything that is needed to verify
//! it but the trace. The contract is docs/json.md.
//!
//! Reading does not trust its input: ids may be absurd, values of any type, objects nested without
//! end. An error says what is wrong at which line and column. Whether the trace has the events that a refutation names
//! ([`events_named`]) is for callers that have the trace.

use check::{End, Model, Reason, Refutation, Split, Step, WrittenQuestion};
use serde::{Deserialize, Serialize};
use trace::EventId;

use crate::fingerprint::Fingerprint;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// An answer and its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The version of this form: [`SCHEMA`].
    pub schema: u32,
    /// The answer.
    pub verdict: ClaimedVerdict,
    /// Whether the program can follow the schedule whatever it is.
    pub guaranteed: Option<bool>,
    /// The model the question was asked under.
    pub model: Model,
    /// Event ids in order, if feasible.
    pub schedule: Option<Vec<EventId>>,
    /// Why there is no schedule, if infeasible.
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

/// The verdict that evidence claims. Evidence is not trusted: it may claim one verdict and hold the schedule or
/// the refutation of another, or none. So this is not an enum with the evidence inside, as verified answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ClaimedVerdict {
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
    #[error("the evidence has schema {0}, but this program knows schema {SCHEMA} only")]
    Schema(u64),
}

impl Evidence {
    /// Reads JSON.
    pub fn parse(json: &[u8]) -> Result<Evidence, EvidenceError> {
        let mut input = serde_json::Deserializer::from_slice(json);
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

/// Another schema may differ anywhere, so what it differs in is not what to tell.
fn other_schema(json: &[u8]) -> Option<EvidenceError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u64,
    }
    let Version { schema } = Version::deserialize(&mut serde_json::Deserializer::from_slice(json)).ok()?;
    (schema != u64::from(SCHEMA)).then_some(EvidenceError::Schema(schema))
}

fn wrong(error: &serde_json::Error) -> EvidenceError {
    let (line, column) = (error.line(), error.column());
    let whole = error.to_string();
    let bare = whole.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&whole);
    let message = match error.is_eof() {
        true => "the JSON ends in the middle".to_owned(),
        false if bare == "recursion limit exceeded" => {
            "the JSON is nested too deeply for evidence".to_owned()
        }
        false => bare.replace("u32", "a whole number of 32 bits").replace("u64", "a whole number of 64 bits"),
    };
    EvidenceError::Json { line, column, message }
}

/// The events that a step of a refutation names, each with the field it is named in: `before`, `because`, `split` or `end`.
pub fn events_named(step: &Step) -> Vec<(&'static str, EventId)> {
    let (field, events): (&'static str, Vec<EventId>) = match step {
        Step::Order { before: (x, y), because } => {
            let path: &[EventId] = match because {
                Reason::Exclusion { path }
                | Reason::BeforeOverwrite { path }
                | Reason::BeforeSource { path } => path,
                _ => &[],
            };
            let ends = [("before", *x), ("before", *y)];
            return ends.into_iter().chain(path.iter().map(|&event| ("because", event))).collect();
        }
        Step::Split { split } => match *split {
            Split::Sections(a, b) => ("split", vec![a, b]),
            Split::Overwrite { read, write } => ("split", vec![read, write]),
            Split::Supply { post, take } => ("split", vec![post, take]),
            Split::Happens(event) | Split::Source(event) => ("split", vec![event]),
        },
        Step::Case { .. } => return Vec::new(),
        Step::End { end } => match end {
            End::EveryCase => return Vec::new(),
            End::Cycle(events) | End::NoPermits(events) => ("end", events.clone()),
            End::CannotHappen(event) | End::NotBlocked(event) | End::PermitsLeft(event) => {
                ("end", vec![*event])
            }
            End::NeverReleased { held, wanted, path } => {
                ("end", [&[*held, *wanted], path.as_slice()].concat())
            }
        },
    };
    events.into_iter().map(|event| (field, event)).collect()
}
