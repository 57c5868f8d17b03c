//! Commands that the user limits, on a trace that takes longer or more: how long they take, and how much.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::measure::cost_of;

/// How much longer than asked for a command may take: what was found is still printed. Then the process ends itself.
const GRACE: Duration = Duration::from_secs(5);

/// How much memory a command may take that is asked to take so much: a step that is not interrupted may end first.
fn at_most(memory: u64) -> u64 {
    memory + memory / 2 + (256 << 20)
}

/// The trace.
const EVENTS: &str = "10000000";

/// A limited command.
struct Limited {
    arguments: &'static [&'static str],
    time: Option<Duration>,
    memory: Option<u64>,
}

const LIMITED: [Limited; 5] = [
    Limited { arguments: &["predict", "--timeout", "5"], time: Some(Duration::from_secs(5)), memory: None },
    Limited { arguments: &["predict", "--memory", "700M"], time: None, memory: Some(700 << 20) },
    Limited {
        arguments: &["states", "--count", "--timeout", "5"],
        time: Some(Duration::from_secs(5)),
        memory: None,
    },
    Limited { arguments: &["states", "--count", "--memory", "700M"], time: None, memory: Some(700 << 20) },
    Limited {
        arguments: &["decide", "--cut", "T1=500000,T2=500000", "--timeout", "5"],
        time: Some(Duration::from_secs(5)),
        memory: None,
    },
];

/// The table.
pub(super) fn section(foretell: &str, place: &Path) -> Result<String, String> {
    let mut section = format!(
        "\nCommands with limits, on {EVENTS} generated events. Time is wall time here. A command may take {} s longer than asked for, and half as much memory \
         again and 256 MB:\n\n\
         | command | wall s | peak MB | |\n|---|--:|--:|---|\n",
        GRACE.as_secs()
    );
    let file = place.join("limited.ftr").to_string_lossy().into_owned();
    let shape = ["--threads", "8", "--locks", "32", "--events", EVENTS];
    cost_of(&[&[foretell, "generate", "-q", "-o", &file], &shape[..]].concat())?;
    for Limited { arguments, time, memory } in &LIMITED {
        let (verb, options) = arguments.split_first().ok_or("a row has no command")?;
        let cost = cost_of(&[&["timeout", "300", foretell, verb, &file], options].concat());
        let figures = match cost {
            Ok(cost) => {
                let late = time.is_some_and(|time| cost.wall > time + GRACE);
                let large = memory.is_some_and(|memory| cost.peak_bytes > at_most(memory));
                let mark = if late || large { "over" } else { "" };
                format!("{:.1} | {} | {mark}", cost.wall.as_secs_f64(), cost.peak_bytes >> 20)
            }
            Err(_) => "stopped | | over".to_owned(),
        };
        let _ = writeln!(section, "| `{}` | {figures} |", arguments.join(" "));
    }
    Ok(section)
}
