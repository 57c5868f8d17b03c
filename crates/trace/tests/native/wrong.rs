//! Files that no writer of ours writes: each mistake has an error message of its own.

use trace::native;
use trace::native::layout::{
    self, ChunkHeader, Codec, HEADER_LEN, MAX_CHUNK_EVENTS, MAX_RAW_LEN, Section, Table, Tag,
};
use trace::{BarrierId, EventId, Kind, LocationId, Op, ThreadId, VariableId};

/// A chunk with a right checksum and whatever else.
pub(crate) fn chunk(tag: Tag, codec: Codec, count: u32, raw_len: usize, stored: &[u8]) -> Vec<u8> {
    let mut header = ChunkHeader {
        tag: tag.bytes(),
        codec: codec as u32,
        count,
        raw_len: raw_len as u32,
        stored_len: stored.len() as u32,
        checksum: 0,
    };
    header.checksum = header.checksum_with(stored);
    [&header.to_bytes(), stored].concat()
}

fn stored(tag: Tag, count: u32, raw: &[u8]) -> Vec<u8> {
    chunk(tag, Codec::Stored, count, raw.len(), raw)
}

pub(crate) fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    [&layout::header()[..], &chunks.concat()].concat()
}

/// A section of names as it is stored.
fn section(section: Section, count: u32, content: &[u8]) -> Vec<u8> {
    [&section.code().to_le_bytes()[..], &count.to_le_bytes(), content].concat()
}

fn names(table: Table, names: &[&str]) -> Vec<u8> {
    let lengths = names.iter().flat_map(|name| (name.len() as u32).to_le_bytes());
    let content: Vec<u8> = lengths.chain(names.iter().flat_map(|name| name.bytes())).collect();
    section(Section::Names(table), names.len() as u32, &content)
}

fn mark(name: u32, value: i64) -> Vec<u8> {
    [&name.to_le_bytes()[..], &value.to_le_bytes()].concat()
}

pub(crate) fn events(rows: &[[u32; 3]]) -> Vec<u8> {
    let mut raw = Vec::new();
    for column in 0..3 {
        layout::split_planes(&rows.iter().map(|row| row[column]).collect::<Vec<_>>(), &mut raw);
    }
    stored(Tag::Events, rows.len() as u32, &raw)
}

/// Two threads, a variable, a lock, a mark and a location, for events to be of.
pub(crate) fn few_names() -> Vec<u8> {
    let sections = [
        names(Table::Threads, &["t", "u"]),
        names(Table::Variables, &["x"]),
        names(Table::Locks, &["l"]),
        names(Table::MarkNames, &["m"]),
        names(Table::Locations, &["here"]),
        section(Section::Marks, 1, &mark(0, 5)),
    ];
    stored(Tag::Names, 7, &sections.concat())
}

pub(crate) fn end(events: u64) -> Vec<u8> {
    stored(Tag::End, 1, &events.to_le_bytes())
}

const fn head(thread: u32, kind: Kind) -> u32 {
    thread << 5 | kind as u32
}

