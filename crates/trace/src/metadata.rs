//! How and where a trace was recorded: what replay and symbol lookup need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ending::Ending;

/// Facts about the recorded run. All are optional: a trace from elsewhere has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The command that was run, with its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The working directory of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// The modules that were mapped, for symbol lookup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// The recorder's settings by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The environment of the run as `NAME=VALUE`, if the user wants it kept; left out of text traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// The variables of the environment without their values; left out of text traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// How many bytes of the stack the environment took; 0: not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub environment_size: u64,
    /// The file that was its standard input, if it was one that can be read again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// A checksum of that file's content, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input_checksum: String,
    /// The file with what the clients of a server sent, if it was kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_input: String,
    /// A checksum of that file's content, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_input_checksum: String,
    /// Where in the source calls are that give up by themselves, tries and waits with a time limit: no thread is blocked
    /// there for ever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<String>,
    /// What blocks of memory are called that C's `calloc` has cleared, without the numbers of single ones: what was not written yet
    /// is zero there, which may be meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<String>,
    /// Where in the source calls of `realloc` are: what they return may lie where the old block was, whose address is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reallocations: Vec<String>,
    /// The numbers of files that each thread was given, by its path, in the order in which it was: which ones are free depends on what
    /// other threads do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub descriptors: BTreeMap<String, Vec<u32>>,
    /// Calls that misuse locks and condition variables, as the run made them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misuses: Vec<Misuse>,
    /// Options that the program has for ThreadSanitizer: what its `__tsan_default_options` returns.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tsan_options: String,
    /// Suppressions that the program brings along: what its `__tsan_default_suppressions` returns.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tsan_suppressions: String,
    /// The libraries that code of the run lies in, with the places of it in the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<Library>,
    /// Whether the program had the order of locks and the like ignored, or its fibers kept apart: the trace does not have what was
    /// ignored, but a replay does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignores_orders: bool,
    /// Of a run that ended in a deadlock: what each thread waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<LastWait>,
    /// How the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Why the trace does not have all of the run; empty if it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub incomplete: String,
    /// How many events were left out because they cannot have happened where they stood.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// The program's own file, to tell whether it has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<Binary>,
}

impl Metadata {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Metadata::default()
    }

    /// Replaces the values of the environment by their lengths; whether there were any.
    pub fn forget_environment(&mut self) -> bool {
        let stored = std::mem::take(&mut self.environment);
        let described = stored.iter().map(|variable| {
            let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
            Variable { name: name.to_owned(), length: value.len() as u64 }
        });
        self.variables.extend(described);
        !stored.is_empty()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A variable of an environment, without its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// How many bytes its value has.
    pub length: u64,
}

/// What a thread waits for when the program is deadlocked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWait {
    /// The name of the thread.
    pub thread: String,
    /// The thread's last event.
    pub event: u32,
    /// The name of what it waits for: a lock, a condition variable, a semaphore, a variable, or another thread.
    pub object: String,
    /// Whether that is another thread, whose end it waits for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_join: bool,
    /// Where it waits in the source.
    pub location: String,
}

/// A call that the rules of the threads library do not allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Misuse {
    /// What is wrong with it.
    pub what: MisuseKind,
    /// The event that it is, or the last of its thread before it.
    pub event: u32,
    /// The name of what is misused.
    pub object: String,
    /// Where the call is in the source.
    pub location: String,
    /// The name of another thread that has to do with it, or of another lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// Where its thread did otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
}

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MisuseKind {
    /// It unlocks what another thread has locked.
    UnlockByAnother,
    /// It unlocks a lock that nobody holds.
    UnlockOfUnlocked,
    /// It locks a lock that its thread holds, and that cannot be taken twice.
    DoubleLock,
    /// It unlocks as a reader what its thread holds as a writer.
    ReadUnlockOfWriteLock,
    /// It unlocks as a writer what its thread holds as a reader.
    WriteUnlockOfReadLock,
    /// It takes locks in another order than its thread did elsewhere.
    BothOrders,
    /// It destroys a lock that is held.
    DestroyOfLocked,
    /// It destroys a condition variable, barrier or semaphore that threads wait for.
    DestroyInUse,
    /// It is where the program says that no lock is held, but its thread holds one.
    LockHeldHere,
    /// It uses what was destroyed.
    UseAfterDestroy,
    /// It uses memory that its thread has freed.
    UseAfterFree,
    /// It uses what was never initialised.
    NotInitialised,
    /// It waits for a condition variable with another mutex than a thread that still waits for it.
    TwoMutexes,
    /// It creates a thread that ends and is neither joined nor detached.
    NotJoined,
    /// It joins or detaches a thread that was joined or detached before.
    JoinedTwice,
    /// A signal handler allocates or frees memory.
    AllocationInHandler,
    /// A signal handler takes a lock.
    LockInHandler,
    /// A signal handler changes `errno`.
    ErrnoInHandler,
    /// It begins to have accesses ignored, and its thread ends without the end of that.
    IgnoringAtEnd,
}

/// A file mapped into the recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// First address it was mapped at.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Offset of `start` in the file.
    pub offset: u64,
    /// Its build id in hexadecimal, empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build_id: String,
}

/// A library whose code has events in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Path of its file.
    pub path: String,
    /// Whether it is instrumented: if it is not, only its calls are recorded.
    pub is_instrumented: bool,
    /// Where its events are, as the trace names places.
    pub locations: Vec<String>,
}

/// A program's file as it was when it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Binary {
    /// Its path.
    pub path: String,
    /// Its build id in hexadecimal, empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// A checksum of its content, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
}
