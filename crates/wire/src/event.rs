//! What the reader yields: typed events.

use crate::kind::{Kind, MAX_ARGUMENTS};
use crate::object::Signal;

/// One event of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Whose event: the thread's number.
    pub thread: u32,
    /// How many schedulable events of the thread came before; none for an event that is not schedulable.
    pub place: Option<u64>,
    /// The instruction after the call of the hook; 0 where the runtime itself speaks.
    pub pc: u64,
    /// What happened.
    pub op: Op<'a>,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// By one thread.
    Exclusive,
    /// By any number of readers.
    Shared,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waker {
    /// A signal.
    Signal,
    /// A broadcast.
    Broadcast,
    /// Its time ran out.
    Timeout,
    /// Nothing in particular.
    Spurious,
}

/// Why a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The program ended with this status.
    Exit(i32),
    /// A signal is about to kill the program.
    Killed(i32),
    /// No thread could go on.
    Deadlock,
    /// The program was replaced by another one.
    Exec,
    /// As many events as were asked for.
    Limit,
    /// The program gave up the right to make the system calls that recording takes.
    Sandbox,
}

/// What happened. Addresses are those of the recorded process.
#[expect(missing_docs, reason = "the fields say their names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// A plain read.
    Read { address: u64, size: u8 },
    /// A plain write.
    Write { address: u64, size: u8 },
    /// A plain read and then a write of the same bytes, reported by one hook.
    ReadWrite { address: u64, size: u8 },
    /// An atomic load, or a compare-exchange that failed.
    AtomicRead { address: u64, size: u8 },
    /// An atomic store.
    AtomicWrite { address: u64, size: u8 },
    /// An atomic read-modify-write.
    AtomicUpdate { address: u64, size: u8 },
    /// A plain read of a range.
    ReadRange { address: u64, length: u64 },
    /// A plain write of a range.
    WriteRange { address: u64, length: u64 },
    /// A memory fence with this order (C's number).
    Fence { order: u64 },
    /// The memory order (C's number) of the thread's next event, an atomic operation. Without it that is `seq_cst`.
    Order { order: u64 },
    /// A function starts: the pc lies in it; `call` is where it will return to.
    FunctionEntry { call: u64 },
    /// A function ends.
    FunctionExit,
    /// A thread is created.
    Create { child: u32 },
    /// The thread's first event. Its own variables lie below its thread pointer.
    Begin { stack_low: u64, stack_high: u64, kernel_id: u32, thread_pointer: u64 },
    /// The thread's last event.
    End,
    /// The thread waited for the end of another.
    Join { child: u32 },
    /// A thread is detached.
    Detach { child: u32 },
    /// A thread has a name.
    ThreadName { thread: u32, name: &'a [u8] },
    /// A lock is wanted by a call that waits for it as long as it takes; the acquire comes later.
    Request { lock: u64, hold: Hold },
    /// A lock is taken. A recursive lock may be taken by its holder again: every acquire is reported.
    Acquire { lock: u64, hold: Hold },
    /// A lock is taken after all; the attempts that failed were told as atomic accesses.
    Obtained { lock: u64 },
    /// A lock is given back; the attempt to do so by one atomic access failed.
    GaveBack { lock: u64 },
    /// A try failed, or a timed attempt ran out of time.
    TryFailed { lock: u64, hold: Hold },
    /// A lock is given back.
    Release { lock: u64, hold: Hold },
    /// What follows was done by a call that gives up by itself: a try, or a wait with a time limit.
    Limited,
    /// The thread waits for a condition variable and gives back the lock: both in this event.
    Wait { condition: u64, lock: u64 },
    /// The wait is over; the lock is not yet taken: its acquire (and request) follows.
    Woken { condition: u64, by: Waker },
    /// One waiter is woken.
    Signal { condition: u64 },
    /// All waiters are woken.
    Broadcast { condition: u64 },
    /// A barrier is made.
    BarrierInit { barrier: u64, count: u64 },
    /// The thread arrives at a barrier.
    BarrierEnter { barrier: u64 },
    /// The thread passes a barrier.
    BarrierExit { barrier: u64 },
    /// A semaphore is made.
    SemaphoreInit { semaphore: u64, value: u64 },
    /// A semaphore is raised.
    Post { semaphore: u64 },
    /// A semaphore is lowered.
    Take { semaphore: u64 },
    /// A semaphore could not be lowered.
    TakeFailed { semaphore: u64 },
    /// A block of memory is allocated.
    Allocate { address: u64, size: u64 },
    /// A block that was just allocated holds zeroes.
    Zeroed { address: u64, length: u64 },
    /// A block that was just allocated holds zeroes, but they may not be what belongs there.
    Cleared { address: u64, length: u64 },
    /// A block of memory is freed.
    Free { address: u64 },
    /// All so far comes before what others do after their next `HappensAfter` of the object.
    HappensBefore { object: u64 },
    /// All that was before the `HappensBefore`s of the object so far comes before what follows.
    HappensAfter { object: u64 },
    /// A signal reaches the thread, which comes after all that published one of the signal's [`Signal::objects`].
    Signalled { signal: Signal },
    /// Accesses of the thread are not wanted from here on: one level more.
    IgnoreBegin(Ignored),
    /// One level less.
    IgnoreEnd(Ignored),
    /// Races on this range are meant to be.
    Benign { address: u64, length: u64 },
    /// At least this number of branches since the thread's last event: the runtime says 1 for any number.
    Branches { count: u64 },
    /// The program marks a value.
    Mark { name: &'a [u8], value: i64 },
    /// A region that should be atomic begins.
    RegionBegin { name: &'a [u8] },
    /// A region that should be atomic ends.
    RegionEnd { name: &'a [u8] },
    /// The thread is about to end the program: the address whose access failed (0: none), and the message if there is one.
    Failing { address: u64, message: &'a [u8] },
    /// A lock, condition variable, barrier or semaphore is destroyed.
    Destroyed { object: u64 },
    /// The program begins to end.
    Exiting,
    /// The program says that the thread holds no lock here.
    NoLock,
    /// The C library refused a call on an object.
    Refused { object: u64, why: Refusal },
    /// A thread is joined or detached that was joined or detached before.
    JoinedAgain { child: u32 },
    /// A signal handler does what it must not do.
    Unsafe(UnsafeCall),
    /// The thread runs another fiber from here on.
    Fiber { from: u64, to: u64 },
    /// The thread is about to wait for an object for as long as it takes; none: it goes on.
    Awaits { object: Option<u64> },
    /// The thread is about to wait for the end of another for as long as it takes.
    AwaitsEnd { child: u32 },
    /// Nothing more is recorded.
    Stop(Stop),
}

impl Op<'_> {
    /// The address and the length of what it accesses. None: it is no access.
    pub fn accessed(&self) -> Option<(u64, u64)> {
        match *self {
            Op::Read { address, size }
            | Op::Write { address, size }
            | Op::ReadWrite { address, size }
            | Op::AtomicRead { address, size }
            | Op::AtomicWrite { address, size }
            | Op::AtomicUpdate { address, size } => Some((address, u64::from(size))),
            _ => None,
        }
    }
}

/// What of a thread is not to be seen.
#[expect(missing_docs, reason = "the fields say their names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ignored {
    pub reads: bool,
    pub writes: bool,
    pub atomics: bool,
    /// What would order it with other threads.
    pub orders: bool,
}

impl Ignored {
    fn of(bits: u64) -> Ignored {
        Ignored { reads: bits & 1 != 0, writes: bits & 2 != 0, atomics: bits & 4 != 0, orders: bits & 8 != 0 }
    }
}

/// Why the C library refuses a call on a lock or another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The thread holds the lock that it wants.
    Deadlock,
    /// The thread does not hold the lock that it gives back.
    NotHeld,
    /// What is to be destroyed is held or waited for.
    Busy,
    /// It is not initialised.
    Invalid,
}

impl Refusal {
    /// Its number as an argument.
    pub fn code(self) -> u64 {
        self as u64
    }

    fn from_code(code: u64) -> Option<Refusal> {
        [Refusal::Deadlock, Refusal::NotHeld, Refusal::Busy, Refusal::Invalid].get(code as usize).copied()
    }
}

/// What a signal handler must not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnsafeCall {
    /// It allocates or frees memory.
    Allocates,
    /// It takes a lock.
    Locks,
    /// It changes `errno`, and does not restore it.
    ChangesErrno,
}

