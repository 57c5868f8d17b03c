//! What every report says of a finding's events: the locks held at each, where its thread was created, its stack, and the
//! source around it. Gathered for all findings in one pass over the trace.

use std::collections::HashMap;

use trace::{BlockId, BlockNames, EventId, LockId, Op, StackFrame, ThreadId, Trace};

use crate::place::{SourcePlace, Sources, is_of_the_system};
use crate::words::{Words, printable, shown};
use findings::{Finding, FindingKind};

/// What is known around the events of some findings.
pub struct Context<'t> {
    /// The trace they are of.
    pub trace: &'t Trace,
    /// How a user would name the trace's file, if it is one.
    pub name: Option<String>,
    /// The options with which a search gives the findings the ids they have, each word as a shell takes it.
    pub options: Vec<String>,
    sources: &'t dyn Sources,
    held: HashMap<EventId, Vec<HeldLock>>,
    allocations: HashMap<EventId, EventId>,
    /// Whether stacks are shown with the frames of the runtime and the standard library at their ends.
    full_stacks: bool,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The recordings that findings are of, each with what is known around its findings: the run's own, and those of replays
/// that went ways of their own.
#[derive(Debug)]
pub struct Contexts<'t> {
    /// Of the run's own recording.
    pub own: Context<'t>,
    /// Of the others, by the names that findings have for them.
    pub others: Vec<(String, Context<'t>)>,
}

impl<'t> Contexts<'t> {
    /// All of them, the run's own first.
    pub fn all(&self) -> impl Iterator<Item = &Context<'t>> {
        std::iter::once(&self.own).chain(self.others.iter().map(|(_, context)| context))
    }

    /// Which of them a finding is of.
    pub fn number(&self, finding: &Finding) -> usize {
        let named = |name: &String| self.others.iter().position(|(known, _)| known == name);
        finding.recording.as_ref().and_then(named).map_or(0, |index| index + 1)
    }

    /// That of a finding.
    pub fn of(&self, finding: &Finding) -> &Context<'t> {
        match self.number(finding) {
            0 => &self.own,
            number => &self.others[number - 1].1,
        }
    }
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock.
    pub lock: LockId,
    /// Since when.
    pub acquire: EventId,
    /// Whether other readers may hold it too.
    pub shared: bool,
}

/// A stack deeper than this is a recursion, whose outer calls say nothing more.
const DEEPEST_STACK: usize = 64;

impl<'t> Context<'t> {
    /// What is known around the events of these findings. The events must exist. Linear in the trace.
    pub fn new<'f>(
        trace: &'t Trace,
        name: Option<String>,
        sources: &'t dyn Sources,
        findings: impl IntoIterator<Item = &'f Finding>,
    ) -> Self {
        let mut events: Vec<EventId> = findings.into_iter().flat_map(Finding::named_events).collect();
        events.sort_unstable();
        events.dedup();
        let (held, allocations) = (held_at(trace, &events), allocations_of(trace, &events));
        Context { trace, name, options: Vec::new(), sources, held, allocations, full_stacks: false }
    }

    /// The same for findings of a search with these options.
    pub fn found_with(self, options: &[String]) -> Self {
        Context { options: options.to_vec(), ..self }
    }

    /// The same with all frames of stacks, if they are wanted.
    pub fn with_full_stacks(self, full_stacks: bool) -> Self {
        Context { full_stacks, ..self }
    }

    /// Events in words.
    pub fn words(&self) -> Words<'t> {
        Words::new(self.trace)
    }

    /// The locks that an event's thread holds right before it, the outermost first. Known for the events of the findings.
    pub fn held(&self, event: EventId) -> &[HeldLock] {
        self.held.get(&event).map_or(&[], Vec::as_slice)
    }

    /// The calls that led to an event, the innermost first; empty where they were not recorded or cannot be read.
    pub fn stack(&self, event: EventId) -> Vec<StackFrame> {
        let notes = self.trace.notes();
        let stack = notes.and_then(|notes| Some((notes, notes.stack(event).ok()??)));
        let frame = |text: &str| {
            let (function, location) = text.split_once('\t').unwrap_or((text, ""));
            StackFrame { function: function.to_owned(), location: location.to_owned() }
        };
        stack
            .map_or_else(Vec::new, |(notes, id)| notes.frames_of(id).take(DEEPEST_STACK).map(frame).collect())
    }

    /// The calls that led to an event as people want to see them: without those of the runtime and the standard library, unless there are no others
    /// or everything is wanted.
    pub fn shown_stack(&self, event: EventId) -> Vec<StackFrame> {
        let mut frames = self.stack(event);
        let is_users = |frame: &StackFrame| !is_of_the_system(&frame.location);
        if !self.full_stacks && frames.iter().any(is_users) {
            frames.retain(is_users);
        }
        frames
    }

    /// The same for frames of a failure, each `function at location`.
    pub fn shown_frames<'f>(&self, frames: &'f [String]) -> Vec<&'f str> {
        let is_users =
            |frame: &&str| frame.rsplit_once(" at ").is_none_or(|(_, location)| !is_of_the_system(location));
        let all = || frames.iter().map(String::as_str);
        match !self.full_stacks && all().any(|frame| is_users(&frame)) {
            true => all().filter(is_users).collect(),
            false => all().collect(),
        }
    }

    /// The events that are the accesses and calls of a finding. The event of a misuse may be only the last one before the call: what is
    /// around that one says nothing about the call.
    pub fn shown_events(&self, finding: &Finding) -> Vec<EventId> {
        let is_shown =
            |event: &EventId| finding.kind != FindingKind::Misuse || self.is_call_of(finding, *event);
        finding.named_events().filter(is_shown).collect()
    }

    /// Whether an event is the call that a misuse is, as its place and object say. A lock that is acquired is not misused: what is, is another call
    /// in the same line.
    fn is_call_of(&self, finding: &Finding, event: EventId) -> bool {
        let op = self.trace.op(event);
        let location = self.trace.symbols().location(self.trace.location(event));
        !matches!(op, Op::Acquire(_) | Op::AcquireShared(_))
            && finding.locations.first().is_some_and(|place| place == location)
            && self.words().object(op) == shown(&finding.object)
    }

    /// What the call of a misuse is: `main unlocks m`.
    pub fn misuse_in_words(&self, finding: &Finding, event: EventId) -> String {
        let call = finding.call.as_deref().unwrap_or("misuses it");
        format!("{} {}", self.words().thread_of(event), printable(call))
    }

    /// Where an event is in the source.
    pub fn place(&self, event: EventId) -> Option<SourcePlace<'t>> {
        SourcePlace::of(self.trace.symbols().location(self.trace.location(event)))
    }

    /// The text of a file.
    pub fn source(&self, file: &str) -> Option<std::rc::Rc<str>> {
        self.sources.text(file)
    }

    /// A finding's threads in the order its events name them, each with the fork that created it.
    pub fn threads(&self, finding: &Finding) -> Vec<(ThreadId, Option<EventId>)> {
        let mut threads = Vec::new();
        for event in finding.named_events() {
            let thread = self.trace.thread(event);
            if !threads.iter().any(|&(known, _)| known == thread) {
                threads.push((thread, self.trace.fork_of(thread)));
            }
        }
        threads
    }

    /// The allocations of the blocks that a finding's events act on, each with its block, in the order of the events.
    pub fn allocations(&self, finding: &Finding) -> Vec<(BlockId, EventId)> {
        let mut found = Vec::new();
        for event in finding.named_events() {
            let Some(&allocation) = self.allocations.get(&event) else { continue };
            let Op::Allocate(block) = self.trace.op(allocation) else { continue };
            if !found.contains(&(block, allocation)) {
                found.push((block, allocation));
            }
        }
        found
    }

    /// `m held since a.c:3, n held since a.c:5`, or `no lock held`.
    pub fn held_in_words(&self, event: EventId) -> String {
        let words = self.words();
        let each = self.held(event).iter().map(|hold| {
            let shared = if hold.shared { " (shared)" } else { "" };
            format!("{}{shared} held since {}", words.lock(hold.lock), words.location(hold.acquire))
        });
        let each: Vec<String> = each.collect();
        match each.is_empty() {
            true => "no lock held".to_owned(),
            false => each.join(", "),
        }
    }
}

