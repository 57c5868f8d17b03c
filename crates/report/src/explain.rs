//! A refutation as prose: numbered orders, each with its reason, and indented cases, each ending in a
//! contradiction. It adds nothing to the refutation; `check` verifies whether that is correct.
//!
//! An event is shown with its location when it is first mentioned, and without it afterwards.

mod ends;

use std::collections::{HashMap, HashSet};

use check::{End, Model, Question, Reason, Refutation, Source, Split, Step};
use trace::{EventId, ThreadEvents, Trace};

use crate::figures::counted;
use crate::words::{Words, demand, listed};
use crate::wrap::wrapped;

/// The refutation of a question, from its premise to the contradiction. Its events must exist.
pub fn explain(trace: &Trace, question: &Question, model: Model, refutation: &Refutation) -> String {
    let mut prose = Prose::new(trace, question, model);
    prose.premise();
    refutation.steps.iter().for_each(|step| prose.step(step));
    prose.text
}

/// Why there is no schedule, in one sentence without a full stop.
pub fn in_one_sentence(trace: &Trace, question: &Question, model: Model, refutation: &Refutation) -> String {
    let mut prose = Prose::new(trace, question, model);
    let steps = &refutation.steps;
    match steps.iter().find(|step| !matches!(step, Step::Order { .. })) {
        Some(Step::End { end: End::Cycle(events) }) => match events[..] {
            [a, b] => {
                let (a, b) = (prose.event(a), prose.event(b));
                format!("{a} would have to come both before and after {b}")
            }
            _ if events.len() <= 4 => {
                let first = events.first().copied().into_iter();
                let circle: Vec<String> =
                    events.iter().copied().chain(first).map(|e| prose.event(e)).collect();
                format!("the orders that follow from it run in a circle: {}", circle.join(", before "))
            }
            _ => format!("the orders that follow from it run in a circle of {} events", events.len()),
        },
        Some(Step::End { end: End::CannotHappen(event) }) => prose.out_of_reach(steps, *event),
        Some(Step::End { end }) => prose.impossible(end),
        Some(Step::Split { split: Split::Source(read) }) => match other_sources(trace, *read).len() {
            0 => "there is nothing else for it to see".to_owned(),
            others => format!("none of the {} can be seen instead", counted(others as u64, "other value")),
        },
        _ => {
            let leaves = refutation.contradictions() as u64;
            format!("each of {} ends in a contradiction", counted(leaves, "case"))
        }
    }
}

/// An order that is known, and the number it was introduced with.
#[derive(Clone, Copy)]
struct Fact {
    before: (EventId, EventId),
    number: usize,
}

/// A split whose cases are being shown.
struct OpenSplit {
    split: Split,
    /// What the cases of [`Split::Source`] are.
    sources: Vec<Source>,
    indent: usize,
    /// How many cases have begun.
    begun: usize,
    /// What was known before the current case.
    facts: usize,
    absent: usize,
    source: Option<Source>,
}

/// What a case assumes.
enum Assumption {
    Before(EventId, EventId),
    Happens,
    Absent(EventId),
    Sees(EventId, Source),
}

struct Prose<'t> {
    trace: &'t Trace,
    threads: ThreadEvents,
    question: &'t Question,
    model: Model,
    words: Words<'t>,
    text: String,
    /// Events whose location has been shown.
    located: HashSet<EventId>,
    /// What is known in the current case.
    facts: Vec<Fact>,
    /// The number of each of these orders.
    numbers: HashMap<(EventId, EventId), usize>,
    /// Events that do not happen in the current case, apart from what the question says.
    absent: Vec<EventId>,
    /// What the read that the question names sees in the current case.
    source: Option<Source>,
    /// The number of the next order.
    next: usize,
    /// The splits around the current case, innermost last.
    open: Vec<OpenSplit>,
    indent: usize,
}

/// How far a case stands from its split.
const DEEPER: usize = 4;

impl<'t> Prose<'t> {
    fn new(trace: &'t Trace, question: &'t Question, model: Model) -> Self {
        let source = match question {
            Question::Reads(_, source) => *source,
            _ => None,
        };
        Prose {
            trace,
            threads: ThreadEvents::of(trace),
            question,
            model,
            words: Words::new(trace),
            text: String::new(),
            located: HashSet::new(),
            facts: Vec::new(),
            numbers: HashMap::new(),
            absent: Vec::new(),
            source,
            next: 1,
            open: Vec::new(),
            indent: 0,
        }
    }

