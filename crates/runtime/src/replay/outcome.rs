//! What a replay reports: records at the end of the outcome file of the run directory, as `wire` defines them.

use wire::{MAX_MEMORY, Memory, OutcomeRecord};

use crate::settings::Settings;
use crate::sys;

/// What memory holds there, as far as a record shows it; none if it cannot be read.
pub(super) fn memory(address: u64, length: u64) -> Option<Memory> {
    let mut bytes = [0; MAX_MEMORY];
    let bytes = &mut bytes[..length.min(MAX_MEMORY as u64) as usize];
    (!bytes.is_empty() && sys::peek(address, bytes)).then(|| Memory::new(bytes)).flatten()
}

/// Puts a record at the end of the file, whole and at once; whether that worked.
pub(super) fn append(record: &OutcomeRecord, settings: &Settings) -> bool {
    let mut path = Settings::path_buffer();
    let path = settings.path(&mut path, &[wire::OUTCOME_FILE.as_bytes()]);
    let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND);
    let is_whole = file >= 0 && sys::write_all(file, &record.encode());
    sys::close(file);
    is_whole
}
