//! What clients sent in a recorded run, as a script for later runs: connections in the order in which they were accepted, and for each what
//! it sends, and how far the server had come with it by then.

use std::fmt;
use std::ops::Range;

use wire::{ClientHeader, ClientRecord, Endpoint};

/// What a TLS connection begins with: what is sent later depends on what the server has answered.
const TLS_HANDSHAKE: [u8; 2] = [0x16, 0x03];

/// Why what clients sent cannot be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is not such a file, or its records make no sense.
    Damaged,
    /// The program took something that was not seen.
    Incomplete,
    /// No client sent anything.
    Nothing,
    /// It is encrypted.
    Encrypted,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unusable::Damaged => "it is damaged",
            Unusable::Incomplete => "some of what the clients sent was not seen",
            Unusable::Nothing => "no client sent anything through a connection that was seen",
            Unusable::Encrypted => "it is encrypted, and the keys are others in each run",
        })
    }
}

/// What clients sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) conversations: Vec<Conversation>,
    /// The conversations that the client ended, in the order in which the server learnt of it.
    pub(super) endings: Vec<usize>,
    bytes: Vec<u8>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversation {
    pub(super) to: Destination,
    /// It is opened after this number of the endings.
    pub(super) after_endings: usize,
    /// The server has looked for connections so often before, and found none.
    pub(super) after_looks: u64,
    pub(super) steps: Vec<ClientStep>,
    /// How far the server came with it.
    pub(super) end: ServerProgress,
}

/// What a connection is made to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A port of the internet.
    Port(u16),
    /// A socket with a name.
    Named(Vec<u8>),
}

/// How far the server has come with a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerProgress {
    /// The bytes that it has received.
    pub(super) received: u64,
    /// The bytes that it has sent.
    pub(super) sent: u64,
    /// How often it has looked and found nothing.
    pub(super) looks: u64,
}

/// What a client does with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientStep {
    pub(super) what: ClientAction,
    /// How far the server had come.
    pub(super) after: ServerProgress,
    /// The server had no room for more before, so this may have been sent with what came before.
    pub(super) with_last: bool,
}

/// Sending something, or the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClientAction {
    Send(Range<usize>),
    Close,
}

impl Script {
    /// The script that this file is.
    pub fn read(file: &[u8]) -> Result<Script, Unusable> {
        let header = ClientHeader::read(file).ok_or(Unusable::Damaged)?;
        if header.incomplete {
            return Err(Unusable::Incomplete);
        }
        let length = usize::try_from(header.progress).map_err(|_| Unusable::Damaged)?;
        let mut rest = file[ClientHeader::BYTES..].get(..length).ok_or(Unusable::Damaged)?;
        let mut reading = Reading::default();
        while !rest.is_empty() {
            let (record, after) = ClientRecord::read(rest).ok_or(Unusable::Damaged)?;
            reading.take(&record).ok_or(Unusable::Damaged)?;
            rest = after;
        }
        let script = reading.finish();
        if script.bytes.is_empty() {
            return Err(Unusable::Nothing);
        }
        let first = |conversation: &Conversation| match conversation.steps.first().map(|step| &step.what) {
            Some(ClientAction::Send(range)) => script.sent(range).starts_with(&TLS_HANDSHAKE),
            _ => false,
        };
        if script.conversations.iter().any(first) {
            return Err(Unusable::Encrypted);
        }
        Ok(script)
    }

    /// The bytes that are sent.
    pub(super) fn sent(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }
}

/// A script that is being read.
#[derive(Default)]
struct Reading {
    script: Script,
    conversations: Vec<Conversation>,
    /// The numbers of conversations that the program had with itself.
    own: Vec<bool>,
    /// Whether the last that came through a conversation filled all the room there was.
    filled: Vec<bool>,
    looks: u64,
}

impl Reading {
    fn conversation(&mut self, number: u32) -> Option<&mut Conversation> {
        self.conversations.get_mut(usize::try_from(number).ok()?)
    }

