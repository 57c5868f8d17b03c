//! The question, from what the user typed.

use check::{Question, QuestionError, Source};
use clap::Args;
use report::Words;
use trace::{EventId, Op, Trace};

use crate::diagnostics::Diagnostic;
use crate::table::{counted, name, number};

/// Exactly one question.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Asking {
    /// Can A and B both be next? They are accesses of one variable by different threads.
    #[arg(long, value_name = "A,B")]
    race: Option<String>,
    /// Can these events happen in this order?
    #[arg(long, value_name = "A,B,..")]
    order: Option<String>,
    /// Can each of these be blocked forever by the thread of the next one?
    #[arg(long, value_name = "A,B,..")]
    deadlock: Option<String>,
    /// Can the read R see another write than in the trace? With W: can it see W?
    #[arg(long, value_name = "R[=W]")]
    reads: Option<String>,
    /// Can exactly this many events of each thread have happened? None of the threads not named.
    #[arg(long, value_name = "T1=N,T2=M")]
    cut: Option<String>,
}

/// What an event is wanted for: of several at one location, only those that fit are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Access,
    Anything,
    Blocking,
    Read,
    Write,
}

impl Wanted {
    fn fits(self, op: Op) -> bool {
        match self {
            Wanted::Access => op.access().is_some(),
            Wanted::Anything => true,
            Wanted::Blocking => matches!(
                op,
                Op::Acquire(_)
                    | Op::AcquireShared(_)
                    | Op::Request(_)
                    | Op::RequestShared(_)
                    | Op::Join(_)
                    | Op::Wait(_)
                    | Op::BarrierExit(_)
                    | Op::Take(_)
            ),
            Wanted::Read => op.reads().is_some(),
            Wanted::Write => op.writes().is_some(),
        }
    }

    fn named(self) -> &'static str {
        match self {
            Wanted::Access => "read or write",
            Wanted::Anything => "event",
            Wanted::Blocking => "event that can block",
            Wanted::Read => "read",
            Wanted::Write => "write",
        }
    }

    fn several(self) -> &'static str {
        match self {
            Wanted::Access => "reads and writes",
            Wanted::Anything => "events",
            Wanted::Blocking => "events that can block",
            Wanted::Read => "reads",
            Wanted::Write => "writes",
        }
    }
}

impl Asking {
    /// The question it is about this trace. It makes sense.
    pub(super) fn question(&self, trace: &Trace) -> Result<Question, Diagnostic> {
        let question = self.named(trace)?;
        question.validate(trace).map_err(|error| senseless(trace, &question, &error))?;
        Ok(question)
    }

    fn named(&self, trace: &Trace) -> Result<Question, Diagnostic> {
        if let Some(race) = &self.race {
            let events = events(trace, race, Wanted::Access)?;
            return match events[..] {
                [a, b] => Ok(Question::Race(a, b)),
                _ => Err(Diagnostic::new(format!("`--race` takes two events, not {}", events.len()))
                    .help("write `--race A,B`")),
            };
        }
        if let Some(order) = &self.order {
            return events(trace, order, Wanted::Anything).map(Question::Order);
        }
        if let Some(deadlock) = &self.deadlock {
            return events(trace, deadlock, Wanted::Blocking).map(Question::Deadlock);
        }
        if let Some(reads) = &self.reads {
            return read_question(trace, reads);
        }
        cut(trace, self.cut.as_deref().unwrap_or_default())
    }
}

fn read_question(trace: &Trace, text: &str) -> Result<Question, Diagnostic> {
    let Some((read, source)) = text.rsplit_once('=') else {
        return event(trace, text, Wanted::Read).map(|read| Question::Reads(read, None));
    };
    let read = event(trace, read, Wanted::Read)?;
    let source = match source.trim() {
        "-1" | "initial" => Source::Initial,
        write => Source::Write(event(trace, write, Wanted::Write)?),
    };
    Ok(Question::Reads(read, Some(source)))
}

fn events(trace: &Trace, text: &str, wanted: Wanted) -> Result<Vec<EventId>, Diagnostic> {
    text.split(',').map(|word| event(trace, word, wanted)).collect()
}

