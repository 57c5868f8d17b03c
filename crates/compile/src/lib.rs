//! Builds programs that can be recorded: the user's own C and C++ compiler ([`compiler`]), rustc and cargo ([`rust`]), each
//! told to instrument what it compiles and to link the runtime, which this crate carries inside itself ([`embedded`]).

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
