//! Events, questions and models in words a person reads.
//!
//! Names come from files that may be hostile: they are shown without hidden characters, and cut when long.

use check::{Model, Question, Source};
use trace::{EventId, MemoryOrder, Op, ThreadId, Trace};

use crate::figures::counted;
use findings::FindingKind;

/// Says things about one trace in words.
#[derive(Clone, Copy, Debug)]
pub struct Words<'t> {
    trace: &'t Trace,
}

impl<'t> Words<'t> {
    /// Words about this trace.
    pub fn new(trace: &'t Trace) -> Self {
        Words { trace }
    }

    /// `T1's write of x at a.c:10 (event 4)`.
    pub fn event(&self, event: EventId) -> String {
        format!("{} (event {event})", self.event_without_id(event))
    }

    /// `T1's write of x at a.c:10`.
    pub fn event_without_id(&self, event: EventId) -> String {
        format!("{}'s {} at {}", self.thread_of(event), self.noun(event), self.location(event))
    }

    /// `T1's write of x (event 4)`.
    pub fn brief(&self, event: EventId) -> String {
        format!("{}'s {} (event {event})", self.thread_of(event), self.noun(event))
    }

    /// `write of x (event 4)`, where it is clear whose it is.
    pub fn own(&self, event: EventId) -> String {
        format!("{} (event {event})", self.noun(event))
    }

    /// `a.c:10`; a location that is a mere number is called one.
    pub fn location(&self, event: EventId) -> String {
        let location = self.trace.symbols().location(self.trace.location(event));
        match is_number(location) {
            true => format!("location {location}"),
            false => shown(location),
        }
    }

    /// `T1`; a thread whose name is a mere number is called one.
    pub fn thread(&self, thread: ThreadId) -> String {
        let name = self.trace.symbols().thread(thread);
        match is_number(name) {
            true => format!("thread {name}"),
            false => shown(name),
        }
    }

    /// The name of a lock.
    pub fn lock(&self, lock: trace::LockId) -> String {
        shown(self.trace.symbols().lock(lock))
    }

    /// The thread of an event.
    pub fn thread_of(&self, event: EventId) -> String {
        self.thread(self.trace.thread(event))
    }

