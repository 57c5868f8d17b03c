//! Questions as a person writes them: events by id or location, threads by name.

use check::{Question, QuestionError, Source};
use report::{Words, counted, number, shown};
use trace::{EventId, Op, Trace};

use crate::error::{Error, ErrorKind};

/// A question as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionText<'a> {
    /// `A,B`: can both be next?
    Race(&'a str),
    /// `A,B,..`: can they happen in this order?
    Order(&'a str),
    /// `A,B,..`: can each be blocked for ever by the thread of the next one?
    Deadlock(&'a str),
    /// `R` or `R=W`: can the read see another write, or that one?
    Reads(&'a str),
    /// `T1=N,T2=M`: can exactly these many events of each thread have happened? Threads not named: none.
    Cut(&'a str),
}

impl QuestionText<'_> {
    /// The question it is about this trace. It makes sense.
    pub fn parse(self, trace: &Trace) -> Result<Question, Error> {
        let question = match self {
            QuestionText::Race(race) => match events(trace, race, EventRole::Access)?[..] {
                [a, b] => Question::Race(a, b),
                ref events => {
                    let error = mistake(format!("`--race` takes two events, not {}", events.len()));
                    return Err(error.help("write `--race A,B`"));
                }
            },
            QuestionText::Order(order) => Question::Order(events(trace, order, EventRole::Anything)?),
            QuestionText::Deadlock(deadlock) => {
                Question::Deadlock(events(trace, deadlock, EventRole::Blocking)?)
            }
            QuestionText::Reads(reads) => read_question(trace, reads)?,
            QuestionText::Cut(cut) => Question::Cut(parse_cut(trace, cut)?),
        };
        question.validate(trace).map_err(|error| senseless(trace, &question, &error))?;
        Ok(question)
    }
}

fn mistake(what: impl Into<String>) -> Error {
    ErrorKind::Question(what.into()).into()
}

/// What an event is wanted for: of several at one location, only those that fit are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventRole {
    Access,
    Anything,
    Blocking,
    Read,
    Write,
}

impl EventRole {
    fn fits(self, op: Op) -> bool {
        match self {
            EventRole::Access => op.access().is_some(),
            EventRole::Anything => true,
            EventRole::Blocking => op.can_block(),
            EventRole::Read => op.reads().is_some(),
            EventRole::Write => op.writes().is_some(),
        }
    }

    fn named(self) -> &'static str {
        match self {
            EventRole::Access => "read or write",
            EventRole::Anything => "event",
            EventRole::Blocking => "event that can block",
            EventRole::Read => "read",
            EventRole::Write => "write",
        }
    }

    fn several(self) -> &'static str {
        match self {
            EventRole::Access => "reads and writes",
            EventRole::Anything => "events",
            EventRole::Blocking => "events that can block",
            EventRole::Read => "reads",
            EventRole::Write => "writes",
        }
    }
}

fn read_question(trace: &Trace, text: &str) -> Result<Question, Error> {
    let Some((read, source)) = text.rsplit_once('=') else {
        return event(trace, text, EventRole::Read).map(|read| Question::Reads(read, None));
    };
    let read = event(trace, read, EventRole::Read)?;
    let source = match source.trim() {
        "-1" | "initial" => Source::Initial,
        write => Source::Write(event(trace, write, EventRole::Write)?),
    };
    Ok(Question::Reads(read, Some(source)))
}

fn events(trace: &Trace, text: &str, wanted: EventRole) -> Result<Vec<EventId>, Error> {
    text.split(',').map(|word| event(trace, word, wanted)).collect()
}

/// The event with this id, or the only one at this location.
fn event(trace: &Trace, text: &str, wanted: EventRole) -> Result<EventId, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Err(
            mistake("an event is missing").help("name events by id or location, with commas between them")
        );
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = text.parse().ok().filter(|&id: &u32| (id as usize) < trace.len());
        return id.map(EventId).ok_or_else(|| no_such_event(trace, text));
    }
    at_location(trace, text.strip_prefix('@').unwrap_or(text), wanted)
}

fn no_such_event(trace: &Trace, text: &str) -> Error {
    let title = format!("there is no event {}", shown(text));
    match trace.len() {
        0 => mistake(title).note("the trace has no events"),
        events => mistake(title).note(format!(
            "the trace has {}, numbered from 0 to {}",
            counted(events as u64, "event"),
            events - 1
        )),
    }
}

