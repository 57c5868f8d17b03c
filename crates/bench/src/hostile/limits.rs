//! Commands that the user limits, on a trace that takes longer or more: how long they take, and how much.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use generate::hostile::Shape;
use xtask::cargo::root;

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

/// Hostile shapes that take long by their nature, and what is done with them within [`SHAPE_TIME`].
const SHAPES: [(Shape, &[&str]); 7] = [
    (Shape::HeldLocks, &["predict", "--only", "race", "--method", "syncp"]),
    (Shape::Workers, &["predict", "--only", "race", "--method", "hb"]),
    (Shape::OwnLocks, &["predict", "--only", "race", "--method", "lockset"]),
    (Shape::OppositeLocks, &["predict", "--only", "deadlock", "--all"]),
    (Shape::LocksAroundAccesses, &["predict", "--only", "atomicity"]),
    (Shape::Posts, &["decide", "--order", "39999,0"]),
    (Shape::Relay, &["states", "--class", "consistent"]),
];
const SHAPE_TIME: &str = "1";

/// Recordings that are limited: by `--max-events`, which is to cost nothing from then on, and by what is kept of the output.
const MAX_EVENTS: &str = "1M";
const PRINTED: &str = "1G";

/// A thread that prints so much.
const PRINTS: &str = "#include <pthread.h>\n#include <unistd.h>\nstatic char zeroes[1 << 20];\n\
                      static void *print(void *unused) { for (int i = 0; i < 1000; i++) if (write(1, zeroes, sizeof zeroes) < 0) break;\n\
                      return unused; }\n\
                      int main(void) { pthread_t thread; pthread_create(&thread, 0, print, 0); return pthread_join(thread, 0); }\n";

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
    for (shape, arguments) in SHAPES {
        section.push_str(&shaped(foretell, place, shape, arguments)?);
    }
    Ok(section + &recordings(foretell, place)?)
}

/// The line of a hostile shape.
fn shaped(foretell: &str, place: &Path, shape: Shape, arguments: &[&str]) -> Result<String, String> {
    let file = place.join(format!("{}.std", shape.name()));
    std::fs::write(&file, shape.text(shape.size()))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let file = file.to_string_lossy();
    let (verb, options) = arguments.split_first().ok_or("a row has no command")?;
    let limit = ["--timeout", SHAPE_TIME];
    let command = [&["timeout", "300", foretell, verb, &*file], options, &limit].concat();
    let figures = match cost_of(&command) {
        Ok(cost) => {
            let mark = if cost.wall > Duration::from_secs(1) + GRACE { "over" } else { "" };
            format!("{:.1} | {} | {mark}", cost.wall.as_secs_f64(), cost.peak_bytes >> 20)
        }
        Err(_) => "stopped | | over".to_owned(),
    };
    let shown = [arguments, &limit].concat().join(" ");
    Ok(format!("| `{shown}` ({}) | {figures} |\n", shape.name()))
}

/// A program in one file, built for recording.
fn compiled(foretell: &str, place: &Path, name: &str, source: &Path) -> Result<String, String> {
    let program = place.join(name).to_string_lossy().into_owned();
    let flags = ["cc", "-O2", "-g", "-pthread", "-o", &program];
    let built = Command::new(foretell).args(flags).arg(source).arg("-lm").status();
    match built.is_ok_and(|status| status.success()) {
        true => Ok(program),
        false => Err(format!("{} does not compile", source.display())),
    }
}

/// What limited recordings cost.
fn recordings(foretell: &str, place: &Path) -> Result<String, String> {
    let program = compiled(foretell, place, "hashmap", &root().join("bench/programs/hashmap.c"))?;
    let source = place.join("prints.c");
    std::fs::write(&source, PRINTS).map_err(|error| format!("{}: {error}", source.display()))?;
    let prints = compiled(foretell, place, "prints", &source)?;
    let mut section = format!(
        "\nLimited recordings. With `--max-events` the program goes on unrecorded, which is to take no longer than recording all of it; of {PRINTED} \
         of output 8 MB are kept:\n\n\
         | command | CPU s | bytes on disk | |\n|---|--:|--:|---|\n"
    );
    let trace = place.join("limited-run.ftr").to_string_lossy().into_owned();
    let record = |options: &[&str], program: &[&str]| {
        cost_of(&[&[foretell, "record", "-q", "-o", &trace], options, &["--"], program].concat())
    };
    let whole = record(&[], &[&program, "400000"])?;
    let size = |path: &str| std::fs::metadata(path).map_or(0, |facts| facts.len());
    let seconds = whole.cpu.as_secs_f64();
    let _ = writeln!(section, "| `record` (hash map) | {seconds:.2} | {} | |", size(&trace));
    let limited = record(&["--max-events", MAX_EVENTS], &[&program, "400000"])?;
    let mark = if limited.cpu > whole.cpu { "over" } else { "" };
    let seconds = limited.cpu.as_secs_f64();
    let bytes = size(&trace);
    let _ = writeln!(section, "| `record --max-events {MAX_EVENTS}` | {seconds:.2} | {bytes} | {mark} |");
    let results = place.join("results");
    let hunt = ["hunt", "-q", "--rounds", "1", "--times", "0", "--results"];
    let cost = cost_of(&[&[foretell], &hunt[..], &[&*results.to_string_lossy(), "--", &prints]].concat());
    let bytes = size(&results.join("latest/output.txt").to_string_lossy());
    let seconds = cost.map_or("-".to_owned(), |cost| format!("{:.2}", cost.cpu.as_secs_f64()));
    let mark = if bytes > 16 << 20 { "over" } else { "" };
    let _ = writeln!(section, "| `hunt` (prints {PRINTED}) | {seconds} | {bytes} | {mark} |");
    Ok(section)
}
