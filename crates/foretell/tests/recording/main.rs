//! Recording as a user does it: programs are compiled with `foretell cc`, recorded with `foretell record`, and their
//! traces read back, so that each passes the check of well-formedness.

mod builds;
mod endings;
mod equality;
mod interruptions;
mod long;
mod options;
mod order;
mod primitives;
mod rarities;
mod refusals;
mod room;
mod secrets;
mod support;
mod time;
mod tools;
