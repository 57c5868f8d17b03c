//! What this machine allows.

use std::path::Path;

use nix::sys::personality::{self, Persona};
use nix::sys::statvfs::statvfs;

/// Whether programs can be started at the same addresses each time. From now on ours are.
pub fn allows_fixed_addresses() -> bool {
    personality::get().and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE)).is_ok()
}

/// How many bytes are free in a directory; none if that is not known.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let facts = statvfs(directory).ok()?;
    Some(facts.blocks_available() * facts.fragment_size())
}
