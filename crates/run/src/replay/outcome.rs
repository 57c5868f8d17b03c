//! What the runtime told of a replay: the file `outcome`, described in crates/runtime/src/replay/outcome.rs.

use wire::ThreadState;

/// What was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) looks: Vec<Look>,
    /// The threads at the hold or where the schedule was left.
    pub(super) threads: Vec<Standing>,
    /// The hold was reached.
    pub(super) held: bool,
    pub(super) diverged: Option<Left>,
}

/// An access that a thread stood before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) thread: usize,
    pub(super) place: u64,
    /// What the access is, if it was one.
    pub(super) access: Option<Access>,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// What a thread was about to touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) kind: wire::Kind,
    pub(super) address: u64,
    pub(super) length: u64,
    pub(super) pc: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Nothing,
    Address(u64),
    Thread(usize),
}

/// A thread and what it was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) thread: usize,
    pub(super) state: ThreadState,
    pub(super) place: u64,
    pub(super) key: Key,
    pub(super) pc: u64,
}

/// Where the schedule was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The instruction.
    pub(super) at: usize,
    pub(super) thread: usize,
    pub(super) reason: String,
    pub(super) place: u64,
    pub(super) key: Key,
}

impl Outcome {
    /// Reads the file. Lines that make no sense are passed over: the program may have written there.
    pub(super) fn parse(text: &str) -> Outcome {
        let mut outcome = Outcome::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // A line that is cut short tells nothing.
            let _ = outcome.take(&words);
        }
        outcome
    }

    fn take(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["sees", thread, place, kind, address, length, pc, memory] => {
                let access = Access {
                    kind: wire::Kind::from_code(kind.parse().ok()?)?,
                    address: hexadecimal(address)?,
                    length: length.parse().ok()?,
                    pc: hexadecimal(pc)?,
                };
                let (thread, place) = (thread.parse().ok()?, place.parse().ok()?);
                let before = bytes(memory);
                self.looks.push(Look { thread, place, access: Some(access), before, after: None });
            }
            ["nothing", thread, place] => {
                let (thread, place) = (thread.parse().ok()?, place.parse().ok()?);
                self.looks.push(Look { thread, place, ..Look::default() });
            }
            ["saw", thread, memory] => {
                let thread: usize = thread.parse().ok()?;
                let look = self.looks.iter_mut().rev().find(|look| look.thread == thread)?;
                look.after = bytes(memory);
            }
            ["thread", thread, state, place, ref key @ .., pc] => self.threads.push(Standing {
                thread: thread.parse().ok()?,
                state: ThreadState::ALL.into_iter().find(|known| known.name() == state)?,
                place: place.parse().ok()?,
                key: parse_key(key)?,
                pc: hexadecimal(pc)?,
            }),
            ["held"] => self.held = true,
            ["diverged", at, thread, reason, place, ref key @ ..] => {
                self.diverged = Some(Left {
                    at: at.parse().ok()?,
                    thread: thread.parse().ok()?,
                    reason: reason.to_owned(),
                    place: place.parse().ok()?,
                    key: parse_key(key)?,
                });
            }
            _ => {}
        }
        Some(())
    }

    /// The thread at the hold.
    pub(super) fn standing(&self, thread: usize) -> Option<&Standing> {
        self.threads.iter().find(|standing| standing.thread == thread)
    }

    /// What the thread stood before at this place, as it was told last.
    pub(super) fn look(&self, thread: usize, place: u64) -> Option<&Look> {
        self.looks.iter().rev().find(|look| look.thread == thread && look.place == place)
    }
}

fn parse_key(words: &[&str]) -> Option<Key> {
    match *words {
        ["T", thread] => thread.parse().ok().map(Key::Thread),
        [address] => hexadecimal(address)
            .map(|address| if address == 0 { Key::Nothing } else { Key::Address(address) }),
        _ => None,
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2);
    digits.len().is_multiple_of(2).then_some(())?;
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let text = "sees 1 1 8 561e33cb90ec 4 561e33cb6299 00000000\nnothing 2 4\nthread 0 ready 3 0 561e33cb6337\n\
                    thread 1 waiting 1 T 2 0\nthread 2 waiting 1 7f 0\nheld\nsaw 1 15000000\ndiverged 3 1 waits 4 7f\nfreed\nsees 1";
        let outcome = Outcome::parse(text);
        assert!(outcome.held);
        assert_eq!(outcome.look(1, 1).unwrap().after.as_deref(), Some(&[0x15, 0, 0, 0][..]));
        assert_eq!(outcome.look(1, 1).unwrap().access.unwrap().kind, wire::Kind::Write4);
        assert_eq!(outcome.look(2, 4).unwrap().access, None);
        assert_eq!(outcome.standing(1).unwrap().key, Key::Thread(2));
        assert_eq!(outcome.standing(2).unwrap().key, Key::Address(0x7f));
        let left = outcome.diverged.unwrap();
        assert_eq!((left.at, left.thread, left.key), (3, 1, Key::Address(0x7f)));
    }
}