/// What the reader says to a file.
fn said(bytes: &[u8]) -> String {
    match native::read(bytes) {
        Ok((trace, completeness)) => format!("{} events, {completeness}", trace.len()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(chunks: &[Vec<u8>], expected: &str) {
    assert_eq!(said(&file(chunks)), expected);
}

#[test]
fn a_wrong_header_is_told() {
    let with = |at: usize, field: &[u8]| {
        let mut bytes = file(&[end(0)]);
        bytes[at..at + field.len()].copy_from_slice(field);
        said(&bytes)
    };
    assert_eq!(with(0, b"FORETELL"), "0 events, complete");
    assert_eq!(
        with(4, b"\xffOLD"),
        r#"byte 0: this is not a native trace: it starts with "FORE\xffOLD", expected "FORETELL""#
    );
    assert_eq!(
        said(b"T1"),
        r#"byte 0: this is not a native trace: it starts with "T1", expected "FORETELL""#
    );
    assert_eq!(said(b"FORETELL\x01"), "byte 0: the file ends inside its header, 9 bytes of 16");
    assert_eq!(
        with(8, &[3]),
        "byte 8: the trace has version 3 of the format, newer than the 2 known here; a newer Foretell reads it"
    );
    assert_eq!(
        with(8, &[0]),
        "byte 8: the trace has version 0 of the format, which does not exist; expected 1 to 2"
    );
    assert_eq!(with(12, &[0, 1]), "byte 12: unknown flags 0x100, expected 0");
}

#[test]
fn a_wrong_chunk_is_told() {
    let with = |at: usize, field: u32| {
        let mut bytes = file(&[few_names(), end(0)]);
        bytes[HEADER_LEN + at..HEADER_LEN + at + 4].copy_from_slice(&field.to_le_bytes());
        said(&bytes)
    };
    assert_eq!(with(4, 0), "0 events, complete");
    let tag = u32::from_le_bytes(*b"NA\nE");
    assert_eq!(
        with(0, tag),
        r#"byte 16: unknown chunk "NA\nE", expected META, NAME, EVNT, ORDR, NOTE, RMOD, RLOG or END."#
    );
    assert_eq!(with(4, 2), "byte 16: unknown codec 2, expected 0 (stored) or 1 (zstd)");
    assert_eq!(
        with(12, 1 << 24 | 1),
        "byte 16: a chunk of 16777217 bytes before compression, expected at most 16777216"
    );
    assert_eq!(
        with(12, 1 << 24),
        "byte 16: a chunk stored in 93 bytes claims to hold 16777216, expected at most 8 times the stored length"
    );
    assert_eq!(with(12, 99), "byte 16: a stored chunk of 93 bytes claims to hold 99, expected the same");
    assert_eq!(with(20, 7), "byte 16: the chunk is damaged: its checksum is 00000007, expected 9594813c");
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 2, b"{}"), end(0)],
        "byte 16: the chunk does not decompress: Src size is incorrect",
    );
    let packed = zstd::bulk::compress(b"{    }", 1).unwrap();
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 7, &packed), end(0)],
        "byte 16: the chunk decompresses to 6 bytes, expected 7",
    );
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 5, &packed), end(0)],
        "byte 16: the chunk does not decompress: Destination buffer is too small",
    );
    check(&[end(0), end(0)], "byte 48: 32 bytes follow the end chunk, expected none");
    check(&[end(1)], "byte 16: the trace has 0 events, expected the 1 its end chunk states");
    check(&[stored(Tag::End, 1, b"1234")], "byte 16: the end chunk has 4 bytes, expected 8");
    check(&[stored(Tag::End, 2, &[0; 8])], "byte 16: the end chunk has 2 items, expected 1");
    check(&[stored(Tag::Metadata, 0, b"{}")], "byte 16: the metadata chunk has 0 items, expected 1");
    check(
        &[stored(Tag::Metadata, 1, b"{\"command\":7}")],
        "byte 16: the metadata cannot be read: invalid type: integer `7`, expected a sequence at line 1 column 12",
    );
}

