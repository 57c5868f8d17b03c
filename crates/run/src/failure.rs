//! How a run failed: it crashed, aborted, failed an assertion, panicked, deadlocked, hung, or a sanitizer reported something.
//!
//! Which thread it was, where, and with which message comes from the log, as far as the runtime saw it. What only the
//! program's output says is read by [`printed`].

mod printed;

use std::collections::BTreeSet;

use load::inspect::{Inspection, inspect};
use load::{LoadError, Recorded, ends_in_standstill};
use serde::ser::Serializer;
use trace::{Ending, StackFrame, ThreadPath};
use wire::ThreadState;

/// The exit status of a Rust program that panics.
const PANIC_STATUS: i32 = 101;

/// What is said of a run that did not end, and went nowhere.
const HANG: &str = "hang: all threads wait or read the same variables again and again";

/// Whether what a failure is recognised by is that of a run that did not end.
pub(crate) fn is_endless(identity: &str) -> bool {
    identity.starts_with(HANG)
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// What failed, in a few words: ``assertion `d == 0` failed``, `SIGSEGV at 0x0`, `panicked: ..`, `deadlock`.
    pub message: String,
    /// Where in the source; empty if that is not known.
    pub place: String,
    /// How the program ended.
    pub ending: Ending,
    /// The thread that failed; none of a deadlock, and where the runtime did not see it.
    pub thread: Option<ThreadPath>,
    /// Its call stack, the innermost function first.
    pub stack: Vec<StackFrame>,
    /// What all threads were doing.
    pub threads: Vec<ThreadAtEnd>,
}

/// A thread where a run ended or stopped: identified by its path, or by its name for those who read it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ThreadAtEnd<T = ThreadPath> {
    /// Which.
    pub thread: T,
    /// What it was doing.
    #[serde(serialize_with = "state_name")]
    pub state: ThreadState,
    /// Its call stack, the innermost function first.
    pub stack: Vec<StackFrame>,
}

fn state_name<S: Serializer>(state: &ThreadState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.name())
}

impl RunFailure {
    /// The failure that a run ended with, if it did; `log` is what the run left.
    pub fn of(
        ending: Ending,
        output: &[u8],
        log: Option<Recorded<'_>>,
    ) -> Result<Option<RunFailure>, LoadError> {
        let may_hang = ending == Ending::TimedOut;
        let hangs = log.as_ref().filter(|_| may_hang).map(|log| ends_in_standstill(log.log)).transpose()?;
        if !may_fail(ending, output) || hangs == Some(false) {
            return Ok(None);
        }
        let inspection = match log {
            Some(log) => inspect(log, &[])?,
            None => Inspection::default(),
        };
        Ok(RunFailure::of_inspection(ending, output, &inspection))
    }

    /// The same of a log that was inspected already.
    pub(crate) fn of_inspection(
        ending: Ending,
        output: &[u8],
        inspection: &Inspection,
    ) -> Option<RunFailure> {
        if !may_fail(ending, output) {
            return None;
        }
        let output = String::from_utf8_lossy(output);
        let printed = printed::message(&output, ending);
        let failing = inspection.failing.as_ref();
        let typed = failing.map(|failing| failing.message.clone()).filter(|message| !message.is_empty());
        let mut thread = failing.and_then(|failing| failing.thread.clone());
        let mut stack = thread.as_ref().map(|thread| last_stack(inspection, thread)).unwrap_or_default();
        let in_source = stack.iter().find(|frame| is_users_line(&frame.location));
        let in_source = in_source.or_else(|| stack.iter().find(|frame| is_line(&frame.location)));
        let in_source = in_source.or(stack.first());
        let mut place = in_source.map(|frame| frame.location.clone()).unwrap_or_default();
        let message = match (ending, typed, printed) {
            (Ending::Deadlocked, ..) => {
                place = where_all_wait(inspection);
                "deadlock: no thread can go on".to_owned()
            }
            (Ending::TimedOut, ..) => {
                if !inspection.is_standstill {
                    return None;
                }
                place = where_all_wait(inspection);
                HANG.to_owned()
            }
            (_, Some(typed), _) => typed,
            (_, None, Some(printed)) => {
                thread = thread.or_else(|| printed.in_main.then_some(ThreadPath::FIRST));
                if let Some(at) = printed.place {
                    place = at.clone();
                    let function =
                        if printed.message.starts_with("panicked") { "(panic)" } else { "(report)" };
                    stack = vec![StackFrame { function: function.to_owned(), location: at }];
                }
                printed.message
            }
            (Ending::Killed(signal), None, None) => {
                let name = signal_name(signal);
                let touches = matches!(name, "SIGSEGV" | "SIGBUS");
                match failing.filter(|_| touches) {
                    Some(failing) => format!("{name} at {:#x}", failing.address),
                    None => name.to_owned(),
                }
            }
            // A status alone is no failure.
            (_, None, None) => return None,
        };
        let threads = inspection.states.iter().map(|(thread, &state)| ThreadAtEnd {
            thread: thread.clone(),
            state,
            stack: last_stack(inspection, thread),
        });
        let threads = threads.collect();
        Some(RunFailure { message, place, ending, thread, stack, threads })
    }

    /// What makes it the same failure in another run: what failed and where, without what differs from run to run.
    pub fn identity(&self) -> String {
        let message = match self.ending {
            Ending::Killed(_) if self.message.starts_with("SIG") => {
                self.message.split(' ').next().unwrap_or_default().to_owned()
            }
            _ if self.message.starts_with("assertion ") => without_numbers(&self.message),
            _ => without_values(&self.message),
        };
        format!("{message} at {}", self.place)
    }

