//! Expectations as they are written beside a trace; corpus/README.md describes them.

use check::{Model, Question, Source};
use serde::Deserialize;
use trace::{EventId, Trace};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    #[serde(rename = "ask")]
    pub(crate) asks: Vec<Ask>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    pub(crate) question: String,
    pub(crate) models: Vec<Model>,
    pub(crate) verdict: Expected,
    pub(crate) guaranteed: Option<bool>,
    pub(crate) split: Option<bool>,
    pub(crate) why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expected {
    Feasible,
    Infeasible,
}

impl Ask {
    /// Refuses what could never fail: no model, no reason, a detail of the other verdict.
    pub(crate) fn validate(&self) -> Result<(), String> {
        match self.verdict {
            _ if self.models.is_empty() => Err("no model is named".to_owned()),
            _ if self.why.trim().is_empty() => Err("it does not say why".to_owned()),
            Expected::Infeasible if self.guaranteed.is_some() => {
                Err("'guaranteed' is said of feasible questions only".to_owned())
            }
            Expected::Feasible if self.split.is_some() => {
                Err("'split' is said of infeasible questions only".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The question in terms of the trace.
    pub(crate) fn question(&self, trace: &Trace) -> Result<Question, String> {
        question(trace, &self.question)
    }
}

pub(crate) fn question(trace: &Trace, text: &str) -> Result<Question, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((&kind, rest)) = words.split_first() else { return Err("an empty question".to_owned()) };
    let question = match (kind, rest) {
        ("race", [a, b]) => Question::Race(event(trace, a)?, event(trace, b)?),
        ("order", [first, rest @ ..]) => {
            let mut events = vec![event(trace, first)?];
            for pair in rest.chunks(2) {
                let ["<", next] = pair else { return Err(format!("expected '< EVENT', found {pair:?}")) };
                events.push(event(trace, next)?);
            }
            Question::Order(events)
        }
        ("deadlock", blocked) => {
            let blocked: Result<_, _> = blocked.iter().map(|word| event(trace, word)).collect();
            Question::Deadlock(blocked?)
        }
        ("reads", [read]) => Question::Reads(event(trace, read)?, None),
        ("reads", [read, "from", "initial"]) => Question::Reads(event(trace, read)?, Some(Source::Initial)),
        ("reads", [read, "from", write]) => {
            Question::Reads(event(trace, read)?, Some(Source::Write(event(trace, write)?)))
        }
        ("cut", counts) => Question::Cut(cut(trace, counts)?),
        _ => return Err(format!("no question: '{text}'")),
    };
    question.validate(trace).map_err(|error| error.to_string())?;
    Ok(question)
}

/// `#id`, or a location that one event alone has.
fn event(trace: &Trace, word: &str) -> Result<EventId, String> {
    if let Some(id) = word.strip_prefix('#') {
        return id.parse().map(EventId).map_err(|_| format!("'{word}' is no event id"));
    }
    let at = |&(event, ..): &(EventId, _, _)| trace.symbols().location(trace.location(event)) == word;
    let mut found = trace.events().filter(at);
    match (found.next(), found.next()) {
        (Some((event, ..)), None) => Ok(event),
        (None, _) => Err(format!("no event is at '{word}'")),
        (Some(_), Some(_)) => Err(format!("several events are at '{word}'")),
    }
}

fn cut(trace: &Trace, counts: &[&str]) -> Result<Vec<u32>, String> {
    let threads = &trace.symbols().threads;
    let mut cut = vec![0; threads.len()];
    for word in counts {
        let (name, count) =
            word.rsplit_once('=').ok_or(format!("expected 'THREAD=COUNT', found '{word}'"))?;
        let thread = (0..threads.len()).find(|&thread| threads.get(thread) == name);
        let thread = thread.ok_or(format!("there is no thread '{name}'"))?;
        cut[thread] = count.parse().map_err(|_| format!("'{count}' is no count"))?;
    }
    Ok(cut)
}
