//! A finding for a person at a terminal: the source under carets, who did what with which locks held, the interleaving that
//! shows it, and how to see it happen. Styled; the printer strips the styles where they are not wanted.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use check::Question;
use trace::{EventId, StackFrame};

use crate::context::Context;
use crate::fixes::{fix_in_words, no_fix_in_words, orders_in_words};
use crate::interleaving::{Steps, interleaving};
use crate::outcome::{ThreadAtEnd, effect, failing, frequency, shown_frame, statement, threads_at_end};
use crate::place::{SourcePlace, telling_span};
use crate::words::{listed, printable, shown, shown_object};
use crate::wrap::wrapped;
use findings::{Failure, Finding, FindingKind, FurtherPlaces, Rung};

/// The finding told in full. Its question must make sense about the trace.
pub fn finding_in_words(
    context: &Context<'_>,
    finding: &Finding,
    question: &Question,
    steps: Steps,
) -> String {
    let told = FindingText { context, finding };
    let mut text = told.excerpts();
    text.push_str(&told.statement(question));
    match &finding.failure {
        Some(failure) => text.push_str(&told.failed(failure)),
        None => text.push_str(&told.accesses()),
    }
    text.push_str(&told.allocations());
    text.push_str(&told.further_places());
    text.push_str(&told.tests());
    text.push_str(&told.threads());
    text.push('\n');
    let table = interleaving(context.trace, question, &finding.schedule, steps);
    text.extend(table.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n"));
    text.push_str(&told.ending());
    text
}

/// `data race on x`.
pub fn title(finding: &Finding) -> String {
    if finding.kind == FindingKind::Failure {
        return format!("failure: {}", shown_object(finding.kind, &finding.object));
    }
    let about = if finding.kind == FindingKind::Misuse { "of" } else { "on" };
    let object = match vptr_of(&finding.object).filter(|_| finding.kind == FindingKind::Race) {
        Some(owner) => format!("vptr of {}", shown(owner)),
        None => shown_object(finding.kind, &finding.object),
    };
    format!("{} {about} {object}", finding.kind.title())
}

/// The object whose pointer to its virtual functions this is, which only constructors and destructors write: compilers call it `_vptr.Class` or
/// `_vptr$Class`.
fn vptr_of(object: &str) -> Option<&str> {
    let at = object.find("._vptr").or_else(|| object.find("->_vptr"))?;
    Some(&object[..at])
}

/// What a finding is, and where.
pub fn title_and_places(finding: &Finding) -> String {
    let places: Vec<String> = finding.locations.iter().map(|location| shown(location)).collect();
    match places.is_empty() {
        true => title(finding),
        false => format!("{} at {}", title(finding), listed(places)),
    }
}

/// The finding in a line: what it is, where, and what is known of it.
pub fn finding_in_a_line(finding: &Finding) -> String {
    format!("{}: {}, {}{}\n", finding.id, title_and_places(finding), finding.rung.name(), times(finding))
}

/// The most further locations of a finding that are listed for people.
const MOST_FURTHER: usize = 8;

/// Further locations of a finding: `a.c:3 and a.c:9`, with what they are about if that is another element.
pub(crate) fn further_in_words(finding: &Finding, places: &FurtherPlaces) -> String {
    let mut locations: Vec<String> = places.locations.iter().map(|location| shown(location)).collect();
    if finding.kind == FindingKind::Race {
        locations.dedup();
    }
    let object = match places.object == finding.object {
        true => String::new(),
        false => format!(" ({})", shown(&places.object)),
    };
    let count = if places.count > 1 { format!(", {} times", places.count) } else { String::new() };
    format!("{}{object}{count}", listed(locations))
}

/// How many sets of events it stands for, if that is more than one.
fn times(finding: &Finding) -> String {
    let sets = if finding.kind == FindingKind::Race { "pairs" } else { "sets" };
    match (finding.count, finding.more.len() + 1) {
        (1, _) => String::new(),
        (count, 1) => format!(" ({count} {sets} of events at these locations)"),
        (count, places) => format!(" ({count} {sets} of events at {places} {sets} of locations)"),
    }
}

struct FindingText<'c> {
    context: &'c Context<'c>,
    finding: &'c Finding,
}