    /// What an event is, as in 'T1's ..': `write of x`.
    fn noun(&self, event: EventId) -> String {
        let op = self.trace.op(event);
        let object = self.object(op);
        match op {
            Op::RequestShared(_) => format!("shared request of {object}"),
            Op::AcquireShared(_) => format!("shared acquire of {object}"),
            Op::ReleaseShared(_) => format!("shared release of {object}"),
            Op::Wait(_) => format!("wait for {object}"),
            Op::BarrierEnter(_) => format!("arrival at barrier {object}"),
            Op::BarrierExit(_) => format!("departure from barrier {object}"),
            Op::Allocate(_) if self.is_reallocation(event) => format!("realloc to {object}"),
            Op::Allocate(_) => format!("allocation of {object}"),
            Op::Branch(_) => format!("{object} branches"),
            Op::Mark(_) => format!("mark {object}"),
            Op::RegionBegin(_) => format!("begin of region {object}"),
            Op::RegionEnd(_) => format!("end of region {object}"),
            Op::Begin | Op::End => op.kind().words(),
            Op::Fence => format!("{}{}", self.order(event, " "), op.kind().words()),
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
                format!("{}{} of {object}", self.order(event, " "), op.kind().words())
            }
            _ => format!("{} of {object}", op.kind().words()),
        }
    }

    /// The memory order of an event, followed by this; nothing for `seq_cst`, which is what not saying it means.
    fn order(&self, event: EventId, then: &str) -> String {
        match self.trace.memory_order(event) {
            MemoryOrder::SeqCst => String::new(),
            order => format!("{}{then}", order.name()),
        }
    }

    /// Whether an event is the allocation of a call of `realloc`.
    fn is_reallocation(&self, event: EventId) -> bool {
        let place = self.trace.symbols().location(self.trace.location(event));
        matches!(self.trace.op(event), Op::Allocate(_))
            && self.trace.metadata().reallocations.iter().any(|known| known == place)
    }

    /// What an event does: `write x`.
    pub fn operation(&self, event: EventId) -> String {
        let op = self.trace.op(event);
        let verb = match op {
            Op::BarrierEnter(_) => "enter barrier".to_owned(),
            Op::BarrierExit(_) => "leave barrier".to_owned(),
            Op::Branch(_) => "branches:".to_owned(),
            Op::RegionBegin(_) => "begin region".to_owned(),
            Op::RegionEnd(_) => "end region".to_owned(),
            Op::Allocate(_) if self.is_reallocation(event) => "realloc to".to_owned(),
            _ => op.kind().words(),
        };
        let operation = format!("{verb} {}", self.object(op)).trim_end().to_owned();
        match self.order(event, "") {
            order if order.is_empty() => operation,
            order => format!("{operation}, {order}"),
        }
    }

    /// The name of what an operation acts on; empty where that is nothing.
    pub fn object(&self, op: Op) -> String {
        let symbols = self.trace.symbols();
        match op {
            Op::Begin | Op::End | Op::Fence => String::new(),
            Op::Fork(thread) | Op::Join(thread) => self.thread(thread),
            Op::Read(v) | Op::Write(v) | Op::AtomicRead(v) | Op::AtomicWrite(v) | Op::AtomicUpdate(v) => {
                shown(symbols.variable(v))
            }
            Op::Request(l)
            | Op::Acquire(l)
            | Op::Release(l)
            | Op::RequestShared(l)
            | Op::AcquireShared(l)
            | Op::ReleaseShared(l) => shown(symbols.lock(l)),
            Op::Wait(c) | Op::Signal(c) | Op::Broadcast(c) => shown(symbols.condition(c)),
            Op::BarrierEnter(b) | Op::BarrierExit(b) => shown(symbols.barrier(b)),
            Op::Post(s) | Op::Take(s) => shown(symbols.semaphore(s)),
            Op::Allocate(b) | Op::Free(b) => shown(symbols.block(b)),
            Op::Branch(count) => count.to_string(),
            Op::Mark(mark) => {
                let mark = self.trace.mark(mark);
                format!("{} = {}", shown(symbols.marks.get(mark.name as usize)), mark.value)
            }
            Op::RegionBegin(r) | Op::RegionEnd(r) => shown(symbols.region(r)),
        }
    }

    /// What a read sees: `T1's write of x at a.c:10 (event 4)` or `the initial value of x`.
    pub fn source(&self, read: EventId, source: Source) -> String {
        match source {
            Source::Write(write) => self.event(write),
            Source::Initial => format!("the initial value of {}", self.object(self.trace.op(read))),
        }
    }

    /// What a read saw in the trace.
    pub fn recorded_source(&self, read: EventId) -> String {
        self.source(read, self.trace.reads_from(read).map_or(Source::Initial, Source::Write))
    }

    /// The question as a statement that is true.
    pub fn possible(&self, question: &Question) -> String {
        let events = |events: &[EventId]| listed(events.iter().map(|&event| self.event(event)));
        match question {
            Question::Race(a, b) => format!("{} can race with {}", self.event(*a), self.event(*b)),
            Question::Deadlock(blocked) => format!("{} can block each other forever", events(blocked)),
            Question::Order(order) => {
                let freed = match order.first().is_some_and(|&first| self.is_reallocation(first)) {
                    true => "; realloc has freed the old block by then",
                    false => "",
                };
                format!("this order can happen: {}{freed}", self.in_order(order))
            }
            Question::Reads(read, None) => {
                format!("{} can see something other than {}", self.event(*read), self.recorded_source(*read))
            }
            Question::Reads(read, Some(source)) => {
                format!("{} can see {}", self.event(*read), self.source(*read, *source))
            }
            Question::Cut(counts) => {
                format!("this state can be reached: {}", self.happened(counts))
            }
        }
    }

    /// The question as a statement that is false.
    pub fn impossible(&self, question: &Question) -> String {
        let events = |events: &[EventId]| listed(events.iter().map(|&event| self.event(event)));
        match question {
            Question::Race(a, b) => format!("{} cannot race with {}", self.event(*a), self.event(*b)),
            Question::Deadlock(blocked) => format!("{} cannot block each other forever", events(blocked)),
            Question::Order(order) => format!("this order cannot happen: {}", self.in_order(order)),
            Question::Reads(read, None) => {
                format!(
                    "{} cannot see anything other than {}",
                    self.event(*read),
                    self.recorded_source(*read)
                )
            }
            Question::Reads(read, Some(source)) => {
                format!("{} cannot see {}", self.event(*read), self.source(*read, *source))
            }
            Question::Cut(counts) => {
                format!("this state cannot be reached: {}", self.happened(counts))
            }
        }
    }

    /// The question as one that is open.
    pub fn whether(&self, question: &Question) -> String {
        format!("whether {}", self.possible(question))
    }

    fn in_order(&self, events: &[EventId]) -> String {
        events.iter().map(|&event| self.event(event)).collect::<Vec<_>>().join(", then ")
    }

    fn happened(&self, counts: &[u32]) -> String {
        match counts.iter().map(|&count| u64::from(count)).sum::<u64>() {
            0 => "nothing has happened".to_owned(),
            1 => format!("{} has happened, and nothing else", self.counts(counts)),
            _ => format!("{} have happened, and nothing else", self.counts(counts)),
        }
    }

    /// `3 events of T1 and 1 event of T2`.
    pub(crate) fn counts(&self, counts: &[u32]) -> String {
        let some = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        let each = some.map(|(thread, &count)| {
            format!("{} of {}", counted(u64::from(count), "event"), self.thread(ThreadId::new(thread)))
        });
        let each: Vec<String> = each.collect();
        if each.is_empty() { "no events".to_owned() } else { listed(each) }
    }
}

