//! Schedules of recorded traces travel with what a replay needs.

use check::{Model, Question};
use report::{About, Fingerprint, ReplayPoint, ScheduleFile};
use trace::native::{Distance, Note, Table, ThreadOrigin, Writer, read};
use trace::{EventId, Kind, LocationId, Metadata, Op, ThreadId, Trace, VariableId};

/// Two threads write a variable; the second passed over two places before.
fn recorded() -> Trace {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let command = ["./two words", "100%", "a|b"].map(str::to_owned).to_vec();
    writer.metadata(&Metadata { command, ..Metadata::default() }).unwrap();
    for name in ["main", "T1"] {
        writer.name(Table::Threads, name).unwrap();
    }
    writer.name(Table::Variables, "x|y").unwrap();
    writer.name(Table::Locks, "l").unwrap();
    writer.name(Table::Locations, "a.c:1").unwrap();
    writer.origin(ThreadId(0), ThreadOrigin { parent: None, nth: 0 }).unwrap();
    writer.origin(ThreadId(1), ThreadOrigin { parent: Some(ThreadId(0)), nth: 1 }).unwrap();
    let lock = trace::LockId(0);
    let events = [
        (0, Op::Begin, Distance::Over(0)),
        (0, Op::Fork(ThreadId(1)), Distance::Over(0)),
        (0, Op::Write(VariableId(0)), Distance::Over(4)),
        (1, Op::Begin, Distance::Over(0)),
        (1, Op::Request(lock), Distance::Same),
        (1, Op::Acquire(lock), Distance::Over(1)),
        (1, Op::Release(lock), Distance::Over(0)),
        (1, Op::Write(VariableId(0)), Distance::Over(2)),
    ];
    for (thread, op, step) in events {
        writer.noted_event(ThreadId(thread), op, LocationId(0), Note { stack: None, step }).unwrap();
    }
    let bytes = writer.finish().unwrap();
    read(&bytes).unwrap().0
}

fn file(trace: &Trace, question: &Question, schedule: &[u32]) -> ScheduleFile {
    let schedule: Vec<EventId> = schedule.iter().copied().map(EventId).collect();
    let about = About::new(None, Fingerprint::of(trace));
    ScheduleFile::new(trace, question, Model::ReadsFrom, about, true, &schedule).unwrap()
}

#[test]
fn a_replay_is_told_where_it_meets_each_event() {
    let trace = recorded();
    let race = Question::Race(EventId(2), EventId(7));
    let file = file(&trace, &race, &[0, 1, 3, 4, 5, 6]);
    assert!(file.can_be_replayed());
    let point = |line: &report::Line| {
        line.replay_point.clone().map(|ReplayPoint { thread, place }| (thread.to_string(), place))
    };
    let all: Vec<_> = file.lines.iter().chain(&file.next).filter_map(point).collect();
    let expected = [("0", 0), ("0", 1), ("0.1", 0), ("0.1", 2), ("0.1", 2), ("0.1", 3), ("0", 6), ("0.1", 6)];
    let expected: Vec<_> = expected.map(|(path, place)| (path.to_owned(), Some(place))).to_vec();
    assert_eq!(all, expected);
    assert_eq!(file.next[0].parts(), Some((Kind::Write, "x|y".to_owned(), "a.c:1".to_owned())));

    let text = file.to_string();
    assert!(text.starts_with("foretell-schedule 2\n"), "{text}");
    assert!(text.contains("\ncommand ./two%20words 100%25 a%7Cb\n"), "{text}");
    assert!(text.ends_with("next 2|main|2|w(x%7Cy)|a.c:1|0|6\nnext 7|T1|4|w(x%7Cy)|a.c:1|0.1|6\n"), "{text}");
    let back = ScheduleFile::parse(text.as_bytes()).unwrap();
    assert_eq!(back, file);
    assert_eq!(back.command, trace.metadata().command);
    assert_eq!(back.contradiction(&trace, &race).unwrap(), None);
}

/// Each part of a line that a replay relies on is compared with the trace.
#[test]
fn a_line_that_says_something_else_is_found() {
    let trace = recorded();
    let race = Question::Race(EventId(2), EventId(7));
    let text = file(&trace, &race, &[0, 1, 3, 4, 5, 6]).to_string();
    let last = text.lines().count();
    let wrong = [
        ("next 2|main|2|w(x%7Cy)|a.c:1|0|6", "next 2|main|2|w(x%7Cy)|a.c:1|0|5", last - 1),
        ("next 2|main|2|w(x%7Cy)|a.c:1|0|6", "next 2|main|2|w(x%7Cy)|a.c:1|0.1|6", last - 1),
        ("next 7|T1|4|w(x%7Cy)|a.c:1|0.1|6\n", "", last - 1),
        ("next 2|main|2|w(x%7Cy)|a.c:1", "next 6|T1|3|w(x%7Cy)|a.c:1", last - 1),
    ];
    for (from, to, line) in wrong {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let changed = ScheduleFile::parse(changed.as_bytes()).unwrap();
        let found = changed.contradiction(&trace, &race).unwrap();
        assert_eq!(found.map(|found| found.line), Some(line), "{from} -> {to}");
    }
}

#[test]
fn a_program_travels_with_its_schedule() {
    let trace = recorded();
    let mut file = file(&trace, &Question::Race(EventId(2), EventId(7)), &[0, 1, 3, 4, 5, 6]);
    for build_id in ["", "0badcafe"] {
        let path = "/home/me/two words|x".to_owned();
        file.program =
            Some(trace::Binary { path, build_id: build_id.to_owned(), checksum: "00ff".to_owned() });
        let text = file.to_string();
        assert_eq!(ScheduleFile::parse(text.as_bytes()).unwrap().program, file.program, "{text}");
    }
    let text = file.to_string().replace("program 00ff", "program");
    assert_eq!(ScheduleFile::parse(text.as_bytes()).unwrap_err().line, 7);
}

#[test]
fn a_request_that_was_never_answered_has_no_place() {
    let trace = recorded();
    let mut text = Vec::new();
    trace::text::write(&trace, &mut text).unwrap();
    let file = file(&trace, &Question::Cut(vec![2, 2]), &[0, 1, 3, 4]);
    assert_eq!(file.lines[3].replay_point.as_ref().unwrap().place, Some(2), "that of the acquire");
    assert!(file.next.is_empty());
}

#[test]
fn a_schedule_of_a_trace_from_elsewhere_cannot_be_replayed() {
    let mut text = Vec::new();
    trace::text::write(&recorded(), &mut text).unwrap();
    let trace = trace::text::read(&text[..]).unwrap();
    let race = Question::Race(EventId(2), EventId(7));
    let file = file(&trace, &race, &[0, 1, 3, 4, 5, 6]);
    assert!(!file.can_be_replayed());
    assert!(file.to_string().starts_with("foretell-schedule 1\n"));
    assert_eq!(ScheduleFile::parse(file.to_string().as_bytes()).unwrap(), file);
}

#[test]
fn paths_and_places_that_are_none_are_refused() {
    let trace = recorded();
    let text = file(&trace, &Question::Race(EventId(2), EventId(7)), &[0, 1]).to_string();
    for (what, broken) in [
        ("|0|0\n", "|1|0\n"),
        ("|0|0\n", "|0.x|0\n"),
        ("|0|0\n", "|0|x\n"),
        ("|0|0\n", "|0\n"),
        ("next 2", "next x"),
    ] {
        let broken = text.replacen(what, broken, 1);
        assert!(ScheduleFile::parse(broken.as_bytes()).is_err(), "{broken}");
    }
}
