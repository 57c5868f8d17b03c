//! Finds single events of a log by their threads and places: how a replay is compared with the recording.
//!
//! The log is translated as it is for a trace ([`mod@super::translate`]), so an event here is of the kind that it is in a trace. But
//! nothing is written, and the source is looked up for the events in question only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rustc_hash::FxHashMap;
use trace::native::{FrameNumber, StackId, Table};
use trace::{Kind, LocationId, Metadata, StackFrame, ThreadPath};
use wire::{Event, Op as Raw, Reader, Stop, ThreadState};

use super::chosen::Chosen;
use super::handed::HandOvers;
use super::memory::Output;
use super::modules::Modules;
use super::recent::RecentPlaces;
use super::sink::Sink;
use super::stillness::Stillness;
use super::threads::Threads;
use super::translate::Translator;
use super::variables::Variables;
use super::{LoadError, Options, Recorded};

/// The bytes that an event is about: where they start, and how many there are. A lock or the like counts as one byte, and so does
/// a block that is freed.
pub type Bytes = (u64, u64);

/// An event that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedEvent {
    /// How many events of the log came before it.
    pub order: u64,
    /// What it is in a trace, and what it is about: a read and the write after it may be one event of the log. Empty: it is nothing in a trace.
    pub actions: Vec<(Kind, Option<Bytes>)>,
    /// Where it is in the source.
    pub location: String,
    /// Its call stack.
    pub stack: Option<StackId>,
}

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The events, as they were asked for.
    pub events: Vec<Option<InspectedEvent>>,
    /// The call stack of each thread at the end.
    pub last: BTreeMap<ThreadPath, Option<StackId>>,
    /// Who holds each lock at the end, by its address.
    pub holders: FxHashMap<u64, Vec<ThreadPath>>,
    /// The failure that the log ends with, if the runtime saw one.
    pub failing: Option<Failing>,
    /// What each thread was doing at the end.
    pub states: BTreeMap<ThreadPath, ThreadState>,
    /// Those that wait for the end of another.
    pub joining: BTreeSet<ThreadPath>,
    /// Nobody gets anywhere: see [`super::ends_in_standstill`].
    pub is_standstill: bool,
    frames: Vec<StackFrame>,
    stacks: Vec<(Option<StackId>, FrameNumber)>,
}

/// A thread that ended the program by a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// Which.
    pub thread: Option<ThreadPath>,
    /// The address that could not be accessed; 0: it is not that.
    pub address: u64,
    /// The message; empty if there is none.
    pub message: String,
    pc: u64,
}

impl Inspection {
    /// What is known of a program that left no log: nothing.
    pub fn of_nothing(events: usize) -> Inspection {
        Inspection { events: vec![None; events], ..Inspection::default() }
    }

    /// The frames of a stack, the innermost first.
    pub fn stack(&self, stack: Option<StackId>) -> Vec<StackFrame> {
        let mut next = stack;
        let frames = std::iter::from_fn(|| {
            let &(parent, frame) = self.stacks.get(next?.index())?;
            next = parent;
            self.frames.get(frame as usize).cloned()
        });
        frames.collect()
    }
}

/// Looks for the events at these places of these threads.
pub fn inspect(recorded: Recorded<'_>, wanted: &[(ThreadPath, u64)]) -> Result<Inspection, LoadError> {
    let output =
        Output { modules: Modules::listed(recorded.modules, recorded.directory), sink: Finder::new(wanted) };
    let (variables, threads) = (Variables::blocks_only(), Threads::default());
    let (metadata, options) = (Metadata::default(), Options::default());
    let mut translator = Translator::new(output, variables, threads, metadata, &options, Chosen::All)?;
    let (mut hand_overs, mut stillness) = (HandOvers::default(), Stillness::new());
    Reader::new(recorded.log)?.map_while(Result::ok).for_each(|event| hand_overs.see(&event));
    translator.hand_over(hand_overs.finish());
    for event in Reader::new(recorded.log)?.map_while(Result::ok) {
        translator.add_thread(event.thread);
        if let Raw::Create { child } = event.op {
            translator.add_thread(child);
        }
        translator.sink().before(&event);
        stillness.see(&event);
        translator.event(&event)?;
        if translator.sink().is_missing(&event) && !translator.is_pending(&event) {
            let stack = translator.locate(&event)?;
            translator.sink().nothing(&event, stack);
        }
        translator.sink().order += 1;
    }
    Ok(Inspection { is_standstill: stillness.is_standstill(), ..finished(translator)? })
}

