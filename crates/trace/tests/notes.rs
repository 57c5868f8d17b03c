//! Notes: what is written reads back, a cut loses the notes after it and no others, and what is wrong with
//! them is reported on demand.

use trace::native::layout::{
    self, CHUNK_HEADER_LEN, ChunkHeader, Codec, HEADER_LEN, NO_PARENT, Section, Table, Tag,
};
use trace::native::{self, Completeness, Distance, Note, StackId, ThreadOrigin, Writer};
use trace::{EventId, LocationId, Metadata, Op, ThreadId, Trace, VariableId};

/// Each event's thread, its stack, and its place: what the notes below must lead to.
const RUN: [(u32, u32, u64); 8] =
    [(0, 1, 0), (0, 3, 5), (1, 2, 0), (0, 2, 6), (0, 2, 6), (1, 0, 7), (1, 3, 7), (2, 0, 9)];

fn recorded(chunk_events: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap().chunk_events(chunk_events);
    writer.metadata(&Metadata { command: vec!["./prog".into()], ..Metadata::default() }).unwrap();
    for (table, names) in [
        (Table::Threads, &["main", "T1", "T2"][..]),
        (Table::Variables, &["x"]),
        (Table::Locations, &["a.c:1"]),
        (Table::Frames, &["main\ta.c:9", "work\ta.c:1"]),
    ] {
        for name in names {
            writer.name(table, name).unwrap();
        }
    }
    for (parent, frame) in [(0, 0), (1, 1), (2, 1)] {
        writer.stack(StackId::from_raw(parent), frame).unwrap();
    }
    for (thread, parent, nth) in [(0, None, 0), (1, Some(0), 2), (2, Some(1), 1)] {
        writer.origin(ThreadId(thread), ThreadOrigin { parent: parent.map(ThreadId), nth }).unwrap();
    }
    let mut last = [None; 3];
    for (thread, stack, place) in RUN {
        let step = match last[thread as usize] {
            None => Distance::Over(place as u32),
            Some(known) if known == place => Distance::Same,
            Some(known) => Distance::Over((place - known - 1) as u32),
        };
        last[thread as usize] = Some(place);
        let note = Note { stack: StackId::from_raw(stack), step };
        writer.noted_event(ThreadId(thread), Op::Write(VariableId(0)), LocationId(0), note).unwrap();
    }
    writer.finish().unwrap()
}

fn all(trace: &Trace) -> Vec<EventId> {
    (0..trace.len()).map(EventId::new).collect()
}

/// Asserts that so many of the events have the notes they were given, and the others none.
fn assert_noted(trace: &Trace, noted: usize) {
    let Some(notes) = trace.notes() else {
        assert_eq!(noted, 0);
        return;
    };
    assert_eq!(notes.noted(), noted);
    let places = notes.places(trace, &all(trace)).unwrap();
    for (event, _, _) in trace.events() {
        let (_, stack, place) = RUN[event.index()];
        let known = event.index() < noted;
        assert_eq!(notes.stack(event).unwrap(), StackId::from_raw(if known { stack } else { 0 }));
        assert_eq!(places[event.index()], known.then_some(place), "{event}");
    }
}

#[test]
fn notes_read_back_however_they_are_divided() {
    let (first, _) = native::read(&recorded(3)).unwrap();
    for chunk_events in [1, 2, 3, 8, 100] {
        let (trace, completeness) = native::read(&recorded(chunk_events)).unwrap();
        assert_eq!(completeness, Completeness::Complete);
        assert_noted(&trace, RUN.len());
        assert!(trace.can_be_replayed());
        assert_eq!(trace, first);
        let notes = trace.notes().unwrap();
        let deepest = StackId::from_raw(3).unwrap();
        let frames: Vec<&str> = notes.frames_of(deepest).collect();
        assert_eq!(frames, ["work\ta.c:1", "work\ta.c:1", "main\ta.c:9"]);
        let paths = [0, 1, 2].map(|thread| notes.path(ThreadId(thread)).unwrap().to_string());
        assert_eq!(paths, ["0", "0.2", "0.2.1"]);
        assert_eq!(notes.path(ThreadId(3)), None);
    }
}

