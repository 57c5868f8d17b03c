//! Builds programs that can be recorded, with the user's own C or C++ compiler ([`compiler`]) or with rustc and
//! cargo ([`rust`]). The compilers instrument the program and link the runtime, which this crate contains
//! ([`embedded`]).
//!
#![doc = include_str!("../README.md")]

pub mod compiler;
pub mod embedded;
pub mod rust;

use std::hash::Hasher;

/// A number that differs between contents. It does not protect against those who want two contents to have the same.
fn fingerprint(parts: &[&[u8]]) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}
