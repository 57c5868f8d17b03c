//! Suppressions: findings that a user does not want to see, in the files of ThreadSanitizer, read unchanged.
//!
//! A line is `type:pattern`; `#` starts a comment line. A pattern matches anywhere in a name unless `^` or `$` ties it to the
//! start or end; `*` stands for anything. `race:` and our own `deadlock:`, `atomicity:`, `nondeterminism:`, `order:`,
//! `predicate:`, `failure:` and `misuse:` match the functions and files of the events and their stacks, and the object (`race:` also those of uses
//! after `free`, as in ThreadSanitizer); `race_top:`,
//! `deadlock_top:` and so on only the innermost frames; `mutex:` the locks of deadlocks and of misuse; `called_from_lib:` the source file or the library an
//! event itself lies in; `thread:` the names of the threads; `signal:` what a signal handler must not do.

mod letters;

use trace::{EventId, MisuseKind, Op};

use self::letters::LetterPairs;
use crate::context::Context;
use crate::place::SourcePlace;
use crate::report_flags::{has_event_in, misuse_of};
use crate::words::is_hidden;
use findings::{Finding, FindingKind};

/// A file of suppressions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    /// In the order of the file.
    pub entries: Vec<Suppression>,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The 1-based line.
    pub line: usize,
    /// As it is written.
    pub text: String,
    what: SuppressionTarget,
    pattern: Pattern,
}

/// What a suppression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SuppressionTarget {
    Kind(FindingKind),
    /// The innermost frames alone.
    Top(FindingKind),
    Mutex,
    Thread,
    Library,
    Signal,
}

/// Why a text is no file of suppressions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum SuppressionProblem {
    #[error("expected `type:pattern`, such as `race:function`")]
    NoType,
    #[error(
        "unknown suppression type `{0}`; expected race, deadlock, failure, misuse, atomicity, nondeterminism, order or \
         predicate, one of these with `_top`, or mutex, thread, called_from_lib or signal"
    )]
    UnknownType(String),
}

/// A problem and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SuppressionError {
    /// The 1-based line at fault.
    pub line: usize,
    /// What is wrong with it.
    pub problem: SuppressionProblem,
}

impl Suppressions {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, SuppressionError> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.map(|(line, text)| {
            Suppression::parse(line, text).map_err(|problem| SuppressionError { line, problem })
        });
        Ok(Suppressions { entries: entries.collect::<Result<_, _>>()? })
    }

    /// The index of the first entry that a finding falls under.
    pub fn matching(&self, context: &Context<'_>, finding: &Finding) -> Option<usize> {
        let letters = letters_of(context, finding);
        let mut entries = self.entries.iter();
        entries.position(|entry| letters.may_have(&entry.pattern.letters) && entry.matches(context, finding))
    }
}

/// The letters of all names of a finding that a suppression can be about.
fn letters_of(context: &Context<'_>, finding: &Finding) -> LetterPairs {
    let (symbols, mut letters) = (context.trace.symbols(), LetterPairs::default());
    letters.add(&finding.object);
    for event in finding.named_events() {
        letters.add(symbols.location(context.trace.location(event)));
        letters.add(symbols.thread(context.trace.thread(event)));
        for frame in context.stack(event) {
            letters.add(&frame.function);
            letters.add(&frame.location);
        }
    }
    let failed = finding.failure.iter().flat_map(|failure| &failure.stack);
    failed.for_each(|frame| letters.add(frame));
    context.trace.metadata().libraries.iter().for_each(|library| letters.add(&library.path));
    letters
}