/// The locks held right before each of some events, by their threads.
fn held_at(trace: &Trace, events: &[EventId]) -> HashMap<EventId, Vec<HeldLock>> {
    let mut wanted = events.iter().copied().peekable();
    let mut held: Vec<Vec<HeldLock>> = vec![Vec::new(); trace.symbols().threads.len()];
    let mut found = HashMap::new();
    for (event, thread, op) in trace.events() {
        if wanted.peek().is_none() {
            break;
        }
        let held = &mut held[thread.index()];
        if wanted.next_if_eq(&event).is_some() {
            found.insert(event, held.clone());
        }
        match op {
            Op::Acquire(_) | Op::AcquireShared(_) | Op::Release(_) | Op::ReleaseShared(_)
                if trace.is_nested(event) => {}
            Op::Acquire(lock) => held.push(HeldLock { lock, acquire: event, shared: false }),
            Op::AcquireShared(lock) => held.push(HeldLock { lock, acquire: event, shared: true }),
            Op::Release(lock) | Op::ReleaseShared(lock) => held.retain(|hold| hold.lock != lock),
            _ => {}
        }
    }
    found
}

/// The allocation of the block that each of some events acts on, if it is in a block and the allocation was seen. The events are in the order of the
/// trace.
fn allocations_of(trace: &Trace, events: &[EventId]) -> HashMap<EventId, EventId> {
    let symbols = trace.symbols();
    let blocks = BlockNames::of(symbols);
    let block_of = |op: Op| match op {
        Op::Free(block) => Some(block),
        Op::Request(lock)
        | Op::Acquire(lock)
        | Op::Release(lock)
        | Op::RequestShared(lock)
        | Op::AcquireShared(lock)
        | Op::ReleaseShared(lock) => blocks.block_of(symbols.lock(lock)),
        op => blocks.block_of(symbols.variable(op.access()?.variable)),
    };
    let wanted = events.iter().filter_map(|&event| Some((event, block_of(trace.op(event))?)));
    let mut wanted = wanted.collect::<Vec<_>>().into_iter().peekable();
    let mut allocated: HashMap<BlockId, EventId> = HashMap::new();
    let mut found = HashMap::new();
    for (event, _, op) in trace.events() {
        let Some(&(next, block)) = wanted.peek() else { break };
        if event == next {
            wanted.next();
            found.extend(allocated.get(&block).map(|&allocation| (event, allocation)));
        }
        if let Op::Allocate(block) = op {
            allocated.insert(block, event);
        }
    }
    found
}
