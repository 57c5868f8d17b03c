//! Names that both sides use: the environment variables, the files of a run's directory, the exit statuses.
//!
//! The launcher makes a directory for each run, and names it in [`RUN_VARIABLE`]. It puts [`SETTINGS_FILE`] there, and
//! [`CONTROL_FILE`] for a replay, and [`CLIENT_FILE`] for a server. The runtime adds the rest. A process's files are named for its number: `1234.log`, `1234.modules`; a
//! program that replaced another in the same process has the next generation, `1234-2.log`.

/// The environment variable that names the directory of the run.
pub const RUN_VARIABLE: &str = "FORETELL_RUN";
/// The environment variable that names the order file of the shim.
pub const ORDER_VARIABLE: &str = "FORETELL_ORDER";

/// The settings: see [`RuntimeSettings`](crate::RuntimeSettings).
pub const SETTINGS_FILE: &str = "settings";
/// What a replay is to do: see [`Control`](crate::Control).
pub const CONTROL_FILE: &str = "control";
/// What the clients of a server send: see [`ClientRecord`](crate::ClientRecord).
pub const CLIENT_FILE: &str = "client";
/// The result of a replay: see [`OutcomeRecord`](crate::OutcomeRecord).
pub const OUTCOME_FILE: &str = "outcome";
/// The number of the first process, in decimal.
pub const FIRST_FILE: &str = "first";
/// One byte for each process with threads or instrumented code that was not recorded.
pub const UNRECORDED_FILE: &str = "unrecorded";
/// The extension of a raw log.
pub const LOG_EXTENSION: &str = "log";
/// The extension of the list of files that were mapped: `start end offset path` a line, numbers in hexadecimal.
pub const MODULES_EXTENSION: &str = "modules";
/// The extension of what the program returns from `__tsan_default_options`, if it has that function.
pub const OPTIONS_EXTENSION: &str = "options";
/// The extension of what the program returns from `__tsan_default_suppressions`, if it has that function.
pub const SUPPRESSIONS_EXTENSION: &str = "suppressions";

/// The exit status of a program that the runtime ended because the replay was over or the program left the schedule.
pub const REPLAY_OVER_STATUS: i32 = 98;
/// The exit status of a program that the runtime ended because it deadlocked.
pub const DEADLOCK_STATUS: i32 = 99;
