//! Findings as compilers print errors, `file:line:column: error: text`: what editors jump to.

use findings::{Finding, Rung};

use crate::place::SourcePlace;
use crate::terminal::title;
use crate::words::printable;

/// A line for each place of a finding, the first with what it is.
pub fn quickfix(finding: &Finding) -> String {
    let level = match finding.rung {
        Rung::Confirmed | Rung::Predicted => "error",
        Rung::Diverged | Rung::Likely | Rung::Possible => "warning",
    };
    let mut lines = String::new();
    let mut places: Vec<&String> = finding.locations.iter().collect();
    places.dedup();
    for (number, location) in places.into_iter().enumerate() {
        let place = match SourcePlace::of(location) {
            Some(SourcePlace { file, line, column }) => {
                format!("{}:{line}:{}", printable(file), column.unwrap_or(1))
            }
            // Without a line there is nowhere to jump to.
            None => printable(location),
        };
        lines.push_str(&match number {
            0 => format!("{place}: {level}: {}: {}, {}\n", finding.id, title(finding), finding.rung.name()),
            _ => format!("{place}: note: {}: here, too\n", finding.id),
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_a_line_that_editors_understand() {
        let finding = serde_json::json!({
            "id": "race-1", "kind": "race", "rung": "confirmed", "guaranteed": true, "events": [1, 2], "object": "x",
            "locations": ["bank.c:9:5", "bank.c:9:5", "lib.c:20"], "count": 1,
            "question": { "race": [1, 2] }, "schedule": [0, 1]
        });
        let finding: Finding = serde_json::from_value(finding).unwrap();
        let expected =
            "bank.c:9:5: error: race-1: data race on x, confirmed\nlib.c:20:1: note: race-1: here, too\n";
        assert_eq!(quickfix(&finding), expected);
        let elsewhere = Finding { locations: vec!["pc 0x17".to_owned()], rung: Rung::Possible, ..finding };
        assert_eq!(quickfix(&elsewhere), "pc 0x17: warning: race-1: data race on x, possible\n");
    }
}
