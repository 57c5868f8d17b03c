//! The runtime inside a recorded program. It stands in for libtsan: the compiler's `-fsanitize=thread` pass
//! calls its hooks, and the program's calls of pthread and C library functions come here first.
//!
//! # The promise
//!
//! One thread at a time holds the *token*, and only it runs the program's code. So the log is one legal order of
//! what happened: a hook writes its event and returns, and the access follows before any other thread's.
//! The exceptions: a thread in a call that blocks in the outside world runs without the token, and one that is stuck
//! out of our sight loses it (see [`watchdog`]). Same seed and same input give the same log as long as neither happens.
//! The program's output, exit status and signals are its own.
//!
//! # The story
//!
//! [`start`] reads the [`settings`] and decides between recording and being passive. A hook ([`hooks`], [`atomics`])
//! finds its [`thread`], lets the [`scheduler`] take the token away if the thread's budget is used up, and writes
//! to the [`writer`]. Functions of the C library that synchronise, block, allocate or end the program are in
//! [`interpose`]; they call the [`real`] ones. A schedule to be followed comes from [`replay`]. RULES.md says what no code in this crate may do.

mod atomics;
mod clock;
mod cover;
mod hooks;
mod inside;
mod interpose;
mod modules;
mod program;
mod real;
mod replay;
mod schedule;
mod scheduler;
mod settings;
mod start;
mod sys;
mod thread;
mod token;
mod watchdog;
mod writer;
