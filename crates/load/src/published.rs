//! Orders without memory: what one thread publishes and others observe, through a pipe or because the program
//! declares it.
//!
//! In a trace they are atomic accesses: each publication is the only write of its own variable, and each thread
//! reads that variable at most once. So these reads order threads and have no other effect: no thread accesses
//! such a variable twice, and nothing can come in between. Who observes reads the last publication of each thread. Publications do not
//! order each other, unless there are many: then one reads those before it, and stands for them.

use rustc_hash::FxHashSet;
use trace::VariableId;

/// How many threads' publications are observed one by one. With more, an observation would cost too much.
const MOST: usize = 8;

/// What was published of an object.
#[derive(Debug, Default)]
pub(super) struct Order {
    latest: Vec<Publication>,
}

/// The last publication of a thread, and who is after it.
#[derive(Debug)]
struct Publication {
    by: u32,
    variable: VariableId,
    seen_by: FxHashSet<u32>,
}

impl Order {
    /// The thread publishes, in this variable. The variables that it has to read before, if there are too many.
    pub(super) fn publish(&mut self, thread: u32, new: VariableId) -> Vec<VariableId> {
        // Its own last one comes before this by the order of the thread.
        self.latest.retain(|publication| publication.by != thread);
        let seen = if self.latest.len() < MOST { Vec::new() } else { self.observe(thread) };
        if self.latest.len() >= MOST {
            self.latest.clear();
        }
        self.latest.push(Publication { by: thread, variable: new, seen_by: FxHashSet::from_iter([thread]) });
        seen
    }

    /// The thread observes; the variables to be read, which it is not yet after.
    pub(super) fn observe(&mut self, thread: u32) -> Vec<VariableId> {
        let new = self
            .latest
            .iter_mut()
            .filter_map(|publication| publication.seen_by.insert(thread).then_some(publication.variable));
        new.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_reads_a_publication_once() {
        let (first, second) = (VariableId(7), VariableId(8));
        let mut order = Order::default();
        assert!(order.observe(1).is_empty());
        assert!(order.publish(0, first).is_empty());
        assert!(order.observe(0).is_empty());
        assert_eq!((order.observe(1), order.observe(1)), (vec![first], vec![]));
        assert!(order.publish(2, second).is_empty(), "publications do not order each other");
        assert_eq!((order.observe(1), order.observe(2)), (vec![second], vec![first]));
        assert_eq!(order.observe(3), [first, second]);
        // What a thread published last stands for all it published.
        assert!(order.publish(0, VariableId(9)).is_empty());
        assert_eq!(order.observe(4), [second, VariableId(9)]);
    }

    #[test]
    fn many_publications_become_one() {
        let mut order = Order::default();
        let published = |number: u32| VariableId(100 + number);
        for thread in 0..MOST as u32 {
            assert!(order.publish(thread, published(thread)).is_empty());
        }
        let last = MOST as u32;
        let before: Vec<VariableId> = (0..last).map(published).collect();
        assert_eq!(order.publish(last, published(last)), before);
        assert_eq!(order.observe(99), [published(last)]);
    }
}
