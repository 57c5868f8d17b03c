//! Places in the source, and the source around them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use trace::EventId;

use crate::context::Context;
use crate::place::SourcePlace;
use crate::words::shown;
use findings::{Finding, FindingKind};

/// Lines of source around each that is mentioned.
const AROUND: u32 = 12;
/// A line longer than this is cut.
const LONGEST_LINE: usize = 400;

#[derive(Serialize)]
pub(super) struct LocationData {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Lines of a file.
#[derive(Serialize)]
pub(super) struct Passage {
    first: u32,
    lines: Vec<String>,
}

/// Where an event is.
pub(super) fn place_of(context: &Context<'_>, event: EventId) -> LocationData {
    let place = context.place(event);
    LocationData {
        text: context.words().location(event),
        file: place.map(|place| place.file.to_owned()),
        line: place.map(|place| place.line),
    }
}

/// Where the program fails, if a line of source is known.
pub(super) fn place_of_failure(finding: &Finding) -> Option<LocationData> {
    let location = finding.locations.first().filter(|_| finding.kind == FindingKind::Failure)?;
    let SourcePlace { file, line, .. } = SourcePlace::of(location)?;
    Some(LocationData { text: shown(location), file: Some(file.to_owned()), line: Some(line) })
}

/// The source around all places, as far as it is at hand.
pub(super) fn files<'p>(
    context: &Context<'_>,
    places: impl Iterator<Item = &'p LocationData>,
) -> BTreeMap<String, Vec<Passage>> {
    let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for place in places {
        if let (Some(file), Some(line)) = (&place.file, place.line) {
            wanted.entry(file).or_default().insert(line);
        }
    }
    let passages = wanted.into_iter().filter_map(|(file, lines)| {
        let text = context.source(file)?;
        let all: Vec<&str> = text.lines().collect();
        Some((file.to_owned(), passages(&all, &lines)))
    });
    passages.collect()
}

fn passages(all: &[&str], wanted: &BTreeSet<u32>) -> Vec<Passage> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &line in wanted.iter().filter(|&&line| line as usize <= all.len()) {
        let (first, last) = (line.saturating_sub(AROUND).max(1), (line + AROUND).min(all.len() as u32));
        match ranges.last_mut() {
            Some(range) if range.1 + 1 >= first => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }
    let cut = |line: &&str| line.chars().take(LONGEST_LINE).collect::<String>();
    let passage = |(first, last): (u32, u32)| Passage {
        first,
        lines: all[first as usize - 1..last as usize].iter().map(cut).collect(),
    };
    ranges.into_iter().map(passage).collect()
}