    fn event(&mut self, event: EventId) -> String {
        match self.located.insert(event) {
            true => self.words.event(event),
            false => self.words.brief(event),
        }
    }

    fn say(&mut self, indent: usize, text: &str) {
        self.text.push_str(&wrapped(text, indent, indent));
    }

    /// What a schedule would have to be like.
    fn premise(&mut self) {
        let what = match self.question {
            Question::Race(a, b) => {
                let (a, b) = (self.event(*a), self.event(*b));
                format!("{a} and {b} would both be next, with all that their threads do before them done")
            }
            Question::Deadlock(blocked) => {
                let each: Vec<String> = blocked.iter().map(|&event| self.event(event)).collect();
                format!(
                    "{} would be next in their threads, each blocked by the thread of the one after it",
                    listed(each)
                )
            }
            Question::Order(events) => {
                let each: Vec<String> = events.iter().map(|&event| self.event(event)).collect();
                format!("it would contain {}, in this order", listed(each))
            }
            Question::Reads(read, None) => {
                let (event, seen) = (self.event(*read), self.words.recorded_source(*read));
                format!("it would contain {event}, seeing something else than {seen}")
            }
            Question::Reads(read, Some(source)) => {
                let (event, source) = (self.event(*read), self.source(*read, *source));
                format!("it would contain {event}, seeing {source}")
            }
            Question::Cut(counts) => format!("it would consist of {}", self.words.counts(counts)),
        };
        let demand = demand(self.model);
        self.say(
            0,
            &format!("Suppose there were such a schedule: {what}. Under `{}` {demand}.", self.model.name()),
        );
    }

    fn source(&mut self, read: EventId, source: Source) -> String {
        match source {
            Source::Write(write) => self.event(write),
            Source::Initial => self.words.source(read, source),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Order { before, because } => self.order(*before, because),
            Step::Split { split } => self.split(*split),
            Step::Case { case } => self.case(*case),
            Step::End { end: End::EveryCase } => self.every_case(),
            Step::End { end } => {
                self.end(end);
                self.end_case();
            }
        }
    }

    /// A release meets an acquire, or what passes on a read must not come before what led to the write it saw.
    fn why_synchronises(&self, x: EventId, y: EventId) -> String {
        let releases = self.trace.kind(x).has_memory_order() && self.trace.memory_order(x).releases();
        let acquires = self.trace.kind(y).has_memory_order() && self.trace.memory_order(y).acquires();
        match releases && acquires {
            true => "the former releases what the latter acquires".to_owned(),
            false => format!(
                "{} has read what {} wrote after the former, and passes that on with the latter",
                self.words.thread_of(y),
                self.words.thread_of(x)
            ),
        }
    }

    fn order(&mut self, (x, y): (EventId, EventId), because: &Reason) {
        // What holds around a case is often shown again within it.
        if self.numbers.contains_key(&(x, y)) {
            return;
        }
        let indent = self.indent;
        let order = format!("{} comes before {}", self.event(x), self.event(y));
        let (why, path): (String, &[EventId]) = match because {
            Reason::Fork => (format!("{} does nothing before it is forked", self.words.thread_of(y)), &[]),
            Reason::Join => (format!("the join waits for all that {} does", self.words.thread_of(x)), &[]),
            Reason::Signal => ("it is the signal that woke this wait".to_owned(), &[]),
            Reason::Barrier => ("no thread leaves the barrier before all have arrived".to_owned(), &[]),
            Reason::ReadsFrom => (self.why_reads_from(y), &[]),
            Reason::Synchronises => (self.why_synchronises(x, y), &[]),
            Reason::Asked => ("the question asks for it".to_owned(), &[]),
            Reason::Exclusion { path } => {
                let lock = self.words.object(self.trace.op(y));
                (
                    format!(
                        "only one of the two can hold {lock} at a time, and {} cannot be the first, since {} begins to hold it before the other is done:",
                        self.words.thread_of(y),
                        self.words.thread_of(x)
                    ),
                    path,
                )
            }
            Reason::NeverReleased => {
                let lock = self.words.object(self.trace.op(y));
                (
                    format!("only one of the two can hold {lock} at a time, and {}", self.never_released(y)),
                    &[],
                )
            }
            Reason::BeforeOverwrite { path } => {
                let source = self.must_see(x);
                let seen = self.source(x, source);
                match path[..] {
                    [] => (format!("the read must see {seen}, and this write would overwrite it"), path),
                    _ => (
                        format!("the read must see {seen}, which this write, coming later, would overwrite:"),
                        path,
                    ),
                }
            }
            Reason::BeforeSource { path } => {
                let read = path.last().copied().unwrap_or(y);
                let read = self.event(read);
                (
                    format!(
                        "{read} must see the latter, so the former, which comes before that read, must not come between:"
                    ),
                    path,
                )
            }
        };
        let number = self.learn(x, y);
        let head = format!("{number}. ");
        let hanging = indent + head.len();
        let stop = if why.ends_with(':') { "" } else { "." };
        self.text.push_str(&wrapped(&format!("{head}{order}, because {why}{stop}"), indent, hanging));
        self.path(path, hanging);
    }

