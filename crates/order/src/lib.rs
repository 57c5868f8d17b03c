//! Partial orders over the events of k threads.
//!
//! The events of a thread form a *chain*: they are ordered among themselves. [`Chains`] keeps the
//! order between chains transitively closed while edges arrive and chains grow at their ends, so
//! 'is a before b' is one comparison and 'the first event of that chain after a' one binary search.
//!
//! Each event has a vector clock: for every other chain, how many of its events come before. The
//! clocks are stored by column (for a pair of chains, one number an event), and along a chain a
//! column never decreases. That is what makes both queries cheap, and an insertion stop as soon as
//! it meets a clock that already knows.
//!
//! Cost: a new event O(k); an edge O(k log n) and O(1) for each clock entry that grows, which any one
//! entry does at most as often as its chain has events; memory 4 k bytes an event.

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

/// A partial order over growing chains, transitively closed at all times.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// `clocks[t][s][p]`: how many events of chain `s` come before event `p` of chain `t`. The
    /// columns `s == t` stay empty.
    clocks: Vec<Vec<Vec<u32>>>,
    lengths: Vec<u32>,
    /// Scratch for the clock being joined in.
    incoming: Vec<u32>,
}

impl Chains {
    /// No chains.
    pub fn new() -> Self {
        Self::default()
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
        for (columns, &length) in self.clocks.iter_mut().zip(&self.lengths) {
            columns.push(vec![0; length as usize]);
        }
        self.lengths.push(0);
        self.clocks.push(vec![Vec::new(); self.lengths.len()]);
        (self.lengths.len() - 1) as u32
    }

    /// Adds an event at the end of a chain.
    pub fn push(&mut self, chain: u32) -> Node {
        let position = self.lengths[chain as usize];
        for (other, column) in self.clocks[chain as usize].iter_mut().enumerate() {
            if other != chain as usize {
                column.push(column.last().copied().unwrap_or(0));
            }
        }
        self.lengths[chain as usize] += 1;
        Node { chain, position }
    }

    /// How many events of a chain come before this event; in its own chain, its position.
    #[inline]
    pub fn before(&self, node: Node, chain: u32) -> u32 {
        if chain == node.chain {
            return node.position;
        }
        self.clocks[node.chain as usize][chain as usize][node.position as usize]
    }

    /// The position of the first event of a chain that comes after this event; the chain's length
    /// if there is none.
    #[inline]
    pub fn first_after(&self, node: Node, chain: u32) -> u32 {
        if chain == node.chain {
            return node.position + 1;
        }
        let column = &self.clocks[chain as usize][node.chain as usize];
        column.partition_point(|&count| count <= node.position) as u32
    }

    /// Whether `a` comes before `b`.
    #[inline]
    pub fn precedes(&self, a: Node, b: Node) -> bool {
        self.before(b, a.chain) > a.position
    }

    /// Orders `a` before `b`. `Ok(false)`: it was already so. An error leaves the order as it was.
    pub fn insert(&mut self, a: Node, b: Node) -> Result<bool, Cycle> {
        if self.precedes(a, b) {
            return Ok(false);
        }
        if a == b || self.precedes(b, a) {
            return Err(Cycle);
        }
        let mut incoming = std::mem::take(&mut self.incoming);
        incoming.clear();
        incoming.extend((0..self.lengths.len() as u32).map(|chain| self.before(a, chain)));
        incoming[a.chain as usize] = a.position + 1;
        for chain in 0..self.lengths.len() as u32 {
            let first = if chain == b.chain { b.position } else { self.first_after(b, chain) };
            if first < self.lengths[chain as usize] {
                self.raise(chain, first, &incoming);
            }
        }
        self.incoming = incoming;
        Ok(true)
    }

    /// Joins a clock into those of a chain from a position on. Columns never decrease, so each can
    /// stop at the first entry that is already as high.
    fn raise(&mut self, chain: u32, first: u32, incoming: &[u32]) {
        for (other, column) in self.clocks[chain as usize].iter_mut().enumerate() {
            if other == chain as usize {
                continue;
            }
            let count = incoming[other];
            for entry in &mut column[first as usize..] {
                if *entry >= count {
                    break;
                }
                *entry = count;
            }
        }
    }
}
