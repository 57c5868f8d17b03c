//! The server as the commands see it: streams to publish to and to read, and the store of files.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use foretell::diagnostics::Diagnostic;
use futures_util::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;

use crate::bundle::StoredFile;
use crate::campaign::{Announcement, Campaign};
use crate::connection::Connection;
use crate::digest::Digest;
use crate::streams::{self, CAMPAIGNS};

/// Messages that are sent before their receipts are waited for.
const AT_ONCE: usize = 500;
/// How long the server may take to make a reader, and how often it is asked.
const READER_TIME: Duration = Duration::from_secs(3);
const READER_TRIES: u32 = 10;
/// How often streams are asked for, five seconds each time, if a cluster does not answer.
const LEADER_TRIES: u32 = 6;
/// How many messages are read at once.
const BATCH: usize = 500;

/// The server.
#[derive(Clone)]
pub(crate) struct Fleet {
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    files: ObjectStore,
}

/// A message to be stored: its subject, its id, and what it says.
pub(crate) struct Outgoing {
    pub(crate) subject: String,
    pub(crate) id: String,
    pub(crate) payload: Bytes,
}

impl Outgoing {
    /// One with this content.
    pub(crate) fn new(subject: String, id: String, content: &impl Serialize) -> Result<Outgoing, Diagnostic> {
        let payload = serde_json::to_vec(content).map_err(|error| Diagnostic::new(error.to_string()))?;
        Ok(Outgoing { subject, id, payload: payload.into() })
    }
}

impl Fleet {
    /// Connects, and makes what the server is to keep, unless it is there.
    pub(crate) async fn connect(connection: &Connection) -> Result<Fleet, Diagnostic> {
        let client = connection.connect().await?;
        let jetstream = jetstream::new(client.clone());
        let replicas = usize::from(connection.replicas);
        for stream in streams::configurations(replicas) {
            make(&jetstream, stream).await.map_err(|error| {
                Diagnostic::new(format!("cannot use JetStream of the NATS server: {error}"))
                    .help("start the server with `-js`, or ask for an account with JetStream")
            })?;
        }
        let files = match jetstream.get_object_store(streams::FILES).await {
            Ok(files) => files,
            Err(_) => jetstream.create_object_store(streams::files(replicas)).await.map_err(failed)?,
        };
        Ok(Fleet { client, jetstream, files })
    }

    /// A stream by its name.
    pub(crate) async fn stream(&self, name: &str) -> Result<Stream, Diagnostic> {
        self.jetstream.get_stream(name).await.map_err(failed)
    }

    /// Stores a message; whether it is new.
    pub(crate) async fn publish(&self, message: Outgoing) -> Result<bool, Diagnostic> {
        let content = PublishMessage::build().payload(message.payload).message_id(&message.id);
        let sent = self.jetstream.send_publish(message.subject, content).await.map_err(failed)?;
        Ok(!sent.await.map_err(failed)?.duplicate)
    }

    /// Stores many messages; how many are new.
    pub(crate) async fn publish_all(
        &self,
        messages: impl IntoIterator<Item = Outgoing>,
    ) -> Result<u64, Diagnostic> {
        let (mut messages, mut new) = (messages.into_iter().peekable(), 0);
        while messages.peek().is_some() {
            let mut receipts = Vec::new();
            for message in messages.by_ref().take(AT_ONCE) {
                let content = PublishMessage::build().payload(message.payload).message_id(&message.id);
                receipts.push(self.jetstream.send_publish(message.subject, content).await.map_err(failed)?);
            }
            for receipt in receipts {
                new += u64::from(!receipt.await.map_err(failed)?.duplicate);
            }
        }
        Ok(new)
    }