impl Suppression {
    fn parse(line: usize, text: &str) -> Result<Self, SuppressionProblem> {
        let (kind, pattern) = text.split_once(':').ok_or(SuppressionProblem::NoType)?;
        let what = match kind {
            "mutex" => SuppressionTarget::Mutex,
            "thread" => SuppressionTarget::Thread,
            "called_from_lib" => SuppressionTarget::Library,
            "signal" => SuppressionTarget::Signal,
            other => {
                let (name, what): (_, fn(FindingKind) -> SuppressionTarget) = match other.strip_suffix("_top")
                {
                    Some(name) => (name, SuppressionTarget::Top),
                    None => (other, SuppressionTarget::Kind),
                };
                let mut kinds = FindingKind::ALL.iter().chain([&FindingKind::Failure]);
                let kind = kinds.find(|kind| kind.name() == name);
                what(*kind.ok_or_else(|| SuppressionProblem::UnknownType(other.to_owned()))?)
            }
        };
        Ok(Suppression { line, text: text.to_owned(), what, pattern: Pattern::new(pattern) })
    }

    fn matches(&self, context: &Context<'_>, finding: &Finding) -> bool {
        let events: Vec<EventId> = finding.named_events().collect();
        let any_frame = |frames| events.iter().any(|&event| self.matches_event(context, event, frames));
        let symbols = context.trace.symbols();
        match self.what {
            SuppressionTarget::Kind(kind) => {
                let is_there = || any_frame(usize::MAX) || self.matches_failure(finding, usize::MAX);
                is_of_kind(kind, context, finding) && (self.pattern.matches(&finding.object) || is_there())
            }
            SuppressionTarget::Top(kind) => {
                is_of_kind(kind, context, finding) && (any_frame(1) || self.matches_failure(finding, 1))
            }
            SuppressionTarget::Mutex => match finding.kind {
                FindingKind::Deadlock => finding.object.split(", ").any(|lock| self.pattern.matches(lock)),
                FindingKind::Misuse => self.pattern.matches(&finding.object) || any_frame(usize::MAX),
                _ => false,
            },
            SuppressionTarget::Thread => {
                finding.kind == FindingKind::Misuse && self.pattern.matches(&finding.object)
                    || events
                        .iter()
                        .any(|&event| self.pattern.matches(symbols.thread(context.trace.thread(event))))
            }
            SuppressionTarget::Library => {
                let location = |&event: &EventId| symbols.location(context.trace.location(event));
                let mut libraries = context.trace.metadata().libraries.iter();
                events.iter().any(|event| self.matches_location(location(event)))
                    || libraries.any(|library| {
                        self.pattern.matches(&library.path) && has_event_in(context, finding, library)
                    })
            }
            SuppressionTarget::Signal => {
                let is_in_handler = ["signal handler", "errno"].contains(&finding.object.as_str());
                finding.kind == FindingKind::Misuse && is_in_handler && any_frame(usize::MAX)
            }
        }
    }

    /// Whether an event lies at a place that is meant, or one of the innermost calls that led to it does.
    fn matches_event(&self, context: &Context<'_>, event: EventId, frames: usize) -> bool {
        self.matches_location(context.trace.symbols().location(context.trace.location(event)))
            || context
                .stack(event)
                .iter()
                .take(frames)
                .any(|frame| self.pattern.matches(&frame.function) || self.matches_location(&frame.location))
    }

    /// Whether a failure happened in one of these innermost calls; they are `function at location`.
    fn matches_failure(&self, finding: &Finding, frames: usize) -> bool {
        let stack = finding.failure.iter().flat_map(|failure| failure.stack.iter().take(frames));
        stack
            .filter_map(|frame| frame.rsplit_once(" at "))
            .any(|(function, location)| self.pattern.matches(function) || self.matches_location(location))
    }

    fn matches_location(&self, location: &str) -> bool {
        let file = match SourcePlace::of(location) {
            Some(place) => place.file,
            None => location.rsplit_once("+0x").map_or(location, |(module, _)| module),
        };
        self.pattern.matches(file) || self.pattern.matches(location)
    }
}

