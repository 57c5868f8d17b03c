//! The JSON of questions whose lists have a fixed form: `{"race":[a,b]}`, `{"reads":[r]}`, `{"reads":[r,w]}`. A list of
//! any other length is refused with what was expected.

/// Two events.
pub(super) mod race {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use trace::EventId;

    pub(in crate::question) fn serialize<S: Serializer>(
        a: &EventId,
        b: &EventId,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        [a, b].serialize(to)
    }

    pub(in crate::question) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<(EventId, EventId), D::Error> {
        match Vec::deserialize(from)?[..] {
            [a, b] => Ok((a, b)),
            _ => Err(D::Error::custom("`race` is a list of two events")),
        }
    }
}

/// A read and, if one is asked for, what it sees: a write, or -1 for the initial value.
pub(super) mod reads {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use trace::EventId;

    use crate::question::Source;

    pub(in crate::question) fn serialize<S: Serializer>(
        read: &EventId,
        source: &Option<Source>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let read = i64::from(read.0);
        match source {
            None => [read].serialize(to),
            Some(Source::Initial) => [read, -1].serialize(to),
            Some(Source::Write(write)) => [read, i64::from(write.0)].serialize(to),
        }
    }

    pub(in crate::question) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<(EventId, Option<Source>), D::Error> {
        let expected = || {
            D::Error::custom(
                "`reads` is a list of the read and, if one is asked for, the write (-1: the initial value)",
            )
        };
        let event = |number: i64| u32::try_from(number).map(EventId).map_err(|_| expected());
        match Vec::deserialize(from)?[..] {
            [read] => Ok((event(read)?, None)),
            [read, -1] => Ok((event(read)?, Some(Source::Initial))),
            [read, write] => Ok((event(read)?, Some(Source::Write(event(write)?)))),
            _ => Err(expected()),
        }
    }
}
