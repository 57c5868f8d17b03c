//! A schedule as a table, one column a thread.
//!
//! A long schedule is abbreviated to its start, its end, what happens around the last times another thread
//! goes on, and the events the question names: that is where a person looks. Counts of branches are left out: they say nothing about
//! other threads.

use std::collections::{HashMap, HashSet};

use check::{Question, Source};
use trace::{EventId, Op, ThreadId, Trace};

use crate::figures::counted;
use crate::values::{changed_reads, unordered_reads};
use crate::words::{Words, listed};

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();

/// Which steps of a long schedule to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Every one.
    All,
    /// Those near the end, and what else matters.
    Telling,
}

/// Up to this number of steps nothing is left out.
const SHORT: usize = 24;
/// Steps shown at the start.
const FIRST: usize = 3;
/// Steps shown at the end.
const LAST: usize = 8;
/// The number of switches between threads that are shown, counted from the end.
const SWITCHES: usize = 8;
/// With more threads than this, the thread is named in each line instead.
const COLUMNS: usize = 6;

/// The table of a schedule that answers a question: each step, then the events that are next. Its
/// events must exist.
pub fn interleaving(trace: &Trace, question: &Question, schedule: &[EventId], steps: Steps) -> String {
    let table = Table { trace, words: Words::new(trace), rows: rows(trace, question, schedule, steps) };
    table.render(&question.named().into_iter().collect())
}

enum Row {
    /// An event, what stands before it, and a remark.
    Event {
        label: String,
        event: EventId,
        remark: String,
    },
    Omitted {
        steps: usize,
        threads: Vec<ThreadId>,
    },
}

fn rows(trace: &Trace, question: &Question, schedule: &[EventId], steps: Steps) -> Vec<Row> {
    let remarks = remarks(trace, question, schedule);
    let is_shown = |event: &EventId| steps == Steps::All || !matches!(trace.op(*event), Op::Branch(_));
    let schedule: Vec<EventId> = schedule.iter().copied().filter(is_shown).collect();
    let shown = shown_steps(trace, question, &schedule, steps);
    let mut rows = Vec::new();
    let mut omitted: Vec<ThreadId> = Vec::new();
    let mut omitted_steps = 0;
    for (index, &event) in schedule.iter().enumerate() {
        if !shown[index] {
            omitted_steps += 1;
            if !omitted.contains(&trace.thread(event)) {
                omitted.push(trace.thread(event));
            }
            continue;
        }
        if omitted_steps > 0 {
            rows.push(Row::Omitted { steps: omitted_steps, threads: std::mem::take(&mut omitted) });
            omitted_steps = 0;
        }
        let remark = remarks.get(&event).cloned().unwrap_or_default();
        rows.push(Row::Event { label: (index + 1).to_string(), event, remark });
    }
    let next = |label: &str, event, remark| Row::Event { label: label.to_owned(), event, remark };
    match question {
        Question::Race(a, b) => {
            rows.extend([*a, *b].map(|event| next("next", event, String::new())));
        }
        Question::Deadlock(blocked) => rows.extend(blocked.iter().enumerate().map(|(index, &event)| {
            let blocker = blocked[(index + 1) % blocked.len()];
            next("blocked", event, why_blocked(trace, event, blocker))
        })),
        Question::Order(_) | Question::Reads(..) | Question::Cut(_) => {}
    }
    rows
}

/// What reads that see something else than in the trace see.
fn remarks(trace: &Trace, question: &Question, schedule: &[EventId]) -> HashMap<EventId, String> {
    let brief = |source| match source {
        Source::Initial => "the initial value".to_owned(),
        Source::Write(write) => format!("event {write}"),
    };
    let unordered = unordered_reads(trace, question, schedule);
    let changed = changed_reads(trace, schedule).into_iter().map(|changed| {
        let saw = trace.reads_from(changed.read).map_or(Source::Initial, Source::Write);
        if unordered.contains(&changed.read) {
            return (changed.read, format!("has seen {}, but does not synchronise with it", brief(saw)));
        }
        (changed.read, format!("sees {}; in the trace {}", brief(changed.sees), brief(saw)))
    });
    changed.collect()
}

fn why_blocked(trace: &Trace, event: EventId, blocker: EventId) -> String {
    let words = Words::new(trace);
    let other = words.thread_of(blocker);
    let object = words.object(trace.op(event));
    match trace.op(event) {
        Op::Join(_) => format!("{other} has not ended"),
        Op::Wait(_) => format!("the signal is to come in {other}"),
        Op::BarrierExit(_) => format!("{other} has not arrived"),
        Op::Take(_) => format!("no permit is left; a post is to come in {other}"),
        _ => format!("{other} holds {object}"),
    }
}