impl UnsafeCall {
    /// Its number as an argument.
    pub fn code(self) -> u64 {
        self as u64
    }

    fn from_code(code: u64) -> Option<UnsafeCall> {
        [UnsafeCall::Allocates, UnsafeCall::Locks, UnsafeCall::ChangesErrno].get(code as usize).copied()
    }
}

impl Waker {
    /// Its number as an argument.
    pub fn code(self) -> u64 {
        self as u64
    }

    fn from_code(code: u64) -> Option<Waker> {
        [Waker::Signal, Waker::Broadcast, Waker::Timeout, Waker::Spurious].get(code as usize).copied()
    }
}

impl Stop {
    /// Its arguments.
    pub fn arguments(self) -> [u64; 2] {
        match self {
            Stop::Exit(status) => [0, u64::from(status as u32)],
            Stop::Killed(signal) => [1, u64::from(signal as u32)],
            Stop::Deadlock => [2, 0],
            Stop::Exec => [3, 0],
            Stop::Limit => [4, 0],
            Stop::Sandbox => [5, 0],
        }
    }

    fn from_arguments(code: u64, number: u64) -> Option<Stop> {
        Some(match code {
            0 => Stop::Exit(number as u32 as i32),
            1 => Stop::Killed(number as u32 as i32),
            2 => Stop::Deadlock,
            3 => Stop::Exec,
            4 => Stop::Limit,
            5 => Stop::Sandbox,
            _ => return None,
        })
    }
}

