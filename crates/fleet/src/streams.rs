//! What the server keeps, and under which names.
//!
//! | stream | subjects | what |
//! |---|---|---|
//! | `FORETELL_CAMPAIGNS` | `foretell.campaigns.ID` | one message for each submission |
//! | `FORETELL_JOBS` | `foretell.jobs.ID.JOB` | the work queue: a job is there until it is acknowledged |
//! | `FORETELL_RESULTS` | `foretell.results.ID.JOB` | the result of a job |
//! | `FORETELL_FINDINGS` | `foretell.findings.ID.TEST.FINGERPRINT` | each finding once |
//! | `FORETELL_DEAD` | `foretell.dead.ID.JOB` | jobs that failed five times, with the reason |
//! | `FORETELL_PAIRS` | `foretell.pairs.ID.TEST.PAIR` | reads-from pairs that a run has shown |
//!
//! Files (programs, libraries, inputs, traces) are in the object store `foretell-files`, each under its digest.
//!
//! Every message has an id, so that one that is sent twice is kept once. The server forgets ids after [`WINDOW`]; what comes later than that
//! has the same subject as the first, and readers take the first of each subject. So nothing is doubled, whenever it comes.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
use async_nats::jetstream::{consumer, object_store};

pub(crate) const CAMPAIGNS: &str = "FORETELL_CAMPAIGNS";
pub(crate) const JOBS: &str = "FORETELL_JOBS";
pub(crate) const RESULTS: &str = "FORETELL_RESULTS";
pub(crate) const FINDINGS: &str = "FORETELL_FINDINGS";
pub(crate) const DEAD: &str = "FORETELL_DEAD";
pub(crate) const PAIRS: &str = "FORETELL_PAIRS";
/// The object store.
pub(crate) const FILES: &str = "foretell-files";
/// The consumer that all workers share.
pub(crate) const WORKERS: &str = "workers";
/// Workers answer here who they are and what they do; nothing is stored.
pub(crate) const ROLL_CALL: &str = "foretell.workers";
/// Workers hear here of campaigns that are called off.
pub(crate) const CALLED_OFF: &str = "foretell.called-off";
/// The server recognises a message that was sent twice within this time.
const WINDOW: Duration = Duration::from_secs(24 * 3600);
/// How many jobs may be under way at the same time.
const MOST_UNDER_WAY: i64 = 100_000;

/// The streams.
pub(crate) fn configurations(replicas: usize) -> Vec<Config> {
    let kinds = [CAMPAIGNS, JOBS, RESULTS, FINDINGS, DEAD, PAIRS];
    let configuration = |name: &&str| Config {
        name: (*name).to_owned(),
        subjects: vec![format!("{}.>", prefix(name))],
        retention: match *name {
            JOBS => RetentionPolicy::WorkQueue,
            _ => RetentionPolicy::Limits,
        },
        storage: StorageType::File,
        num_replicas: replicas,
        duplicate_window: WINDOW,
        allow_direct: true,
        ..Config::default()
    };
    kinds.iter().map(configuration).collect()
}

/// The object store.
pub(crate) fn files(replicas: usize) -> object_store::Config {
    object_store::Config {
        bucket: FILES.to_owned(),
        num_replicas: replicas,
        storage: StorageType::File,
        ..object_store::Config::default()
    }
}

/// The consumer that all workers share. A job that nobody has given a sign of life for during `patience` goes to another worker.
pub(crate) fn workers(patience: Duration) -> consumer::pull::Config {
    consumer::pull::Config {
        durable_name: Some(WORKERS.to_owned()),
        ack_policy: consumer::AckPolicy::Explicit,
        ack_wait: patience,
        // Workers count, and set aside what fails too often.
        max_deliver: -1,
        max_ack_pending: MOST_UNDER_WAY,
        max_waiting: 20_000,
        ..consumer::pull::Config::default()
    }
}

/// What the subjects of a stream begin with: `foretell.jobs`.
pub(crate) fn prefix(stream: &str) -> String {
    stream.to_ascii_lowercase().replacen('_', ".", 1)
}

/// The subject of something in a stream, by its campaign and names.
pub(crate) fn subject(stream: &str, parts: &[&str]) -> String {
    format!("{}.{}", prefix(stream), parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_its_subjects() {
        assert_eq!(subject(JOBS, &["c1", "0-7"]), "foretell.jobs.c1.0-7");
        let all = configurations(3);
        assert_eq!(all.len(), 6);
        let queues = all.iter().filter(|stream| stream.retention == RetentionPolicy::WorkQueue);
        assert_eq!(queues.map(|stream| stream.name.as_str()).collect::<Vec<_>>(), [JOBS]);
        assert!(all.iter().all(|stream| stream.num_replicas == 3 && stream.storage == StorageType::File));
    }
}