/// Whether suppressions of this kind are meant for a finding. ThreadSanitizer calls it a race if memory is used after it was freed, and a
/// deadlock if one thread takes locks in several orders.
fn is_of_kind(kind: FindingKind, context: &Context<'_>, finding: &Finding) -> bool {
    let frees = |event: EventId| matches!(context.trace.op(event), Op::Free(_));
    let is_use_after_free = || finding.kind == FindingKind::Order && finding.named_events().any(frees);
    match kind {
        FindingKind::Race if is_use_after_free() => true,
        FindingKind::Deadlock if misuse_of(context.trace, finding) == Some(MisuseKind::BothOrders) => true,
        kind => kind == finding.kind,
    }
}

/// Suppressions that would silence a finding, each by itself: by the innermost of the user's own functions, and by the object. `is_own` says which
/// locations are in the user's own code; a function of a library is never proposed, since that would silence too much, nor is `main`, which
/// is on most stacks.
pub fn ready_suppressions(
    context: &Context<'_>,
    finding: &Finding,
    is_own: impl Fn(&str) -> bool,
) -> Vec<String> {
    let innermost = |frames: Vec<(String, String)>| {
        let mut frames = frames.into_iter().enumerate();
        let (depth, (function, _)) = frames.find(|(_, (_, location))| is_own(location))?;
        is_telling(&function).then_some((depth, function))
    };
    let of_event = |event| {
        let stack = context.stack(event).into_iter();
        innermost(stack.map(|frame| (frame.function, frame.location)).collect())
    };
    let of_failure = || {
        let frames = finding.failure.iter().flat_map(|failure| &failure.stack);
        let frames = frames.filter_map(|frame| frame.rsplit_once(" at "));
        innermost(frames.map(|(function, place)| (function.to_owned(), place.to_owned())).collect())
    };
    let of_events = || finding.named_events().find_map(of_event);
    let function = match finding.kind {
        FindingKind::Failure => of_failure().or_else(of_events),
        _ => of_events().or_else(of_failure),
    };
    let kind = finding.kind.name();
    // What is called from anywhere else is none of this finding.
    let by_function = function.map(|(depth, name)| match depth {
        0 => (format!("{kind}_top"), name),
        _ => (kind.to_owned(), name),
    });
    let by_object = (kind.to_owned(), any_of_its_kind(&finding.object));
    let lines = by_function.into_iter().chain([by_object]).filter_map(|(kind, name)| {
        // What a pattern cannot say literally is left open.
        let open = |c: char| if c == '^' || c == '$' || is_hidden(c) { '*' } else { c };
        let pattern: String = name.chars().map(open).collect();
        let pattern = pattern.trim();
        (!pattern.is_empty()).then(|| format!("{kind}:^{pattern}$"))
    });
    lines.collect()
}

/// Whether a name says which function it is: a lambda that is inlined has no name of its own, every program has a `main`, and what only the
/// program's output says is in no function (`(panic)`).
fn is_telling(function: &str) -> bool {
    !["?", "operator()", "main"].contains(&function)
        && !function.ends_with("::main")
        && !function.starts_with('(')
}

/// A pattern for the elements of one array, and for the blocks of one allocation: `jobs[*].id`.
fn any_of_its_kind(object: &str) -> String {
    let mut pattern = String::with_capacity(object.len());
    let mut rest = object;
    while let Some(at) = rest.find(['[', '#']) {
        let (before, after) = rest.split_at(at + 1);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = digits > 0 && (before.ends_with('#') || after[digits..].starts_with(']'));
        pattern.push_str(if is_number { before.trim_end_matches('#') } else { before });
        if is_number {
            pattern.push('*');
        }
        rest = if is_number { &after[digits..] } else { after };
    }
    pattern + rest
}

