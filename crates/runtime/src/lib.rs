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
//! finds its [`thread`] and writes to the log ([`writer`]), or, if the thread's budget is used up, lets the [`scheduler`] pass the
//! token on. Functions of the C library that synchronise, block, allocate or end the program are in
//! [`interpose`]; they go [`inside`] the runtime and call the [`real`] ones. RULES.md says what no code in this crate may do.
//!
//! The scheduler is in layers: the [`schedule`] decides and is plain data, the [`token`] is the few words that threads hand over, the
//! [`scheduler`] puts the two together, and the [`program`] is what they run on. All but the last run on the host, in unit tests and models.

// Only the code that stands inside a program uses all of what is tested on the host.
#![cfg_attr(test, expect(dead_code, reason = "used by modules that are not part of a test binary"))]

mod asleep;
mod conversions;
mod numbers;
mod printed;
mod replay;
mod schedule;
mod scheduler;
mod settings;
mod sys;
mod token;

/// Not in unit tests: these modules take the place of the C library's functions, or need those that do.
macro_rules! only_inside_a_program {
    ($($module:ident)*) => {
        $(
            #[cfg(not(test))]
            mod $module;
        )*
    };
}

only_inside_a_program! {
    atomics client_log clock cover hooks inside interpose kernel_status losses modules program real requests start survey thread watchdog writer
}