#[test]
fn places_are_told_in_the_order_they_are_asked_for() {
    let (trace, _) = native::read(&recorded(3)).unwrap();
    let events = [7, 1, 4, 1].map(EventId);
    let places = trace.notes().unwrap().places(&trace, &events).unwrap();
    assert_eq!(places, [Some(9), Some(5), Some(6), Some(5)]);
}

#[test]
fn a_whole_trace_is_written_with_its_notes() {
    let (trace, _) = native::read(&recorded(3)).unwrap();
    let mut bytes = Vec::new();
    native::write(&trace, &mut bytes).unwrap();
    let (back, _) = native::read(&bytes).unwrap();
    assert_eq!(back, trace);
    assert_noted(&back, RUN.len());
}

#[test]
fn text_has_neither_notes_nor_environment() {
    let (mut trace, _) = native::read(&recorded(3)).unwrap();
    let mut text = Vec::new();
    trace::text::write(&trace, &mut text).unwrap();
    trace = trace::text::read(&text[..]).unwrap();
    assert!(trace.notes().is_none() && !trace.can_be_replayed());
    assert_eq!(trace.metadata().command, ["./prog"]);
}

#[test]
fn events_without_notes_end_the_chunk_of_those_with() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for table in [Table::Threads, Table::Variables, Table::Locations] {
        writer.name(table, "n").unwrap();
    }
    let event = (ThreadId(0), Op::Write(VariableId(0)), LocationId(0));
    for noted in [true, true, false, true] {
        match noted {
            true => writer.noted_event(event.0, event.1, event.2, Note::default()).unwrap(),
            false => writer.event(event.0, event.1, event.2).unwrap(),
        }
    }
    let (trace, _) = native::read(&writer.finish().unwrap()).unwrap();
    let places = trace.notes().unwrap().places(&trace, &all(&trace)).unwrap();
    assert_eq!(places, [Some(0), Some(1), None, None]);
    assert!(!trace.can_be_replayed());
    let mut again = Vec::new();
    native::write(&trace, &mut again).unwrap();
    assert_eq!(native::read(&again).unwrap().0, trace);
}

/// Where each chunk of a file that is well starts and ends, and its tag.
fn chunks_of(bytes: &[u8]) -> Vec<(usize, usize, [u8; 4])> {
    let mut chunks = Vec::new();
    let mut offset = HEADER_LEN;
    while let Some(header) = bytes.get(offset..).and_then(|rest| rest.first_chunk()) {
        let header = ChunkHeader::from_bytes(header);
        let end = offset + CHUNK_HEADER_LEN + header.stored_len as usize;
        chunks.push((offset, end, header.tag));
        offset = end;
    }
    chunks
}

#[test]
fn a_cut_keeps_the_notes_before_it() {
    let bytes = recorded(3);
    for cut in HEADER_LEN..bytes.len() {
        let (trace, completeness) = native::read(&bytes[..cut]).unwrap();
        assert_ne!(completeness, Completeness::Complete);
        let chunks = chunks_of(&bytes).into_iter().filter(|&(_, end, _)| end <= cut);
        let noted = chunks.filter(|&(_, _, tag)| tag == Tag::Notes.bytes()).count() * 3;
        assert_noted(&trace, noted.min(RUN.len()));
    }
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    let bytes = recorded(3);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            if let Ok((_, completeness)) = native::read(&damaged) {
                assert_ne!(completeness, Completeness::Complete, "bit {bit} of byte {at}");
            }
        }
    }
}

fn chunk(tag: Tag, codec: Codec, count: u32, raw_len: usize, stored: &[u8]) -> Vec<u8> {
    let (tag, codec) = (tag.bytes(), codec as u32);
    let (raw_len, stored_len) = (raw_len as u32, stored.len() as u32);
    let mut header = ChunkHeader { tag, codec, count, raw_len, stored_len, checksum: 0 };
    header.checksum = header.checksum_with(stored);
    [&header.to_bytes(), stored].concat()
}