    /// Whether nobody could go on, or went anywhere.
    pub fn is_hang(&self) -> bool {
        matches!(self.ending, Ending::Deadlocked | Ending::TimedOut)
    }
}

/// Whether a location is a line of source.
fn is_line(location: &str) -> bool {
    location.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok())
}

/// Whether a location is a line of the user's source.
fn is_users_line(location: &str) -> bool {
    is_line(location) && !trace::is_of_the_system(location)
}

/// The stack of a thread at the end.
fn last_stack(inspection: &Inspection, thread: &ThreadPath) -> Vec<StackFrame> {
    inspection.stack(inspection.last.get(thread).copied().flatten())
}

/// Where the threads are that have not ended. Those that wait for the end of another are stuck only because that one is.
fn where_all_wait(inspection: &Inspection) -> String {
    let places = |is_meant: &dyn Fn(&ThreadPath) -> bool| {
        let waiting = inspection.states.iter().filter(|(_, state)| **state != ThreadState::Finished);
        let meant = waiting.filter(|(thread, _)| is_meant(thread));
        let innermost = meant.filter_map(|(thread, _)| last_stack(inspection, thread).into_iter().next());
        let places: BTreeSet<String> = innermost.map(|frame| frame.location).collect();
        places.into_iter().collect::<Vec<_>>().join(", ")
    };
    let stuck = places(&|thread| !inspection.joining.contains(thread));
    if stuck.is_empty() { places(&|_| true) } else { stuck }
}

fn may_fail(ending: Ending, output: &[u8]) -> bool {
    match ending {
        Ending::Deadlocked | Ending::TimedOut | Ending::Exited(PANIC_STATUS) => true,
        // A sanitizer reports what it saw, and ends the program with a status of its own.
        Ending::Exited(1..) => printed::has_sanitizer_report(output),
        _ => ending.fault().is_some(),
    }
}

/// The text without what values look like: numbers, and what stands in brackets, braces, parentheses and quotes. A panic or an exception says
/// what it found; found at the same place, that is the same failure.
fn without_values(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut open: Vec<char> = Vec::new();
    for character in without_numbers(text).chars() {
        let closes = open.last() == Some(&character);
        if closes {
            open.pop();
        }
        if open.is_empty() {
            result.push(character);
        }
        match character {
            _ if open.last() == Some(&'"') => {}
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            '"' if !closes => open.push('"'),
            _ => {}
        }
    }
    result
}

/// The text with every number, decimal or hexadecimal, replaced by `#`.
fn without_numbers(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii_digit() {
            result.push(character);
            continue;
        }
        let is_hexadecimal = character == '0' && characters.next_if_eq(&'x').is_some();
        let belongs = |next: &char| next.is_ascii_digit() || is_hexadecimal && next.is_ascii_hexdigit();
        while characters.next_if(belongs).is_some() {}
        result.push('#');
    }
    result
}

/// What a signal is called.
fn signal_name(signal: i32) -> &'static str {
    nix::sys::signal::Signal::try_from(signal).map_or("an unknown signal", nix::sys::signal::Signal::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_tell_failures_apart() {
        assert_eq!(
            without_numbers("len is 3 but 0x7fff12 at 10:05"),
            without_numbers("len is 14 but 0x12 at 9:1")
        );
        assert_ne!(without_numbers("a 3"), without_numbers("b 3"));
    }

    #[test]
    fn values_do_not_tell_panics_apart() {
        let identity = |message: &str, place: &str| {
            let (message, place) = (message.to_owned(), place.to_owned());
            let failure = RunFailure {
                message,
                place,
                ending: Ending::Exited(PANIC_STATUS),
                thread: None,
                stack: Vec::new(),
                threads: Vec::new(),
            };
            failure.identity()
        };
        let held = "panicked: still shared: Mutex { data: <locked>, poisoned: false, .. }";
        let free = "panicked: still shared: Mutex { data: [5], poisoned: false, .. }";
        assert_eq!(identity(held, "a.rs:9"), identity(free, "a.rs:9"));
        assert_ne!(identity(held, "a.rs:9"), identity(free, "a.rs:11"), "another place");
        assert_ne!(identity(held, "a.rs:9"), identity("panicked: empty: Mutex { .. }", "a.rs:9"));
        assert_eq!(
            identity("panicked: no file \"a (1\" here", "a"),
            identity("panicked: no file \"\" here", "a")
        );
        assert_ne!(
            identity("assertion `f(a)` failed", "a.c:3"),
            identity("assertion `f(b)` failed", "a.c:3")
        );
    }

    #[test]
    fn a_status_or_a_request_to_end_is_no_failure() {
        for ending in [Ending::Exited(101), Ending::Exited(1), Ending::Killed(15), Ending::TimedOut] {
            assert_eq!(
                RunFailure::of_inspection(ending, b"nothing said", &Inspection::default()),
                None,
                "{ending:?}"
            );
        }
    }

    #[test]
    fn a_report_of_a_sanitizer_is_a_failure() {
        let output = b"x\n==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n  ...\n\
                       SUMMARY: AddressSanitizer: heap-use-after-free /src/a.c:5:3 in main\n";
        let failure = RunFailure::of_inspection(Ending::Exited(66), output, &Inspection::default()).unwrap();
        assert_eq!(failure.message, "AddressSanitizer: heap-use-after-free");
        assert_eq!(failure.place, "/src/a.c:5");
        assert_eq!(RunFailure::of_inspection(Ending::Exited(0), output, &Inspection::default()), None);
    }

    #[test]
    fn a_signal_is_named() {
        let failure = RunFailure::of_inspection(Ending::Killed(8), b"", &Inspection::default()).unwrap();
        assert_eq!(failure.message, "SIGFPE");
    }
}
