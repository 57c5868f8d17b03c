//! What clients send to a server: the file [`CLIENT_FILE`](crate::CLIENT_FILE) of a run.
//!
//! The launcher makes the file, [`ClientHeader::ROOM`] bytes of zeros with a header. The runtime maps it and adds a record for whatever the
//! program does with a connection that it has accepted: what it received, how much it sent, when it looked and found nothing, when the
//! connection ended. In a recorded run that is the script for later runs; in a replay it tells the launcher how far the program has come.
//! Connections that the program makes to itself are taken back. Numbers are little endian.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `fortlcli` |
//! | 8 | 4 | the version, 1 |
//! | 12 | 4 | 1: something is missing |
//! | 16 | 8 | how many bytes of whole records follow the header |
//! | 24 | 4 | 1: the launcher has nothing more to send, and waits for the program |
//! | 28 | 4 | 1: the launcher is the client, and answers questions |
//! | 32 | 4 | how many of the questions it has answered |
//! | 36 | 4 | the number of the process that writes |
//! | 40 | .. | the records |
//!
//! A record is a tag (1 byte), the number of the connection, from 0 in the order of acceptance (4 bytes), a length (4 bytes), and that number of bytes:
//!
//! | tag | record | bytes |
//! |---|---|---|
//! | 1 | the connection was accepted | the client's port or 0 (2), the server's port (2) |
//! | 2 | the same of a socket with a name | the name |
//! | 3 | received | what |
//! | 4 | received, as much as there was room for | what |
//! | 5 | looked and found nothing; number `u32::MAX`: for connections | |
//! | 6 | sent | how much (8) |
//! | 7 | the client has closed the connection | |
//! | 8 | the program has closed it | |
//! | 9 | the program is at both ends | |
//! | 10 | looks, and has found nothing so far: a question; numbers as for 5 | |
//!
//! Whether a look finds something depends on how fast the client is. So a program whose launcher is the client asks before it finds nothing: the
//! launcher sends what was there when the recorded run looked, if there was something, and then counts the question as answered.

const MAGIC: [u8; 8] = *b"fortlcli";
const VERSION: u32 = 1;
const RECORD_HEAD: usize = 9;
/// Stands for the sockets that accept connections.
const LISTENERS: u32 = u32::MAX;

/// The beginning of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHeader {
    /// Whether not all that clients sent is in the file.
    pub incomplete: bool,
    /// How many bytes of whole records there are.
    pub progress: u64,
}

impl ClientHeader {
    /// How long the header is.
    pub const BYTES: usize = 40;
    /// How long the file is at most, and while it is written to.
    pub const ROOM: usize = 16 << 20;
    /// Where the word is that says that something is missing.
    pub const INCOMPLETE_OFFSET: usize = 12;
    /// Where the progress word is.
    pub const PROGRESS_OFFSET: usize = 16;
    /// Where the word is by which the launcher says that it waits.
    pub const WAITS_OFFSET: usize = 24;
    /// Where the word is that says that the launcher is the client.
    pub const ANSWERS_OFFSET: usize = 28;
    /// Where the number of answered questions is.
    pub const ANSWERED_OFFSET: usize = 32;
    /// Where the number of the process that writes is.
    pub const OWNER_OFFSET: usize = 36;