    fn learn(&mut self, x: EventId, y: EventId) -> usize {
        let number = self.next;
        self.next += 1;
        self.facts.push(Fact { before: (x, y), number });
        self.numbers.entry((x, y)).or_insert(number);
        number
    }

    /// A way from event to event, each hop with what it rests on.
    fn path(&mut self, path: &[EventId], indent: usize) {
        for (index, &event) in path.iter().enumerate() {
            let mut line = self.event(event);
            if let Some(previous) = index.checked_sub(1) {
                line = format!("-> {line}, {}", self.hop(path[previous], event));
            }
            self.text.push_str(&wrapped(&line, indent + 2, indent + 5));
        }
    }

    /// Why one event comes right before another.
    fn hop(&self, x: EventId, y: EventId) -> String {
        let thread = self.trace.thread(y);
        if self.trace.thread(x) == thread && self.threads.place(x) < self.threads.place(y) {
            return format!("later in {}", self.words.thread(thread));
        }
        match self.numbers.get(&(x, y)) {
            Some(number) => format!("by {number}"),
            None => "which was not shown".to_owned(),
        }
    }

    fn why_reads_from(&self, read: EventId) -> String {
        match self.question {
            Question::Reads(named, _) if *named == read => "that read is to see its value".to_owned(),
            _ => "that read must see its value, as in the trace".to_owned(),
        }
    }

    fn must_see(&self, read: EventId) -> Source {
        match (self.question, self.source) {
            (Question::Reads(named, _), Some(source)) if *named == read => source,
            _ if self.trace.op(read).reads().is_none() => Source::Initial,
            _ => self.trace.reads_from(read).map_or(Source::Initial, Source::Write),
        }
    }

    fn end(&mut self, end: &End) {
        let indent = self.indent;
        if let End::Cycle(events) = end {
            self.say(indent, "Now each of these comes before the next, and the last before the first:");
            let around: Vec<EventId> = events.iter().copied().chain(events.first().copied()).collect();
            self.path(&around, indent);
        } else {
            let text = format!("But {}", self.impossible(end));
            match end {
                End::NeverReleased { path, .. } if !path.is_empty() => {
                    self.say(indent, &format!("{text}:"));
                    self.path(path, indent);
                }
                _ => self.say(indent, &format!("{text}.")),
            }
        }
        self.say(indent, "That is a contradiction.");
    }

    fn split(&mut self, split: Split) {
        let mut sources = Vec::new();
        let introduction = match split {
            Split::Sections(a, b) => {
                let lock = self.words.object(self.trace.op(a));
                let (first, second) = (self.event(a), self.event(b));
                format!(
                    "{first} and {second} open sections of {lock}, which cannot overlap. One of them comes first."
                )
            }
            Split::Overwrite { read, write } => {
                let source = self.must_see(read);
                let (reader, writer, seen) = (self.event(read), self.event(write), self.source(read, source));
                format!(
                    "{reader} must see {seen}, so {writer} must not come between the two. Either it comes before both, or after both."
                )
            }
            Split::Supply { post, take } => {
                let (giver, taker) = (self.event(post), self.event(take));
                format!("Either {giver} comes before {taker}, or it comes after it, if at all.")
            }
            Split::Happens(event) => format!("Either {} happens, or it does not.", self.event(event)),
            Split::Source(read) => {
                sources = other_sources(self.trace, read);
                let values = counted(sources.len() as u64, "value");
                format!("There are {values} that {} could see instead.", self.event(read))
            }
        };
        let indent = self.indent;
        self.say(indent, &introduction);
        self.open.push(OpenSplit { split, sources, indent, begun: 0, facts: 0, absent: 0, source: None });
    }