fn at_location(trace: &Trace, location: &str, wanted: EventRole) -> Result<EventId, Error> {
    let spelled = shown(location);
    let names = &trace.symbols().locations;
    let matches_at = |matches: &dyn Fn(&str) -> bool| {
        (0..names.len()).map(|index| matches(names.get(index))).collect::<Vec<bool>>()
    };
    let mut meant = matches_at(&|known| known == location);
    if !meant.contains(&true) {
        // `a.c:10` may stand for `src/a.c:10`.
        meant = matches_at(&|known| known.strip_suffix(location).is_some_and(|start| start.ends_with('/')));
    }
    if !meant.contains(&true) {
        return Err(mistake(format!("no event is at `{spelled}`"))
            .help("name an event by its id, a whole number, or by its location as written in the trace"));
    }
    let there = trace.events().filter(|(event, ..)| meant[trace.location(*event).index()]);
    let fitting: Vec<EventId> =
        there.filter(|&(_, _, op)| wanted.fits(op)).map(|(event, ..)| event).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(mistake(format!("no {} is at `{spelled}`, only other events", wanted.named()))),
        _ => Err(several(trace, &spelled, &fitting, wanted)),
    }
}

fn several(trace: &Trace, spelled: &str, events: &[EventId], wanted: EventRole) -> Error {
    const LISTED: usize = 5;
    let words = Words::new(trace);
    let title = format!("{} {} are at `{spelled}`", number(events.len() as u64), wanted.several());
    let mut diagnostic = mistake(title);
    for &event in &events[..events.len().min(LISTED)] {
        diagnostic = diagnostic.note(words.event(event));
    }
    if events.len() > LISTED {
        diagnostic = diagnostic.note(format!("and {} more", events.len() - LISTED));
    }
    diagnostic.help("name one of them by its id")
}

/// How many events of each thread `T1=3,T2=5` says.
pub fn parse_cut(trace: &Trace, text: &str) -> Result<Vec<u32>, Error> {
    let threads = &trace.symbols().threads;
    let mut counts: Vec<Option<u32>> = vec![None; threads.len()];
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let malformed = || {
            mistake(format!("`{}` is not of the form THREAD=COUNT", shown(item)))
                .help("write `--cut T1=3,T2=5`")
        };
        let (thread, count) = item.rsplit_once('=').ok_or_else(malformed)?;
        let count = count.trim().parse().map_err(|_| malformed())?;
        let index = threads.find(thread.trim()).ok_or_else(|| no_such_thread(trace, thread.trim()))?;
        if counts[index].replace(count).is_some() {
            return Err(mistake(format!("thread `{}` is named twice", shown(thread.trim()))));
        }
    }
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}

fn no_such_thread(trace: &Trace, thread: &str) -> Error {
    const LISTED: usize = 10;
    let threads = &trace.symbols().threads;
    let mut known: Vec<String> = threads.iter().take(LISTED).map(shown).collect();
    if threads.len() > LISTED {
        known.push(format!("and {} more", threads.len() - LISTED));
    }
    mistake(format!("the trace has no thread `{}`", shown(thread)))
        .note(format!("its threads are {}", known.join(", ")))
}

/// A question that makes no sense, with what the events it names are.
pub(crate) fn senseless(trace: &Trace, question: &Question, error: &QuestionError) -> Error {
    let words = Words::new(trace);
    let named = question.named().into_iter().filter(|event| event.index() < trace.len());
    let mut described: Vec<EventId> = Vec::new();
    named.for_each(|event| {
        if !described.contains(&event) {
            described.push(event);
        }
    });
    described.iter().fold(mistake(error.to_string()), |diagnostic, &event| {
        diagnostic.note(format!("event {event} is {}", words.event_without_id(event)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let text = "main|fork(A)|1\nmain|w(x)|src/a.c:3\nA|r(x)|src/b.c:4\nA|r(x)|src/b.c:4\n";
        trace::text::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn events_are_named_by_id_or_location() {
        let trace = trace();
        let race = Question::Race(EventId(1), EventId(2));
        for text in ["1,2", " 1 , 2 ", "a.c:3,2", "src/a.c:3,2"] {
            assert_eq!(QuestionText::Race(text).parse(&trace).ok(), Some(race.clone()), "{text}");
        }
        assert_eq!(QuestionText::Cut("main=2,A=1").parse(&trace).ok(), Some(Question::Cut(vec![2, 1])));
        assert_eq!(QuestionText::Cut("A=0").parse(&trace).ok(), Some(Question::Cut(vec![0, 0])));
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        let trace = trace();
        let fault = |question: QuestionText<'_>| question.parse(&trace).unwrap_err();
        assert_eq!(fault(QuestionText::Race("1")).advice(), ["write `--race A,B`"]);
        assert_eq!(
            fault(QuestionText::Order("1,9")).notes(),
            ["the trace has 4 events, numbered from 0 to 3"]
        );
        assert_eq!(fault(QuestionText::Reads("b.c:4")).advice(), ["name one of them by its id"]);
        assert_eq!(fault(QuestionText::Cut("B=1")).notes(), ["its threads are main, A"]);
    }
}