    /// The header of a file without records.
    pub fn empty() -> [u8; ClientHeader::BYTES] {
        let mut bytes = [0; ClientHeader::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes
    }

    /// The header that these bytes begin with.
    pub fn read(bytes: &[u8]) -> Option<ClientHeader> {
        let head = bytes.first_chunk::<{ ClientHeader::BYTES }>()?;
        let is_ours = head[..8] == MAGIC && head[8..12] == VERSION.to_le_bytes();
        let incomplete = head[12..16] != [0; 4];
        let progress = u64::from_le_bytes(head[16..24].try_into().ok()?);
        is_ours.then_some(ClientHeader { incomplete, progress })
    }
}

/// What a connection was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// A port of the internet.
    Port {
        /// That of the client; 0: not known.
        client: u16,
        /// That of the server.
        server: u16,
    },
    /// A name in the file system.
    Named(&'a [u8]),
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRecord<'a> {
    /// The program accepted it.
    Accepted {
        /// Its number: one more than the last.
        connection: u32,
        /// What it was made to.
        endpoint: Endpoint<'a>,
    },
    /// The program received something.
    Received {
        /// Through which connection.
        connection: u32,
        /// Whether that was all there was room for: there may have been more.
        filled: bool,
        /// What.
        bytes: &'a [u8],
    },
    /// The program looked and found nothing.
    Empty {
        /// In which connection.
        connection: u32,
    },
    /// The program looked for a new connection and found none.
    NoneToAccept,
    /// The program looks and has found nothing so far.
    Asks {
        /// In which connection.
        connection: u32,
    },
    /// The program looks for a new connection and has found none so far.
    AsksForAny,
    /// The program sent something.
    Sent {
        /// Through which connection.
        connection: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// The program learnt that the client has closed the connection.
    Ended {
        /// Which.
        connection: u32,
    },
    /// The program closed it.
    Closed {
        /// Which.
        connection: u32,
    },
    /// The program is at both ends.
    Own {
        /// Which.
        connection: u32,
    },
}

impl<'a> ClientRecord<'a> {
    /// The record in three parts that follow each other; none if it is too long for one. Nothing is copied but numbers.
    pub fn with_parts<R>(&self, put: impl FnOnce([&[u8]; 3]) -> R) -> Option<R> {
        let (tag, connection) = match *self {
            ClientRecord::Accepted { connection, endpoint: Endpoint::Port { .. } } => (1, connection),
            ClientRecord::Accepted { connection, endpoint: Endpoint::Named(_) } => (2, connection),
            ClientRecord::Received { connection, filled: false, .. } => (3, connection),
            ClientRecord::Received { connection, filled: true, .. } => (4, connection),
            ClientRecord::Empty { connection } => (5, connection),
            ClientRecord::NoneToAccept => (5, LISTENERS),
            ClientRecord::Sent { connection, .. } => (6, connection),
            ClientRecord::Ended { connection } => (7, connection),
            ClientRecord::Closed { connection } => (8, connection),
            ClientRecord::Own { connection } => (9, connection),
            ClientRecord::Asks { connection } => (10, connection),
            ClientRecord::AsksForAny => (10, LISTENERS),
        };
        let (mut number, mut used) = ([0; 8], 0);
        let content = match *self {
            ClientRecord::Accepted { endpoint: Endpoint::Port { client, server }, .. } => {
                number[..2].copy_from_slice(&client.to_le_bytes());
                number[2..4].copy_from_slice(&server.to_le_bytes());
                used = 4;
                &[][..]
            }
            ClientRecord::Sent { bytes, .. } => {
                (number, used) = (bytes.to_le_bytes(), 8);
                &[][..]
            }
            ClientRecord::Accepted { endpoint: Endpoint::Named(bytes), .. }
            | ClientRecord::Received { bytes, .. } => bytes,
            _ => &[][..],
        };
        let length = u32::try_from(used + content.len()).ok()?;
        let mut head = [0; RECORD_HEAD];
        head[0] = tag;
        head[1..5].copy_from_slice(&connection.to_le_bytes());
        head[5..].copy_from_slice(&length.to_le_bytes());
        Some(put([&head, &number[..used], content]))
    }

    /// The record that these bytes begin with, and what follows it; none if they begin with no whole record.
    pub fn read(bytes: &'a [u8]) -> Option<(ClientRecord<'a>, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk::<RECORD_HEAD>()?;
        let connection = u32::from_le_bytes(head[1..5].try_into().ok()?);
        let length = u32::from_le_bytes(head[5..].try_into().ok()?);
        let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let port = |at: usize| Some(u16::from_le_bytes(content.get(at..at + 2)?.try_into().ok()?));
        let record = match (head[0], content.len()) {
            (1, 4) => {
                let endpoint = Endpoint::Port { client: port(0)?, server: port(2)? };
                ClientRecord::Accepted { connection, endpoint }
            }
            (2, 1..) => ClientRecord::Accepted { connection, endpoint: Endpoint::Named(content) },
            (3 | 4, 1..) => ClientRecord::Received { connection, filled: head[0] == 4, bytes: content },
            (5, 0) if connection == LISTENERS => ClientRecord::NoneToAccept,
            (5, 0) => ClientRecord::Empty { connection },
            (6, 8) => ClientRecord::Sent { connection, bytes: u64::from_le_bytes(content.try_into().ok()?) },
            (7, 0) => ClientRecord::Ended { connection },
            (8, 0) => ClientRecord::Closed { connection },
            (9, 0) => ClientRecord::Own { connection },
            (10, 0) if connection == LISTENERS => ClientRecord::AsksForAny,
            (10, 0) => ClientRecord::Asks { connection },
            _ => return None,
        };
        Some((record, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(record: &ClientRecord<'_>) -> Vec<u8> {
        record.with_parts(|parts| parts.concat()).expect("it is short")
    }

    fn every_kind() -> Vec<ClientRecord<'static>> {
        vec![
            ClientRecord::Accepted { connection: 0, endpoint: Endpoint::Port { client: 40_000, server: 80 } },
            ClientRecord::Accepted { connection: 1, endpoint: Endpoint::Named(b"/run/it") },
            ClientRecord::Received { connection: 1, filled: false, bytes: b"get k\r\n" },
            ClientRecord::Received { connection: 0, filled: true, bytes: &[0; 70_000] },
            ClientRecord::Empty { connection: 0 },
            ClientRecord::NoneToAccept,
            ClientRecord::Sent { connection: 1, bytes: 1 << 40 },
            ClientRecord::Ended { connection: 1 },
            ClientRecord::Closed { connection: 0 },
            ClientRecord::Own { connection: 1 },
            ClientRecord::Asks { connection: 1 },
            ClientRecord::AsksForAny,
        ]
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let all: Vec<u8> = every_kind().iter().flat_map(encoded).collect();
        let mut rest = &all[..];
        for record in every_kind() {
            let (read, after) = ClientRecord::read(rest).unwrap();
            assert_eq!(read, record);
            rest = after;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn a_record_that_is_cut_short_is_none() {
        for record in every_kind() {
            let whole = encoded(&record);
            for cut in 0..whole.len().min(100) {
                assert_eq!(ClientRecord::read(&whole[..cut]), None, "{record:?} cut at {cut}");
            }
            assert_eq!(ClientRecord::read(&whole[..whole.len() - 1]), None);
        }
    }

    #[test]
    fn a_record_of_the_wrong_length_is_none() {
        for (tag, length) in
            [(0, 0), (1, 3), (2, 0), (3, 0), (5, 1), (6, 4), (7, 1), (9, 9), (10, 1), (11, 0), (255, 0)]
        {
            let mut bytes = vec![tag, 0, 0, 0, 0, length, 0, 0, 0];
            bytes.extend(vec![0; usize::from(length)]);
            assert_eq!(ClientRecord::read(&bytes), None, "{tag} with {length} bytes");
        }
        let endless = [3, 0, 0, 0, 0, 255, 255, 255, 255, 1, 2];
        assert_eq!(ClientRecord::read(&endless), None);
    }

    #[test]
    fn the_header_says_how_much_there_is() {
        let mut bytes = ClientHeader::empty();
        assert_eq!(ClientHeader::read(&bytes), Some(ClientHeader { incomplete: false, progress: 0 }));
        bytes[ClientHeader::PROGRESS_OFFSET] = 7;
        bytes[ClientHeader::INCOMPLETE_OFFSET] = 1;
        assert_eq!(ClientHeader::read(&bytes), Some(ClientHeader { incomplete: true, progress: 7 }));
        assert_eq!(ClientHeader::read(&bytes[..39]), None);
        bytes[0] = b'F';
        assert_eq!(ClientHeader::read(&bytes), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = ClientHeader::read(&bytes);
            let mut rest = &bytes[..];
            while let Some((_, after)) = ClientRecord::read(rest) {
                prop_assert!(after.len() < rest.len());
                rest = after;
            }
        }
    }
}
