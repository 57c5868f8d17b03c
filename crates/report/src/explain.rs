//! A refutation as prose: numbered steps, each an order and why it holds, cases indented, each ending in
//! what is impossible. It says what the refutation says and adds nothing; whether that is true is for `check`.
//!
//! An event is told with its location when it is first mentioned, and without it afterwards.

mod ends;

use std::collections::HashSet;

use check::{End, Model, Question, Reason, Refutation, Source, Split, Step};
use trace::{EventId, ThreadEvents, Trace};

use crate::figures::counted;
use crate::words::{Words, demand, listed};
use crate::wrap::wrapped;

/// The refutation of a question, told from its premise to the contradiction. Its events must exist.
pub fn explain(trace: &Trace, question: &Question, model: Model, refutation: &Refutation) -> String {
    let mut teller = Teller::new(trace, question, model);
    teller.premise();
    teller.tell(refutation, 0);
    teller.text
}

/// Why there is no schedule, in one sentence without a full stop.
pub fn in_one_sentence(trace: &Trace, question: &Question, model: Model, refutation: &Refutation) -> String {
    let mut teller = Teller::new(trace, question, model);
    match refutation {
        Refutation::Chain { end: End::Cycle(events), .. } => match events[..] {
            [a, b] => {
                let (a, b) = (teller.event(a), teller.event(b));
                format!("{a} would have to come both before and after {b}")
            }
            _ if events.len() <= 4 => {
                let first = events.first().copied().into_iter();
                let circle: Vec<String> =
                    events.iter().copied().chain(first).map(|e| teller.event(e)).collect();
                format!("the orders that follow from it run in a circle: {}", circle.join(", before "))
            }
            _ => format!("the orders that follow from it run in a circle of {} events", events.len()),
        },
        Refutation::Chain { steps, end: End::CannotHappen(event) } => teller.out_of_reach(steps, *event),
        Refutation::Chain { end, .. } => teller.impossible(end),
        Refutation::Split { split: Split::Source(_), cases, .. } if cases.is_empty() => {
            "there is nothing else for it to see".to_owned()
        }
        Refutation::Split { split: Split::Source(_), cases, .. } => {
            format!("none of the {} can be seen instead", counted(cases.len() as u64, "other value"))
        }
        Refutation::Split { .. } => {
            format!("each of {} ends in a contradiction", counted(leaves(refutation) as u64, "case"))
        }
    }
}

fn leaves(refutation: &Refutation) -> usize {
    match refutation {
        Refutation::Chain { .. } => 1,
        Refutation::Split { cases, .. } => cases.iter().map(leaves).sum(),
    }
}

/// An order that is known, and the number it was told under.
#[derive(Clone, Copy)]
struct Fact {
    before: (EventId, EventId),
    number: usize,
}

struct Teller<'t> {
    trace: &'t Trace,
    threads: ThreadEvents,
    question: &'t Question,
    model: Model,
    words: Words<'t>,
    text: String,
    /// Events whose location has been told.
    told: HashSet<EventId>,
    /// What is known in the case at hand.
    facts: Vec<Fact>,
    /// Events that do not happen in the case at hand, apart from what the question says.
    absent: Vec<EventId>,
    /// What the read that the question names sees in the case at hand.
    source: Option<Source>,
    /// The number of the next step.
    next: usize,
}

/// How far a case stands from its split.
const DEEPER: usize = 4;

impl<'t> Teller<'t> {
    fn new(trace: &'t Trace, question: &'t Question, model: Model) -> Self {
        let source = match question {
            Question::Reads(_, source) => *source,
            _ => None,
        };
        Teller {
            trace,
            threads: ThreadEvents::of(trace),
            question,
            model,
            words: Words::new(trace),
            text: String::new(),
            told: HashSet::new(),
            facts: Vec::new(),
            absent: Vec::new(),
            source,
            next: 1,
        }
    }

