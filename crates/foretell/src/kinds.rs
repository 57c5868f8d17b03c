//! What the kinds of event are called where people and programs read about them.

use trace::Kind;

/// The name of a kind: lower-case words joined by `_`, as in JSON.
pub fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Begin => "begin",
        Kind::End => "end",
        Kind::Fence => "fence",
        Kind::Fork => "fork",
        Kind::Join => "join",
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::AtomicRead => "atomic_read",
        Kind::AtomicWrite => "atomic_write",
        Kind::AtomicUpdate => "atomic_update",
        Kind::Request => "request",
        Kind::Acquire => "acquire",
        Kind::Release => "release",
        Kind::RequestShared => "request_shared",
        Kind::AcquireShared => "acquire_shared",
        Kind::ReleaseShared => "release_shared",
        Kind::Wait => "wait",
        Kind::Signal => "signal",
        Kind::Broadcast => "broadcast",
        Kind::BarrierEnter => "barrier_enter",
        Kind::BarrierExit => "barrier_exit",
        Kind::Post => "post",
        Kind::Take => "take",
        Kind::Allocate => "allocate",
        Kind::Free => "free",
        Kind::Branch => "branch",
        Kind::Mark => "mark",
        Kind::RegionBegin => "region_begin",
        Kind::RegionEnd => "region_end",
    }
}

/// The name of a kind as words, for people.
pub fn words_of(kind: Kind) -> String {
    name_of(kind).replace('_', " ")
}