/// The operation of a simple kind; none if the kind is detailed.
pub(crate) fn simple(kind: Kind, address: u64) -> Option<Op<'static>> {
    let size = kind.size();
    Some(match kind {
        Kind::Read1 | Kind::Read2 | Kind::Read4 | Kind::Read8 | Kind::Read16 => Op::Read { address, size },
        Kind::Write1 | Kind::Write2 | Kind::Write4 | Kind::Write8 | Kind::Write16 => {
            Op::Write { address, size }
        }
        Kind::ReadWrite1 | Kind::ReadWrite2 | Kind::ReadWrite4 | Kind::ReadWrite8 | Kind::ReadWrite16 => {
            Op::ReadWrite { address, size }
        }
        Kind::AtomicRead1
        | Kind::AtomicRead2
        | Kind::AtomicRead4
        | Kind::AtomicRead8
        | Kind::AtomicRead16 => Op::AtomicRead { address, size },
        Kind::AtomicWrite1
        | Kind::AtomicWrite2
        | Kind::AtomicWrite4
        | Kind::AtomicWrite8
        | Kind::AtomicWrite16 => Op::AtomicWrite { address, size },
        Kind::AtomicUpdate1
        | Kind::AtomicUpdate2
        | Kind::AtomicUpdate4
        | Kind::AtomicUpdate8
        | Kind::AtomicUpdate16 => Op::AtomicUpdate { address, size },
        Kind::Fence => Op::Fence { order: address },
        Kind::Order => Op::Order { order: address },
        Kind::FunctionEntry => Op::FunctionEntry { call: address },
        Kind::FunctionExit => Op::FunctionExit,
        Kind::Request => Op::Request { lock: address, hold: Hold::Exclusive },
        Kind::Acquire => Op::Acquire { lock: address, hold: Hold::Exclusive },
        Kind::TryFailed => Op::TryFailed { lock: address, hold: Hold::Exclusive },
        Kind::Release => Op::Release { lock: address, hold: Hold::Exclusive },
        Kind::RequestShared => Op::Request { lock: address, hold: Hold::Shared },
        Kind::AcquireShared => Op::Acquire { lock: address, hold: Hold::Shared },
        Kind::TryFailedShared => Op::TryFailed { lock: address, hold: Hold::Shared },
        Kind::ReleaseShared => Op::Release { lock: address, hold: Hold::Shared },
        Kind::Limited => Op::Limited,
        Kind::Obtained => Op::Obtained { lock: address },
        Kind::GaveBack => Op::GaveBack { lock: address },
        Kind::Signal => Op::Signal { condition: address },
        Kind::Broadcast => Op::Broadcast { condition: address },
        Kind::BarrierEnter => Op::BarrierEnter { barrier: address },
        Kind::BarrierExit => Op::BarrierExit { barrier: address },
        Kind::Post => Op::Post { semaphore: address },
        Kind::Take => Op::Take { semaphore: address },
        Kind::TakeFailed => Op::TakeFailed { semaphore: address },
        Kind::Free | Kind::FreeInside => Op::Free { address },
        Kind::HappensBefore => Op::HappensBefore { object: address },
        Kind::HappensAfter => Op::HappensAfter { object: address },
        Kind::Signalled => Op::Signalled { signal: Signal(address as u8) },
        Kind::End => Op::End,
        Kind::Destroyed => Op::Destroyed { object: address },
        Kind::Exiting => Op::Exiting,
        Kind::NoLock => Op::NoLock,
        Kind::Awaits => Op::Awaits { object: Some(address).filter(|&address| address != 0) },
        _ => return None,
    })
}

