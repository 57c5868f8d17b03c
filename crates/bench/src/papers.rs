//! `cargo xtask bench papers`: the papers' tables again, ours next to the papers' figures, in one report.
//!
//! None of the papers' inputs is public. Table 1 of paper 1 and table 3 of paper 5 are re-run on the corpus's reconstructions of their rows,
//! table A1 of paper 4 and table 2 of paper 5 on traces generated to the sizes that the papers print. Table 1 of paper 2 and
//! the tables of paper 3 have sections of their own, which this one points to.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use xtask::Outcome;
use xtask::cargo::{cargo_output, release_build, root};
use xtask::machine::circumstances;
use xtask::results::{report, rows, store_report};

/// A row of paper 1's table 1: potential races, and those of UCG, of its own method and of CP; seconds for one of the latter three.
struct Races(&'static str, [u64; 4], [f64; 3]);

#[rustfmt::skip]
const PAPER_1: &[Races] = &[
    Races("cp1", [5, 1, 0, 0], [0.021, 0.029, 0.002]),
    Races("cp2b", [11, 3, 1, 1], [0.020, 0.043, 0.005]),
    Races("cp2", [11, 3, 1, 1], [0.030, 0.044, 0.002]),
    Races("cp4", [3, 1, 1, 1], [0.015, 0.019, 0.002]),
    Races("cp5", [12, 1, 0, 0], [0.042, 0.049, 0.006]),
    Races("cp5b", [9, 1, 1, 0], [0.029, 0.035, 0.003]),
    Races("cp6", [19, 1, 0, 0], [0.043, 0.059, 0.005]),
    Races("cp7", [20, 1, 1, 0], [0.073, 0.080, 0.008]),
    Races("cp8", [7, 1, 1, 1], [0.030, 0.035, 0.004]),
    Races("vt1", [1, 1, 1, 1], [0.007, 0.009, 0.002]),
    Races("vt2", [1, 1, 0, 0], [0.015, 0.021, 0.004]),
    Races("vt2b", [1, 1, 1, 0], [0.008, 0.012, 0.003]),
    Races("vt2c", [1, 1, 1, 0], [0.015, 0.020, 0.005]),
    Races("vt2d", [1, 1, 1, 0], [0.017, 0.023, 0.005]),
    Races("vtex4", [3, 1, 0, 0], [0.016, 0.020, 0.003]),
    Races("vtex5", [3, 1, 1, 0], [0.032, 0.011, 0.005]),
    Races("vtex6", [5, 0, 0, 0], [0.027, 0.008, 0.007]),
    Races("UpdateTimer", [6, 1, 1, 1], [0.026, 0.034, 0.006]),
    Races("SeekToItem", [7, 1, 1, 1], [0.021, 0.031, 0.004]),
    Races("TimerThread", [0, 0, 0, 0], [0.020, 0.024, 0.004]),
    Races("NodeState", [1, 1, 1, 1], [0.047, 0.052, 0.004]),
    Races("MysqlLog", [2, 2, 2, 2], [0.033, 0.039, 0.004]),
    Races("Loadscript", [1, 0, 0, 0], [0.048, 0.055, 0.006]),
    Races("FileTransport", [2, 2, 2, 2], [0.039, 0.048, 0.009]),
    Races("CreateThread", [3, 2, 1, 1], [0.041, 0.046, 0.003]),
    Races("thrift-1606", [2, 1, 1, 1], [0.002, 0.003, 0.000]),
    Races("apache-21285", [35, 8, 2, 2], [0.019, 0.043, 0.012]),
    Races("apache-25520", [5, 3, 1, 1], [0.019, 0.033, 0.001]),
    Races("maple-cir-list", [43, 2, 1, 1], [0.137, 0.243, 0.047]),
    Races("mysql2011", [33, 3, 3, 3], [0.011, 0.021, 0.004]),
    Races("pfscan-1.0-r3", [117, 6, 3, 0], [0.007, 0.158, 0.064]),
    Races("aget-0.4.comb", [513, 405, 11, 10], [0.132, 0.357, 0.042]),
];

/// A row of paper 5's table 3: variables with a violation by OA and AVFilter, and violations by UA.
struct Violations(&'static str, [u64; 3]);

const PAPER_5: &[Violations] = &[
    Violations("atom001", [1, 1, 0]),
    Violations("atom001a", [1, 0, 0]),
    Violations("atom002", [1, 0, 0]),
    Violations("atom002a", [1, 0, 0]),
    Violations("bank-av-8", [8, 8, 0]),
    Violations("bank-sav-8", [8, 8, 0]),
    Violations("bank-nav-8", [8, 0, 0]),
];

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let mut section = format!("## The papers' tables\n\n{}\n", circumstances());
    section.push_str(
        "`cargo xtask bench papers`. The papers' inputs are not public: every row is a reconstruction (see corpus/README.md) or generated to the sizes that the paper prints. Each figure is ours / the paper's.\n\n",
    );
    section.push_str(&paper_1(&foretell)?);
    section.push_str(
        "### Paper 2, table 1: global states\n\nThe report *[Global states](states.md)* has this table, with the paper's figures and ours (`cargo xtask bench states`).\n\n",
    );
    section.push_str(&paper_3()?);
    section.push_str(&printed(
        "### Paper 4, table A1: nondeterministic reads\n\nTraces generated to the numbers of threads, events, locks and variables of each row, with about as many \
         witnesses; how many of them are feasible depends on details that the row does not contain.\n\n",
        "nondeterminism",
    )?);
    section.push_str(&printed(
        "### Paper 5, table 2: atomicity violations in large traces\n\nGenerated traces with as many events as the paper's. The paper's over-approximation, filter and \
         seconds: Apache web server 155, 1, 12.1 s; FFmpeg 29, 0, 11.6 s; MySQL 5,202, 1, 4,322 s. Here there is one candidate or finding for each three source locations.\n\n",
        "table2",
    )?);
    section.push_str(&paper_5(&foretell)?);
    let (equal, all) = counts_like_the_papers(&section);
    let headline = format!("{equal} of {all} counts are the papers' own (reconstructed inputs)");
    store_report("papers", &headline, &section)
}

/// Of the cells `ours / the paper's` with two whole numbers: in how many they are equal, and how many there are.
fn counts_like_the_papers(section: &str) -> (usize, usize) {
    let cells = section.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('|'));
    let pairs = cells.filter_map(|cell| {
        let (ours, theirs) = cell.trim().split_once(" / ")?;
        Some((ours.parse::<u64>().ok()?, theirs.parse::<u64>().ok()?))
    });
    let pairs: Vec<(u64, u64)> = pairs.collect();
    (pairs.iter().filter(|(ours, theirs)| ours == theirs).count(), pairs.len())
}

