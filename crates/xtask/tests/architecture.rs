//! ARCHITECTURE.md says what the crates are and what they depend on: here it is compared with Cargo's own files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates by the names of their directories, each with the crates of the workspace it depends on, tests aside.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(directory: &Path) -> toml::Table {
    let path = directory.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn directories() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let directories = entries.map(|entry| entry.unwrap().path());
    let mut crates: Vec<PathBuf> = directories.filter(|path| path.join("Cargo.toml").is_file()).collect();
    crates.sort();
    crates
}

fn name(directory: &Path) -> String {
    directory.file_name().unwrap().to_str().unwrap().to_owned()
}

/// What the packages of a table of dependencies are called.
fn dependencies(manifest: &toml::Table, table: &str) -> Vec<String> {
    let table = manifest.get(table).and_then(toml::Value::as_table);
    table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// The graph that Cargo builds by.
fn cargo_graph() -> Graph {
    let crates: Vec<(String, toml::Table)> =
        directories().iter().map(|path| (name(path), manifest(path))).collect();
    let packages: BTreeMap<&str, &str> = crates
        .iter()
        .map(|(directory, manifest)| (manifest["package"]["name"].as_str().unwrap(), directory.as_str()))
        .collect();
    let graph = crates.iter().map(|(directory, manifest)| {
        let tables = ["dependencies", "build-dependencies"];
        let all = tables.iter().flat_map(|table| dependencies(manifest, table));
        let ours = all.filter_map(|package| packages.get(package.as_str()).map(|&name| name.to_owned()));
        (directory.clone(), ours.collect())
    });
    graph.collect()
}

/// The names in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The rows of the table of crates, in their order.
fn rows() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    rows.map(|row| {
        let (name, rest) = row.split_once('`').unwrap();
        let depends_on = rest.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        (name.to_owned(), quoted(depends_on).map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn the_map_is_what_cargo_builds() {
    let map: Graph = rows().into_iter().collect();
    let cargo = cargo_graph();
    let names = |graph: &Graph| graph.keys().cloned().collect::<BTreeSet<String>>();
    assert_eq!(names(&map), names(&cargo), "the crates in ARCHITECTURE.md, and in crates/");
    for (name, depends_on) in &cargo {
        assert_eq!(
            &map[name], depends_on,
            "what `crates/{name}` depends on, in ARCHITECTURE.md and in Cargo.toml"
        );
    }
}

#[test]
fn crates_depend_on_those_above_them() {
    let mut above = BTreeSet::new();
    for (name, depends_on) in rows() {
        let below: Vec<&String> = depends_on.difference(&above).collect();
        assert!(below.is_empty(), "`crates/{name}` comes before {below:?}, which it depends on");
        above.insert(name);
    }
    assert!(above.len() > 10, "the table was not read: {above:?}");
}

/// The checker shares no code with what it verifies.
#[test]
fn the_checker_depends_on_the_trace_only() {
    assert_eq!(cargo_graph()["check"], BTreeSet::from(["trace".to_owned()]));
}

/// What analyses a trace gets it as bytes, and gives its results back as values.
#[test]
fn the_crates_that_analyse_do_no_input_or_output() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rule) = text.split_once("**The crates that analyse do no input or output**:").unwrap();
    let names: Vec<&str> = quoted(rule.split(" open no file").next().unwrap()).collect();
    assert!(names.len() > 8, "the rule was not read: {names:?}");
    for name in names {
        let files = sources(&root().join("crates").join(name).join("src"));
        assert!(!files.is_empty(), "crates/{name} has no sources");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            for forbidden in ["std::fs", "std::process", "std::net", "std::env", "nix::", "libc::"] {
                assert!(!product.contains(forbidden), "{} uses {forbidden}", file.display());
            }
        }
    }
}

#[test]
fn the_pipeline_knows_no_arguments_and_no_terminal() {
    let pipeline = root().join("crates/pipeline");
    let terminal = ["clap", "indicatif", "anstream", "anstyle", "annotate-snippets", "ctrlc"];
    let depends_on = dependencies(&manifest(&pipeline), "dependencies");
    assert!(!depends_on.is_empty(), "its dependencies were not read");
    for package in terminal {
        assert!(!depends_on.iter().any(|name| name == package), "crates/pipeline depends on {package}");
    }
    let mut files = 0;
    for file in sources(&pipeline.join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for (index, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for printing in ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!(", "io::stdout("] {
                assert!(!code.contains(printing), "{}:{}: {line}", file.display(), index + 1);
            }
        }
        files += 1;
    }
    assert!(files > 10, "its sources were not read: {files}");
}

/// A module's file has the module's name: `foo.rs`, with its parts in `foo/`.
#[test]
fn modules_are_in_files_of_their_name() {
    for directory in directories() {
        let modules: Vec<PathBuf> =
            sources(&directory.join("src")).into_iter().filter(|path| path.ends_with("mod.rs")).collect();
        assert!(modules.is_empty(), "{modules:?}");
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
