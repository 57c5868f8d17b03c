//! What [`Op::HappensBefore`](crate::Op::HappensBefore) and [`Op::HappensAfter`](crate::Op::HappensAfter) are about if it is nothing
//! that has an address: files, connections, signals. Their numbers lie where no address of a program does.

/// The lowest number that is no address.
const NO_ADDRESS: u64 = 1 << 62;
/// The number of bits that each kind has for its own numbers.
const OWN_BITS: u32 = 48;

/// Something that carries an order from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// A file that carries none, such as one on a disk. It is reported all the same: a program whose output goes to a pipe in one run
    /// and to a file in another meets the same places.
    None,
    /// All sockets whose other end is not known, and those of the kernel's own files that have no kind of their own here, together.
    Sockets,
    /// An eventfd, by the order in which they are made: a counter that is added to and taken.
    Counter(u32),
    /// An epoll, by the order in which they are made: the files that someone may wait for.
    Interest(u32),
    /// A pipe: a number of the kernel's.
    Pipe(u64),
    /// Two sockets that are connected: a number both ends come to.
    Connection(u64),
    /// The number of a file: it is given out again only after it was closed.
    Descriptor(u32),
    /// The number of a file as something to access: using the file is a read, closing it a write.
    File(u32),
    /// A part of a team of OpenMP's: 8 times the team's number, and the part's.
    Team(u32),
    /// A task of OpenMP's: its number.
    Task(u32),
    /// Iterations of a loop whose iterations wait for each other: a number that few share.
    Iteration(u32),
    /// A fiber that moves between threads: its number.
    Fiber(u32),
    /// What all threads did so far, for one that runs finalizers.
    Everything,
    /// The word at an address, as what threads wait for by system calls of their own. It carries an order only in libraries that are not instrumented:
    /// elsewhere, the operations on the word do.
    Futex(u64),
    /// A signal, on its way to one thread or to anyone.
    Signal(Signal, SignalTarget),
}

/// A signal's number. 0 stands for all: one whose number is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal(pub u8);

/// Whom a signal was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalTarget {
    /// The process: any of its threads may handle it.
    Anyone,
    /// The thread with this number.
    Thread(u32),
}

impl Signal {
    /// A signal whose number is not known.
    pub const ANY: Signal = Signal(0);

    /// Those that a thread's own instruction causes: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS. Nobody waits for them, though every Rust
    /// program has a handler of two of them, for overflows of the stack.
    const BY_INSTRUCTION: [u8; 6] = [4, 5, 7, 8, 11, 31];

    /// Whether it comes from outside of the thread that handles it, so that a thread that waits may wait for it.
    pub fn may_be_waited_for(self) -> bool {
        !Signal::BY_INSTRUCTION.contains(&self.0)
    }

    /// Through what the arrival of the signal in this thread may have been published.
    pub fn objects(self, thread: u32) -> [u64; 3] {
        let passages = [
            Passage::Signal(self, SignalTarget::Anyone),
            Passage::Signal(self, SignalTarget::Thread(thread)),
            Passage::Signal(Signal::ANY, SignalTarget::Anyone),
        ];
        passages.map(Passage::object)
    }
}

impl Passage {
    /// Its number as an object.
    pub const fn object(self) -> u64 {
        let (kind, own) = match self {
            Passage::None => (0, 0),
            Passage::Sockets => (1, 0),
            Passage::Pipe(number) => (2, number),
            Passage::Connection(number) => (3, number),
            Passage::Signal(Signal(signal), SignalTarget::Anyone) => (4, signal as u64),
            Passage::Signal(Signal(signal), SignalTarget::Thread(thread)) => {
                (5, (thread as u64) << 8 | signal as u64)
            }
            Passage::Descriptor(number) => (6, number as u64),
            Passage::Fiber(number) => (7, number as u64),
            Passage::Task(number) => (8, number as u64),
            Passage::Team(number) => (9, number as u64),
            Passage::File(number) => (10, number as u64),
            Passage::Iteration(number) => (11, number as u64),
            Passage::Everything => (12, 0),
            Passage::Counter(number) => (13, number as u64),
            Passage::Interest(number) => (14, number as u64),
            Passage::Futex(address) => (15, address),
        };
        NO_ADDRESS | kind << OWN_BITS | own & ((1 << OWN_BITS) - 1)
    }

    /// What this object is; none if it is something at an address, or nothing.
    pub const fn of(object: u64) -> Option<Passage> {
        let Some(number) = object.checked_sub(NO_ADDRESS) else { return None };
        let own = number & ((1 << OWN_BITS) - 1);
        let signal = Signal(own as u8);
        Some(match number >> OWN_BITS {
            0 => Passage::None,
            1 => Passage::Sockets,
            2 => Passage::Pipe(own),
            3 => Passage::Connection(own),
            4 => Passage::Signal(signal, SignalTarget::Anyone),
            5 => Passage::Signal(signal, SignalTarget::Thread((own >> 8) as u32)),
            6 => Passage::Descriptor(own as u32),
            7 => Passage::Fiber(own as u32),
            8 => Passage::Task(own as u32),
            9 => Passage::Team(own as u32),
            10 => Passage::File(own as u32),
            11 => Passage::Iteration(own as u32),
            12 => Passage::Everything,
            13 => Passage::Counter(own as u32),
            14 => Passage::Interest(own as u32),
            15 => Passage::Futex(own),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_what_instructions_cause() {
        assert!(Signal(15).may_be_waited_for() && Signal::ANY.may_be_waited_for());
        assert!(!Signal(11).may_be_waited_for() && !Signal(7).may_be_waited_for());
    }

    #[test]
    fn numbers_go_there_and_back() {
        let signal = Signal(14);
        for passage in [
            Passage::None,
            Passage::Sockets,
            Passage::Pipe(0xffff_0123_4567),
            Passage::Connection(7),
            Passage::Counter(3),
            Passage::Interest(4),
            Passage::Futex(0x7fff_0123_4564),
            Passage::Descriptor(3),
            Passage::Fiber(3),
            Passage::Task(3),
            Passage::Team(9),
            Passage::Iteration(9),
            Passage::File(9),
            Passage::Everything,
            Passage::Signal(signal, SignalTarget::Anyone),
            Passage::Signal(signal, SignalTarget::Thread(70_000)),
        ] {
            assert_eq!(Passage::of(passage.object()), Some(passage));
        }
        assert_eq!((Passage::of(0x7fff_ffff_f000), Passage::of(u64::MAX)), (None, None));
    }
}