fn finished(mut translator: Translator<Finder>) -> io::Result<Inspection> {
    let threads = std::mem::take(&mut translator.sink().threads);
    let mut last = BTreeMap::new();
    for (number, thread) in threads.iter().enumerate() {
        let Some(path) = &thread.path else { continue };
        let failing = translator.sink().failing.as_ref().filter(|failing| failing.thread == thread.path);
        let failed_at = failing.map(|failing| failing.pc);
        let now = failed_at.unwrap_or(thread.last_pc);
        let mut stack = None;
        // Deep inside a library the thread's last events say more about where it is.
        for pc in [now].into_iter().chain(thread.recent.innermost()) {
            let place = translator.stack(number as u32, pc)?;
            let sink = translator.sink();
            if sink.has_users_code(place) && (failed_at.is_none() || sink.is_in_source(place)) {
                stack = place;
                break;
            }
        }
        if stack.is_none() {
            stack = translator.stack(number as u32, thread.last_pc)?;
        }
        last.insert(path.clone(), stack);
    }
    let finder = translator.sink();
    let states = threads.iter().filter_map(|thread| Some((thread.path.clone()?, finder.state_of(thread))));
    let states = states.collect();
    let joining = threads.iter().filter(|thread| thread.is_joining).filter_map(|thread| thread.path.clone());
    let joining = joining.collect();
    let path_of = |&number: &u32| threads.get(number as usize)?.path.clone();
    let holders =
        finder.held.iter().map(|(&lock, numbers)| (lock, numbers.iter().filter_map(path_of).collect()));
    Ok(Inspection {
        holders: holders.collect(),
        failing: finder.failing.clone(),
        states,
        joining,
        is_standstill: false,
        last,
        events: std::mem::take(&mut finder.events),
        frames: std::mem::take(&mut finder.frames),
        stacks: std::mem::take(&mut finder.stacks),
    })
}

/// Whether a location is a line of the user's.
fn is_users_line(location: &str) -> bool {
    location
        .rsplit_once(':')
        .is_some_and(|(file, line)| line.parse::<u32>().is_ok() && !trace::is_of_the_system(file))
}

/// A thread on the way.
#[derive(Clone, Debug, Default)]
struct FoundThread {
    path: Option<ThreadPath>,
    children: u32,
    last_pc: u64,
    recent: RecentPlaces,
    /// What it was doing after its last event.
    state: Option<ThreadState>,
    /// It waits for the end of another thread.
    is_joining: bool,
    /// What is to be found, by place: which of those asked for.
    wanted: Vec<(u64, usize)>,
}

impl FoundThread {
    /// Those asked for at a place.
    fn at(&self, place: Option<u64>) -> &[(u64, usize)] {
        let Some(place) = place else { return &[] };
        let start = self.wanted.partition_point(|&(wanted, _)| wanted < place);
        let count = self.wanted[start..].iter().take_while(|&&(wanted, _)| wanted == place).count();
        &self.wanted[start..start + count]
    }
}

/// Takes a trace that is written nowhere, and keeps the events that were asked for.
#[derive(Debug, Default)]
struct Finder {
    /// How many events of the log came before.
    order: u64,
    threads: Vec<FoundThread>,
    wanted: BTreeMap<ThreadPath, Vec<(u64, usize)>>,
    events: Vec<Option<InspectedEvent>>,
    /// Of each lock, who has taken it and not given it back.
    held: FxHashMap<u64, Vec<u32>>,
    failing: Option<Failing>,
    /// The log ends in a deadlock.
    deadlocked: bool,
    locations: Vec<String>,
    frames: Vec<StackFrame>,
    stacks: Vec<(Option<StackId>, FrameNumber)>,
}

impl Finder {
    fn new(asked: &[(ThreadPath, u64)]) -> Finder {
        let mut finder = Finder { events: vec![None; asked.len()], ..Finder::default() };
        for (index, (path, place)) in asked.iter().enumerate() {
            finder.wanted.entry(path.clone()).or_default().push((*place, index));
        }
        finder.wanted.values_mut().for_each(|places| places.sort_unstable());
        finder.add_thread(0, Some(ThreadPath::FIRST));
        finder
    }

