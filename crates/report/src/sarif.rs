//! Findings as SARIF 2.1.0, for code scanning.
//!
//! Each finding is a result whose code flow has one thread flow a thread; steps of different threads are ordered by
//! `executionOrder`, and events that are next at the same moment have the same. Fingerprints do not depend on ids of
//! events, so a finding keeps its identity from run to run. What GitHub would refuse or cut off is left out, with a word.

mod rules;
mod shape;

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use trace::{EventId, Op, ThreadId};

use crate::context::{Context, Contexts};
use crate::figures::{counted, number};
use crate::fixes::{Edit, edits, fix_in_words, orders_in_words};
use crate::outcome::{ThreadAtEnd, effect, statement, threads_at_end};
use crate::place::SourcePlace;
use crate::plain_json::spelled_out;
use crate::terminal::title;
use crate::words::shown;
use findings::{Comparison, Finding, FindingKind, Harm, Predictions, Rung};
use shape::*;

/// Results that GitHub takes in one run.
const MOST_RESULTS: usize = 25_000;
/// Steps of one code flow that GitHub shows.
const MOST_STEPS: usize = 1_000;
/// Steps in the whole file: uploads are limited, and a schedule may be as long as its trace.
const MOST_STEPS_IN_ALL: usize = 100_000;
/// The number of steps that each code flow has in any case.
const FEWEST_STEPS: usize = 20;

/// The whole file, indented.
pub fn sarif(contexts: &Contexts<'_>, predictions: &Predictions) -> String {
    let mut left = MOST_STEPS_IN_ALL;
    let findings = &predictions.findings[..predictions.findings.len().min(MOST_RESULTS)];
    let baseline = predictions.baseline.as_ref();
    let writer = |finding| Writer { context: contexts.of(finding), finding, baseline };
    let results = findings.iter().map(|finding| writer(finding).result(&mut left)).collect();
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "foretell",
                    version: env!("CARGO_PKG_VERSION"),
                    information_uri: env!("CARGO_PKG_REPOSITORY"),
                    rules: rules::all(),
                },
            },
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: notifications(predictions),
            }],
            results,
            column_kind: "unicodeCodePoints",
        }],
    };
    // Strings, numbers and lists only: nothing here can fail.
    spelled_out(&serde_json::to_string_pretty(&log).unwrap_or_default()) + "\n"
}

/// What is missing from the file.
fn notifications(predictions: &Predictions) -> Vec<Notification> {
    let mut notes = Vec::new();
    let all = predictions.findings.len();
    if all > MOST_RESULTS {
        notes.push(format!(
            "Only the first {} of {} findings are included: code scanning accepts no more.",
            number(MOST_RESULTS as u64),
            number(all as u64)
        ));
    }
    if predictions.unknown > 0 {
        let open = counted(predictions.unknown, "question");
        notes.push(format!("{open} left open because the budget ran out."));
    }
    let notification = |text| Notification { level: "warning", message: Message { text } };
    notes.into_iter().map(notification).collect()
}

struct Writer<'c> {
    context: &'c Context<'c>,
    finding: &'c Finding,
    baseline: Option<&'c Comparison>,
}

