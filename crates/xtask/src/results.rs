//! The sections of bench/RESULTS.md, each between two marks.

use crate::Outcome;
use crate::cargo::root;

const RESULTS: &str = "bench/RESULTS.md";

/// What is between the marks of a section, which must be there.
pub fn section(name: &str) -> Result<String, String> {
    parts(name).map(|[_, content, _]| content)
}

/// The results before a section, its content, and what comes after; the marks belong to what is around.
fn parts(name: &str) -> Result<[String; 3], String> {
    let results = std::fs::read_to_string(root().join(RESULTS))
        .map_err(|error| format!("cannot read {RESULTS}: {error}"))?;
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let start = results.find(&begin).ok_or(format!("{RESULTS} has no section {name}"))? + begin.len();
    let length = results[start..].find(&end).ok_or(format!("section {name} of {RESULTS} has no end"))?;
    let (before, rest) = results.split_at(start);
    let (content, after) = rest.split_at(length);
    Ok([before, content, after].map(str::to_owned))
}

/// Replaces what is between the marks of a section, which must be there.
pub fn replace_section(name: &str, content: &str) -> Outcome {
    let [before, _, after] = parts(name)?;
    std::fs::write(root().join(RESULTS), format!("{before}{content}{after}"))
        .map_err(|error| format!("cannot write {RESULTS}: {error}"))?;
    eprintln!("refreshed section {name} of {RESULTS}");
    Ok(())
}