    fn add_thread(&mut self, number: u32, path: Option<ThreadPath>) {
        if self.threads.len() <= number as usize {
            self.threads.resize_with(number as usize + 1, FoundThread::default);
        }
        let thread = &mut self.threads[number as usize];
        if thread.path.is_none() {
            thread.wanted = path.as_ref().and_then(|path| self.wanted.remove(path)).unwrap_or_default();
            thread.path = path;
        }
    }

    /// An event of the log is about to be translated.
    fn before(&mut self, event: &Event<'_>) {
        self.add_thread(event.thread, None);
        let thread = &mut self.threads[event.thread as usize];
        thread.state = Some(match event.op {
            Raw::End => ThreadState::Finished,
            Raw::Request { .. }
            | Raw::Wait { .. }
            | Raw::BarrierEnter { .. }
            | Raw::Awaits { object: Some(_) }
            | Raw::AwaitsEnd { .. } => ThreadState::Waiting,
            // They say nothing about what the thread does.
            Raw::Failing { .. }
            | Raw::Stop(_)
            | Raw::Exiting
            | Raw::Destroyed { .. }
            | Raw::Refused { .. }
            | Raw::JoinedAgain { .. }
            | Raw::Unsafe(_) => thread.state.unwrap_or(ThreadState::Ready),
            _ => ThreadState::Ready,
        });
        if !matches!(event.op, Raw::Stop(_)) {
            thread.is_joining = matches!(event.op, Raw::AwaitsEnd { .. });
        }
        match event.op {
            Raw::Failing { address, message } => {
                let message = String::from_utf8_lossy(message).into_owned();
                self.failing = Some(Failing { thread: thread.path.clone(), address, message, pc: event.pc });
                return;
            }
            Raw::Stop(Stop::Deadlock) => self.deadlocked = true,
            _ => {}
        }
        let is_call = matches!(event.op, Raw::FunctionEntry { .. } | Raw::FunctionExit);
        let goes_on = matches!(event.op, Raw::Awaits { object: None });
        if event.pc != 0 && !is_call && !goes_on {
            thread.last_pc = event.pc;
            thread.recent.note(event.pc);
        }
        match event.op {
            Raw::FunctionEntry { .. } => thread.recent.enter(),
            Raw::FunctionExit => thread.recent.exit(),
            _ => {}
        }
        if let Raw::Create { child } = event.op {
            thread.children += 1;
            let path = thread.path.as_ref().map(|path| path.child(thread.children));
            self.add_thread(child, path);
        }
    }

    fn wanted_at(&self, event: &Event<'_>) -> &[(u64, usize)] {
        self.threads.get(event.thread as usize).map_or(&[], |thread| thread.at(event.place))
    }

    /// Whether an event was asked for and has become nothing.
    fn is_missing(&self, event: &Event<'_>) -> bool {
        self.wanted_at(event).iter().any(|&(_, index)| self.events[index].is_none())
    }

    /// An event that was asked for is nothing in a trace. A use of a file or a pipe still counts: whether it orders anything depends on what the file is,
    /// and the output of a replay goes elsewhere.
    fn nothing(&mut self, event: &Event<'_>, (location, stack): (LocationId, Option<StackId>)) {
        let wanted: Vec<usize> = self.wanted_at(event).iter().map(|&(_, index)| index).collect();
        let location = self.location(Some(location));
        let actions = match event.op {
            Raw::HappensBefore { .. } => vec![(Kind::AtomicRead, None), (Kind::AtomicWrite, None)],
            Raw::HappensAfter { .. } => vec![(Kind::AtomicRead, None)],
            _ => Vec::new(),
        };
        for index in wanted {
            self.events[index].get_or_insert(InspectedEvent {
                order: self.order,
                actions: actions.clone(),
                location: location.clone(),
                stack,
            });
        }
    }

    /// Whether a frame of a stack is in the user's code.
    fn has_users_code(&self, stack: Option<StackId>) -> bool {
        let mut next = stack.and_then(|stack| self.stacks.get(stack.index()));
        while let Some(&(parent, frame)) = next {
            if self.frames.get(frame as usize).is_some_and(|frame| is_users_line(&frame.location)) {
                return true;
            }
            next = parent.and_then(|parent| self.stacks.get(parent.index()));
        }
        false
    }

    /// Whether the innermost frame of a stack is a line of source.
    fn is_in_source(&self, stack: Option<StackId>) -> bool {
        let frame = stack.and_then(|stack| self.stacks.get(stack.index()));
        let frame = frame.and_then(|&(_, frame)| self.frames.get(frame as usize));
        let line = frame.and_then(|frame| frame.location.rsplit_once(':'));
        line.is_some_and(|(_, line)| line.parse::<u32>().is_ok())
    }