impl Writer<'_> {
    fn result(&self, left: &mut usize) -> Result {
        let finding = self.finding;
        let (rule_index, rule_id) = rules::of(finding.kind);
        let mut places: Vec<Location> = match (finding.kind, finding.locations.first()) {
            (FindingKind::Misuse, Some(at)) => {
                finding.named_events().map(|event| self.call(at, event)).collect()
            }
            _ => finding.named_events().map(|event| self.place(event)).collect(),
        };
        for (index, place) in places.iter_mut().enumerate() {
            place.id = Some(index + 1);
        }
        let mut locations = places.first().cloned().map(|place| Location { id: None, ..place });
        // The last event of a run that failed may be in a library.
        let failed_at = finding.locations.first().filter(|at| SourcePlace::of(at).is_some());
        if let (FindingKind::Failure, Some(at)) = (finding.kind, failed_at) {
            locations = Some(self.location(at, Some(title(finding))));
        }
        Result {
            rule_id,
            rule_index,
            level: level(finding),
            baseline_state: self.baseline.map(|baseline| match baseline.knows(finding) {
                true => "unchanged",
                false => "new",
            }),
            message: Message { text: self.message() },
            locations: locations.into_iter().collect(),
            related_locations: places.into_iter().chain(self.further_places()).collect(),
            partial_fingerprints: self.fingerprints(),
            code_flows: self.code_flow(left).into_iter().collect(),
            stacks: self.stacks(),
            fixes: self.fix().into_iter().collect(),
            properties: ResultProperties {
                id: finding.id.clone(),
                rung: finding.rung.name(),
                guaranteed: finding.guaranteed,
                count: finding.count,
                object: finding.object.clone(),
                harm: finding.harm.map(Harm::name),
            },
        }
    }

    /// The edits of a verified fix, if they are known.
    fn fix(&self) -> Option<Fix> {
        let text = fix_in_words(self.finding).or_else(|| orders_in_words(self.finding))?;
        let mut artifact_changes: Vec<(String, Vec<Replacement>)> = Vec::new();
        for Edit { file, line, columns, text } in edits(self.context, self.finding) {
            let (start_column, end_column) = columns;
            let deleted_region = DeletedRegion { start_line: line, start_column, end_column };
            let replacement = Replacement { deleted_region, inserted_content: Message { text } };
            match artifact_changes.iter_mut().find(|(known, _)| *known == file) {
                Some((_, replacements)) => replacements.push(replacement),
                None => artifact_changes.push((file, vec![replacement])),
            }
        }
        let change = |(file, replacements): (String, Vec<Replacement>)| ArtifactChange {
            artifact_location: artifact(&file),
            replacements,
        };
        let artifact_changes: Vec<ArtifactChange> = artifact_changes.into_iter().map(change).collect();
        (!artifact_changes.is_empty()).then_some(Fix { description: Message { text }, artifact_changes })
    }

    /// Where else the same cause shows.
    fn further_places(&self) -> Vec<Location> {
        let finding = self.finding;
        let mut further: Vec<Location> = Vec::new();
        for places in &finding.more {
            for location in &places.locations {
                let is_known = finding.locations.contains(location);
                let message = format!("{}: the same cause shows here", shown(&places.object));
                let place = self.location(location, Some(message));
                if !is_known && !further.iter().any(|known| known.is_at(&place)) {
                    further.push(place);
                }
            }
        }
        let first = finding.named_events().count() + 1;
        further.iter_mut().zip(first..).for_each(|(place, id)| place.id = Some(id));
        further
    }

    /// What it is, with a link to each place.
    fn message(&self) -> String {
        let words = self.context.words();
        let each = self.finding.named_events().enumerate().map(|(index, event)| {
            let what = match self.finding.kind {
                FindingKind::Misuse => statement(self.finding, String::new),
                _ => format!("{}'s {}", words.thread_of(event), words.operation(event)),
            };
            format!("[{}]({})", escaped(&what), index + 1)
        });
        let each: Vec<String> = each.collect();
        let how = match self.finding.kind {
            FindingKind::Race => each.join(" can happen at the same time as "),
            FindingKind::Deadlock if self.finding.failure.is_some() => statement(self.finding, String::new),
            FindingKind::Deadlock => format!("{} can block each other forever", each.join(", ")),
            FindingKind::Atomicity | FindingKind::Order => {
                format!("this order can happen: {}", each.join(", then "))
            }
            FindingKind::Nondeterminism => match each.len() {
                1 => format!("{} can see the initial value", each.join("")),
                _ => each.join(" can see "),
            },
            FindingKind::Predicate | FindingKind::Misuse => each.join(", "),
            FindingKind::Failure => statement(self.finding, String::new),
        };
        let title = title(self.finding);
        let title = title[..1].to_uppercase() + &title[1..];
        let effect = effect(self.finding).map(|effect| format!("; {effect}")).unwrap_or_default();
        let fix = fix_in_words(self.finding).or_else(|| orders_in_words(self.finding));
        let fix = fix.map(|fix| format!(" {}", escaped(&fix))).unwrap_or_default();
        format!("{}, {}: {how}{effect}.{fix}", escaped(&title), self.finding.rung.name())
    }

    fn location(&self, location: &str, message: Option<String>) -> Location {
        let physical = SourcePlace::of(location).map(|place| PhysicalLocation {
            artifact_location: artifact(place.file),
            region: Region { start_line: place.line, start_column: place.column },
        });
        let logical = match physical {
            Some(_) => Vec::new(),
            None => vec![LogicalLocation { fully_qualified_name: location.to_owned() }],
        };
        let message = message.map(|text| TextOnly { text });
        Location { id: None, physical_location: physical, logical_locations: logical, message }
    }

    fn at(&self, event: EventId, message: String) -> Location {
        let trace = self.context.trace;
        self.location(trace.symbols().location(trace.location(event)), Some(message))
    }

    fn is_shown(&self, event: EventId) -> bool {
        self.context.shown_events(self.finding).contains(&event)
    }

    /// The call that a misuse is.
    fn call(&self, location: &str, event: EventId) -> Location {
        self.location(location, Some(self.context.misuse_in_words(self.finding, event)))
    }

    fn place(&self, event: EventId) -> Location {
        let words = self.context.words();
        let held = self.context.held_in_words(event);
        self.at(event, format!("{}: {}, {held}", words.thread_of(event), words.operation(event)))
    }

    /// The schedule, and the events that are next at its end, thread by thread.
    fn code_flow(&self, left: &mut usize) -> Option<CodeFlow> {
        let schedule = &self.finding.schedule;
        let next: Vec<EventId> =
            self.finding.named_events().filter(|event| !schedule.contains(event)).collect();
        let most = MOST_STEPS.min((*left).max(FEWEST_STEPS)).saturating_sub(next.len());
        let skipped = schedule.len().saturating_sub(most);
        let mut threads: Vec<(ThreadId, Vec<ThreadFlowLocation>)> = Vec::new();
        let steps = schedule.iter().copied().enumerate().skip(skipped);
        let last = schedule.len();
        for (index, event) in steps.chain(next.iter().map(|&event| (last, event))) {
            let thread = self.context.trace.thread(event);
            let at = threads.iter().position(|(known, _)| *known == thread);
            let at = at.unwrap_or_else(|| {
                threads.push((thread, Vec::new()));
                threads.len() - 1
            });
            threads[at].1.push(self.step(event, index + 1));
        }
        if let (FindingKind::Misuse, Some(at), Some((_, steps))) =
            (self.finding.kind, self.finding.locations.first(), threads.last_mut())
            && let Some(event) = self.finding.named_events().find(|&event| !self.is_shown(event))
        {
            let location = self.call(at, event);
            let execution_order = last + next.len() + 1;
            steps.push(ThreadFlowLocation { location, execution_order, importance: "essential", kinds: &[] });
        }
        if threads.is_empty() {
            return None;
        }
        *left = left.saturating_sub(last - skipped + next.len());
        let text = match skipped {
            0 => "The schedule that shows it".to_owned(),
            _ => format!(
                "The end of the schedule that shows it; {} before are left out",
                counted(skipped as u64, "step")
            ),
        };
        let thread_flows = threads
            .into_iter()
            .map(|(thread, locations)| ThreadFlow { id: self.context.words().thread(thread), locations })
            .collect();
        Some(CodeFlow { message: Message { text }, thread_flows })
    }

    fn step(&self, event: EventId, execution_order: usize) -> ThreadFlowLocation {
        let words = self.context.words();
        let op = self.context.trace.op(event);
        let named = self.is_shown(event);
        let importance = match op {
            _ if named => "essential",
            Op::Read(_) | Op::Write(_) | Op::Branch(_) => "unimportant",
            _ => "important",
        };
        let kinds: &[&str] = match op {
            Op::Acquire(_) | Op::AcquireShared(_) => &["acquire", "lock"],
            Op::Release(_) | Op::ReleaseShared(_) => &["release", "lock"],
            Op::Read(_) | Op::Write(_) | Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
                &["memory"]
            }
            _ => &[],
        };
        let message = format!("{}: {}", words.thread_of(event), words.operation(event));
        ThreadFlowLocation { location: self.at(event, message), execution_order, importance, kinds }
    }

    /// The calls that led to each event and to the allocations, and where each thread was when the program failed.
    fn stacks(&self) -> Vec<Stack> {
        let words = self.context.words();
        let ended = self.finding.failure.iter().flat_map(|failure| threads_at_end(self.context, failure));
        let ended = ended.map(|ThreadAtEnd { heading, stack }| {
            let frames = stack.into_iter().map(|frame| frame.rsplit_once(" at ").unwrap_or((frame, "")));
            let frame = |(function, location): (&str, &str)| self.frame(function, location);
            Stack { message: Message { text: heading }, frames: frames.map(frame).collect() }
        });
        let of = |event, text| {
            let frames = self.context.shown_stack(event);
            let frame = |frame: &trace::StackFrame| self.frame(&frame.function, &frame.location);
            Stack { message: Message { text }, frames: frames.iter().map(frame).collect() }
        };
        let events = self.context.shown_events(self.finding).into_iter();
        let events = events.map(|event| of(event, words.event_without_id(event)));
        let allocations = self.context.allocations(self.finding).into_iter().map(|(block, allocation)| {
            let name = shown(self.context.trace.symbols().block(block));
            of(allocation, format!("{name} was allocated by {}", words.thread_of(allocation)))
        });
        ended.chain(events).chain(allocations).filter(|stack| !stack.frames.is_empty()).collect()
    }

    fn frame(&self, function: &str, location: &str) -> StackFrame {
        StackFrame { location: self.location(location, Some(shown(function))) }
    }

    /// What makes it the same finding in the next run: kind, object and places; and, where the source is at hand, kind,
    /// object and the text of the lines, which holds when lines move.
    fn fingerprints(&self) -> BTreeMap<&'static str, String> {
        let finding = self.finding;
        let mut places: Vec<&str> = finding.locations.iter().map(String::as_str).collect();
        places.sort_unstable();
        places.dedup();
        let parts =
            |of: &[&str]| hash([finding.kind.name(), &finding.object].into_iter().chain(of.iter().copied()));
        let mut prints = BTreeMap::from([("foretellPlaces/v1", parts(&places))]);
        let line = |(index, event): (usize, EventId)| {
            let own: Option<&String> =
                finding.locations.get(index).filter(|_| finding.kind == FindingKind::Misuse);
            let place = own.map_or_else(|| self.context.place(event), |at| SourcePlace::of(at))?;
            let text = self.context.source(place.file)?;
            let line = text.lines().nth(place.line as usize - 1)?.trim();
            Some(format!("{}\n{line}", place.file))
        };
        if let Some(mut lines) = finding.named_events().enumerate().map(line).collect::<Option<Vec<String>>>()
        {
            lines.sort_unstable();
            lines.dedup();
            prints.insert("foretellCode/v1", parts(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        prints
    }
}

fn level(finding: &Finding) -> &'static str {
    // A pattern that did nobody any harm.
    if finding.kind == FindingKind::Atomicity && finding.harm == Some(Harm::None) {
        return "note";
    }
    match (finding.kind, finding.rung) {
        (FindingKind::Nondeterminism, Rung::Possible | Rung::Likely | Rung::Diverged) => "note",
        (FindingKind::Nondeterminism, _) | (_, Rung::Possible | Rung::Likely | Rung::Diverged) => "warning",
        _ => "error",
    }
}