    /// What is stored under these subjects, the first of each; `*` and `>` stand for any.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        stream: &str,
        subjects: &str,
    ) -> Result<Vec<T>, Diagnostic> {
        let mut seen = HashSet::new();
        let all = self.read_all(stream, subjects).await?;
        let first = all.into_iter().filter(|(subject, _)| seen.insert(subject.clone()));
        first.map(|(_, content)| parsed(&content)).collect()
    }

    /// The announcements of all campaigns, in their order.
    pub(crate) async fn announcements(&self) -> Result<Vec<Announcement>, Diagnostic> {
        let mut last: BTreeMap<String, Announcement> = BTreeMap::new();
        for (subject, content) in self.read_all(CAMPAIGNS, &streams::subject(CAMPAIGNS, &[">"])).await? {
            last.insert(subject, parsed(&content)?);
        }
        let mut all: Vec<Announcement> = last.into_values().collect();
        all.sort_by_key(|campaign| campaign.submitted);
        Ok(all)
    }

    /// Everything that is stored under these subjects, in the order in which it came.
    async fn read_all(&self, stream: &str, subjects: &str) -> Result<Vec<(String, Bytes)>, Diagnostic> {
        let consumer = self.reader(stream, subjects).await?;
        let mut left = consumer.cached_info().num_pending;
        let mut all = Vec::new();
        while left > 0 {
            let batch = consumer.batch().max_messages(BATCH).expires(Duration::from_secs(10));
            let mut batch = batch.messages().await.map_err(failed)?;
            let mut count = 0;
            while let Some(message) = batch.next().await {
                let message = message.map_err(failed)?;
                count += 1;
                all.push((message.subject.to_string(), message.payload.clone()));
                if count == left {
                    break;
                }
            }
            if count == 0 {
                return Err(Diagnostic::new(format!("the server does not send what it has in {stream}")));
            }
            left = left.saturating_sub(count);
        }
        Ok(all)
    }

    /// How much is stored under these subjects.
    pub(crate) async fn count(&self, stream: &str, subjects: &str) -> Result<u64, Diagnostic> {
        let stream = self.jetstream.get_stream_no_info(stream).await.map_err(failed)?;
        let mut listed = stream.info_with_subjects(subjects).await.map_err(failed)?;
        let mut count = 0;
        while let Some(subject) = listed.next().await {
            count += subject.map_err(failed)?.1 as u64;
        }
        Ok(count)
    }

    async fn reader(
        &self,
        stream: &str,
        subjects: &str,
    ) -> Result<jetstream::consumer::Consumer<pull::Config>, Diagnostic> {
        let configuration = pull::Config {
            ack_policy: AckPolicy::None,
            deliver_policy: DeliverPolicy::All,
            filter_subject: subjects.to_owned(),
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            ..pull::Config::default()
        };
        // A cluster that has lost a server may ask just that one to keep the reader, and does not answer then.
        let mut tries = 0;
        loop {
            tries += 1;
            let created = self.jetstream.create_consumer_on_stream(configuration.clone(), stream);
            match tokio::time::timeout(READER_TIME, created).await {
                Ok(created) => return created.map_err(failed),
                Err(late) if tries == READER_TRIES => return Err(failed(late)),
                Err(_) => {}
            }
        }
    }

    /// How many jobs there are that are not acknowledged, of all campaigns; none: there was no worker yet.
    pub(crate) async fn undone(&self) -> Result<Option<u64>, Diagnostic> {
        let stream = self.jetstream.get_stream_no_info(streams::JOBS).await.map_err(failed)?;
        match stream.consumer_info(streams::WORKERS).await {
            Ok(info) => Ok(Some(info.num_pending + info.num_ack_pending as u64)),
            Err(error) => match error.kind() {
                jetstream::context::ConsumerInfoErrorKind::NotFound => Ok(None),
                _ => Err(failed(error)),
            },
        }
    }

    /// How many jobs of a campaign are not acknowledged. A work queue allows no second reader, so the subjects are counted. A server that
    /// was killed may have kept jobs in its files whose acknowledgements it has, too: these are done.
    pub(crate) async fn jobs_left(&self, campaign: &str) -> Result<u64, Diagnostic> {
        let undone = self.undone().await?;
        if undone == Some(0) {
            return Ok(0);
        }
        let count = self.count(streams::JOBS, &streams::subject(streams::JOBS, &[campaign, ">"])).await?;
        Ok(undone.map_or(count, |undone| count.min(undone)))
    }

    /// The names under which something is stored.
    pub(crate) async fn subjects(&self, stream: &str, subjects: &str) -> Result<Vec<String>, Diagnostic> {
        let mut listed = self.stream(stream).await?.info_with_subjects(subjects).await.map_err(failed)?;
        let mut all = Vec::new();
        while let Some(subject) = listed.next().await {
            all.push(subject.map_err(failed)?.0);
        }
        Ok(all)
    }

    /// Whether something is stored under this very subject.
    pub(crate) async fn has(&self, stream: &str, subject: &str) -> Result<bool, Diagnostic> {
        let stream = self.jetstream.get_stream_no_info(stream).await.map_err(failed)?;
        match stream.direct_get_last_for_subject(subject).await {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                jetstream::stream::DirectGetErrorKind::NotFound => Ok(false),
                _ => Err(failed(error)),
            },
        }
    }

    /// Stores a file under its digest, unless it is there.
    pub(crate) async fn store(
        &self,
        name: &str,
        content: &[u8],
        executable: bool,
    ) -> Result<StoredFile, Diagnostic> {
        let file = StoredFile {
            name: name.to_owned(),
            digest: Digest::of(content),
            size: content.len() as u64,
            executable,
        };
        let is_there =
            self.files.info(file.digest.as_str()).await.is_ok_and(|info| info.size as u64 == file.size);
        if !is_there {
            let mut rest = content;
            self.files.put(file.digest.as_str(), &mut rest).await.map_err(failed)?;
        }
        Ok(file)
    }

    /// Stores a file that lies here.
    pub(crate) async fn store_file(
        &self,
        name: &str,
        path: &Path,
        executable: bool,
    ) -> Result<StoredFile, Diagnostic> {
        let content = run::mapping::map_file(path)
            .map_err(|error| Diagnostic::from_io("read", &format!("`{}`", path.display()), &error))?;
        self.store(name, &content, executable).await
    }

    /// The content of a stored file, verified.
    pub(crate) async fn fetch(&self, digest: &Digest) -> Result<Vec<u8>, Diagnostic> {
        let mut tries = 1;
        let content = loop {
            match self.content(digest).await {
                // A cluster that has just lost a server does not answer some requests, ever.
                Err(error) if tries < READER_TRIES && error.kind() == io::ErrorKind::TimedOut => tries += 1,
                done => break done.map_err(|error| Diagnostic::from_io("fetch", "a file", &error))?,
            }
        };
        match Digest::of(&content) == *digest {
            true => Ok(content),
            false => Err(Diagnostic::new(format!("the file {digest} is not what its digest says"))
                .note("somebody has changed it in the object store: it is not used")),
        }
    }

    /// What is stored under a digest. A server that is silent for [`READER_TIME`] has timed out.
    async fn content(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        let object = tokio::time::timeout(READER_TIME, self.files.get(digest.as_str()));
        let mut object = object.await?.map_err(io::Error::other)?;
        let mut content = Vec::with_capacity(object.info().size.min(1 << 30));
        while tokio::time::timeout(READER_TIME, object.read_buf(&mut content)).await?? > 0 {}
        Ok(content)
    }

    /// The whole campaign that is described in a file.
    pub(crate) async fn campaign(&self, described_in: &Digest) -> Result<Campaign, Diagnostic> {
        parsed(&self.fetch(described_in).await?)
    }

    /// The announcement of a campaign: of this one, or of the last.
    pub(crate) async fn announced(&self, id: Option<&str>) -> Result<Announcement, Diagnostic> {
        let subjects = streams::subject(CAMPAIGNS, &[id.unwrap_or(">")]);
        let missing = || match id {
            Some(id) => Diagnostic::new(format!("there is no campaign `{id}` on this server"))
                .help("`foretell fleet status --all` lists them"),
            None => Diagnostic::new("nothing was submitted to this server")
                .help("`foretell fleet submit -- CMD` submits a hunt"),
        };
        if id.is_some_and(|id| id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            return Err(missing());
        }
        let stream = self.jetstream.get_stream_no_info(CAMPAIGNS).await.map_err(failed)?;
        match stream.get_last_raw_message_by_subject(&subjects).await {
            Ok(message) => parsed(&message.payload),
            Err(error) => match error.kind() {
                jetstream::stream::LastRawMessageErrorKind::NoMessageFound => Err(missing()),
                _ => Err(failed(error)),
            },
        }
    }
}

/// Makes a stream, unless it is there. A cluster that has just lost a server needs some seconds to agree on another leader.
async fn make(jetstream: &Context, stream: Config) -> Result<(), CreateStreamError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match jetstream.get_or_create_stream(stream.clone()).await {
            Err(error) if tries < LEADER_TRIES && error.kind() == CreateStreamErrorKind::TimedOut => {}
            done => return done.map(drop),
        }
    }
}

/// What the server did not do.
pub(crate) fn failed(error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(format!("a request to the NATS server failed: {error}"))
}

/// What a message says.
pub(crate) fn parsed<T: DeserializeOwned>(content: &[u8]) -> Result<T, Diagnostic> {
    serde_json::from_slice(content).map_err(|error| {
        Diagnostic::new(format!("a message on the server cannot be read: {error}"))
            .help("all programs of a fleet must be of the same version")
    })
}

/// The name of this machine.
pub(crate) fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}
