//! RAPID's engines and ours on the same traces: not how many racy events each reports, but which.
//!
//! A difference is judged by the oracle, or by `poly` where a trace is too long for it: is the event racy, the later one of two that a schedule
//! makes both next? Differences are sorted by what they are ([`kinds`]); of each kind the smallest trace found that shows it is
//! shrunken and kept in `corpus/rapid/`, where [`kept`] holds our verdict, the oracle's, and RAPID's if it is here.
//!
//! RAPID is no part of this repository: `RAPID_HOME` names a checkout with its classes compiled into `bin`, and without it nothing is compared.
//! `cargo xtask bench rapid` runs the comparison and writes its table into bench/RESULTS.md.

mod comparison;
mod inputs;
mod kept;
mod kinds;
mod ours;
mod peer;