/// The operation of a detailed kind; none if the kind is simple or an argument makes no sense.
pub(crate) fn detailed<'a>(
    kind: Kind,
    address: u64,
    arguments: [u64; MAX_ARGUMENTS],
    text: &'a [u8],
) -> Option<Op<'a>> {
    let [first, second, third, fourth] = arguments;
    let thread = || u32::try_from(first).ok();
    Some(match kind {
        Kind::ReadRange => Op::ReadRange { address, length: first },
        Kind::WriteRange => Op::WriteRange { address, length: first },
        Kind::Allocate | Kind::AllocateInside => Op::Allocate { address, size: first },
        Kind::Zeroed => Op::Zeroed { address, length: first },
        Kind::Cleared => Op::Cleared { address, length: first },
        Kind::Create => Op::Create { child: thread()? },
        Kind::Begin => Op::Begin {
            stack_low: address,
            stack_high: first,
            kernel_id: third.try_into().ok()?,
            thread_pointer: fourth,
        },
        Kind::Join => Op::Join { child: thread()? },
        Kind::Detach => Op::Detach { child: thread()? },
        Kind::ThreadName => Op::ThreadName { thread: thread()?, name: text },
        Kind::Wait => Op::Wait { condition: address, lock: first },
        Kind::Woken => Op::Woken { condition: address, by: Waker::from_code(first)? },
        Kind::BarrierInit => Op::BarrierInit { barrier: address, count: first },
        Kind::SemaphoreInit => Op::SemaphoreInit { semaphore: address, value: first },
        Kind::IgnoreBegin => Op::IgnoreBegin(Ignored::of(first)),
        Kind::IgnoreEnd => Op::IgnoreEnd(Ignored::of(first)),
        Kind::Benign => Op::Benign { address, length: first },
        Kind::Branches => Op::Branches { count: first },
        Kind::Mark => Op::Mark { name: text, value: first as i64 },
        Kind::RegionBegin => Op::RegionBegin { name: text },
        Kind::RegionEnd => Op::RegionEnd { name: text },
        Kind::Failing => Op::Failing { address, message: text },
        Kind::Refused => Op::Refused { object: address, why: Refusal::from_code(first)? },
        Kind::JoinedAgain => Op::JoinedAgain { child: thread()? },
        Kind::AwaitsEnd => Op::AwaitsEnd { child: thread()? },
        Kind::Fiber => Op::Fiber { from: first, to: address },
        Kind::Unsafe => Op::Unsafe(UnsafeCall::from_code(first)?),
        Kind::Stop => Op::Stop(Stop::from_arguments(first, second)?),
        _ => return None,
    })
}