/// The rows of a table that the bench of other bugs prints, as they are.
fn printed(title: &str, table: &str) -> Result<String, String> {
    eprintln!("measuring: {table}");
    let bench = ["bench", "--quiet", "--package", "foretell-papers", "--bench", "bugs", "--", table];
    let mut text = title.to_owned();
    for line in cargo_output(&bench)?.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(text, "    {}", line.trim_end());
    }
    text.push('\n');
    Ok(text)
}

fn paper_1(foretell: &str) -> Result<String, String> {
    let mut table = String::from(
        "### Paper 1, table 1: races\n\nPairs of events that each method reports, counted by `foretell predict --all --only race --method M`; microseconds for a potential race by `foretell compare`, \
         the paper's seconds for a check. All traces are reconstructions; those of the second half are far smaller than the originals.\n\n\
         | row | trace | potential | ucg | poly | cp | us ucg / s | us poly / s | us cp / s |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let traces = expected_rows()?;
    for Races(row, [potential, ucg, poly, cp], [s_ucg, s_poly, s_cp]) in PAPER_1 {
        let (trace, _) = traces
            .iter()
            .find(|(_, text)| text.contains(&format!("row = \"{row}\"")))
            .ok_or(format!("the corpus has no {row}"))?;
        let compared = compare(foretell, "race", trace)?;
        let ours = |method: &str| reported(foretell, method, trace);
        let micros = |method: &str| {
            let methods = compared["rows"][0]["methods"].as_array();
            let found = methods.and_then(|all| all.iter().find(|of| of["method"] == method));
            found.and_then(|of| of["microseconds_a_candidate"].as_f64()).unwrap_or(f64::NAN)
        };
        let name = trace.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            table,
            "| {row} | {name} | {} / {potential} | {} / {ucg} | {} / {poly} | {} / {cp} | {:.1} / {s_ucg:.3} | {:.1} / {s_poly:.3} | {:.1} / {s_cp:.3} |",
            ours("lockset")?,
            ours("ucg")?,
            ours("poly")?,
            ours("cp")?,
            micros("ucg"),
            micros("poly"),
            micros("cp"),
        );
    }
    table.push('\n');
    Ok(table)
}

