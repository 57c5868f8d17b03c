//! The order in which threads synchronise under the genuine ThreadSanitizer: the file that
//! [`ORDER_VARIABLE`](crate::ORDER_VARIABLE) names.
//!
//! A header, a table of threads, and calls in order. All parts have a fixed size, so the shim reads them where they are. Numbers are
//! little endian.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `fortlord` |
//! | 8 | 4 | the version, 2 |
//! | 12 | 4, 4 | how many threads and calls follow |
//! | 20 | 8 each | threads, as in [`Control`](crate::Control) |
//! | .. | 8 each | calls: which thread, and which kind |

use crate::control::{ORIGIN, Origin, origins, word, write_origins};

const MAGIC: [u8; 8] = *b"fortlord";
const VERSION: u32 = 2;
const HEADER: usize = 20;
const CALL: usize = 8;

/// A kind of call that synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SyncCall {
    /// Creates a thread.
    Create,
    /// Waits for the end of a thread.
    Join,
    /// Takes a lock, in whatever form.
    Lock,
    /// Releases a lock.
    Unlock,
    /// Waits for a condition variable.
    Wait,
    /// Signals a condition variable, or broadcasts.
    Signal,
    /// Enters a barrier.
    Barrier,
    /// Posts a semaphore.
    Post,
    /// Takes a permit of a semaphore.
    Take,
}

impl SyncCall {
    const ALL: [SyncCall; 9] = [
        SyncCall::Create,
        SyncCall::Join,
        SyncCall::Lock,
        SyncCall::Unlock,
        SyncCall::Wait,
        SyncCall::Signal,
        SyncCall::Barrier,
        SyncCall::Post,
        SyncCall::Take,
    ];
}

/// A call in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedCall {
    /// The thread's position in the table.
    pub thread: u32,
    /// What it calls.
    pub call: SyncCall,
}

/// Writes an order, part by part.
pub fn write_call_order(threads: &[Origin], calls: &[OrderedCall], write: &mut impl FnMut(&[u8])) {
    write(&MAGIC);
    for number in [VERSION, threads.len() as u32, calls.len() as u32] {
        write(&number.to_le_bytes());
    }
    write_origins(threads, write);
    for OrderedCall { thread, call } in calls {
        write(&thread.to_le_bytes());
        write(&(*call as u32).to_le_bytes());
    }
}

/// An order, checked: every part is there, and every call is one of the table's threads.
#[derive(Clone, Copy, Debug)]
pub struct CallOrder<'a> {
    threads: &'a [u8],
    calls: &'a [u8],
}

impl<'a> CallOrder<'a> {
    /// Checks an order; none if it is no such file, or not whole.
    pub fn parse(bytes: &'a [u8]) -> Option<CallOrder<'a>> {
        if !bytes.starts_with(&MAGIC) || word(bytes, 8)? != VERSION {
            return None;
        }
        let size = |at: usize, each: usize| (word(bytes, at)? as usize).checked_mul(each);
        let (threads, rest) = bytes.get(HEADER..)?.split_at_checked(size(12, ORIGIN)?)?;
        let (calls, rest) = rest.split_at_checked(size(16, CALL)?)?;
        let order = CallOrder { threads, calls };
        let count = order.threads().len();
        let is_known = |at| order.get(at).is_some_and(|call| (call.thread as usize) < count);
        (rest.is_empty() && (0..order.len()).all(is_known)).then_some(order)
    }

    /// The threads, in the order of the table.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = Origin> + 'a {
        origins(self.threads)
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.calls.len() / CALL
    }

    /// Whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call at this position.
    pub fn get(&self, at: usize) -> Option<OrderedCall> {
        let bytes = self.calls.chunks_exact(CALL).nth(at)?;
        Some(OrderedCall { thread: word(bytes, 0)?, call: *SyncCall::ALL.get(word(bytes, 4)? as usize)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn written(threads: &[Origin], calls: &[OrderedCall]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_call_order(threads, calls, &mut |part| bytes.extend_from_slice(part));
        bytes
    }

    proptest! {
        #[test]
        fn an_order_is_read_as_it_was_written(
            nth in vec(1u32..4, 0..5),
            calls in vec((any::<prop::sample::Index>(), 0usize..9), 0..20),
        ) {
            let mut threads = vec![Origin { parent: None, nth: 0 }];
            threads.extend(nth.into_iter().map(|nth| Origin { parent: Some(0), nth }));
            let calls: Vec<OrderedCall> = calls
                .into_iter()
                .map(|(thread, kind)| OrderedCall {
                    thread: thread.index(threads.len()) as u32,
                    call: SyncCall::ALL[kind],
                })
                .collect();
            let bytes = written(&threads, &calls);
            let order = CallOrder::parse(&bytes).expect("it was just written");
            prop_assert_eq!(order.threads().collect::<Vec<_>>(), threads);
            prop_assert_eq!((0..order.len()).filter_map(|at| order.get(at)).collect::<Vec<_>>(), calls);
            // A part of it is not an order.
            for cut in 0..bytes.len() {
                prop_assert!(CallOrder::parse(&bytes[..cut]).is_none());
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in vec(any::<u8>(), 0..80), whole in any::<bool>()) {
            if whole && bytes.len() > 12 {
                bytes[..8].copy_from_slice(&MAGIC);
                bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
            }
            let _ = CallOrder::parse(&bytes);
        }
    }

    #[test]
    fn a_call_of_an_unknown_thread_or_kind_is_refused() {
        let main = [Origin { parent: None, nth: 0 }];
        let call = OrderedCall { thread: 1, call: SyncCall::Lock };
        assert!(CallOrder::parse(&written(&main, &[call])).is_none());
        let mut bytes = written(&main, &[OrderedCall { thread: 0, ..call }]);
        assert!(CallOrder::parse(&bytes).is_some());
        let last = bytes.len() - 4;
        bytes[last] = 9;
        assert!(CallOrder::parse(&bytes).is_none());
    }
}
