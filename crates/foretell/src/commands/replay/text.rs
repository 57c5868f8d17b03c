//! The result of a replay, in words.

use std::fmt::Write as _;

use pipeline::ending::signal_name;
use pipeline::replay::{ReplayRun, ReplaySummary, ReplayedEvent, Replayer};
use report::printable;
use run::replay::{Ending, Goal, RaceOrder, ReplayVerdict};
use trace::Kind;

/// The summary for a person. Quietly: its first line only.
pub(super) fn in_words(replayer: &Replayer, summary: &ReplaySummary, quiet: bool) -> String {
    let ReplaySummary { finding, result, times, confirmed, .. } = summary;
    let mut text = format!("{}: {}", printable(finding), result.name());
    // Writing to a string cannot fail.
    if *times > 1 {
        let _ = write!(text, ", {confirmed} of {times}");
    }
    text.push('\n');
    if quiet {
        return text;
    }
    if let Some(left) = &summary.divergence {
        let at = replayer.step_in_words(left);
        let _ = writeln!(text, "  the program left the schedule at {at}, in {}", printable(&left.thread));
        let _ = writeln!(text, "    expected: {}", printable(&left.expected));
        let _ = writeln!(text, "    found:    {}", printable(&left.came));
    }
    for (index, run) in summary.runs.iter().enumerate() {
        push_run(&mut text, replayer, run, index == 0);
    }
    if let Some(opinion) = &summary.tsan {
        let said =
            if opinion.reported { "says:" } else { "reports nothing in a run with this synchronisation" };
        let _ = writeln!(text, "  ThreadSanitizer {said}");
        for line in opinion.report.lines() {
            let _ = writeln!(text, "    | {}", visible(line));
        }
    }
    for race in &summary.races {
        let [one, other] = race.locations.each_ref().map(|location| printable(location));
        let object = printable(&race.object);
        let _ = writeln!(text, "  these runs have another data race, on `{object}`: {one} and {other}");
    }
    text
}

fn push_run(text: &mut String, replayer: &Replayer, run: &ReplayRun, first: bool) {
    if run.result == ReplayVerdict::Confirmed {
        if first {
            push_hold(text, replayer, run);
        }
        if let (Some(order), Goal::Race(..)) = (run.order, &replayer.plan.goal) {
            let mut events: Vec<&ReplayedEvent> = run.events.iter().collect();
            if order == RaceOrder::Ba {
                events.reverse();
            }
            let first = events.first().map(|seen| printable(&seen.thread)).unwrap_or_default();
            let _ = writeln!(text, "  {}: {first} first", order.name());
            for seen in events {
                push_values(text, seen);
            }
        }
    }
    if replayer.until.is_some() || matches!(replayer.plan.goal, Goal::State) {
        push_threads(text, run);
    }
    let end = match run.ending {
        Ending::Exited(status) => format!("the program ended with status {status}"),
        Ending::Killed(signal) => format!("the program was killed by signal {signal}{}", signal_name(signal)),
        Ending::Ended => "the program was stopped".to_owned(),
        Ending::Deadlocked => "the program deadlocked and was stopped".to_owned(),
        Ending::TimedOut => "the program exceeded its time limit and was killed".to_owned(),
    };
    let _ = writeln!(text, "  {end}");
    let lines: Vec<&str> = run.output.lines().collect();
    for line in &lines[lines.len().saturating_sub(6)..] {
        let _ = writeln!(text, "    | {}", visible(line));
    }
}

/// A line that the program printed, its tabs as they are.
fn visible(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// Where the threads stood.
fn push_threads(text: &mut String, run: &ReplayRun) {
    for standing in &run.threads {
        let _ = writeln!(text, "    {} ({})", printable(&standing.thread), standing.state.name());
        for frame in &standing.stack {
            let _ = writeln!(text, "        in {}", printable(&frame.to_string()));
        }
    }
}

/// What was seen at the end of the schedule.
fn push_hold(text: &mut String, replayer: &Replayer, run: &ReplayRun) {
    let title = match &replayer.plan.goal {
        Goal::Race(..) => "both threads were at their accesses at the same time:",
        Goal::Deadlock(_) => "each thread waits for the next, and the last for the first:",
        Goal::Order(_) => "the events happened in this order:",
        Goal::Reads(..) => "the read happened as predicted:",
        Goal::State => "the threads reached the predicted state",
        Goal::Failure(_) => "the program failed as it did before",
    };
    let _ = writeln!(text, "  {title}");
    for seen in &run.events {
        let [thread, operation, location] =
            [&seen.thread, &seen.operation, &seen.location].map(|part| printable(part));
        let _ = writeln!(text, "    {thread}: {operation} at {location}");
        for frame in seen.stack.iter().skip(1) {
            let _ = writeln!(text, "        from {}", printable(frame));
        }
        if !matches!(replayer.plan.goal, Goal::Race(..) | Goal::Deadlock(_)) {
            push_values(text, seen);
        }
    }
}

/// What an access saw and left.
fn push_values(text: &mut String, seen: &ReplayedEvent) {
    let reads = matches!(seen.kind, Kind::Read | Kind::AtomicRead | Kind::AtomicUpdate);
    let writes = matches!(seen.kind, Kind::Write | Kind::AtomicWrite | Kind::AtomicUpdate);
    let mut said = Vec::new();
    if let (true, Some(before)) = (reads, &seen.before) {
        let recorded = seen.recorded.as_ref().map(|recorded| format!(" (in the recorded order: {recorded})"));
        said.push(format!("saw {before}{}", recorded.unwrap_or_default()));
    }
    if let (true, Some(before), Some(after)) = (writes, &seen.before, &seen.after) {
        said.push(format!("changed {before} to {after}"));
    }
    if !said.is_empty() {
        let _ = writeln!(text, "      {} {}", printable(&seen.thread), said.join(" and "));
    }
}
