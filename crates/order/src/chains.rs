//! Partial orders over the events of k threads.
//!
//! The events of a thread form a *chain*: they are ordered among themselves. [`Chains`] keeps the
//! order between chains transitively closed while edges arrive and chains grow at their ends, so
//! 'is a before b' and 'the first event of that chain after a' are one binary search each.
//!
//! Each event has a vector clock: for every other chain, how many of its events come before. Along
//! a chain such a count never decreases and seldom changes, so a pair of chains keeps only the
//! *steps*: where the count changes, and to what. An event that learns nothing costs nothing.
//!
//! Cost: a new event O(1); an edge O(k log n), and O(k) more for each chain that has events after it, and the
//! steps it makes superfluous; memory 8 bytes for each step; an edge adds at most one step for each pair of
//! chains, and mostly few.

/// An event: its chain and its position in it, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// The chain.
    pub chain: u32,
    /// The position in the chain.
    pub position: u32,
}

/// An edge would close a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle;

/// From this position on, this many events of another chain come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainStep {
    /// The first position that knows of this number.
    pub position: u32,
    /// How many events of the other chain.
    pub count: u32,
}

/// Events of a chain that an edge taught about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The chain whose events know more.
    pub chain: u32,
    /// The chain they know more about.
    pub about: u32,
    /// The first position that does.
    pub first: u32,
    /// The position after the last that may.
    pub end: u32,
}

/// A partial order over growing chains, transitively closed at all times.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// `steps[t][s]`: what the events of chain `t` know about chain `s`, positions and counts strictly increasing.
    /// Where `s == t` it stays empty.
    steps: Vec<Vec<Vec<ChainStep>>>,
    lengths: Vec<u32>,
    /// What the latest edge changed.
    raised: Vec<Raised>,
    /// Scratch: what an edge brings that its target does not know.
    news: Vec<(u32, u32)>,
    trail: Trail,
}

/// What it takes to go back to a [`Mark`]. Nothing is noted while there is none.
#[derive(Clone, Debug, Default)]
struct Trail {
    is_on: bool,
    undo: Vec<Undo>,
    /// Steps that edges made superfluous, latest last.
    superfluous: Vec<ChainStep>,
}

#[derive(Clone, Copy, Debug)]
enum Undo {
    AddChain,
    Grow {
        chain: u32,
        was: u32,
    },
    /// A step came to this place of what `chain` knows about `about`, and replaced this number of steps.
    Raise {
        chain: u32,
        about: u32,
        place: u32,
        replaced: u32,
    },
}

/// A state of [`Chains`] to go back to. Marks nest: going back to one forgets those made after it.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    undo: usize,
    is_on: bool,
}

impl Chains {
    /// No chains.
    pub fn new() -> Self {
        Self::default()
    }

    /// The state as it is now, to go back to. From here on every change is noted.
    pub fn mark(&mut self) -> Mark {
        let mark = Mark { undo: self.trail.undo.len(), is_on: self.trail.is_on };
        self.trail.is_on = true;
        mark
    }

    /// Goes back to a mark, in time proportional to what has changed since.
    pub fn undo_to(&mut self, mark: Mark) {
        while self.trail.undo.len() > mark.undo {
            match self.trail.undo.pop() {
                Some(Undo::AddChain) => {
                    self.lengths.pop();
                    self.steps.pop();
                    for columns in &mut self.steps {
                        columns.pop();
                    }
                }
                Some(Undo::Grow { chain, was }) => self.lengths[chain as usize] = was,
                Some(Undo::Raise { chain, about, place, replaced }) => {
                    let steps = &mut self.steps[chain as usize][about as usize];
                    let replaced = self.trail.superfluous.len() - replaced as usize;
                    steps.splice(place as usize..=place as usize, self.trail.superfluous.drain(replaced..));
                }
                None => break,
            }
        }
        self.trail.is_on = mark.is_on;
    }

    /// How many chains there are.
    pub fn chains(&self) -> usize {
        self.lengths.len()
    }

    /// How many events a chain has.
    #[inline]
    pub fn len(&self, chain: u32) -> u32 {
        self.lengths[chain as usize]
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.lengths.iter().all(|&length| length == 0)
    }

    /// Adds an empty chain and returns its number.
    pub fn add_chain(&mut self) -> u32 {
        for columns in &mut self.steps {
            columns.push(Vec::new());
        }
        self.lengths.push(0);
        self.note(Undo::AddChain);
        self.steps.push(vec![Vec::new(); self.lengths.len()]);
        (self.lengths.len() - 1) as u32
    }