/// A line of source with what is said of it.
struct SourceExcerpt<'p> {
    place: SourcePlace<'p>,
    events: Vec<(usize, EventId)>,
}

impl FindingText<'_> {
    /// The headline, and each line of source that an event is at under a caret, in the manner of rustc.
    fn excerpts(&self) -> String {
        let Finding { rung, .. } = self.finding;
        let times = times(self.finding);
        let racy = if self.finding.racy == Some(true) { ", racy" } else { "" };
        let inherent = match self.finding.inherent {
            true => ", in every run (forks or joins allow no other order)",
            false => "",
        };
        let harm = self.finding.harm.filter(|harm| harm.is_visible() && self.finding.failure.is_none());
        let harm = harm.map(|harm| format!(", {}", harm.in_words())).unwrap_or_default();
        let title = format!("{}, {}{harm}{racy}{inherent}{times}", title(self.finding), rung.name());
        let level = match rung {
            Rung::Confirmed | Rung::Predicted => Level::ERROR,
            Rung::Diverged | Rung::Likely | Rung::Possible => Level::WARNING,
        };
        let level = level.with_name(self.finding.id.as_str());
        let mut group = Group::with_title(level.primary_title(title));
        let mut files: Vec<(&str, Vec<SourceExcerpt<'_>>)> = Vec::new();
        for marked in self.marked() {
            match files.iter_mut().find(|(file, _)| *file == marked.place.file) {
                Some((_, marks)) => marks.push(marked),
                None => files.push((marked.place.file, vec![marked])),
            }
        }
        for (file, marks) in &files {
            if let Some(snippet) = self.snippet(file, marks) {
                group = group.element(snippet);
            }
        }
        let excerpts = Renderer::styled().render(&[group]);
        // A headline alone needs no gap.
        let gap = if excerpts.contains('\n') { "\n\n" } else { "\n" };
        format!("{excerpts}{gap}")
    }

    /// The places of the finding's events, events at the same place together.
    fn marked(&self) -> Vec<SourceExcerpt<'_>> {
        let mut marked: Vec<SourceExcerpt<'_>> = Vec::new();
        for (index, event) in self.finding.named_events().enumerate() {
            let Some(place) = self.place_of(index, event) else { continue };
            let same = |mark: &&mut SourceExcerpt<'_>| {
                mark.place.file == place.file && mark.place.line == place.line
            };
            match marked.iter_mut().find(same) {
                Some(mark) => mark.events.push((index, event)),
                None => marked.push(SourceExcerpt { place, events: vec![(index, event)] }),
            }
        }
        marked
    }

    /// Where an event is in the source. A thread that is stuck is where it waits, a failure where the program fails, and a misuse where its call
    /// is, not where the thread's last event was.
    fn place_of(&self, index: usize, event: EventId) -> Option<SourcePlace<'_>> {
        match self.finding.locations.get(index).filter(|_| self.finding.is_at_calls()) {
            Some(location) => SourcePlace::of(location),
            None => self.context.place(event),
        }
    }

    /// The lines of one file; `None`: its text is not at hand, or it does not have them.
    fn snippet(
        &self,
        file: &str,
        marks: &[SourceExcerpt<'_>],
    ) -> Option<Snippet<'static, annotate_snippets::Annotation<'static>>> {
        let text = self.context.source(file)?;
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut snippet = Snippet::source(text.to_string()).path(shown(file));
        for mark in marks {
            let start = *starts.get(mark.place.line as usize - 1)?;
            let line = text[start..].lines().next().unwrap_or_default();
            let span = telling_span(line, telling_part(self.finding))?;
            let span = start + span.start..start + span.end;
            for &(index, event) in &mark.events {
                let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                snippet = snippet.annotation(kind.span(span.clone()).label(self.label(event)));
            }
        }
        Some(snippet)
    }

    /// What stands under a caret: `T1: write x, while holding m`.
    fn label(&self, event: EventId) -> String {
        if self.finding.kind == FindingKind::Misuse {
            return self.context.misuse_in_words(self.finding, event);
        }
        if let (FindingKind::Failure, Some(failure)) = (self.finding.kind, &self.finding.failure) {
            return failing(failure);
        }
        let words = self.context.words();
        let held: Vec<String> = self.context.held(event).iter().map(|hold| words.lock(hold.lock)).collect();
        let held = match held.is_empty() {
            true => "no lock held".to_owned(),
            false => format!("holding {}", listed(held)),
        };
        let name = self.context.trace.symbols().thread(self.context.trace.thread(event));
        let threads = self.finding.failure.iter().flat_map(|failure| &failure.threads);
        let mut waits = threads.filter(|thread| self.finding.is_stuck() && thread.thread == name);
        if let Some(what) = waits.find_map(|thread| thread.waits_for.as_ref()) {
            return format!("{}: waits for {}, {held}", words.thread_of(event), shown(what));
        }
        format!("{}: {}, {held}", words.thread_of(event), words.operation(event))
    }

    /// What can happen, in a sentence.
    fn statement(&self, question: &Question) -> String {
        let said = statement(self.finding, || self.context.words().possible(question));
        let mut text = wrapped(&format!("{said}."), 2, 2);
        if let Some(orders) = orders_in_words(self.finding) {
            text.push_str(&wrapped(&orders, 2, 2));
        }
        if let Some(fix) = fix_in_words(self.finding).or_else(|| no_fix_in_words(self.finding)) {
            text.push_str(&wrapped(&fix, 2, 2));
        }
        if let Some(effect) = effect(self.finding) {
            text.push_str(&format!("  When it happens: {BOLD}{effect}{BOLD:#}.\n"));
            for line in &self.finding.difference {
                text.push_str(&format!("      {}\n", printable(line)));
            }
        }
        if let Some(failure) = &self.finding.failure {
            text.push_str(&wrapped(&format!("{}.", frequency(failure)), 2, 2));
        }
        text
    }

    /// Where the failing thread was, and what the others were doing.
    fn failed(&self, failure: &Failure) -> String {
        let mut said = String::new();
        for ThreadAtEnd { heading, stack } in threads_at_end(self.context, failure) {
            said.push_str(&format!("  {heading}{}\n", if stack.is_empty() { "." } else { ":" }));
            for (depth, frame) in stack.into_iter().enumerate() {
                said.push_str(&format!("      #{depth} {}\n", shown_frame(frame)));
            }
        }
        said
    }

    /// The locks held at each event, and the calls that led there.
    fn accesses(&self) -> String {
        let words = self.context.words();
        let mut text = String::new();
        for event in self.context.shown_events(self.finding) {
            let held = self.context.held_in_words(event);
            text.push_str(&wrapped(&format!("{}: {held}.", words.brief(event)), 2, 4));
            text.push_str(&self.calls(event));
        }
        text
    }

    /// Where the memory comes from.
    fn allocations(&self) -> String {
        let words = self.context.words();
        let each = self.context.allocations(self.finding).into_iter().map(|(block, allocation)| {
            let (thread, place) = (words.thread_of(allocation), words.location(allocation));
            let name = shown(self.context.trace.symbols().block(block));
            let mut text = wrapped(&format!("{name} was allocated by {thread} at {place}."), 2, 4);
            text.push_str(&self.calls(allocation));
            text
        });
        each.collect()
    }

    /// The calls that led to an event.
    fn calls(&self, event: EventId) -> String {
        let frames = self.context.shown_stack(event).into_iter().enumerate();
        let line = |(depth, frame): (usize, StackFrame)| {
            format!("      #{depth} {} {}\n", shown(&frame.function), shown(&frame.location))
        };
        frames.map(line).collect()
    }

    /// Where else the same cause shows.
    fn further_places(&self) -> String {
        let mut text = String::new();
        for (index, places) in self.finding.more.iter().take(MOST_FURTHER).enumerate() {
            if index == 0 {
                text.push_str("  The same cause shows at:\n");
            }
            text.push_str(&format!("      {}\n", further_in_words(self.finding, places)));
        }
        if let Some(left @ 1..) = self.finding.more.len().checked_sub(MOST_FURTHER) {
            text.push_str(&format!("      and {left} more\n"));
        }
        text
    }

    /// The tests that show it.
    fn tests(&self) -> String {
        match &self.finding.tests[..] {
            [] => String::new(),
            [test] => wrapped(&format!("Shown by the test {}.", printable(test)), 2, 4),
            tests => {
                let named =
                    tests.iter().take(MOST_TESTS).map(|test| printable(test)).collect::<Vec<_>>().join(", ");
                let more = match tests.len().checked_sub(MOST_TESTS) {
                    Some(more @ 1..) => format!(" and {more} more"),
                    _ => String::new(),
                };
                wrapped(&format!("Shown by {} tests: {named}{more}.", tests.len()), 2, 4)
            }
        }
    }

    /// Where the threads come from.
    fn threads(&self) -> String {
        let words = self.context.words();
        let created = self.context.threads(self.finding).into_iter().filter_map(|(thread, fork)| {
            let fork = fork?;
            let (name, parent) = (words.thread(thread), words.thread_of(fork));
            let mut text =
                wrapped(&format!("{name} was created by {parent} at {}.", words.location(fork)), 2, 4);
            text.push_str(&self.calls(fork));
            Some(text)
        });
        created.collect()
    }

    /// What to beware of, how to see it happen, and the line that scripts look for.
    fn ending(&self) -> String {
        let mut text = String::new();
        // What was seen happening needs no warning that it might not.
        if !self.finding.guaranteed && self.finding.rung != Rung::Confirmed {
            text.push_str(
                "  Not guaranteed: a thread continues after a read that sees another value; the program may take another path.\n",
            );
        }
        if let Some(replay) = &self.finding.replay {
            text.push_str(&format!("  Happened in {} of {} replays.\n", replay.confirmed, replay.times));
            if let Some(divergence) = &replay.divergence {
                text.push_str(&wrapped(
                    &format!("A replay left the schedule: {}", printable(divergence)),
                    2,
                    4,
                ));
            }
        }
        if let Some(command) = reproduction(self.context, self.finding) {
            text.push_str(&format!("  To see it happen: {BOLD}{command}{BOLD:#}\n"));
        }
        let place = summary_place(self.context, self.finding);
        text.push_str(&format!("{STYLE}SUMMARY: foretell: {}{place}{STYLE:#}\n", self.finding.kind.title()));
        text
    }
}

