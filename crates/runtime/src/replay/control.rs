//! What a replay is to do: the control file of the run directory, as `wire` defines it, in memory to the end.

use wire::{GivenDescriptor, Instruction, OnDivergence, Origin, ThreadName};

use crate::settings::Settings;
use crate::sys;

/// The file, read.
pub(crate) struct Control {
    pub(crate) instructions: &'static [Instruction],
    pub(crate) origins: &'static [Origin],
    /// What threads are called.
    pub(crate) names: &'static [ThreadName],
    /// The numbers of files that threads were given in the recorded run, thread by thread.
    pub(crate) descriptors: &'static [GivenDescriptor],
    pub(crate) on_divergence: OnDivergence,
}

impl Control {
    pub(crate) const NONE: Control = Control {
        instructions: &[],
        origins: &[],
        names: &[],
        descriptors: &[],
        on_divergence: OnDivergence::Continue,
    };

    /// Reads the control file of the run directory.
    pub(super) fn load(settings: &Settings) -> Option<Control> {
        let mut path = Settings::path_buffer();
        let path = settings.path(&mut path, &[wire::CONTROL_FILE.as_bytes()]);
        let file = sys::open(path, libc::O_RDWR);
        if file < 0 {
            return None;
        }
        let length = sys::file_length(file);
        let start = sys::map_file(file, 0, length.max(1));
        sys::close(file);
        if start.is_null() {
            return None;
        }
        // SAFETY: the mapping has this length, and stays.
        let bytes = unsafe { core::slice::from_raw_parts(start, length) };
        let control = wire::Control::parse(bytes)?;
        Some(Control {
            instructions: stored(control.instructions())?,
            origins: stored(control.origins())?,
            names: stored(control.names())?,
            descriptors: stored(control.descriptors())?,
            on_divergence: control.on_divergence,
        })
    }
}

/// These values in memory of their own, which stays; none if there is no memory.
fn stored<T>(values: impl ExactSizeIterator<Item = T>) -> Option<&'static [T]> {
    let count = values.len();
    let start: *mut T = sys::map_memory((count * size_of::<T>()).max(1)).cast();
    if start.is_null() {
        return None;
    }
    let mut written = 0;
    for value in values.take(count) {
        // SAFETY: there is room for `count` values.
        unsafe { start.add(written).write(value) };
        written += 1;
    }
    // SAFETY: this many are written, and the memory stays.
    Some(unsafe { core::slice::from_raw_parts(start, written) })
}
