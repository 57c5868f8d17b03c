//! Bytes, chunks, events and damage of any kind do no harm.

use std::sync::LazyLock;

use proptest::prelude::*;
use trace::native::layout::{self, Codec, Tag};
use trace::native::{self, Completeness};

use crate::wrong::{chunk, end, events, few_names, file};
use crate::{every_kind, written};

/// What the damage starts from.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| written(&every_kind(), 8));

proptest! {
    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = native::read(&bytes);
        let _ = native::read(&[&layout::header()[..], &bytes].concat());
    }

    #[test]
    fn arbitrary_content_of_chunks_does_no_harm(
        tags in proptest::collection::vec((0..5usize, any::<bool>(), 0..9u32, proptest::collection::vec(0..40u8, 0..200)), 0..6)
    ) {
        let chunks: Vec<_> = tags.iter().map(|(tag, zstd, count, raw)| {
            let (codec, content) = match zstd {
                true => (Codec::Zstd, zstd::bulk::compress(raw, 1).unwrap()),
                false => (Codec::Stored, raw.clone()),
            };
            chunk(Tag::ALL[*tag], codec, *count, raw.len(), &content)
        }).collect();
        let _ = native::read(&file(&chunks));
        let _ = native::read(&file(&[vec![few_names()], chunks].concat()));
    }

    #[test]
    fn arbitrary_events_read_as_they_are_or_not_at_all(
        rows in proptest::collection::vec((0..3u32, 0..32u32, 0..3u32, 0..3u32), 0..40),
    ) {
        let rows: Vec<_> = rows.iter().map(|&(t, kind, target, location)| [t << 5 | kind, target, location]).collect();
        let bytes = file(&[few_names(), events(&rows), end(rows.len() as u64)]);
        if let Ok((trace, completeness)) = native::read(&bytes) {
            prop_assert_eq!(completeness, Completeness::Complete);
            for (row, (_, thread, op)) in rows.iter().zip(trace.events()) {
                prop_assert_eq!(*row, [thread.0 << 5 | op.kind() as u32, op.target(), 0]);
            }
            prop_assert_eq!(native::read(&written(&trace, 7)).unwrap().0, trace);
        }
    }

    #[test]
    fn arbitrary_damage_does_no_harm(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = SMALL.clone();
        for (at, value) in &edits {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        let unharmed = bytes == *SMALL;
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok((_, completeness)) = native::read(&bytes) {
            prop_assert!(unharmed || completeness != Completeness::Complete);
        }
    }
}
