//! Lines that start with `#!`: what a trace has besides events.

use crate::builder::TraceBuilder;

use super::error::{Problem, quote};
use super::escape::decode;
use super::waits::WaitConvention;

/// What has been said so far, so that nothing is said twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Directives {
    /// Forked and joined threads are named exactly as written: `12` is never `T12`.
    pub(super) threads_as_written: bool,
    /// What waits mean, if it is said.
    pub(super) wait: Option<WaitConvention>,
    has_metadata: bool,
    declared: Vec<bool>,
}

impl Directives {
    /// Follows the directive on this line, which starts with `#!`.
    pub(super) fn follow(&mut self, line: &str, builder: &mut TraceBuilder) -> Result<(), Problem> {
        let text = line[2..].trim_start_matches(' ');
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "semaphore" => self.semaphore(rest, builder),
            "threads" if rest.trim_end() == "as-written" => {
                self.threads_as_written = true;
                Ok(())
            }
            "threads" => Err(Problem::BadThreads { found: quote(rest) }),
            "wait" => {
                let stated = WaitConvention::named(rest.trim_end());
                self.wait = Some(stated.ok_or_else(|| Problem::BadWait { found: quote(rest) })?);
                Ok(())
            }
            "metadata" => self.metadata(rest, builder),
            _ => Err(Problem::UnknownDirective { found: quote(text) }),
        }
    }

    fn semaphore(&mut self, rest: &str, builder: &mut TraceBuilder) -> Result<(), Problem> {
        let declaration = rest.rsplit_once(' ').and_then(|(name, count)| {
            let permits = count.bytes().all(|b| b.is_ascii_digit()).then(|| count.parse::<u32>().ok());
            (is_plain(name)).then_some((name, permits.flatten()?))
        });
        let (name, permits) = declaration.ok_or_else(|| Problem::BadSemaphore { found: quote(rest) })?;
        let semaphore = builder.semaphore(&decode(name))?;
        if self.declared.len() <= semaphore.index() {
            self.declared.resize(semaphore.index() + 1, false);
        }
        if std::mem::replace(&mut self.declared[semaphore.index()], true) {
            return Err(Problem::SemaphoreDeclaredTwice { name: quote(name) });
        }
        builder.declare_permits(semaphore, permits);
        Ok(())
    }

    fn metadata(&mut self, rest: &str, builder: &mut TraceBuilder) -> Result<(), Problem> {
        if std::mem::replace(&mut self.has_metadata, true) {
            return Err(Problem::MetadataTwice);
        }
        let metadata = serde_json::from_str(rest)
            .map_err(|error| Problem::BadMetadata { reason: quote(&error.to_string()) })?;
        builder.set_metadata(metadata);
        Ok(())
    }
}

/// Whether a declaration can name this: a space too many must not become part of a name.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(' ') && !name.ends_with(' ')
}
