//! What the clients of a server sent in a recorded run: kept next to its trace, and sent again in replays.

use std::fs;
use std::path::{Path, PathBuf};

use run::drive::{Client, Drive, Ready, Script};
use run::program::checksum;
use run::record::RecordedRun;
use trace::Metadata;

use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::observer::Observer;
use crate::recording::{DRIVE, READY};

/// Who talks to a server in replays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientInput {
    /// Its client, run again.
    #[default]
    Live,
    /// What its client sent when it was recorded is sent again.
    Recorded,
}

/// How the file is called that belongs to a trace.
const EXTENSION: &str = "clients";

/// Keeps what the clients of a run sent next to the trace of the run, and has the trace say so. If it cannot be sent again, replays need the
/// client.
pub(crate) fn keep(
    ran: &RecordedRun,
    trace: &Path,
    metadata: Metadata,
    observer: &mut dyn Observer,
) -> Result<Metadata, Error> {
    // Whether the run was as it should be is for the client to say if it has failed.
    let Some(sent) = ran.client_input() else { return Ok(metadata) };
    if let Err(unusable) = Script::read(&sent) {
        let warning = Error::from(ErrorKind::ClientNeeded(unusable.to_string()));
        observer.warning(warning.help("say so with `--client-input live`"));
        return Ok(metadata);
    }
    let path = trace.with_extension(EXTENSION);
    files::write(&path, Form::PLAIN, |out| out.write_all(&sent))?;
    let path = path.canonicalize().unwrap_or(path);
    let (client_input, client_input_checksum) = (path.display().to_string(), checksum(&sent));
    Ok(Metadata { client_input, client_input_checksum, ..metadata })
}

/// A client that sends what was sent to a recorded server, if that is still what it was.
pub(crate) fn client(metadata: &Metadata) -> Option<Drive> {
    let Metadata { client_input, client_input_checksum, .. } = metadata;
    if client_input.is_empty() || client_input_checksum.is_empty() {
        return None;
    }
    let path = PathBuf::from(client_input);
    let content = fs::metadata(&path).ok().filter(|facts| facts.is_file() && facts.len() <= LONGEST);
    let content = content.and_then(|_| fs::read(&path).ok())?;
    let is_same = checksum(&content) == *client_input_checksum && Script::read(&content).is_ok();
    let ready = metadata.settings.get(READY).map(String::as_str).unwrap_or_default();
    let ready = Ready::parse(ready).ok()?;
    is_same.then_some(Drive { client: Client::Recorded(path), ready })
}

/// No file that was recorded is longer.
const LONGEST: u64 = wire::ClientHeader::ROOM as u64;

/// The client that a server was recorded with.
pub(crate) fn command(metadata: &Metadata) -> Option<Drive> {
    let command = metadata.settings.get(DRIVE)?;
    let ready = metadata.settings.get(READY).map(String::as_str).unwrap_or_default();
    Some(Drive { client: Client::Command(command.into()), ready: Ready::parse(ready).ok()? })
}

#[cfg(test)]
mod tests {
    use wire::{ClientHeader, ClientRecord, Endpoint};

    use super::*;

    fn sent() -> Vec<u8> {
        let endpoint = Endpoint::Port { client: 1, server: 80 };
        let mut file = ClientHeader::empty().to_vec();
        for record in [
            ClientRecord::Accepted { connection: 0, endpoint },
            ClientRecord::Received { connection: 0, filled: false, bytes: b"secret" },
        ] {
            record.with_parts(|parts| parts.iter().for_each(|part| file.extend_from_slice(part)));
        }
        let progress = (file.len() - ClientHeader::BYTES) as u64;
        file[ClientHeader::PROGRESS_OFFSET..][..8].copy_from_slice(&progress.to_le_bytes());
        file
    }

    #[test]
    fn what_was_sent_is_sent_again_only_if_it_is_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), sent()).unwrap();
        let mut metadata =
            Metadata { client_input: file.path().display().to_string(), ..Metadata::default() };
        assert_eq!(client(&metadata), None, "its checksum is not known");
        metadata.client_input_checksum = checksum(b"another");
        assert_eq!(client(&metadata), None);
        metadata.client_input_checksum = checksum(&sent());
        let drive = Drive { client: Client::Recorded(file.path().to_owned()), ready: Ready::Listening };
        assert_eq!(client(&metadata), Some(drive));
        fs::write(file.path(), b"not a script").unwrap();
        metadata.client_input_checksum = checksum(b"not a script");
        assert_eq!(client(&metadata), None);
        metadata.client_input = "/".to_owned();
        assert_eq!(client(&metadata), None);
    }
}