    /// What a case of the innermost split assumes.
    fn assumption(&self, case: usize) -> Option<Assumption> {
        let OpenSplit { split, sources, .. } = self.open.last()?;
        let before = |orders: [Option<(EventId, EventId)>; 2]| {
            orders.get(case).copied().flatten().map(|(x, y)| Assumption::Before(x, y))
        };
        match *split {
            Split::Sections(a, b) => {
                let then = |section, next| self.trace.section_end(section).map(|end| (end, next));
                before([then(a, b), then(b, a)])
            }
            Split::Overwrite { read, write } => {
                let first = match self.must_see(read) {
                    Source::Write(source) => Some((write, source)),
                    Source::Initial => None,
                };
                before([first, Some((read, write))])
            }
            Split::Supply { post, take } => before([Some((post, take)), Some((take, post))]),
            Split::Happens(_) if case == 0 => Some(Assumption::Happens),
            Split::Happens(event) => Some(Assumption::Absent(event)),
            Split::Source(read) => sources.get(case).map(|&source| Assumption::Sees(read, source)),
        }
    }

    /// A case begins: what it assumes holds within it only.
    fn case(&mut self, case: usize) {
        let assumption = self.assumption(case);
        let (facts, absent, source) = (self.facts.len(), self.absent.len(), self.source);
        let Some(split) = self.open.last_mut() else { return };
        split.begun += 1;
        (split.facts, split.absent, split.source) = (facts, absent, source);
        // Far in, lines would have no room left.
        self.indent = (split.indent + DEEPER).min(MOST_INDENTED);
        let assumed = match assumption {
            Some(Assumption::Before(x, y)) => {
                let order = format!("{} comes before {}", self.event(x), self.event(y));
                format!("suppose that {order} (call it {}).", self.learn(x, y))
            }
            Some(Assumption::Happens) => "suppose that it happens.".to_owned(),
            Some(Assumption::Absent(event)) => {
                self.absent.push(event);
                "suppose that it does not.".to_owned()
            }
            Some(Assumption::Sees(read, source)) => {
                self.source = Some(source);
                format!("suppose that it sees {}.", self.source(read, source))
            }
            None => "suppose otherwise.".to_owned(),
        };
        let head = format!("Case {}: ", case + 1);
        self.text.push_str(&wrapped(&format!("{head}{assumed}"), self.indent - DEEPER + 2, self.indent));
    }

    /// A case is over: what was learnt in it is forgotten.
    fn end_case(&mut self) {
        let Some(split) = self.open.last() else { return };
        for Fact { before, number } in self.facts.drain(split.facts..) {
            if self.numbers.get(&before) == Some(&number) {
                self.numbers.remove(&before);
            }
        }
        self.absent.truncate(split.absent);
        self.source = split.source;
    }

    /// All cases of the innermost split are over, and with them the case around it.
    fn every_case(&mut self) {
        let Some(OpenSplit { begun, indent, .. }) = self.open.pop() else { return };
        let all = match begun {
            0 => "There is no case: that is a contradiction.".to_owned(),
            1 => "The only case is impossible.".to_owned(),
            2 => "Both cases are impossible.".to_owned(),
            more => format!("All {more} cases are impossible."),
        };
        self.say(indent, &all);
        self.end_case();
    }
}

const MOST_INDENTED: usize = 40;

/// What a read could see but what it saw in the trace, in the order in which the cases of a refutation come.
fn other_sources(trace: &Trace, read: EventId) -> Vec<Source> {
    let Some(variable) = trace.op(read).reads() else { return Vec::new() };
    let seen = trace.reads_from(read);
    let others = trace
        .events()
        .filter(|&(event, _, op)| op.writes() == Some(variable) && event != read && Some(event) != seen);
    let initial = seen.is_some().then_some(Source::Initial);
    initial.into_iter().chain(others.map(|(event, ..)| Source::Write(event))).collect()
}
