//! Orders without memory: what one thread publishes and others observe, through a pipe or because the program
//! declares it.
//!
//! In a trace they are atomic accesses: each publication is the only write of its own variable, and each thread
//! reads that variable at most once. So these reads order threads and have no other effect: no thread accesses
//! such a variable twice, and nothing can come in between. A publication reads the one before it, so whoever
//! observes it comes after all of them.

use rustc_hash::FxHashSet;
use trace::VariableId;

/// What was published last of an object, and who is after it.
#[derive(Debug, Default)]
pub(super) struct Order {
    latest: Option<VariableId>,
    seen_by: FxHashSet<u32>,
}

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Published {
    /// The variable of the publication before, if the thread was not yet after it.
    pub(super) seen: Option<VariableId>,
    /// The variable to be written.
    pub(super) new: VariableId,
}

impl Order {
    /// The thread publishes, in this variable.
    pub(super) fn publish(&mut self, thread: u32, new: VariableId) -> Published {
        let seen = self.observe(thread);
        self.latest = Some(new);
        self.seen_by.clear();
        self.seen_by.insert(thread);
        Published { seen, new }
    }

    /// The thread observes; the variable to be read, if it is not yet after its sink.
    pub(super) fn observe(&mut self, thread: u32) -> Option<VariableId> {
        let latest = self.latest?;
        self.seen_by.insert(thread).then_some(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_reads_a_publication_once() {
        let (first, second) = (VariableId(7), VariableId(8));
        let mut order = Order::default();
        assert_eq!(order.observe(1), None);
        assert_eq!(order.publish(0, first), Published { seen: None, new: first });
        assert_eq!(order.observe(0), None);
        assert_eq!((order.observe(1), order.observe(1)), (Some(first), None));
        assert_eq!(order.publish(2, second), Published { seen: Some(first), new: second });
        assert_eq!((order.observe(1), order.observe(2)), (Some(second), None));
    }
}
