//! Holds a program's threads to an order of synchronisation, under the genuine ThreadSanitizer: `foretell replay --tsan`.
//!
//! # The promise
//!
//! Preloaded, it stands before ThreadSanitizer's own functions. A call that synchronises waits here until those that come before it in the [`order`]
//! are done, and then goes on to ThreadSanitizer's. The waiting is done with the kernel alone and in code that is not
//! instrumented, so ThreadSanitizer sees no synchronisation that is not the program's: what it reports is its own finding.
//! Nothing hangs: when the order makes no progress for some seconds it is given up, and the program runs freely.

mod calls;
mod order;
mod sys;
