//! Call stacks: one number for each distinct one, and the source location of what happens on it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rustc_hash::FxHashMap;
use trace::native::{StackId, Table};
use trace::{Library, LocationId};

use super::modules::{CodeOwner, Frame, ModuleNumber, Modules};
use super::naming::{Names, Pattern};
use super::rust::{Role, RoleSearch, is_inside_lock};
use super::sink::Sink;

/// A chain of calls: where each function was called from. Chains share their beginnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Chain(u32);

/// The last call of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link {
    before: Chain,
    /// Where the function returns to.
    call: u64,
    /// An address in the function itself, at its start.
    entry: u64,
}

/// No thread's calls are followed deeper than this; what is deeper has the chain of this depth.
const DEEPEST: usize = 1 << 16;

/// The functions a thread is in.
#[derive(Debug, Default)]
pub(super) struct Calls {
    chains: Vec<Chain>,
    /// Calls beyond the deepest that is followed.
    beyond: u64,
}

impl Calls {
    pub(super) fn current(&self) -> Chain {
        self.chains.last().copied().unwrap_or_default()
    }

    pub(super) fn exit(&mut self) {
        match self.beyond.checked_sub(1) {
            Some(beyond) => self.beyond = beyond,
            None => drop(self.chains.pop()),
        }
    }
}

/// Where an event is: what the trace says of its location and stack, and whether accesses there are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) location: LocationId,
    pub(super) stack: Option<StackId>,
    pub(super) wanted: bool,
    /// What an atomic operation there means to a lock of Rust's.
    pub(super) role: Option<Role>,
}

impl At {
    /// Nobody wants to know.
    pub(super) const UNKNOWN: At =
        At { location: LocationId(u32::MAX), stack: None, wanted: true, role: None };
}

/// All chains and stacks so far.
pub(super) struct Stacks {
    /// Of each chain but the first, which is empty: what it adds to the chain before.
    chains: Vec<Link>,
    /// Of a link, the chain that it makes. Functions that are called through a pointer, such as those of threads, return to the same address.
    by_link: FxHashMap<Link, Chain>,
    stack_of_chain: FxHashMap<Chain, Option<StackId>>,
    frames: Names,
    stacks: FxHashMap<(Option<StackId>, u32), StackId>,
    locations: Names,
    location_names: Vec<String>,
    at: FxHashMap<(Chain, u64), At>,
    /// Those that were asked for last, one for each remainder of an address: a loop asks for the same again and again.
    asked: Box<[Option<(Chain, u64, At)>; Stacks::ASKED]>,
    /// The libraries that code lies in, and where it is in the source.
    libraries: BTreeMap<ModuleNumber, BTreeSet<LocationId>>,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Stacks {
    const ASKED: usize = 256;

    /// Nothing yet; these patterns say which accesses are wanted.
    pub(super) fn new(include: Vec<Pattern>, exclude: Vec<Pattern>) -> Stacks {
        Stacks {
            chains: vec![Link::default()],
            by_link: FxHashMap::default(),
            stack_of_chain: FxHashMap::default(),
            frames: Names::of(Table::Frames),
            stacks: FxHashMap::default(),
            locations: Names::of(Table::Locations),
            location_names: Vec::new(),
            at: FxHashMap::default(),
            asked: Box::new([None; Stacks::ASKED]),
            libraries: BTreeMap::new(),
            include,
            exclude,
        }
    }

    /// A thread enters the function that has this address, to return to another.
    #[inline]
    pub(super) fn enter(&mut self, calls: &mut Calls, entry: u64, call: u64) {
        if calls.chains.len() >= DEEPEST {
            calls.beyond += 1;
            return;
        }
        let chains = &mut self.chains;
        let link = Link { before: calls.current(), call, entry };
        let chain = *self.by_link.entry(link).or_insert_with(|| {
            chains.push(link);
            Chain(chains.len() as u32 - 1)
        });
        calls.chains.push(chain);
    }

    /// Where an event is whose hook returns to this address.
    #[inline]
    pub(super) fn at<S: Sink>(
        &mut self,
        chain: Chain,
        pc: u64,
        modules: &mut Modules,
        sink: &mut S,
    ) -> io::Result<At> {
        let slot = (pc ^ u64::from(chain.0)) as usize % Stacks::ASKED;
        if let Some((same_chain, same_pc, at)) = self.asked[slot]
            && (same_chain, same_pc) == (chain, pc)
        {
            return Ok(at);
        }
        let at = match self.at.get(&(chain, pc)) {
            Some(&at) => at,
            None => self.find_out(chain, pc, modules, sink)?,
        };
        self.asked[slot] = Some((chain, pc, at));
        Ok(at)
    }

    #[cold]
    fn find_out<S: Sink>(
        &mut self,
        chain: Chain,
        pc: u64,
        modules: &mut Modules,
        sink: &mut S,
    ) -> io::Result<At> {
        let mut stack = self.stack_of(chain, modules, sink)?;
        let frames = modules.frames(pc.saturating_sub(1)).to_vec();
        if pc != 0 {
            if frames.iter().all(|frame| frame.owner == CodeOwner::Unknown) {
                // A library that tells nothing: who called it is known by function only.
                let entry = self.chains[chain.0 as usize].entry;
                let caller = modules.frames(entry.saturating_sub(1)).to_vec();
                stack = self.pushed(stack, &caller, sink)?;
            }
            stack = self.pushed(stack, &frames, sink)?;
        }
        let role = self.role(chain, &frames, modules);
        let is_users = |frame: &Frame| frame.owner == CodeOwner::Users;
        let uses_lock = |frame: &Frame| is_users(frame) && !is_inside_lock(frame.function.as_deref());
        let shown = self.shown_frame(chain, &frames, modules, uses_lock);
        let shown = shown.or_else(|| self.shown_frame(chain, &frames, modules, is_users));
        let shown = shown.unwrap_or_else(|| frames[0].clone());
        let location = LocationId(self.locations.same(&shown.location, sink)?);
        if location.index() == self.location_names.len() {
            self.location_names.push(shown.location.clone());
        }
        if let Some(library) = modules.library_at(pc.saturating_sub(1)) {
            self.libraries.entry(library).or_default().insert(location);
        }
        let at = At { location, stack, wanted: self.is_wanted(&shown), role };
        self.at.insert((chain, pc), at);
        Ok(at)
    }

    /// The frame a user cares for: the innermost that is of the right sort, if there is one.
    fn shown_frame(
        &self,
        chain: Chain,
        frames: &[Frame],
        modules: &mut Modules,
        is_shown: impl Fn(&Frame) -> bool,
    ) -> Option<Frame> {
        if let Some(frame) = frames.iter().find(|frame| is_shown(frame)) {
            return Some(frame.clone());
        }
        let unknown = frames.iter().all(|frame| frame.owner == CodeOwner::Unknown);
        let mut next = chain;
        while next != Chain::default() {
            let Link { before, call, entry } = self.chains[next.0 as usize];
            // Where code without source was called from is not known, but in which function.
            let known = [(unknown && next == chain).then_some(entry), Some(call)];
            for address in known.into_iter().flatten() {
                let frames = modules.frames(address.saturating_sub(1));
                if let Some(frame) = frames.iter().find(|frame| is_shown(frame)) {
                    return Some(frame.clone());
                }
            }
            next = before;
        }
        None
    }

    /// What an atomic operation means by the functions it is in, up to the first of the user's own.
    fn role(&self, chain: Chain, frames: &[Frame], modules: &mut Modules) -> Option<Role> {
        let mut frames = frames.to_vec();
        let mut next = chain;
        let mut search = RoleSearch::default();
        loop {
            for frame in &frames {
                let goes_on = search.goes_on_after(frame.function.as_deref());
                if !goes_on && (search.has_found() || frame.owner == CodeOwner::Users) {
                    return search.role();
                }
            }
            if next == Chain::default() {
                return search.role();
            }
            let Link { before, call, .. } = self.chains[next.0 as usize];
            frames = modules.frames(call.saturating_sub(1)).to_vec();
            next = before;
        }
    }

    /// Where the calls of a chain return to, the innermost first.
    pub(super) fn calls(&self, chain: Chain) -> impl Iterator<Item = u64> + '_ {
        let mut next = chain;
        std::iter::from_fn(move || {
            let Link { before, call, .. } =
                *self.chains.get(next.0 as usize).filter(|_| next != Chain::default())?;
            next = before;
            Some(call)
        })
    }