/// Literal parts that must come one after the other, anything between them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    at_start: bool,
    at_end: bool,
    parts: Vec<String>,
    /// Of all parts: a name without them does not match.
    letters: LetterPairs,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text = text.trim();
        let (at_start, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (at_end, text) = text.strip_suffix('$').map_or((false, text), |rest| (true, rest));
        let parts: Vec<String> = text.split('*').map(str::to_owned).collect();
        let mut letters = LetterPairs::default();
        parts.iter().for_each(|part| letters.add(part));
        Pattern { at_start, at_end, parts, letters }
    }

    /// Whether a name is meant. Nothing matches an empty name, as in ThreadSanitizer.
    fn matches(&self, name: &str) -> bool {
        if name.is_empty() {
            return false;
        }
        let (first, rest) = self.parts.split_first().map_or(("", &[][..]), |(first, rest)| (&**first, rest));
        let after_first = match self.at_start {
            true => name.strip_prefix(first),
            false => name.find(first).map(|at| &name[at + first.len()..]),
        };
        // The first part alone must also reach the end: the last place it is found at does if any does.
        if rest.is_empty() && self.at_end {
            return if self.at_start { name == first } else { name.ends_with(first) };
        }
        let Some(mut left) = after_first else { return false };
        for (index, part) in rest.iter().enumerate() {
            let last = index + 1 == rest.len();
            if last && self.at_end {
                return left.ends_with(part.as_str());
            }
            match left.find(part.as_str()) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_threadsanitizer() {
        let cases = [
            ("foo", "a::foobar", true),
            ("^foo", "foobar", true),
            ("^foo", "afoo", false),
            ("foo$", "afoo", true),
            ("foo$", "foofoo", true),
            ("foo$", "foob", false),
            ("^foo$", "foo", true),
            ("f*o", "xfoo", true),
            ("^f*o$", "foo", true),
            ("^f*b*o$", "fooboo", true),
            ("^f*b*o$", "fooba", false),
            ("*", "x", true),
            ("*", "", false),
            ("", "x", true),
            ("lib*.so", "/usr/lib/libz.so.1", true),
            ("^a*a$", "a", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn every_program_has_a_main() {
        for name in ["main", "bank::main", "?", "operator()"] {
            assert!(!is_telling(name), "{name}");
        }
        for name in ["bank::main::{{closure}}", "domain", "pay"] {
            assert!(is_telling(name), "{name}");
        }
    }

    #[test]
    fn proposals_cover_all_elements_and_blocks() {
        for (object, pattern) in [
            ("x", "x"),
            ("jobs[12].id", "jobs[*].id"),
            ("conn (a.c:3)#2->ring[1]", "conn (a.c:3)*->ring[*]"),
            ("map[key]#", "map[key]#"),
        ] {
            assert_eq!(any_of_its_kind(object), pattern);
            assert!(Pattern::new(&format!("^{}$", any_of_its_kind(object))).matches(object));
        }
    }

    #[test]
    fn files_are_read_with_their_comments_and_mistakes_told_with_their_line() {
        let parsed = Suppressions::parse("# mine\n\nrace:foo\n  deadlock:^b$ \nsignal:x\n").unwrap();
        let texts: Vec<(usize, &str)> = parsed.entries.iter().map(|e| (e.line, e.text.as_str())).collect();
        assert_eq!(texts, [(3, "race:foo"), (4, "deadlock:^b$"), (5, "signal:x")]);
        for kind in FindingKind::ALL {
            let both = format!("{0}:f\n{0}_top:f\n", kind.name());
            let whats: Vec<SuppressionTarget> =
                Suppressions::parse(&both).unwrap().entries.iter().map(|e| e.what).collect();
            assert_eq!(whats, [SuppressionTarget::Kind(*kind), SuppressionTarget::Top(*kind)]);
        }
        assert!(Suppressions::parse("mutex_top:m").is_err());
        let error = Suppressions::parse("race:x\nracy:y\n").unwrap_err();
        assert_eq!((error.line, error.problem), (2, SuppressionProblem::UnknownType("racy".to_owned())));
        assert_eq!(Suppressions::parse("leak\n").unwrap_err().problem, SuppressionProblem::NoType);
    }
}