/// What a model demands of the reads, in half a sentence.
pub fn demand(model: Model) -> &'static str {
    match model {
        Model::Sync => "reads may see anything",
        Model::ReadsFrom => "every read sees the write it saw in the trace, unless the question names it",
        Model::Branch => {
            "every read after which its thread takes a branch and goes on sees the write it saw in the \
             trace, unless the question names it"
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
        None => String::new(),
    }
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.len() <= 20 && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The longest name that is shown in full.
const LONGEST: usize = 48;

/// The longest message that is shown in full.
const LONGEST_MESSAGE: usize = 100;

/// What a finding is about, fit for one line: a failure's message, a deadlock's locks each by itself, or a name.
pub fn shown_object(kind: FindingKind, object: &str) -> String {
    match kind {
        FindingKind::Failure => shown_message(object),
        FindingKind::Deadlock => names(object).map(shown).collect::<Vec<_>>().join(", "),
        _ => shown(as_users_know_it(object)),
    }
}

/// A name without the members that only the C++ library knows: `server->hits` for `server->hits._M_header._M_parent`.
fn as_users_know_it(object: &str) -> &str {
    let inside = ["._M_", "->_M_"].iter().filter_map(|member| object.find(member)).min();
    &object[..inside.filter(|&at| at > 0).unwrap_or(object.len())]
}

/// A message fit for one line: its first line, and shortened at the end only.
fn shown_message(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let text = printable(first);
    let is_whole = first.len() == message.len() && text.chars().count() <= LONGEST_MESSAGE;
    if is_whole {
        return text;
    }
    let head: String = text.chars().take(LONGEST_MESSAGE - 1).collect();
    format!("{}…", head.trim_end())
}

/// The names of a list, which may themselves have commas in brackets.
fn names(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let text = rest?;
        let is_end = |&(at, _): &(usize, &str)| {
            let opened = text[..at].matches(['<', '(', '[', '{']).count();
            // The arrow of `c->state` closes nothing.
            let arrows = text[..at].matches("->").count();
            opened + arrows == text[..at].matches(['>', ')', ']', '}']).count()
        };
        let end = text.match_indices(", ").find(is_end).map(|(at, _)| at);
        rest = end.map(|at| &text[at + 2..]);
        Some(end.map_or(text, |at| &text[..at]))
    })
}

/// A name fit for one line: no hidden characters, and shortened when long. What says least is left out first: the directories of a file, the
/// arguments of types and functions, the modules of a function; what is still too long is cut in the middle.
pub fn shown(name: &str) -> String {
    let fits = |text: &str| text.chars().count() <= LONGEST;
    let printable = printable(name);
    if fits(&printable) {
        return printable;
    }
    if !printable.contains(' ')
        && let Some(short) = last_parts(&printable, "/").filter(|short| fits(short))
    {
        return short;
    }
    let mut text = without_arguments(&printable);
    if !fits(&text)
        && let Some(short) = last_parts(&text, "::")
    {
        text = short;
    }
    let length = text.chars().count();
    if length <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2 - 1).collect();
    let tail: String = text.chars().skip(length - LONGEST / 2).collect();
    format!("{head}…{tail}")
}

/// The last parts of a path, as many as fit, but at least one: `…/src/main.c:3`. None: it has but one.
fn last_parts(path: &str, separator: &str) -> Option<String> {
    let starts = path.match_indices(separator).map(|(at, _)| at).filter(|&at| at > 0);
    let starts: Vec<usize> = starts.collect();
    // From the end, so that a path of many parts costs no more than what is shown of it: one character is the `…`.
    let fits = |&&at: &&usize| path[at..].chars().nth(LONGEST - 1).is_none();
    let start = starts.iter().rev().take_while(fits).last().or(starts.last())?;
    Some(format!("…{}", &path[*start..]))
}

/// A name with `…` for what is in brackets, but for short ones and for the line of an allocation: `map<…>::insert(…)`.
fn without_arguments(name: &str) -> String {
    const SHORT: usize = 8;
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find(['<', '(']) {
        let (before, inside) = rest.split_at(open + 1);
        text.push_str(before);
        let length = closing(inside).unwrap_or(inside.len());
        let (within, after) = inside.split_at(length);
        let is_line = before.ends_with(" (");
        text.push_str(if within.len() <= SHORT || is_line { within } else { "…" });
        rest = after;
    }
    text + rest
}