/// A file as a URI: relative ones to the root of the sources.
fn artifact(file: &str) -> ArtifactLocation {
    let mut uri = String::new();
    for byte in file.strip_prefix("./").unwrap_or(file).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    match uri.starts_with('/') {
        true => ArtifactLocation { uri: format!("file://{uri}"), uri_base_id: None },
        false => ArtifactLocation { uri, uri_base_id: Some("%SRCROOT%") },
    }
}

/// Brackets and backslashes would be taken for links.
fn escaped(text: &str) -> String {
    let escape = |c: char| if "[]\\{}".contains(c) { format!("\\{c}") } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// The FNV-1a hash of the parts, each followed by a zero byte. Code scanning recognises a finding by it, so it must never change.
fn hash<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut hasher = fnv::FnvHasher::default();
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write(&[0]);
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_never_change() {
        assert_eq!(hash(["race", "a.c:3"].into_iter()), "00e2b23881017ba1");
    }

    #[test]
    fn files_become_uris() {
        assert_eq!(artifact("src/a b.c").uri, "src/a%20b.c");
        assert_eq!(artifact("./c:x.c").uri, "c%3Ax.c");
        assert_eq!(artifact("/usr/include/ü.h").uri, "file:///usr/include/%C3%BC.h");
        assert!(artifact("/x").uri_base_id.is_none() && artifact("x").uri_base_id.is_some());
    }
}