    /// What a thread was doing at the end.
    fn state_of(&self, thread: &FoundThread) -> ThreadState {
        match thread.state {
            _ if self.failing.as_ref().is_some_and(|failing| failing.thread == thread.path) => {
                ThreadState::Running
            }
            Some(ThreadState::Ready) | None if self.deadlocked => ThreadState::Waiting,
            state => state.unwrap_or(ThreadState::Ready),
        }
    }

    fn location(&self, location: Option<LocationId>) -> String {
        location.and_then(|location| self.locations.get(location.index())).cloned().unwrap_or_default()
    }

    /// Follows who holds which lock.
    fn follow_lock(&mut self, event: &Event<'_>, kind: Kind) {
        let Some((lock, _)) = bytes_of(&event.op) else { return };
        match kind {
            Kind::Acquire | Kind::AcquireShared => self.held.entry(lock).or_default().push(event.thread),
            Kind::Release | Kind::ReleaseShared => {
                if let Some(holders) = self.held.get_mut(&lock)
                    && let Some(index) = holders.iter().rposition(|&holder| holder == event.thread)
                {
                    holders.remove(index);
                }
            }
            _ => {}
        }
    }
}

impl Sink for Finder {
    const WANTS_ALL_ACCESSES: bool = true;
    const WANTS_NAMES: bool = false;

    fn name(&mut self, table: Table, name: &str) -> io::Result<()> {
        match table {
            Table::Locations => self.locations.push(name.to_owned()),
            Table::Frames => {
                let (function, location) = name.split_once('\t').unwrap_or((name, "?"));
                self.frames.push(StackFrame { function: function.to_owned(), location: location.to_owned() });
            }
            _ => {}
        }
        Ok(())
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameNumber) -> io::Result<()> {
        self.stacks.push((parent, frame));
        Ok(())
    }

    fn wants_source(&self, event: &Event<'_>) -> bool {
        !self.wanted_at(event).is_empty()
    }

    fn translated(
        &mut self,
        event: &Event<'_>,
        kind: Kind,
        location: Option<LocationId>,
        stack: Option<StackId>,
    ) {
        self.follow_lock(event, kind);
        let wanted: Vec<usize> = self.wanted_at(event).iter().map(|&(_, index)| index).collect();
        for index in wanted {
            let is_new = self.events[index].as_ref().is_none_or(|known| known.actions.is_empty());
            if is_new {
                let location = self.location(location);
                self.events[index] =
                    Some(InspectedEvent { order: self.order, actions: Vec::new(), location, stack });
            }
            // References that are given back where memory is freed are not at the address that is freed.
            let is_other = matches!(event.op, Raw::Free { .. }) && kind != Kind::Free;
            let bytes = bytes_of(&event.op).filter(|_| !is_other);
            if let Some(known) = &mut self.events[index] {
                known.actions.push((kind, bytes));
            }
        }
    }
}

/// What an event of the log is about, if that has an address.
fn bytes_of(op: &Raw<'_>) -> Option<Bytes> {
    match *op {
        Raw::Read { address, size }
        | Raw::Write { address, size }
        | Raw::ReadWrite { address, size }
        | Raw::AtomicRead { address, size }
        | Raw::AtomicWrite { address, size }
        | Raw::AtomicUpdate { address, size } => Some((address, u64::from(size).max(1))),
        Raw::ReadRange { address, length } | Raw::WriteRange { address, length } => {
            Some((address, length.max(1)))
        }
        // In a trace the lock is given back where the wait begins, and the wait itself is where it is over.
        Raw::Acquire { lock, .. } | Raw::Release { lock, .. } | Raw::Wait { lock, .. } => Some((lock, 1)),
        Raw::Woken { condition, .. } | Raw::Signal { condition } | Raw::Broadcast { condition } => {
            Some((condition, 1))
        }
        Raw::BarrierEnter { barrier } | Raw::BarrierExit { barrier } => Some((barrier, 1)),
        Raw::Post { semaphore } | Raw::Take { semaphore } => Some((semaphore, 1)),
        Raw::Allocate { address, size } => Some((address, size.max(1))),
        Raw::Free { address } => Some((address, 1)),
        _ => None,
    }
}
