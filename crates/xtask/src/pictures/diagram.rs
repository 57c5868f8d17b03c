//! A run as a diagram: a column for each thread, time going down, and arrows for what orders the threads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escaped;

const COLUMN: f64 = 230.0;
const ROW: f64 = 27.0;
const TOP: f64 = 46.0;
const LEFT: f64 = 20.0;

/// A recorded run.
pub(super) struct Run {
    threads: Vec<String>,
    events: Vec<Event>,
}

struct Event {
    thread: usize,
    operation: String,
    object: String,
}

/// One box: the event and the row it is in.
type Place = (usize, usize);

impl Run {
    /// Reads a trace in the text format.
    pub(super) fn parse(text: &str) -> Result<Run, String> {
        let mut run = Run { threads: Vec::new(), events: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut parts = line.split('|');
            let (Some(thread), Some(call)) = (parts.next(), parts.next()) else {
                return Err(format!("no event: {line}"));
            };
            let number = run.threads.iter().position(|known| known == thread).unwrap_or_else(|| {
                run.threads.push(thread.to_owned());
                run.threads.len() - 1
            });
            let (operation, object) = call.trim_end_matches(')').split_once('(').unwrap_or((call, ""));
            run.events.push(Event {
                thread: number,
                operation: operation.to_owned(),
                object: object.to_owned(),
            });
        }
        Ok(run)
    }

    /// The run as it was recorded.
    pub(super) fn recorded(&self, marked: &[usize]) -> String {
        let places: Vec<Place> = (0..self.events.len()).map(|event| (event, event)).collect();
        self.drawn("the recorded run", &places, marked)
    }

    /// A schedule, and the events that are next at its end, side by side.
    pub(super) fn predicted(&self, schedule: &[usize], next: &[usize]) -> String {
        let done = schedule.iter().enumerate().map(|(row, &event)| (event, row));
        let last = next.iter().map(|&event| (event, schedule.len()));
        self.drawn("the predicted schedule", &done.chain(last).collect::<Vec<_>>(), next)
    }

    fn drawn(&self, title: &str, places: &[Place], marked: &[usize]) -> String {
        let rows = places.iter().map(|&(_, row)| row + 1).max().unwrap_or(0);
        let (width, height) =
            (LEFT * 2.0 + COLUMN * self.threads.len() as f64, TOP + ROW * rows as f64 + 10.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" aria-label=\"{title}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" fill=\"#7a869a\"/></marker></defs>\n\
             <g font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
        );
        for (number, thread) in self.threads.iter().enumerate() {
            let x = centre(number);
            let _ = writeln!(
                svg,
                "<text x=\"{x:.0}\" y=\"24\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\
                 <line x1=\"{x:.0}\" y1=\"32\" x2=\"{x:.0}\" y2=\"{:.0}\" stroke=\"#d5dae2\"/>",
                escaped(thread),
                height - 6.0
            );
        }
        for (from, to) in self.orders(places) {
            self.arrow(&mut svg, from, to);
        }
        for &(event, row) in places {
            self.boxed(&mut svg, (event, row), marked.contains(&event));
        }
        svg.push_str("</g>\n</svg>\n");
        svg
    }

    /// What orders threads in this run: forks, joins, and the hand-over of locks.
    fn orders(&self, places: &[Place]) -> Vec<(Place, Place)> {
        let mut orders = Vec::new();
        let mut released: BTreeMap<&str, Place> = BTreeMap::new();
        let first = |thread: &str| {
            places.iter().copied().find(|&(event, _)| self.threads[self.events[event].thread] == thread)
        };
        let last = |thread: &str| {
            places.iter().copied().rev().find(|&(event, _)| self.threads[self.events[event].thread] == thread)
        };
        for &place in places {
            let Event { thread, operation, object } = &self.events[place.0];
            match operation.as_str() {
                "fork" => orders.extend(first(object).map(|begin| (place, begin))),
                "join" => orders.extend(last(object).filter(|end| end.1 < place.1).map(|end| (end, place))),
                "rel" => drop(released.insert(object, place)),
                "acq" => {
                    let before =
                        released.get(object.as_str()).filter(|from| self.events[from.0].thread != *thread);
                    orders.extend(before.map(|&from| (from, place)));
                }
                _ => {}
            }
        }
        orders
    }

    fn arrow(&self, svg: &mut String, from: Place, to: Place) {
        let (x1, x2) = (centre(self.events[from.0].thread), centre(self.events[to.0].thread));
        let towards = if x2 > x1 { 1.0 } else { -1.0 };
        let (x1, x2) = (x1 + towards * half(), x2 - towards * half());
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.0}\" y1=\"{:.1}\" x2=\"{x2:.0}\" y2=\"{:.1}\" stroke=\"#7a869a\" marker-end=\"url(#tip)\"/>",
            middle(from.1),
            middle(to.1)
        );
    }

    fn boxed(&self, svg: &mut String, (event, row): Place, is_marked: bool) {
        let Event { thread, operation, object } = &self.events[event];
        let (fill, stroke) = match (is_marked, operation.as_str()) {
            (true, _) => ("#ffe1e1", "#d43f3f"),
            (false, "acq" | "rel" | "req") => ("#eaf1fd", "#7c9ed9"),
            _ => ("#f4f5f7", "#b5bcc9"),
        };
        let (x, y) = (centre(*thread), middle(row));
        let text = format!("{event}: {} {object}", in_words(operation));
        let _ = writeln!(
            svg,
            "<rect x=\"{:.0}\" y=\"{:.1}\" width=\"{:.0}\" height=\"21\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"/>\
             <text x=\"{x:.0}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x - half(),
            y - 10.5,
            2.0 * half(),
            y + 4.0,
            escaped(text.trim_end())
        );
    }
}

fn centre(thread: usize) -> f64 {
    LEFT + COLUMN * (thread as f64 + 0.5)
}

fn half() -> f64 {
    COLUMN * 0.39
}

fn middle(row: usize) -> f64 {
    TOP + ROW * (row as f64 + 0.5)
}

/// An operation of the text format, spelled out.
fn in_words(operation: &str) -> &str {
    match operation {
        "r" => "read",
        "w" => "write",
        "acq" => "acquire",
        "rel" => "release",
        "req" => "request",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "main|fork(A)|a:1\nA|acq(m)|a:2\nA|rel(m)|a:3\nmain|acq(m)|a:4\nmain|join(A)|a:5\n";

    #[test]
    fn forks_joins_and_hand_overs_are_arrows() {
        let run = Run::parse(TEXT).unwrap();
        let places: Vec<Place> = (0..5).map(|event| (event, event)).collect();
        let orders: Vec<_> = run.orders(&places).iter().map(|(from, to)| (from.0, to.0)).collect();
        assert_eq!(orders, [(0, 1), (2, 3), (2, 4)]);
        assert_eq!(run.recorded(&[1]).matches("#d43f3f").count(), 1);
    }

    #[test]
    fn what_is_next_is_side_by_side() {
        let picture = Run::parse(TEXT).unwrap().predicted(&[0], &[1, 3]);
        let y = format!("y=\"{:.1}\"", middle(1) - 10.5);
        assert_eq!(picture.matches(&y).count(), 2);
    }
}