    fn event(&mut self, event: EventId) -> String {
        match self.told.insert(event) {
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
                let (event, seen) = (self.event(*read), self.words.seen(*read));
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

    fn tell(&mut self, refutation: &Refutation, indent: usize) {
        match refutation {
            Refutation::Chain { steps, end } => {
                steps.iter().for_each(|step| self.step(step, indent));
                self.end(end, indent);
            }
            Refutation::Split { steps, split, cases } => {
                steps.iter().for_each(|step| self.step(step, indent));
                self.split(*split, cases, indent);
            }
        }
    }

    fn step(&mut self, step: &Step, indent: usize) {
        let (x, y) = step.before;
        // What holds around a case is often shown again within it.
        if self.facts.iter().any(|fact| fact.before == (x, y)) {
            return;
        }
        let order = format!("{} comes before {}", self.event(x), self.event(y));
        let (why, path): (String, &[EventId]) = match &step.because {
            Reason::Fork => (format!("{} does nothing before it is forked", self.words.thread_of(y)), &[]),
            Reason::Join => (format!("the join waits for all that {} does", self.words.thread_of(x)), &[]),
            Reason::Signal => ("it is the signal that woke this wait".to_owned(), &[]),
            Reason::Barrier => ("nobody leaves the barrier before all have arrived".to_owned(), &[]),
            Reason::ReadsFrom => (self.why_reads_from(y), &[]),
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
        match self.facts.iter().find(|fact| fact.before == (x, y)) {
            Some(fact) => format!("by {}", fact.number),
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

    fn end(&mut self, end: &End, indent: usize) {
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

    fn split(&mut self, split: Split, cases: &[Refutation], indent: usize) {
        match split {
            Split::Sections(a, b) => {
                let lock = self.words.object(self.trace.op(a));
                let (first, second) = (self.event(a), self.event(b));
                self.say(indent, &format!("{first} and {second} open sections of {lock}, which cannot overlap. One of them comes first."));
                let order = |end: Option<EventId>, next: EventId| end.map(|end| (end, next));
                let (end_a, end_b) = (self.trace.section_end(a), self.trace.section_end(b));
                let orders = [order(end_a, b), order(end_b, a)];
                self.ordered_cases(orders, cases, indent);
            }
            Split::Overwrite { read, write } => {
                let source = self.must_see(read);
                let (reader, writer, seen) = (self.event(read), self.event(write), self.source(read, source));
                self.say(indent, &format!("{reader} must see {seen}, so {writer} must not come between the two. Either it comes before both, or after both."));
                let first = match source {
                    Source::Write(source) => Some((write, source)),
                    Source::Initial => None,
                };
                self.ordered_cases([first, Some((read, write))], cases, indent);
            }
            Split::Supply { post, take } => {
                let (giver, taker) = (self.event(post), self.event(take));
                self.say(
                    indent,
                    &format!("Either {giver} comes before {taker}, or it comes after it, if at all."),
                );
                self.ordered_cases([Some((post, take)), Some((take, post))], cases, indent);
            }
            Split::Happens(event) => {
                let name = self.event(event);
                self.say(indent, &format!("Either {name} happens, or it does not."));
                for (index, case) in cases.iter().enumerate() {
                    let (what, absent) = if index == 0 {
                        ("suppose that it happens", None)
                    } else {
                        ("suppose that it does not", Some(event))
                    };
                    self.case(index, &format!("{what}."), case, indent, |teller| {
                        teller.absent.extend(absent)
                    });
                }
            }
            Split::Source(read) => {
                let name = self.event(read);
                self.say(
                    indent,
                    &format!(
                        "There are {} that {name} could see instead.",
                        counted(cases.len() as u64, "value")
                    ),
                );
                let sources = other_sources(self.trace, read);
                for (index, (case, source)) in cases.iter().zip(sources).enumerate() {
                    let seen = self.source(read, source);
                    self.case(index, &format!("suppose that it sees {seen}."), case, indent, |teller| {
                        teller.source = Some(source);
                    });
                }
            }
        }
        let all = match cases.len() {
            0 => "There is no case: that is a contradiction.".to_owned(),
            1 => "The only case is impossible.".to_owned(),
            2 => "Both cases are impossible.".to_owned(),
            more => format!("All {more} cases are impossible."),
        };
        self.say(indent, &all);
    }

    /// Cases each of which adds one order.
    fn ordered_cases(
        &mut self,
        orders: [Option<(EventId, EventId)>; 2],
        cases: &[Refutation],
        indent: usize,
    ) {
        for (index, (case, order)) in cases.iter().zip(orders).enumerate() {
            let Some((x, y)) = order else { continue };
            let assumption = format!("{} comes before {}", self.event(x), self.event(y));
            let number = self.next;
            self.case(
                index,
                &format!("suppose that {assumption} (call it {number})."),
                case,
                indent,
                |teller| {
                    teller.learn(x, y);
                },
            );
        }
    }

    /// One case: what it assumes holds within it only.
    fn case(
        &mut self,
        index: usize,
        assumption: &str,
        refutation: &Refutation,
        indent: usize,
        assume: impl FnOnce(&mut Self),
    ) {
        let (facts, absent, source) = (self.facts.len(), self.absent.len(), self.source);
        // Far in, lines would have no room left.
        let indent = (indent + DEEPER).min(MOST_INDENTED);
        let head = format!("Case {}: ", index + 1);
        self.text.push_str(&wrapped(&format!("{head}{assumption}"), indent - DEEPER + 2, indent));
        assume(self);
        self.tell(refutation, indent);
        self.facts.truncate(facts);
        self.absent.truncate(absent);
        self.source = source;
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