/// The traces of the corpus that stand for a row, with their expectations.
fn expected_rows() -> Result<Vec<(PathBuf, String)>, String> {
    const EXPECTATION: &str = ".expect.toml";
    let mut rows = Vec::new();
    for folder in ["races", "programs"] {
        let folder = root().join("corpus").join(folder);
        let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(EXPECTATION) else { continue };
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            rows.push((PathBuf::from(format!("{name}.std")), text));
        }
    }
    Ok(rows)
}

/// How many pairs of events a method reports: the engine those that race, the others what they take for a race.
fn reported(foretell: &str, method: &str, trace: &Path) -> Result<u64, String> {
    let found = said(foretell, &["predict", "--json", "--all", "--only", "race", "--method", method], trace)?;
    let pairs = if method == "poly" {
        found["findings"].as_array().map(|findings| findings.len() as u64)
    } else {
        found["candidates"].as_u64()
    };
    pairs.ok_or(format!("{}: nothing was counted", trace.display()))
}

/// Table 1 from the section about scenarios; where table 2 is.
fn paper_3() -> Result<String, String> {
    let scenarios = report("scenarios")?;
    let columns = rows(&scenarios, "all").into_iter().next().ok_or("no row for all scenarios")?;
    let [_, programs, errors, tsan_one, tsan, foretold, confirmed, ..] = columns.as_slice() else {
        return Err(format!("unknown columns: {columns:?}"));
    };
    Ok(format!(
        "### Paper 3, table 1: scenarios\n\nThe programs of corpus/scenarios are reconstructions. Our figures are from the report *[Scenarios](scenarios.md)* (`cargo xtask bench scenarios`), which lists them one by one.\n\n\
         | whose | scenarios | errors | found | confirmed by replay | by ThreadSanitizer |\n|---|---|---|---|---|---|\n\
         | the paper's | 48 | 31 | 31 | 31 | 21 |\n\
         | ours | {programs} | {errors} | {foretold} | {confirmed} | {tsan} in 100 runs, {tsan_one} in one |\n\n\
         ### Paper 3, table 2: applications\n\nThe report *[Real programs](peers.md)* has this table, with the paper's figures and ours (`cargo xtask bench peers`).\n\n"
    ))
}

fn paper_5(foretell: &str) -> Result<String, String> {
    let mut table = String::from(
        "### Paper 5, table 3: shared variables with an atomicity violation\n\nThe programs are reconstructions, constructed so that the paper's columns come out as printed; `exact` has no column there.\n\n\
         | program | over / OA | avfilter / AVFilter | under / UA | exact | seconds, all four |\n|---|---|---|---|---|---|\n",
    );
    for Violations(program, [over, filtered, under]) in PAPER_5 {
        let trace = root().join(format!("corpus/atomicity/{program}.std"));
        let compared = compare(foretell, "atomicity", &trace)?;
        let methods = &compared["atomicity"][0]["methods"];
        let variables = |index: usize| methods[index]["variables"].as_array().map_or(0, Vec::len);
        let seconds: f64 = (0..4).filter_map(|index: usize| methods[index]["seconds"].as_f64()).sum();
        let _ = writeln!(
            table,
            "| {program} | {} / {over} | {} / {filtered} | {} / {under} | {} | {seconds:.4} |",
            variables(0),
            variables(1),
            variables(2),
            variables(3)
        );
    }
    table.push('\n');
    Ok(table)
}

/// A table of `foretell compare` about one trace.
fn compare(foretell: &str, kind: &str, trace: &Path) -> Result<Value, String> {
    said(foretell, &["compare", "--json", "--only", kind], trace)
}

/// What a command prints of a trace.
fn said(foretell: &str, arguments: &[&str], trace: &Path) -> Result<Value, String> {
    let output = std::process::Command::new(foretell)
        .args(arguments)
        .arg(trace)
        .output()
        .map_err(|error| format!("cannot run {foretell}: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", trace.display()))
}