fn shown_steps(trace: &Trace, question: &Question, schedule: &[EventId], steps: Steps) -> Vec<bool> {
    let length = schedule.len();
    if steps == Steps::All || length <= SHORT {
        return vec![true; length];
    }
    let named = question.named();
    let mut shown: Vec<bool> = schedule.iter().map(|event| named.contains(event)).collect();
    shown[..FIRST].fill(true);
    shown[length - LAST..].fill(true);
    let switches = (1..length)
        .rev()
        .filter(|&index| trace.thread(schedule[index - 1]) != trace.thread(schedule[index]))
        .take(SWITCHES);
    for index in switches {
        shown[index - 1] = true;
        shown[index] = true;
    }
    // A single step is no shorter when it is left out.
    for index in 1..length - 1 {
        shown[index] |= shown[index - 1] && shown[index + 1];
    }
    shown
}

struct Table<'t> {
    trace: &'t Trace,
    words: Words<'t>,
    rows: Vec<Row>,
}

impl Table<'_> {
    fn render(&self, named: &HashSet<EventId>) -> String {
        let mut threads: Vec<ThreadId> = Vec::new();
        for row in &self.rows {
            if let Row::Event { event, .. } = row
                && !threads.contains(&self.trace.thread(*event))
            {
                threads.push(self.trace.thread(*event));
            }
        }
        threads.sort_unstable();
        let narrow = threads.len() <= COLUMNS;
        let mut headings = vec!["step".to_owned(), "event".to_owned()];
        match narrow {
            true => headings.extend(threads.iter().map(|&thread| self.words.thread(thread))),
            false => headings.extend(["thread".to_owned(), "does".to_owned()]),
        }
        headings.extend(["at".to_owned(), String::new()]);

        let cells = |label: &str, event: EventId, remark: &str| -> Vec<String> {
            let thread = self.trace.thread(event);
            let mut cells = vec![label.to_owned(), event.to_string()];
            let operation = self.words.operation(event);
            match narrow {
                true => cells.extend(threads.iter().map(|&column| match column == thread {
                    true => operation.clone(),
                    false => String::new(),
                })),
                false => cells.extend([self.words.thread(thread), operation]),
            }
            cells.extend([self.words.location(event), remark.to_owned()]);
            cells
        };
        let filled: Vec<Option<Vec<String>>> = self
            .rows
            .iter()
            .map(|row| match row {
                Row::Event { label, event, remark } => Some(cells(label, *event, remark)),
                Row::Omitted { .. } => None,
            })
            .collect();
        let widths: Vec<usize> = (0..headings.len())
            .map(|column| {
                let cells = filled.iter().flatten().map(|cells| cells[column].chars().count());
                cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
            })
            .collect();

        let mut text = format!("{DIM}{}{DIM:#}\n", line(&headings, &widths, ' '));
        for (row, cells) in self.rows.iter().zip(&filled) {
            match (row, cells) {
                (Row::Event { event, .. }, Some(cells)) if named.contains(event) => {
                    text.push_str(&format!("{BOLD}{}{BOLD:#}\n", line(cells, &widths, '>')));
                }
                (Row::Event { .. }, Some(cells)) => {
                    text.push_str(&line(cells, &widths, ' '));
                    text.push('\n');
                }
                (Row::Omitted { steps, threads }, _) => text.push_str(&self.omitted(*steps, threads)),
                (Row::Event { .. }, None) => unreachable!("every event has its cells"),
            }
        }
        text
    }

    fn omitted(&self, steps: usize, threads: &[ThreadId]) -> String {
        let whose = match threads.len() {
            0..=4 => listed(threads.iter().map(|&thread| self.words.thread(thread))),
            more => counted(more as u64, "thread"),
        };
        format!("{DIM}     ... {} of {whose}{DIM:#}\n", counted(steps as u64, "step"))
    }
}

/// The cells of a line; the first two are numbers and stand at the right of their columns.
fn line(cells: &[String], widths: &[usize], margin: char) -> String {
    let mut line = format!("{margin}");
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        line.push_str("  ");
        let gap = " ".repeat(width - cell.chars().count());
        if column < 2 {
            line.push_str(&gap);
            line.push_str(cell);
        } else {
            line.push_str(cell);
            line.push_str(&gap);
        }
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_branches_are_left_out() {
        let text = "a|w(x)|1\nb|r(x)|2\nb|branch(3)|3\nb|w(y)|4\na|w(y)|5\n";
        let trace = trace::text::read(text.as_bytes()).unwrap();
        let schedule: Vec<EventId> = (0..4).map(EventId::new).collect();
        let question = Question::Order(vec![EventId::new(3), EventId::new(4)]);
        let steps_of = |steps| -> Vec<String> {
            let table = interleaving(&trace, &question, &schedule, steps);
            let plain = anstream::adapter::strip_str(&table).to_string();
            let rows = plain.lines().skip(1).map(|line| line.split_whitespace().take(3).collect::<Vec<_>>());
            rows.map(|row| row[usize::from(row[0] == ">")..][..2].join(" ")).collect()
        };
        assert_eq!(steps_of(Steps::Telling), ["1 0", "2 1", "3 3"]);
        assert_eq!(steps_of(Steps::All), ["1 0", "2 1", "3 2", "4 3"]);
    }
}