/// The length of what is in brackets that were opened before a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            // The arrows of `c->state` and of a function's type.
            '>' if before == '-' => {}
            '>' | ')' if depth == 0 => return Some(at),
            '>' | ')' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

/// Where the character begins that a place in a text belongs to; the end of the text for places beyond it.
pub fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&start| text.is_char_boundary(start)).unwrap_or(0)
}

/// A text of any length in which what cannot be seen is spelled out.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}

/// Whether a character is not seen, or changes how others are: control characters, those that change the direction of text, those without width, and
/// tags. A name with them can look like another.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_in_a_container_is_on_the_container() {
        let of = |object| shown_object(FindingKind::Race, object);
        assert_eq!(of("Server (a.cc:2)->hits._M_header._M_parent"), "Server (a.cc:2)->hits");
        assert_eq!(of("tree node of pair<…> (a.cc:5)->_M_left"), "tree node of pair<…> (a.cc:5)");
        assert_eq!(of("_M_mine"), "_M_mine");
        assert_eq!(of("conn (a.c:3)->state"), "conn (a.c:3)->state");
    }

    #[test]
    fn names_fit_one_line() {
        assert_eq!(shown("x"), "x");
        assert_eq!(shown("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
        let path = "/home/somebody/projects/company/repository/src/network/connection.cc:1234";
        assert_eq!(shown(path), "…/repository/src/network/connection.cc:1234");
        assert_eq!(
            shown("std::map<std::string, std::vector<std::pair<int, char>>>::insert(std::pair<int, char>&&)"),
            "std::map<…>::insert(…)"
        );
        assert_eq!(
            shown(
                "shared Registry<string, vector<pair<string, unordered_map<string, int>>>> (big.cc:37)->total"
            ),
            "shared Registry<…> (big.cc:37)->total"
        );
        assert_eq!(
            shown(
                "company::infrastructure::networking::connections::Registry<string, int>::add(string const&)"
            ),
            "…::networking::connections::Registry<…>::add(…)"
        );
        let long = "é".repeat(300);
        assert_eq!(shown(&long).chars().count(), 48);
    }

    #[test]
    fn messages_lose_their_end_and_locks_are_shortened_one_by_one() {
        let message = "panicked: assertion `left == right` failed: read too early";
        assert_eq!(shown_object(FindingKind::Failure, message), message);
        let two_lines = format!("{message}\n  left: 1");
        assert_eq!(shown_object(FindingKind::Failure, &two_lines), format!("{message}…"));
        let long = shown_object(FindingKind::Failure, &"x ".repeat(300));
        assert!(long.chars().count() <= 100 && long.ends_with("x…"), "{long}");
        let locks = "Account (bank.cc:17)[1].lock, Account (bank.cc:17)[2].lock, c->m";
        assert_eq!(shown_object(FindingKind::Deadlock, locks), locks);
        let templates = "c->Registry<std::string, std::vector<std::pair<int, char>>>::instance.lock, m";
        assert_eq!(shown_object(FindingKind::Deadlock, templates), "c->Registry<…>::instance.lock, m");
    }

    /// Shortens from the front, one part after the other.
    fn naive_last_parts(path: &str, separator: &str) -> Option<String> {
        let ends = path.match_indices(separator).filter(|&(at, _)| at > 0);
        let shorter: Vec<String> = ends.map(|(at, _)| format!("…{}", &path[at..])).collect();
        let fits = |short: &&String| short.chars().count() <= LONGEST;
        shorter.iter().find(fits).or(shorter.last()).cloned()
    }

    #[test]
    fn as_many_parts_of_a_path_are_kept_as_fit() {
        for part in ["a", "é", "module", "a::b", ":", "long".repeat(20).as_str()] {
            for parts in 0..40 {
                for (path, separator) in [
                    (format!("{part}/").repeat(parts) + "main.c:3", "/"),
                    (format!("{part}::").repeat(parts) + "f", "::"),
                ] {
                    assert_eq!(last_parts(&path, separator), naive_last_parts(&path, separator), "{path}");
                }
            }
        }
    }

    /// To count the characters of every shorter form took a quarter of a minute for a path of a megabyte.
    #[test]
    fn a_path_of_many_parts_is_shortened_quickly() {
        let path = "p/".repeat(500_000) + "c:1";
        let started = std::time::Instant::now();
        assert!(last_parts(&path, "/").is_some_and(|short| short.chars().count() <= LONGEST));
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }
}
