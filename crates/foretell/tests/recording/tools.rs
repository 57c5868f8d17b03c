//! Real programs from Debian's sources, which `cargo xtask setup` puts below `target/sources`: built unmodified with our compilers, recorded on real input,
//! with the output that they should have.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Workshop, succeeded};

struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    /// What undoes its work.
    undo: &'static str,
}

const PIGZ: Tool =
    Tool { name: "pigz", arguments: &["-p", "4", "-b", "128", "-k", "-c", "input"], undo: "gzip" };
const PBZIP2: Tool = Tool { name: "pbzip2", arguments: &["-p4", "-b1", "-k", "-c", "input"], undo: "bzip2" };

/// Bytes of an executable: this test itself.
const INPUT: usize = 1_500_000;

fn source(tool: &Tool) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sources/debian");
    ["own", "stable"].iter().find_map(|release| {
        let unpacked = std::fs::read_dir(sources.join(release).join(tool.name)).ok()?;
        unpacked.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
    })
}

fn builds_and_records(tool: &Tool) {
    let Some(source) = source(tool) else {
        return testing::skip(&format!("there are no sources of {}", tool.name));
    };
    if !testing::has("make") || !testing::has(tool.undo) {
        return;
    }
    let workshop = Workshop::new();
    succeeded(workshop.other("cp", &["-r"]).arg(source).arg(workshop.path("built")));
    let compilers = ["cc", "c++"].map(|language| format!("{} {language}", env!("CARGO_BIN_EXE_foretell")));
    let [cc, cxx] = &compilers;
    let make = ["-s", "-C", "built", &format!("CC={cc}"), &format!("CXX={cxx}")].map(str::to_owned);
    succeeded(&mut workshop.other("make", &make));
    let itself = std::fs::read(std::env::current_exe().expect("a test is a file")).expect("it can be read");
    let input = &itself[..itself.len().min(INPUT)];
    std::fs::write(workshop.path("input"), input).expect("it can be written");
    let program = format!("built/{}", tool.name);
    let recorded =
        succeeded(&mut workshop.foretell(&[&["record", "-q", "--", &program], tool.arguments].concat()));
    std::fs::write(workshop.path("packed"), &recorded.stdout).expect("it can be written");
    let packed = std::fs::File::open(workshop.path("packed")).expect("it is there");
    let unpacked = succeeded(workshop.other(tool.undo, &["-dc"]).stdin(Stdio::from(packed)));
    assert!(unpacked.stdout == input, "{}: what comes out is what went in", tool.name);
    let trace = workshop.trace("foretell.ftr");
    assert!(trace.symbols().threads.len() >= 5 && trace.len() > 500, "{} events", trace.len());
    succeeded(&mut workshop.foretell(&["predict", "foretell.ftr", "--only", "race,deadlock,order"]));
}

#[test]
fn pigz_is_built_and_recorded() {
    builds_and_records(&PIGZ);
}

#[test]
fn pbzip2_is_built_and_recorded() {
    builds_and_records(&PBZIP2);
}
