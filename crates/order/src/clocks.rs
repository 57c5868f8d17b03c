//! Vector clocks that are sparse in threads and share what they have in common.
//!
//! A clock is a tree with [`WIDTH`] children a node: its leaves count the events of [`WIDTH`] threads each. Clocks are values; a
//! changed clock copies the nodes on the way to the change and shares the others. Clocks of up to [`WIDTH`] threads are one node, so
//! that small traces pay for none of it; with thousands of threads a clock that knows of one more costs a few nodes instead of a count
//! for every thread.

/// Children of a node.
const WIDTH: usize = 8;
const BITS: u32 = WIDTH.trailing_zeros();

/// A clock: the root of its tree. The default is zero for every thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock(u32);

/// All clocks of a trace.
#[derive(Debug)]
pub struct Clocks {
    /// Levels of inner nodes above the leaves.
    height: u32,
    /// Counts of threads in leaves, and children in inner nodes. Node 0 is zero everywhere, on every level.
    nodes: Vec<[u32; WIDTH]>,
}

impl Clocks {
    /// For clocks of this number of threads.
    pub fn new(threads: usize) -> Self {
        let mut height = 0;
        while threads > 1 << (BITS * (height + 1)) {
            height += 1;
        }
        Clocks { height, nodes: vec![[0; WIDTH]] }
    }

    /// How many events of a thread a clock counts.
    #[inline]
    pub fn count(&self, clock: Clock, thread: usize) -> u32 {
        let mut node = clock.0;
        for level in (1..=self.height).rev() {
            node = self.nodes[node as usize][child(thread, level)];
        }
        self.nodes[node as usize][child(thread, 0)]
    }

    /// Shows each thread that a clock counts events of, with their number, in order.
    #[inline]
    pub fn for_each(&self, clock: Clock, mut show: impl FnMut(usize, u32)) {
        match self.height {
            0 => self.for_each_in_leaf(clock.0, 0, &mut show),
            height => self.for_each_below(clock.0, height, 0, &mut show),
        }
    }

    fn for_each_below(&self, node: u32, level: u32, first: usize, show: &mut impl FnMut(usize, u32)) {
        for (index, &child) in self.nodes[node as usize].iter().enumerate().filter(|&(_, &child)| child != 0)
        {
            let first = first + (index << (BITS * level));
            match level {
                1 => self.for_each_in_leaf(child, first, show),
                _ => self.for_each_below(child, level - 1, first, show),
            }
        }
    }

    #[inline]
    fn for_each_in_leaf(&self, node: u32, first: usize, show: &mut impl FnMut(usize, u32)) {
        for (index, &count) in self.nodes[node as usize].iter().enumerate().filter(|&(_, &count)| count != 0)
        {
            show(first + index, count);
        }
    }

    /// Shows each thread that a clock counts more events of than an earlier one, with both numbers. What the two share costs nothing.
    pub fn for_each_raised(&self, earlier: Clock, clock: Clock, mut show: impl FnMut(usize, u32, u32)) {
        self.raised_below(earlier.0, clock.0, self.height, 0, &mut show);
    }

    fn raised_below(
        &self,
        earlier: u32,
        node: u32,
        level: u32,
        first: usize,
        show: &mut impl FnMut(usize, u32, u32),
    ) {
        if earlier == node {
            return;
        }
        let (before, after) = (&self.nodes[earlier as usize], &self.nodes[node as usize]);
        for (index, (&before, &after)) in before.iter().zip(after).enumerate() {
            match level {
                0 if before < after => show(first + index, before, after),
                0 => {}
                _ => self.raised_below(before, after, level - 1, first + (index << (BITS * level)), show),
            }
        }
    }

    /// The clock that counts what either counts.
    pub fn join(&mut self, a: Clock, b: Clock) -> Clock {
        Clock(self.join_nodes(a.0, b.0, self.height))
    }

    fn join_nodes(&mut self, a: u32, b: u32, level: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let (of_a, of_b) = (self.nodes[a as usize], self.nodes[b as usize]);
        let mut joined = of_a;
        for (own, other) in joined.iter_mut().zip(of_b) {
            *own = match level {
                0 => (*own).max(other),
                _ => self.join_nodes(*own, other, level - 1),
            };
        }
        match joined {
            joined if joined == of_a => a,
            joined if joined == of_b => b,
            joined => self.push(joined),
        }
    }

    /// The clock that counts at least this number of events of a thread.
    pub fn raise(&mut self, clock: Clock, thread: usize, count: u32) -> Clock {
        match self.count(clock, thread) >= count {
            true => clock,
            false => Clock(self.raise_node(clock.0, thread, count, self.height)),
        }
    }

    fn raise_node(&mut self, node: u32, thread: usize, count: u32, level: u32) -> u32 {
        let mut raised = self.nodes[node as usize];
        let slot = &mut raised[child(thread, level)];
        *slot = match level {
            0 => count,
            _ => self.raise_node(*slot, thread, count, level - 1),
        };
        self.push(raised)
    }

    fn push(&mut self, node: [u32; WIDTH]) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
}

/// Where a node of a level has the child for a thread.
#[inline]
fn child(thread: usize, level: u32) -> usize {
    (thread >> (BITS * level)) % WIDTH
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin: a count for every thread.
        #[test]
        fn clocks_are_vectors_of_counts(
            threads in prop_oneof![1usize..=9, 60usize..=70, 500usize..=600],
            steps in vec((0usize..10, 0usize..10, any::<usize>(), 0u32..5), 1..60),
        ) {
            let mut clocks = Clocks::new(threads);
            let mut all = vec![(Clock::default(), vec![0; threads])];
            for (a, b, thread, count) in steps {
                let (clock, vector) = all[a % all.len()].clone();
                let (other, others) = all[b % all.len()].clone();
                let thread = thread % threads;
                let joined = clocks.join(clock, other);
                let clock = clocks.raise(joined, thread, count);
                let mut vector: Vec<u32> = vector.iter().zip(&others).map(|(&x, &y)| x.max(y)).collect();
                vector[thread] = vector[thread].max(count);
                all.push((clock, vector));
            }
            for (clock, vector) in &all {
                let counts: Vec<u32> = (0..threads).map(|thread| clocks.count(*clock, thread)).collect();
                prop_assert_eq!(&counts, vector);
                let mut shown = vec![0; threads];
                let mut last = None;
                clocks.for_each(*clock, |thread, count| {
                    assert!(last < Some(thread) && count > 0);
                    (last, shown[thread]) = (Some(thread), count);
                });
                prop_assert_eq!(&shown, vector);
                let (earlier, before) = &all[all.len() / 2];
                let mut raised = before.clone();
                clocks.for_each_raised(*earlier, *clock, |thread, old, new| {
                    assert!(raised[thread] == old && old < new);
                    raised[thread] = new;
                });
                let either: Vec<u32> = before.iter().zip(vector).map(|(&x, &y)| x.max(y)).collect();
                prop_assert_eq!(&raised, &either);
            }
        }
    }

    #[test]
    fn a_clock_that_learns_of_one_more_thread_costs_a_few_nodes() {
        let threads = 20_000;
        let mut clocks = Clocks::new(threads);
        let mut clock = Clock::default();
        for thread in 0..threads {
            clock = clocks.raise(clock, thread, 1);
        }
        assert_eq!(clocks.nodes.len(), 1 + threads * (clocks.height as usize + 1));
    }
}