#[test]
fn wrong_names_are_told() {
    let said_of = |count: u32, raw: &[u8]| said(&file(&[stored(Tag::Names, count, raw), end(0)]));
    let two = names(Table::Locks, &["l", "m"]);
    assert_eq!(said_of(2, &two), "0 events, complete");
    assert_eq!(said_of(3, &two), "byte 16: the names chunk has 2 items, expected the 3 its header states");
    assert_eq!(
        said_of(2, &two[..17]),
        "byte 16: the names chunk ends inside the locks: 0 bytes left, expected 1"
    );
    assert_eq!(
        said_of(2, &two[..10]),
        "byte 16: the names chunk ends inside the locks: 2 bytes left, expected 8"
    );
    assert_eq!(
        said_of(2, &two[..3]),
        "byte 16: the names chunk ends inside the header of a section: 3 bytes left, expected 4"
    );
    let many = section(Section::Names(Table::Locks), u32::MAX, &[0; 40]);
    assert_eq!(
        said_of(u32::MAX, &many),
        "byte 16: the names chunk ends inside the locks: 40 bytes left, expected 17179869180"
    );
    let long = section(Section::Names(Table::Locks), 1, &u32::MAX.to_le_bytes());
    assert_eq!(
        said_of(1, &long),
        "byte 16: the names chunk ends inside the locks: 0 bytes left, expected 4294967295"
    );
    assert_eq!(
        said_of(0, &[15, 0, 0, 0, 0, 0, 0, 0]),
        "byte 16: unknown section 15 of names, expected at most 14"
    );
    let twice = names(Table::Variables, &["a", "b\n", "b\n"]);
    assert_eq!(
        said_of(3, &twice),
        r#"byte 16: name 2 of the variables is "b\n", as is name 1; expected distinct names"#
    );
    let split = section(Section::Names(Table::Blocks), 2, &[1, 0, 0, 0, 1, 0, 0, 0, 0xc3, 0xa9]);
    assert_eq!(said_of(2, &split), "byte 16: name 0 of the blocks is not UTF-8");

    let marks = |count: u32, content: &[u8]| {
        let sections = [names(Table::MarkNames, &["m"]), section(Section::Marks, count, content)];
        said_of(1 + count, &sections.concat())
    };
    assert_eq!(marks(1, &mark(0, -3)), "0 events, complete");
    assert_eq!(marks(1, &mark(1, -3)), "byte 16: mark 0 has the name 1, but there are 1");
    assert_eq!(
        marks(2, &[mark(0, 9), mark(0, 9)].concat()),
        "byte 16: mark 1 has the same name and value as another; expected distinct marks"
    );
    assert_eq!(
        marks(2, &mark(0, 9)),
        "byte 16: the names chunk ends inside the marks: 12 bytes left, expected 24"
    );
    let permits = section(Section::Permits, 1, &[3, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(said_of(1, &permits), "byte 16: permits are declared for semaphore 3, but there are 0");
    assert_eq!(
        said_of(1, &permits[..12]),
        "byte 16: the names chunk ends inside the permits: 4 bytes left, expected 8"
    );
}

#[test]
fn wrong_events_are_told() {
    let said_of = |rows: &[[u32; 3]]| said(&file(&[few_names(), events(rows), end(rows.len() as u64)]));
    let fine = [head(0, Kind::Write), 0, 0];
    let at = HEADER_LEN + few_names().len();
    let expect = |row: [u32; 3], message: &str| {
        assert_eq!(said_of(&[fine, row, fine]), format!("byte {at}: event 1 {message}"));
    };
    assert_eq!(said_of(&[fine, [head(1, Kind::Mark), 0, 0]]), "2 events, complete");
    assert_eq!(said_of(&[fine, [head(1, Kind::Branch), u32::MAX, 0]]), "2 events, complete");
    expect([29, 0, 0], "has the unknown kind 29, expected at most 28");
    expect([head(2, Kind::Write), 0, 0], "is of threads 2, but there are 2");
    expect([head((1 << 27) - 1, Kind::Write), 0, 0], "is of threads 134217727, but there are 2");
    expect([head(0, Kind::Read), 1, 0], "is of variables 1, but there are 1");
    expect([head(0, Kind::Acquire), u32::MAX, 0], "is of locks 4294967295, but there are 1");
    expect([head(0, Kind::Fork), 2, 0], "is of threads 2, but there are 2");
    expect([head(0, Kind::Post), 0, 0], "is of semaphores 0, but there are 0");
    expect([head(0, Kind::Mark), 1, 0], "is of marks 1, but there are 1");
    expect([head(0, Kind::Write), 0, 1], "is of locations 1, but there are 1");
    expect([head(0, Kind::Begin), 1, 0], "has a kind without a target, but its target is 1, expected 0");

    // Names that come after the events that need them are of no use.
    check(&[events(&[fine]), few_names(), end(1)], "byte 16: event 0 is of threads 0, but there are 0");
    check(
        &[stored(Tag::Events, 2, &[0; 12]), end(2)],
        "byte 16: an events chunk of 2 events takes 12 bytes before compression, expected 12 per event",
    );
    let many = MAX_CHUNK_EVENTS + 1;
    check(
        &[stored(Tag::Events, many as u32, &vec![0; many * 12]), end(0)],
        "byte 16: an events chunk of 65537 events, expected at most 65536",
    );
    check(&[stored(Tag::Events, 0, &[]), end(0)], "0 events, complete");
}

#[test]
fn a_run_that_cannot_have_happened_names_event_and_chunk() {
    let acquire = |thread| [head(thread, Kind::Acquire), 0, 0];
    let chunks = [few_names(), events(&[acquire(0), acquire(0)]), events(&[]), events(&[acquire(1)]), end(3)];
    let at = HEADER_LEN + chunks[..3].concat().len();
    check(
        &chunks,
        &format!(
            "byte {at}: event 2: lock l is taken here, but thread t holds it since event 0; it must be released first"
        ),
    );
}

#[test]
fn bombs_are_refused() {
    // A few bytes that claim to be many, in every combination of tag and codec.
    for tag in Tag::ALL {
        for codec in [Codec::Stored, Codec::Zstd] {
            for raw_len in [MAX_RAW_LEN, u32::MAX as usize, 1 << 31] {
                let bytes = file(&[chunk(tag, codec, 1, raw_len, b"tiny"), end(0)]);
                assert!(native::read(&bytes).is_err(), "{tag:?} {codec:?} {raw_len}");
            }
        }
    }
    // A frame that grows beyond what it says, and one that compresses better than a writer may.
    let packed = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let error = native::read(&file(&[chunk(Tag::Names, Codec::Zstd, 0, packed.len(), &packed), end(0)]));
    assert!(error.unwrap_err().to_string().contains("does not decompress"));
    let packed = zstd::bulk::compress(&vec![0; MAX_CHUNK_EVENTS * 12], 1).unwrap();
    let bomb = chunk(Tag::Events, Codec::Zstd, MAX_CHUNK_EVENTS as u32, MAX_CHUNK_EVENTS * 12, &packed);
    check(
        &[few_names(), bomb, end(0)],
        &format!(
            "byte 133: a chunk stored in {} bytes claims to hold 786432, expected at most 32 times the stored length",
            packed.len()
        ),
    );
}

#[test]
fn ids_in_tests_are_what_they_seem() {
    // The rows above are written by hand; this ties them to the typed form.
    let (trace, _) =
        native::read(&file(&[few_names(), events(&[[head(1, Kind::Write), 0, 0]]), end(1)])).unwrap();
    let event = EventId(0);
    assert_eq!((trace.thread(event), trace.op(event)), (ThreadId(1), Op::Write(VariableId(0))));
    assert_eq!(trace.location(event), LocationId(0));
    assert_eq!(trace.symbols().barriers.len(), BarrierId(0).index());
}