    /// Adds an event at the end of a chain.
    pub fn push(&mut self, chain: u32) -> Node {
        let position = self.lengths[chain as usize];
        self.note(Undo::Grow { chain, was: position });
        self.lengths[chain as usize] += 1;
        Node { chain, position }
    }

    /// Adds events at the end of a chain until it has this many.
    pub fn grow(&mut self, chain: u32, length: u32) {
        let was = self.lengths[chain as usize];
        if was < length {
            self.note(Undo::Grow { chain, was });
            self.lengths[chain as usize] = length;
        }
    }

    fn note(&mut self, undo: Undo) {
        if self.trail.is_on {
            self.trail.undo.push(undo);
        }
    }

    /// What the events of a chain know about another.
    #[inline]
    pub fn steps(&self, of: u32, about: u32) -> &[ChainStep] {
        &self.steps[of as usize][about as usize]
    }

    /// How many events of a chain come before this event; in its own chain, its position.
    #[inline]
    pub fn before(&self, node: Node, chain: u32) -> u32 {
        if chain == node.chain {
            return node.position;
        }
        let steps = self.steps(node.chain, chain);
        // Most questions are about the end of a chain.
        match steps.last() {
            None => return 0,
            Some(last) if last.position <= node.position => return last.count,
            _ => {}
        }
        let index = steps.partition_point(|step| step.position <= node.position);
        index.checked_sub(1).map_or(0, |index| steps[index].count)
    }

    /// The position of the first event of a chain that comes after this event; the chain's length
    /// if there is none.
    #[inline]
    pub fn first_after(&self, node: Node, chain: u32) -> u32 {
        if chain == node.chain {
            return node.position + 1;
        }
        let steps = self.steps(chain, node.chain);
        if steps.last().is_none_or(|last| last.count <= node.position) {
            return self.lengths[chain as usize];
        }
        steps[steps.partition_point(|step| step.count <= node.position)].position
    }

    /// Whether `a` comes before `b`.
    #[inline]
    pub fn precedes(&self, a: Node, b: Node) -> bool {
        self.before(b, a.chain) > a.position
    }

    /// Orders `a` before `b`. `Ok(false)`: it was already so. An error leaves the order as it was.
    pub fn insert(&mut self, a: Node, b: Node) -> Result<bool, Cycle> {
        self.raised.clear();
        if self.precedes(a, b) {
            return Ok(false);
        }
        if a == b || self.precedes(b, a) {
            return Err(Cycle);
        }
        let mut news = std::mem::take(&mut self.news);
        news.clear();
        for about in 0..self.lengths.len() as u32 {
            let count = if about == a.chain { a.position + 1 } else { self.before(a, about) };
            if about != b.chain && count > self.before(b, about) {
                news.push((about, count));
            }
        }
        for chain in 0..self.lengths.len() as u32 {
            let first = if chain == b.chain { b.position } else { self.first_after(b, chain) };
            if first < self.lengths[chain as usize] {
                // What comes after `b` knows what `b` knew: only the news can be new.
                for &(about, count) in news.iter().filter(|&&(about, _)| about != chain) {
                    self.raise(chain, about, ChainStep { position: first, count });
                }
            }
        }
        self.news = news;
        Ok(true)
    }

    /// What the latest insertion changed.
    pub fn raised(&self) -> &[Raised] {
        &self.raised
    }

    /// Teaches the events of a chain from a position on about another.
    fn raise(&mut self, chain: u32, about: u32, new: ChainStep) {
        let steps = &mut self.steps[chain as usize][about as usize];
        let place = match steps.last() {
            Some(last) if last.position > new.position => {
                steps.partition_point(|step| step.position < new.position)
            }
            Some(last) if last.position == new.position => steps.len() - 1,
            _ => steps.len(),
        };
        let known = match steps.get(place) {
            Some(step) if step.position == new.position => step.count,
            _ => place.checked_sub(1).map_or(0, |before| steps[before].count),
        };
        if known >= new.count {
            return;
        }
        let superfluous = steps[place..].partition_point(|step| step.count <= new.count);
        let end = steps.get(place + superfluous).map_or(self.lengths[chain as usize], |step| step.position);
        if self.trail.is_on {
            let (place, replaced) = (place as u32, superfluous as u32);
            self.trail.undo.push(Undo::Raise { chain, about, place, replaced });
            self.trail.superfluous.extend_from_slice(&steps[place as usize..][..superfluous]);
        }
        if superfluous == 0 {
            steps.insert(place, new);
        } else {
            steps[place] = new;
            steps.drain(place + 1..place + superfluous);
        }
        self.raised.push(Raised { chain, about, first: new.position, end });
    }
}
