//! The product as a library: a program is built, recorded, searched, and run into the bug.

use pipeline::build::build;
use pipeline::confirm::{ConfirmOptions, confirm};
use pipeline::predict::{PredictOptions, predict};
use pipeline::recording::{RecordOptions, record};
use pipeline::{Silent, TraceFile};
use report::{FindingKind, Rung};

/// The lock orders the two accesses of `temperature` in the recorded run, and not in all others.
const PROGRAM: &str = "\
#include <pthread.h>
int temperature, journal;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void note(void) {
    pthread_mutex_lock(&lock);
    journal = 1;
    pthread_mutex_unlock(&lock);
}
static void *sensor(void *unused) {
    temperature = 21;
    note();
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, sensor, 0);
    note();
    int shown = temperature;
    pthread_join(thread, 0);
    return shown > 100;
}
";

#[test]
fn a_recorded_race_is_predicted_and_confirmed() {
    if !testing::has("gcc") {
        return testing::absent("gcc");
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("weather.c"), directory.path().join("weather"));
    let trace = directory.path().join("weather.ftr");
    std::fs::write(&source, PROGRAM).unwrap();
    build(&source, &program, "").unwrap();
    let options = RecordOptions { command: vec![program.clone().into()], ..RecordOptions::default() };
    let recording = record(&options, 1, &trace, &mut Silent).unwrap();
    assert!(recording.status.success());

    let file = TraceFile::open(trace.as_os_str(), &mut Silent).unwrap();
    let only = PredictOptions { only: vec![FindingKind::Race], ..PredictOptions::default() };
    let predictions = predict(&file, &only, &mut Silent).unwrap();
    let [race] = &predictions.findings[..] else { panic!("one race: {:?}", predictions.findings) };
    assert_eq!((race.rung, race.id.as_str()), (Rung::Predicted, "race-1"));

    let confirmation =
        confirm(&file, race, &ConfirmOptions { times: 3, ..ConfirmOptions::default() }).unwrap();
    assert_eq!(confirmation.rung, Rung::Confirmed);
    assert_eq!((confirmation.replays.times, confirmation.replays.confirmed), (3, 3));
}

#[test]
fn a_trace_without_a_program_cannot_be_confirmed() {
    let text = "main|fork(A)|a.c:1\nA|w(x)|a.c:2\nmain|w(x)|a.c:3\n";
    let file = TraceFile::in_memory(trace::text::read(text.as_bytes()).unwrap(), "test");
    let predictions = predict(&file, &PredictOptions::default(), &mut Silent).unwrap();
    let error = confirm(&file, &predictions.findings[0], &ConfirmOptions::default()).unwrap_err();
    assert!(error.to_string().contains("race-1"), "{error}");
}
