//! How and where a trace was recorded: what replay and symbol lookup need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ending::Ending;

/// Facts about the recorded run. All are optional: a trace from elsewhere has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The command that was run, with its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The working directory of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// The modules that were mapped, for symbol lookup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// The recorder's settings by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The environment of the run as `NAME=VALUE`; left out of text traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// The file that was its standard input, if it was one that can be read again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// Where in the source calls are that give up by themselves, tries and waits with a time limit: no thread is blocked
    /// there for ever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<String>,
    /// How the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Why the trace does not have all of the run; empty if it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub incomplete: String,
    /// The program's own file, to tell whether it has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<Binary>,
}

impl Metadata {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Metadata::default()
    }
}

/// A file mapped into the recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// First address it was mapped at.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Offset of `start` in the file.
    pub offset: u64,
    /// Its build id in hexadecimal, empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build_id: String,
}

/// A program's file as it was when it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Binary {
    /// Its path.
    pub path: String,
    /// Its build id in hexadecimal, empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// A checksum of its content, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
}