    /// Takes a record; none if it makes no sense.
    fn take(&mut self, record: &ClientRecord<'_>) -> Option<()> {
        match *record {
            ClientRecord::Accepted { connection, endpoint } => {
                if usize::try_from(connection).ok()? != self.conversations.len() {
                    return None;
                }
                let to = match endpoint {
                    Endpoint::Port { server, .. } => Destination::Port(server),
                    Endpoint::Named(name) => Destination::Named(name.to_vec()),
                };
                let (after_endings, after_looks) = (self.script.endings.len(), self.looks);
                let (steps, end) = (Vec::new(), ServerProgress::default());
                self.conversations.push(Conversation { to, after_endings, after_looks, steps, end });
                self.own.push(false);
                self.filled.push(false);
            }
            ClientRecord::Received { connection, filled, bytes } => {
                let start = self.script.bytes.len();
                self.script.bytes.extend_from_slice(bytes);
                let range = start..self.script.bytes.len();
                let with_last = std::mem::replace(self.filled.get_mut(connection as usize)?, filled);
                let conversation = self.conversation(connection)?;
                if conversation.steps.last().is_some_and(|step| step.what == ClientAction::Close) {
                    return None;
                }
                conversation.steps.push(ClientStep {
                    what: ClientAction::Send(range),
                    after: conversation.end,
                    with_last,
                });
                conversation.end.received += bytes.len() as u64;
            }
            ClientRecord::Empty { connection } => {
                *self.filled.get_mut(connection as usize)? = false;
                self.conversation(connection)?.end.looks += 1;
            }
            ClientRecord::NoneToAccept => self.looks += 1,
            ClientRecord::Asks { .. } | ClientRecord::AsksForAny => {}
            ClientRecord::Sent { connection, bytes } => {
                *self.filled.get_mut(connection as usize)? = false;
                let sent = &mut self.conversation(connection)?.end.sent;
                *sent = sent.saturating_add(bytes);
            }
            ClientRecord::Ended { connection } => {
                let conversation = self.conversation(connection)?;
                // Who looks again learns it again.
                if conversation.steps.last().is_none_or(|step| step.what != ClientAction::Close) {
                    let step =
                        ClientStep { what: ClientAction::Close, after: conversation.end, with_last: false };
                    conversation.steps.push(step);
                    self.script.endings.push(connection as usize);
                }
            }
            ClientRecord::Closed { connection } => {
                self.conversation(connection)?;
            }
            ClientRecord::Own { connection } => *self.own.get_mut(connection as usize)? = true,
        }
        Some(())
    }