/// The event with this id, or the only one at this location.
fn event(trace: &Trace, text: &str, wanted: Wanted) -> Result<EventId, Diagnostic> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Diagnostic::new("an event is missing")
            .help("name events by id or location, with commas between them"));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = text.parse().ok().filter(|&id: &u32| (id as usize) < trace.len());
        return id.map(EventId).ok_or_else(|| no_such_event(trace, text));
    }
    at_location(trace, text.strip_prefix('@').unwrap_or(text), wanted)
}

fn no_such_event(trace: &Trace, text: &str) -> Diagnostic {
    let title = format!("there is no event {}", name(text));
    match trace.len() {
        0 => Diagnostic::new(title).note("the trace has no events"),
        events => Diagnostic::new(title).note(format!(
            "the trace has {}, numbered from 0 to {}",
            counted(events as u64, "event"),
            events - 1
        )),
    }
}

fn at_location(trace: &Trace, location: &str, wanted: Wanted) -> Result<EventId, Diagnostic> {
    let spelled = name(location);
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
        return Err(Diagnostic::new(format!("no event is at `{spelled}`"))
            .help("name an event by its id, a whole number, or by its location as written in the trace"));
    }
    let there = trace.events().filter(|(event, ..)| meant[trace.location(*event).index()]);
    let fitting: Vec<EventId> =
        there.filter(|&(_, _, op)| wanted.fits(op)).map(|(event, ..)| event).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(Diagnostic::new(format!("no {} is at `{spelled}`, only other events", wanted.named()))),
        _ => Err(several(trace, &spelled, &fitting, wanted)),
    }
}

fn several(trace: &Trace, spelled: &str, events: &[EventId], wanted: Wanted) -> Diagnostic {
    const LISTED: usize = 5;
    let words = Words::new(trace);
    let title = format!("{} {} are at `{spelled}`", number(events.len() as u64), wanted.several());
    let mut diagnostic = Diagnostic::new(title);
    for &event in &events[..events.len().min(LISTED)] {
        diagnostic = diagnostic.note(words.event(event));
    }
    if events.len() > LISTED {
        diagnostic = diagnostic.note(format!("and {} more", events.len() - LISTED));
    }
    diagnostic.help("name one of them by its id")
}

fn cut(trace: &Trace, text: &str) -> Result<Question, Diagnostic> {
    let threads = &trace.symbols().threads;
    let mut counts: Vec<Option<u32>> = vec![None; threads.len()];
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let malformed = || {
            Diagnostic::new(format!("`{}` is not of the form THREAD=COUNT", name(item)))
                .help("write `--cut T1=3,T2=5`")
        };
        let (thread, count) = item.rsplit_once('=').ok_or_else(malformed)?;
        let count = count.trim().parse().map_err(|_| malformed())?;
        let index = threads.find(thread.trim()).ok_or_else(|| no_such_thread(trace, thread.trim()))?;
        if counts[index].replace(count).is_some() {
            return Err(Diagnostic::new(format!("thread `{}` is named twice", name(thread.trim()))));
        }
    }
    Ok(Question::Cut(counts.into_iter().map(Option::unwrap_or_default).collect()))
}

fn no_such_thread(trace: &Trace, thread: &str) -> Diagnostic {
    const LISTED: usize = 10;
    let threads = &trace.symbols().threads;
    let mut known: Vec<String> = threads.iter().take(LISTED).map(name).collect();
    if threads.len() > LISTED {
        known.push(format!("and {} more", threads.len() - LISTED));
    }
    Diagnostic::new(format!("the trace has no thread `{}`", name(thread)))
        .note(format!("its threads are {}", known.join(", ")))
}

/// A question that makes no sense, with what the events it names are.
pub(super) fn senseless(trace: &Trace, question: &Question, error: &QuestionError) -> Diagnostic {
    let words = Words::new(trace);
    let named = question.named().into_iter().filter(|event| event.index() < trace.len());
    let mut described: Vec<EventId> = Vec::new();
    named.for_each(|event| {
        if !described.contains(&event) {
            described.push(event);
        }
    });
    described.iter().fold(Diagnostic::new(error.to_string()), |diagnostic, &event| {
        diagnostic.note(format!("event {event} is {}", words.event_without_id(event)))
    })
}