fn notes_chunk(rows: &[[u32; 2]]) -> Vec<u8> {
    let mut raw = Vec::new();
    for column in 0..2 {
        layout::split_planes(&rows.iter().map(|row| row[column]).collect::<Vec<_>>(), &mut raw);
    }
    chunk(Tag::Notes, Codec::Stored, rows.len() as u32, raw.len(), &raw)
}

/// A file of two events with these chunks behind them.
fn with_chunks(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for table in [Table::Threads, Table::Variables, Table::Locations, Table::Frames] {
        writer.name(table, "n").unwrap();
    }
    for _ in 0..2 {
        writer.event(ThreadId(0), Op::Write(VariableId(0)), LocationId(0)).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let end = chunks_of(&bytes).last().unwrap().0;
    [&bytes[..end], &chunks.concat(), &bytes[end..]].concat()
}

/// What is said to a file of two events with these chunks behind them, offsets left out.
fn said(chunks: &[Vec<u8>]) -> String {
    match native::read(&with_chunks(chunks)) {
        Ok((trace, _)) => match trace.notes().unwrap().stack(EventId(1)) {
            Ok(stack) => format!("{stack:?}"),
            Err(error) => error.problem.to_string(),
        },
        Err(error) => error.problem.to_string(),
    }
}

fn numbers(section: Section, count: u32, numbers: &[u32]) -> Vec<u8> {
    let raw: Vec<u8> =
        [section.code(), count].iter().chain(numbers).flat_map(|number| number.to_le_bytes()).collect();
    chunk(Tag::Names, Codec::Stored, count, raw.len(), &raw)
}

#[test]
fn wrong_notes_are_told() {
    let fine = notes_chunk(&[[0, 0], [0, 0]]);
    assert_eq!(said(std::slice::from_ref(&fine)), "None");
    assert_eq!(
        said(&[notes_chunk(&[[0, 0]])]),
        "the notes of 1 events follow a chunk of 2 events, expected the same"
    );
    assert_eq!(said(&[fine.clone(), fine.clone()]), "notes that do not follow their events");
    assert_eq!(
        said(&[chunk(Tag::Notes, Codec::Stored, 2, 12, &[0; 12])]),
        "the notes of 2 events take 12 bytes before compression, expected 8 per event"
    );
    assert_eq!(said(&[notes_chunk(&[[0, 0], [1, 0]])]), "event 1 is noted to have stack 1, but there are 0");
    // Found when asked for: nobody unpacks notes before.
    assert!(said(&[chunk(Tag::Notes, Codec::Zstd, 2, 16, b"no zstd")]).contains("does not decompress"));
    let bytes = with_chunks(&[chunk(Tag::Notes, Codec::Zstd, 2, 16, b"no zstd")]);
    let (trace, _) = native::read(&bytes).unwrap();
    assert!(trace.notes().unwrap().places(&trace, &all(&trace)).is_err());
    assert!(native::write(&trace, Vec::new()).is_err());
}

#[test]
fn wrong_stacks_and_origins_are_told() {
    let said = |section, count, values: &[u32]| {
        let chunks = [notes_chunk(&[[0, 0], [0, 0]]), numbers(section, count, values)];
        said(&chunks)
    };
    assert_eq!(said(Section::Stacks, 2, &[0, 0, 1, 0]), "None");
    assert_eq!(
        said(Section::Stacks, 2, &[0, 0, 2, 0]),
        "stack 2 was called from stack 2, expected an earlier one"
    );
    assert_eq!(said(Section::Stacks, 1, &[0, 1]), "stack 1 has frame 1, but there are 1");
    assert_eq!(
        said(Section::Stacks, 2, &[0, 0]),
        "the names chunk ends inside the stacks: 8 bytes left, expected 16"
    );
    assert_eq!(said(Section::Origins, 1, &[0, NO_PARENT, 0]), "None");
    assert_eq!(
        said(Section::Origins, 1, &[0, 0, 1]),
        "thread 0 was created by thread 0, expected a smaller number"
    );
    assert_eq!(said(Section::Origins, 1, &[1, 0, 1]), "the origin of thread 1 is stated, but there are 1");
}
