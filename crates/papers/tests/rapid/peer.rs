//! Running RAPID.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use papers::races::Method;
use serde::Deserialize;
use trace::EventId;

/// Runs a program that may take 300 s of CPU time, however busy the machine is.
const PATIENTLY: &str = "ulimit -t 300; exec \"$@\"";

/// One of RAPID's engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Hb,
    Shb,
    Wcp,
    Syncp,
    Lockset,
}

impl Engine {
    pub(crate) const ALL: [Engine; 5] =
        [Engine::Hb, Engine::Lockset, Engine::Syncp, Engine::Shb, Engine::Wcp];

    /// Its Java class.
    fn class(self) -> &'static str {
        match self {
            Engine::Hb => "HB",
            Engine::Shb => "SHB",
            Engine::Wcp => "WCP",
            Engine::Syncp => "SyncPreserving",
            Engine::Lockset => "LockSet",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Hb => "HB",
            Engine::Shb => "SHB",
            Engine::Wcp => "WCP",
            Engine::Syncp => "SyncP",
            Engine::Lockset => "lockset",
        }
    }

    /// Ours that it is compared with: the same method, or where we have none of that name, the exact one.
    pub(crate) fn method(self) -> Method {
        match self {
            Engine::Hb => Method::Hb,
            Engine::Syncp => Method::Syncp,
            Engine::Lockset => Method::Lockset,
            Engine::Shb | Engine::Wcp => Method::Poly,
        }
    }
}

/// A checkout of RAPID, and a place to put traces for it.
pub(crate) struct Rapid {
    home: PathBuf,
    file: PathBuf,
}

impl Rapid {
    /// The one that `RAPID_HOME` names.
    pub(crate) fn here(purpose: &str) -> Rapid {
        let home = testing::rapid_home();
        let file = std::env::temp_dir().join(format!("foretell-rapid-{purpose}-{}.std", std::process::id()));
        Rapid { home, file }
    }

    /// The racy events that an engine reports of a trace in text; none if it did not complete.
    pub(crate) fn racy(&self, engine: Engine, text: &str) -> Option<BTreeSet<EventId>> {
        std::fs::write(&self.file, text).unwrap_or_else(|error| panic!("{}: {error}", self.file.display()));
        let part = |part: &str| self.home.join(part).to_string_lossy().into_owned();
        let path = [part("bin"), part("lib/*"), part("lib/jgrapht/*")].join(":");
        let output = Command::new("sh")
            .args([
                "-c",
                PATIENTLY,
                "sh",
                "java",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx2g",
                "-cp",
            ])
            .args([&path, engine.class(), "-f", "std", "-v", "1", "-p"])
            .arg::<&Path>(&self.file)
            .output()
            .expect("a shell and java");
        let printed = String::from_utf8_lossy(&output.stdout);
        let complete = printed.lines().any(|line| line == "Analysis complete");
        complete.then(|| printed.lines().filter_map(racy_event).collect())
    }
}

impl Drop for Rapid {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// RAPID counts events from 1.
fn racy_event(line: &str) -> Option<EventId> {
    let (number, _) = line.strip_prefix("Race detected at event ")?.split_once(' ')?;
    Some(EventId(number.parse::<u32>().ok()?.checked_sub(1)?))
}

#[test]
fn racy_events_are_read_from_what_rapid_prints() {
    assert_eq!(racy_event("Race detected at event 7 : T21|r(x)|374"), Some(EventId(6)));
    assert_eq!(racy_event("LockSet discipline violated on variable x"), None);
}
