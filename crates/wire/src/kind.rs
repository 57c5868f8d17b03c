//! The kinds of raw events, by number.

/// The most arguments a detailed event has.
pub const MAX_ARGUMENTS: usize = 4;

macro_rules! kinds {
    (
        simple { $($(#[$sdoc:meta])* $simple:ident = $scode:literal,)* }
        detailed { $($(#[$ddoc:meta])* $detailed:ident($arguments:literal) = $dcode:literal,)* }
    ) => {
        /// What kind of event. *Simple* kinds have a pc and an address and are predicted; *detailed*
        /// kinds have arguments besides, and are written out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$sdoc])* $simple = $scode,)*
            $($(#[$ddoc])* $detailed = $dcode,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$simple,)* $(Kind::$detailed,)*];

            /// The kind with this number.
            #[inline]
            pub fn from_code(code: u8) -> Option<Kind> {
                match code {
                    $($scode => Some(Kind::$simple),)*
                    $($dcode => Some(Kind::$detailed),)*
                    _ => None,
                }
            }

            /// How many arguments a detailed event of this kind has; `None` for a simple kind.
            #[inline]
            pub fn arguments(self) -> Option<usize> {
                match self {
                    $(Kind::$simple => None,)*
                    $(Kind::$detailed => Some($arguments),)*
                }
            }
        }
    };
}

kinds! {
    simple {
        /// A plain read.
        Read1 = 1,
        /// A plain read.
        Read2 = 2,
        /// A plain read.
        Read4 = 3,
        /// A plain read.
        Read8 = 4,
        /// A plain read.
        Read16 = 5,
        /// A plain write.
        Write1 = 6,
        /// A plain write.
        Write2 = 7,
        /// A plain write.
        Write4 = 8,
        /// A plain write.
        Write8 = 9,
        /// A plain write.
        Write16 = 10,
        /// A plain read and the write after it, one instruction.
        ReadWrite1 = 11,
        /// A plain read and the write after it, one instruction.
        ReadWrite2 = 12,
        /// A plain read and the write after it, one instruction.
        ReadWrite4 = 13,
        /// A plain read and the write after it, one instruction.
        ReadWrite8 = 14,
        /// A plain read and the write after it, one instruction.
        ReadWrite16 = 15,
        /// An atomic load, or a compare-exchange that failed.
        AtomicRead1 = 16,
        /// An atomic load, or a compare-exchange that failed.
        AtomicRead2 = 17,
        /// An atomic load, or a compare-exchange that failed.
        AtomicRead4 = 18,
        /// An atomic load, or a compare-exchange that failed.
        AtomicRead8 = 19,
        /// An atomic load, or a compare-exchange that failed.
        AtomicRead16 = 20,
        /// An atomic store.
        AtomicWrite1 = 21,
        /// An atomic store.
        AtomicWrite2 = 22,
        /// An atomic store.
        AtomicWrite4 = 23,
        /// An atomic store.
        AtomicWrite8 = 24,
        /// An atomic store.
        AtomicWrite16 = 25,
        /// An atomic read-modify-write.
        AtomicUpdate1 = 26,
        /// An atomic read-modify-write.
        AtomicUpdate2 = 27,
        /// An atomic read-modify-write.
        AtomicUpdate4 = 28,
        /// An atomic read-modify-write.
        AtomicUpdate8 = 29,
        /// An atomic read-modify-write.
        AtomicUpdate16 = 30,
        /// A memory fence; its address is the memory order.
        Fence = 31,
        /// A function starts; the pc is in it, the address is the return address: where it was called.
        FunctionEntry = 32,
        /// A function ends.
        FunctionExit = 33,
        /// A lock is wanted, by a call that waits for it.
        Request = 34,
        /// A lock is taken.
        Acquire = 35,
        /// An attempt to take a lock failed, or its time ran out.
        TryFailed = 36,
        /// A lock is given back.
        Release = 37,
        /// A lock is wanted for reading, by a call that waits for it.
        RequestShared = 38,
        /// A lock is taken for reading.
        AcquireShared = 39,
        /// An attempt to take a lock for reading failed, or its time ran out.
        TryFailedShared = 40,
        /// A lock taken for reading is given back.
        ReleaseShared = 41,
        /// One waiter of a condition variable is woken.
        Signal = 42,
        /// All waiters of a condition variable are woken.
        Broadcast = 43,
        /// The thread arrives at a barrier.
        BarrierEnter = 44,
        /// The thread passes a barrier.
        BarrierExit = 45,
        /// A semaphore is raised.
        Post = 46,
        /// A semaphore is lowered.
        Take = 47,
        /// A semaphore could not be lowered at once, or the time ran out.
        TakeFailed = 48,
        /// A block of memory is freed.
        Free = 49,
        /// The thread ends.
        End = 50,
        /// A block of memory is freed by the C library, for itself.
        FreeInside = 51,
        /// What follows gives up by itself: a try, or a wait with a time limit.
        Limited = 52,
        /// What the thread did so far comes before what others do after this object's next [`Kind::HappensAfter`].
        HappensBefore = 53,
        /// What others did before this object's last [`Kind::HappensBefore`] comes before what the thread does now.
        HappensAfter = 54,
        /// A lock is taken whose attempts, told as atomic accesses, had failed.
        Obtained = 55,
        /// A signal reaches the thread: a handler of the program's starts, at this pc, or a wait for the signal is over. The address is its number.
        Signalled = 56,
        /// The memory order of the atomic operation that follows, as C numbers it, in place of an address. Without it the order is `seq_cst`.
        Order = 57,
        /// A lock, condition variable, barrier or semaphore is destroyed: it must be initialised again before it is used.
        Destroyed = 58,
        /// The program begins to end; other threads go on for a while.
        Exiting = 59,
        /// The program says that the thread holds no lock here.
        NoLock = 60,
        /// The thread is about to wait for the object at this address for as long as it takes; 0: it goes on.
        Awaits = 61,
        /// A lock is given back whose fast way back, told as an atomic access, had failed.
        GaveBack = 62,
    }
    detailed {
        /// A range is read. Argument: its length.
        ReadRange(1) = 64,
        /// A range is written. Argument: its length.
        WriteRange(1) = 65,
        /// A block of memory is allocated. Argument: its size.
        Allocate(1) = 66,
        /// A thread is created. Argument: its number.
        Create(1) = 67,
        /// The thread's first event; the address is the low end of its stack. Arguments: the high end, its
        /// predictor table, its kernel id.
        Begin(4) = 68,
        /// The end of a thread is waited for. Argument: its number.
        Join(1) = 69,
        /// A thread is detached. Argument: its number.
        Detach(1) = 70,
        /// A thread has a name. Argument: its number. Text: the name.
        ThreadName(1) = 71,
        /// A condition variable is waited for. Argument: the lock that is given back meanwhile.
        Wait(1) = 72,
        /// The wait for a condition variable is over. Argument: what ended it.
        Woken(1) = 73,
        /// A barrier is made. Argument: how many threads it holds back.
        BarrierInit(1) = 74,
        /// A semaphore is made. Argument: its value.
        SemaphoreInit(1) = 75,
        /// Branches since the thread's last event, before one with arguments. Argument: how many, or 1 for some. Simple events have
        /// a bit instead.
        Branches(1) = 76,
        /// The program marks a value. Argument: the value. Text: the name.
        Mark(1) = 77,
        /// A region that should be atomic begins. Text: its name.
        RegionBegin(0) = 78,
        /// A region that should be atomic ends. Text: its name.
        RegionEnd(0) = 79,
        /// Nothing more will be recorded. Arguments: why, and a number that goes with it.
        Stop(2) = 80,
        /// A block of memory is allocated by the C library, for itself or to hand it out. Argument: its size.
        AllocateInside(1) = 81,
        /// The program does not want these accesses of the thread to be seen from here on. Argument: 1 reads, 2 writes,
        /// 4 atomic accesses, 8 what orders threads, or their sum.
        IgnoreBegin(1) = 82,
        /// It does again. Argument: as when it began.
        IgnoreEnd(1) = 83,
        /// Races on this range are meant to be. Argument: its length.
        Benign(1) = 84,
        /// A block that was just allocated is all zeroes. Argument: its length.
        Zeroed(1) = 85,
        /// The thread is about to end the program by a failure. The address is the one whose access failed, if that is what
        /// failed. Text: the message, if the program gave one.
        Failing(0) = 86,
        /// The C library refuses a call on a lock or another object. Argument: why.
        Refused(1) = 87,
        /// A thread that was joined or detached before is joined or detached. Argument: its number.
        JoinedAgain(1) = 88,
        /// A signal handler does what it must not do. Argument: what.
        Unsafe(1) = 89,
        /// The thread runs another fiber, which is the address, from here on. Argument: the one it ran.
        Fiber(1) = 90,
        /// The thread is about to wait for the end of another for as long as it takes. Argument: its number.
        AwaitsEnd(1) = 91,
        /// A block that was just allocated is all zeroes, which C's `calloc` does whether or not the program wants that. Argument: its
        /// length.
        Cleared(1) = 92,
    }
}

impl Kind {
    /// Whether an event of this kind counts as a place: the runtime can stop a thread before it, and a replay of
    /// the same program meets it again. A request does not, nor a note on limits: they are part of what follows. Nor does what the C library
    /// allocates: an output's buffer is allocated by the first thread that writes. Nor does the arrival of a signal, which no schedule can arrange, nor what is noted about
    /// objects and calls besides what they do.
    #[inline]
    pub fn is_schedulable(self) -> bool {
        !matches!(
            self,
            Kind::FunctionEntry
                | Kind::FunctionExit
                | Kind::ThreadName
                | Kind::Branches
                | Kind::Request
                | Kind::RequestShared
                | Kind::Limited
                | Kind::Stop
                | Kind::Failing
                | Kind::FreeInside
                | Kind::AllocateInside
                | Kind::IgnoreBegin
                | Kind::IgnoreEnd
                | Kind::Benign
                | Kind::Zeroed
                | Kind::Cleared
                | Kind::Obtained
                | Kind::GaveBack
                | Kind::Signalled
                | Kind::Order
                | Kind::Destroyed
                | Kind::Exiting
                | Kind::NoLock
                | Kind::Refused
                | Kind::JoinedAgain
                | Kind::Unsafe
                | Kind::Fiber
                | Kind::Awaits
                | Kind::AwaitsEnd
        )
    }

    /// Whether text follows the arguments.
    #[inline]
    pub fn has_text(self) -> bool {
        matches!(self, Kind::ThreadName | Kind::Mark | Kind::RegionBegin | Kind::RegionEnd | Kind::Failing)
    }

    /// How many bytes a read, write or update covers, by its number in its family of five.
    #[inline]
    pub fn size(self) -> u8 {
        match self as u8 {
            code @ 1..=30 => 1 << ((code - 1) % 5),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_there_and_back() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_code(0), None);
    }

    #[test]
    fn sizes_follow_the_names() {
        for &kind in Kind::ALL {
            let name = format!("{kind:?}");
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(kind.size(), digits.parse().unwrap_or(0), "{name}");
        }
    }
}
