//! Functions of ThreadSanitizer's interface that the program may define. `__tsan_default_options` and
//! `__tsan_default_suppressions` return texts, which go into files in the directory of the log; the launcher makes use of them. `__tsan_on_initialize` and
//! `__tsan_on_finalize` are called at the start and the end of the program.

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int};

use wire::Losses;

use crate::losses;
use crate::settings::{self, Settings};
use crate::sys;
use crate::writer;

/// The address of one of these functions, 0 if the program does not have it. That this library refers to them makes the linker export the
/// program's. They are weak where they are referred to: elsewhere would be another object file, perhaps.
macro_rules! address_of {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: reads an entry of our own table of addresses.
        unsafe {
            asm!(concat!(".weak ", $name), concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"), out(reg) address, options(nostack, pure, readonly));
        }
        address
    }};
}

/// What the program asks for, each text with its file's extension.
pub(crate) struct Requests([(&'static str, Option<&'static CStr>); 2]);

impl Requests {
    /// Calls the program's functions.
    ///
    /// # Safety
    /// The process has one thread, and the program's addresses are in place.
    pub(crate) unsafe fn ask() -> Requests {
        let options = address_of!("__tsan_default_options");
        let suppressions = address_of!("__tsan_default_suppressions");
        // SAFETY: the interface says what these functions are.
        unsafe {
            Requests([
                (wire::OPTIONS_EXTENSION, call(options)),
                (wire::SUPPRESSIONS_EXTENSION, call(suppressions)),
            ])
        }
    }

    /// Writes them into the directory of the log.
    ///
    /// # Safety
    /// As for [`writer::with`]: the process has one thread.
    pub(crate) unsafe fn write(&self, settings: &Settings) {
        let mut digits = [0; 20];
        let process = settings::decimal(u64::from(sys::getpid()), &mut digits);
        for (extension, text) in self.0 {
            let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
            let mut path = Settings::path_buffer();
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            // SAFETY: by this function's contract.
            let file = unsafe {
                writer::with(|writer| {
                    let name = [process, writer.suffix(), b".", extension.as_bytes()];
                    sys::open(settings.path(&mut path, &name), flags)
                })
            };
            if file < 0 || !sys::write_all(file, text.to_bytes()) {
                losses::note(Losses::OTHER_FILE);
            }
            sys::close(file);
        }
    }
}

/// Calls a function that returns a string, if there is one.
///
/// # Safety
/// The address is 0 or that of a function without arguments that returns null or a string that stays.
unsafe fn call(address: usize) -> Option<&'static CStr> {
    if address == 0 {
        return None;
    }
    // SAFETY: by this function's contract.
    unsafe {
        let function: extern "C" fn() -> *const c_char = core::mem::transmute(address);
        let text = function();
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}

/// Tells the program that it is about to start.
///
/// # Safety
/// The process has one thread, and the program's addresses are in place.
pub(crate) unsafe fn on_initialize() {
    let address = address_of!("__tsan_on_initialize");
    if address != 0 {
        // SAFETY: the interface says what this function is.
        let function: extern "C" fn() = unsafe { core::mem::transmute(address) };
        function();
    }
}

/// Tells the program that it ends, without reports: there are none while it runs.
pub(crate) fn on_finalize() {
    const NOTHING_FAILED: c_int = 0;
    let address = address_of!("__tsan_on_finalize");
    if address != 0 {
        // SAFETY: the interface says what this function is.
        let function: extern "C" fn(c_int) -> c_int = unsafe { core::mem::transmute(address) };
        function(NOTHING_FAILED);
    }
}