    fn is_wanted(&self, frame: &Frame) -> bool {
        let function = frame.function.as_deref().unwrap_or("");
        let matches = |pattern: &Pattern| pattern.matches(function) || pattern.matches(&frame.location);
        (self.include.is_empty() || self.include.iter().any(matches)) && !self.exclude.iter().any(matches)
    }

    /// The libraries that code lies in.
    pub(super) fn libraries(&self, modules: &Modules) -> Vec<Library> {
        let described = self.libraries.iter().map(|(&number, places)| Library {
            path: modules.path(number).to_owned(),
            is_instrumented: modules.is_instrumented(number),
            locations: places.iter().filter_map(|&place| self.location(place)).map(str::to_owned).collect(),
        });
        described.collect()
    }

    /// The name of a location; none if it was not looked for.
    pub(super) fn location(&self, location: LocationId) -> Option<&str> {
        self.location_names.get(location.index()).map(String::as_str)
    }

    /// The stack of a chain. A chain may be long: its beginnings come first, without recursion.
    fn stack_of<S: Sink>(
        &mut self,
        chain: Chain,
        modules: &mut Modules,
        sink: &mut S,
    ) -> io::Result<Option<StackId>> {
        let mut unknown = Vec::new();
        let mut next = chain;
        let mut stack = loop {
            if next == Chain::default() {
                break None;
            }
            if let Some(&known) = self.stack_of_chain.get(&next) {
                break known;
            }
            unknown.push(next);
            next = self.chains[next.0 as usize].before;
        };
        for chain in unknown.into_iter().rev() {
            let call = self.chains[chain.0 as usize].call;
            let frames = modules.frames(call.saturating_sub(1)).to_vec();
            stack = self.pushed(stack, &frames, sink)?;
            self.stack_of_chain.insert(chain, stack);
        }
        Ok(stack)
    }

    /// The stack with these frames, innermost first, on top of another. What starts a program or a thread is left
    /// out: it is code without source below all others.
    fn pushed<S: Sink>(
        &mut self,
        below: Option<StackId>,
        frames: &[Frame],
        sink: &mut S,
    ) -> io::Result<Option<StackId>> {
        let mut stack = below;
        for frame in frames.iter().rev() {
            if stack.is_none() && frame.owner == CodeOwner::Unknown {
                continue;
            }
            let text = format!("{}\t{}", frame.function.as_deref().unwrap_or("?"), frame.location);
            let number = self.frames.same(&text, sink)?;
            let next = self.stacks.len() as u32 + 1;
            stack = match self.stacks.get(&(stack, number)) {
                Some(&known) => Some(known),
                None => {
                    sink.stack(stack, number)?;
                    let new = StackId::from_raw(next).ok_or_else(|| io::Error::other("too many stacks"))?;
                    self.stacks.insert((stack, number), new);
                    Some(new)
                }
            };
        }
        Ok(stack)
    }
}
