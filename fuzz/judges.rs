//! What each kind of input must not do, whatever its bytes: panic, hang, or be accepted and not hold. The fuzz targets and the test
//! `mutations` of `crates/foretell` judge by these functions.

use std::sync::LazyLock;
use std::time::Duration;

use check::{check_refutation, check_schedule};
use load::{InMemory, Options, Recorded, load_into};
use pipeline::rules::RulesFile;
use pipeline::{Bounds, Silent, saved};
use report::{Evidence, ScheduleFile, Suppressions};
use states::Predicate;
use trace::{Metadata, Trace, text};
use wire::Kind;

use writer::Writer;

#[path = "../crates/wire/tests/writer/mod.rs"]
mod writer;

/// A trace with something of everything, which evidence, findings, rules and predicates may be about.
pub(crate) static TRACE: LazyLock<Trace> = LazyLock::new(|| {
    text::read(&include_bytes!("../corpus/examples/account.std")[..]).expect("the example is a trace")
});

/// A raw log: what can be read of it is a trace, or the loader says what is wrong, or it ends when its time is over: a few bytes can stand
/// for millions of events.
pub(crate) fn raw_log(bytes: &[u8]) {
    let recorded = Recorded { log: bytes, modules: "", directory: std::path::Path::new("") };
    let options = Options { bounds: Bounds::start(Some(LONGEST), None), ..Options::default() };
    if let Ok((_, memory)) = load_into(recorded, &Metadata::default(), &options, InMemory::default()) {
        let _ = memory.finish();
    }
}

/// A raw log of whole records in any order and with any arguments, a few bytes to an event: what a program does that Foretell has not foreseen.
pub(crate) fn events(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let mut writer = Writer::new(THREADS, 1);
    while let (Some(kind), Some(thread), Some(pc)) = (bytes.next(), bytes.next(), bytes.next()) {
        let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
        let pc = 0x40_1000 + 16 * u64::from(pc);
        writer.switch(usize::from(thread) % THREADS);
        let address = number(bytes.next()).wrapping_add(if kind.is_schedulable() { HEAP } else { 0 });
        if let Some(arguments) = kind.arguments() {
            let arguments: Vec<u64> = (0..arguments).map(|_| number(bytes.next())).collect();
            let length = if kind.has_text() { bytes.next().unwrap_or(0) % 40 } else { 0 };
            let text: Vec<u8> = bytes.by_ref().take(length.into()).collect();
            writer.detailed(kind, pc, address, &arguments, &text);
        } else {
            writer.simple(kind, pc, address);
        }
    }
    raw_log(&writer.file());
}

/// The time that a log may take.
const LONGEST: Duration = Duration::from_secs(2);
const THREADS: usize = 8;
/// Where most objects lie.
const HEAP: u64 = 0x1000_0000;

/// Small numbers mostly, so that events meet; a few that readers trip over.
fn number(byte: Option<u8>) -> u64 {
    match byte.unwrap_or(0) {
        byte @ 0..240 => byte.into(),
        byte @ 240..246 => HEAP + 8 * u64::from(byte - 240),
        246 => 0x7ff8,
        247 => 4096,
        248 => 1 << 20,
        249 => u64::from(u32::MAX),
        250 => 1 << 32,
        251 => 1 << 63,
        252 => u64::MAX - HEAP,
        253 => u64::MAX / 2,
        254 => u64::MAX - HEAP - 7,
        255 => (1 << 40) - HEAP,
    }
}

/// Evidence: read, and checked against the trace.
pub(crate) fn evidence(bytes: &[u8]) {
    if let Ok(evidence) = Evidence::parse(bytes) {
        holds(&evidence);
        let again = serde_json::to_vec(&evidence).expect("evidence is JSON");
        assert_eq!(Evidence::parse(&again).expect("what was written reads"), evidence);
    }
}

fn holds(evidence: &Evidence) {
    let Ok(question) = evidence.question.about(&TRACE) else { return };
    if question.validate(&TRACE).is_err() {
        return;
    }
    if let Some(schedule) = &evidence.schedule {
        let _ = check_schedule(&TRACE, &question, evidence.model, schedule);
    }
    if let Some(refutation) = &evidence.refutation {
        let _ = check_refutation(&TRACE, &question, evidence.model, refutation);
    }
}

/// A schedule file: read, written again, and compared with the trace.
pub(crate) fn schedule(bytes: &[u8]) {
    let Ok(file) = ScheduleFile::parse(bytes) else { return };
    let _ = ScheduleFile::parse(file.to_string().as_bytes());
    let _ = pipeline::recorded_command::command_of_schedule(&file);
    if let Ok(question) = file.question.about(&TRACE) {
        let _ = file.contradiction(&TRACE, &question);
    }
    holds(&file.into_evidence());
}

/// Findings: read, and verified against the trace.
pub(crate) fn findings(bytes: &[u8]) {
    if let Ok(predictions) = saved::parse("findings.json", bytes) {
        let _ = saved::verify(&TRACE, None, &predictions, Bounds::NONE);
    }
}

/// A file of rules: read, and resolved in the trace.
pub(crate) fn rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(file) = RulesFile::parse("rules.toml".to_owned(), text.to_owned()) {
        let _ = file.orders(&TRACE, &mut Silent);
        let _ = file.predicates(&TRACE);
    }
}

/// A predicate over global states: read, and resolved in the trace.
pub(crate) fn predicate(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Predicate::parse(text, &TRACE);
    }
}

/// A file of suppressions.
pub(crate) fn suppressions(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Suppressions::parse(text);
    }
}

/// A text trace, read in every way.
pub(crate) fn lenient(bytes: &[u8]) {
    use trace::text::{ReadOptions, WaitConvention, read_as};
    for wait in [WaitConvention::Detect, WaitConvention::Begins, WaitConvention::Woken] {
        for lenient in [false, true] {
            let _ = read_as(bytes, ReadOptions { wait, lenient, length: None });
        }
    }
}

/// A native trace, scrubbed: what could be read can still be, and has no values any more.
pub(crate) fn scrubbed(bytes: &[u8]) {
    use trace::native::{read, scrub};
    let mut clean = Vec::new();
    if scrub(bytes, &mut clean).is_ok()
        && let Ok((trace, _)) = read(bytes)
    {
        let (again, _) = read(&clean).expect("a scrubbed trace can be read");
        assert!(again.metadata().environment.is_empty());
        assert_eq!(again.len(), trace.len());
    }
}
