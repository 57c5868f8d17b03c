//! Digests: what a file is called by its content, and what workers verify it with.

use std::fmt;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The SHA-256 of some bytes, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Digest(String);

impl Digest {
    /// That of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Digest {
        Digest(digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its beginning, where a collision does no harm.
    pub(crate) fn short(&self) -> &str {
        &self.0[..16]
    }
}

/// It names files and parts of subjects, so nothing else may be in it.
impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Digest, String> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 64 && text.bytes().all(is_digit) {
            true => Ok(Digest(text)),
            false => Err("expected 64 hexadecimal digits".to_owned()),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_sha_256_and_nothing_else_is_a_digest() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").as_str(), known);
        assert!(serde_json::from_str::<Digest>(&format!("\"{known}\"")).is_ok());
        for hostile in ["", "../../etc/passwd", &known[1..], &known.to_uppercase()] {
            assert!(serde_json::from_str::<Digest>(&format!("\"{hostile}\"")).is_err(), "{hostile}");
        }
    }
}