    /// The script without what the program said to itself.
    fn finish(self) -> Script {
        let Reading { mut script, conversations, own, .. } = self;
        let mut new_numbers = Vec::with_capacity(own.len());
        let mut count = 0;
        for &is_own in &own {
            new_numbers.push((!is_own).then_some(count));
            count += usize::from(!is_own);
        }
        // How many of the first endings are those of clients.
        let mut kept = vec![0];
        for &ending in &script.endings {
            kept.push(kept[kept.len() - 1] + usize::from(!own[ending]));
        }
        script.endings = script.endings.iter().filter_map(|&ending| new_numbers[ending]).collect();
        let clients = conversations.into_iter().zip(own).filter(|(_, is_own)| !is_own);
        script.conversations = clients
            .map(|(conversation, _)| Conversation {
                after_endings: kept[conversation.after_endings],
                ..conversation
            })
            .collect();
        if script.conversations.iter().all(|conversation| conversation.end.received == 0) {
            script.bytes.clear();
        }
        script
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::drive) fn port(connection: u32) -> ClientRecord<'static> {
        ClientRecord::Accepted { connection, endpoint: Endpoint::Port { client: 0, server: 80 } }
    }

    pub(in crate::drive) fn received(connection: u32, bytes: &'static [u8]) -> ClientRecord<'static> {
        ClientRecord::Received { connection, filled: false, bytes }
    }

    pub(in crate::drive) fn filled(connection: u32, bytes: &'static [u8]) -> ClientRecord<'static> {
        ClientRecord::Received { connection, filled: true, bytes }
    }

    pub(in crate::drive) fn sent(connection: u32, bytes: u64) -> ClientRecord<'static> {
        ClientRecord::Sent { connection, bytes }
    }

    pub(in crate::drive) fn ended(connection: u32) -> ClientRecord<'static> {
        ClientRecord::Ended { connection }
    }

    pub(in crate::drive) fn empty(connection: u32) -> ClientRecord<'static> {
        ClientRecord::Empty { connection }
    }

    /// A file with these records.
    pub(in crate::drive) fn file(records: &[ClientRecord<'_>]) -> Vec<u8> {
        let mut file = ClientHeader::empty().to_vec();
        for record in records {
            record.with_parts(|parts| parts.iter().for_each(|part| file.extend_from_slice(part)));
        }
        let progress = (file.len() - ClientHeader::BYTES) as u64;
        let at = ClientHeader::PROGRESS_OFFSET;
        file[at..at + 8].copy_from_slice(&progress.to_le_bytes());
        file
    }

    pub(in crate::drive) fn script(records: &[ClientRecord<'_>]) -> Script {
        Script::read(&file(records)).unwrap()
    }

    #[test]
    fn what_a_client_sends_has_how_far_the_server_was() {
        let script =
            script(&[port(0), received(0, b"get"), sent(0, 5), empty(0), received(0, b"quit"), ended(0)]);
        let [conversation] = &script.conversations[..] else { panic!("{script:?}") };
        let [first, second, end] = &conversation.steps[..] else { panic!("{conversation:?}") };
        assert_eq!(first.after, ServerProgress::default());
        assert_eq!(second.after, ServerProgress { received: 3, sent: 5, looks: 1 });
        assert_eq!(end.after, ServerProgress { received: 7, sent: 5, looks: 1 });
        let ClientAction::Send(range) = &second.what else { panic!("{second:?}") };
        assert_eq!((script.sent(range), end.what.clone()), (&b"quit"[..], ClientAction::Close));
        assert_eq!(script.endings, [0]);
    }

    #[test]
    fn what_filled_all_room_may_have_come_with_the_next() {
        let script = script(&[
            port(0),
            filled(0, b"ab"),
            received(0, b"c"),
            filled(0, b"d"),
            sent(0, 1),
            received(0, b"e"),
        ]);
        let together: Vec<bool> = script.conversations[0].steps.iter().map(|step| step.with_last).collect();
        assert_eq!(together, [false, true, false, false]);
    }

    #[test]
    fn what_the_program_says_to_itself_is_left_out() {
        let own = ClientRecord::Own { connection: 0 };
        let records =
            [port(0), received(0, b"own"), ended(0), port(1), own, received(1, b"x"), ended(1), port(2)];
        let script = script(&records);
        assert_eq!(script.conversations.len(), 2);
        assert_eq!(script.endings, [0]);
        let after: Vec<usize> = script.conversations.iter().map(|c| c.after_endings).collect();
        assert_eq!(after, [0, 1]);
        let only_own = file(&[port(0), received(0, b"own"), own]);
        assert_eq!(Script::read(&only_own), Err(Unusable::Nothing));
    }

    #[test]
    fn what_cannot_be_sent_again_is_refused() {
        assert_eq!(Script::read(b"nonsense"), Err(Unusable::Damaged));
        assert_eq!(Script::read(&file(&[])), Err(Unusable::Nothing));
        assert_eq!(Script::read(&file(&[port(0), sent(0, 9)])), Err(Unusable::Nothing));
        assert_eq!(Script::read(&file(&[port(0), received(0, &[0x16, 3, 1, 2])])), Err(Unusable::Encrypted));
        let mut missing = file(&[port(0), received(0, b"x")]);
        missing[ClientHeader::INCOMPLETE_OFFSET] = 1;
        assert_eq!(Script::read(&missing), Err(Unusable::Incomplete));
        for nonsense in [
            &[received(0, b"x")][..],
            &[port(1)],
            &[port(0), sent(7, 1)],
            &[port(0), ended(0), received(0, b"x")],
            &[ClientRecord::Own { connection: u32::MAX - 1 }],
        ] {
            assert_eq!(Script::read(&file(nonsense)), Err(Unusable::Damaged), "{nonsense:?}");
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_refused() {
        let whole = file(&[port(0), received(0, b"get"), sent(0, 5), ended(0)]);
        for cut in 0..whole.len() {
            assert_eq!(Script::read(&whole[..cut]), Err(Unusable::Damaged), "{cut}");
        }
    }
}