const BOLD: Style = Style::new().bold();
const STYLE: Style = AnsiColor::BrightBlack.on_default();

/// The command that runs the program into the bug; `None`: the trace is not of a program that can be run.
pub fn reproduction(context: &Context<'_>, finding: &Finding) -> Option<String> {
    let name = context.name.as_deref()?;
    // Replays that did not show it will not do so next time.
    let was_in_vain = finding.replay.as_ref().is_some_and(|replay| replay.confirmed == 0);
    if was_in_vain || finding.rung == Rung::Diverged {
        return None;
    }
    let mut command = format!("foretell replay {} {}", quoted(name), finding.id);
    context.options.iter().for_each(|option| command = format!("{command} {option}"));
    context.trace.can_be_replayed().then_some(command)
}

/// The most tests that are named for a finding.
const MOST_TESTS: usize = 8;

/// As a shell takes it for one word.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", shown(word).replace('\'', "'\\''")),
    }
}

/// What the source is to show of a finding: the variable or lock that it is about, and of a failed assertion what was asserted.
fn telling_part(finding: &Finding) -> &str {
    let quoted = finding.object.split_once('`').and_then(|(_, rest)| Some(rest.rsplit_once('`')?.0));
    quoted.filter(|_| finding.kind == FindingKind::Failure).unwrap_or(&finding.object)
}

/// ` a.c:12 in function`, as sanitizers end their summaries.
fn summary_place(context: &Context<'_>, finding: &Finding) -> String {
    let Some(first) = finding.named_events().next() else { return String::new() };
    if let (true, [location, ..]) = (finding.is_at_calls(), &finding.locations[..]) {
        // The call need not be an event.
        let stack = finding.failure.iter().flat_map(|failure| &failure.stack);
        let function = stack.filter_map(|frame| frame.split_once(" at ")).find(|(_, at)| at == location);
        let function = function.filter(|(function, _)| !function.starts_with('('));
        let function = function.map(|(function, _)| format!(" in {}", shown(function))).unwrap_or_default();
        return format!(" {}{function}", shown(location));
    }
    let location = context.words().location(first);
    // What is inlined from a library is not where users look.
    let stack = context.stack(first);
    let frame = stack.iter().find(|frame| shown(&frame.location) == location).or(stack.first());
    let function = frame.map(|frame| format!(" in {}", shown(&frame.function)));
    format!(" {location}{}", function.unwrap_or_default())
}
