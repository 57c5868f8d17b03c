//! `cargo xtask book`: builds the book from docs/ into target/book, and checks it.
//!
//! The page about commands is written from their `--help`. Every page must be in the table of contents, mdBook must warn of nothing, and every link must lead somewhere: within the book to a page
//! and a heading of it, to other files of the repository if they exist. Those are links to the repository in the book. Links to other
//! servers are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use xtask::Outcome;
use xtask::cargo::{cargo_output, root};

use crate::tools::BOOK;

/// Where the files of the repository can be read, for links out of the book.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

pub(crate) fn run() -> Outcome {
    let (docs, staged, built) =
        (root().join("docs"), root().join("target/book-source"), root().join("target/book"));
    let pages = pages(&docs)?;
    let summary = read(&docs.join("SUMMARY.md"))?;
    let mut faults: Vec<String> = (pages.iter().filter(|page| !page.ends_with("SUMMARY.md")))
        .filter(|page| !summary.contains(&format!("({})", page.display())))
        .map(|page| format!("docs/{}: not in SUMMARY.md", page.display()))
        .collect();
    let _ = fs::remove_dir_all(&staged);
    let _ = fs::remove_dir_all(&built);
    copy(&docs, &staged)?;
    for page in &pages {
        let text = read(&docs.join(page))?;
        let (text, wrong) = with_links_out(&text, &Path::new("docs").join(page));
        faults.extend(wrong);
        fs::write(staged.join(page), text).map_err(|error| error.to_string())?;
    }
    fs::write(staged.join("commands.md"), commands_page()?).map_err(|error| error.to_string())?;
    let output = BOOK.command()?.arg("build").arg(&staged).arg("--dest-dir").arg(&built).output();
    let output = output.map_err(|error| format!("cannot run mdbook: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(format!("mdbook: {said}"));
    }
    faults.extend(broken_links(&built)?);
    match faults.is_empty() {
        true => {
            println!("{} pages in {}", pages.len() - 1, built.display());
            Ok(())
        }
        false => Err(faults.join("\n")),
    }
}

/// All commands with their help.
fn commands_page() -> Result<String, String> {
    let help = |arguments: &[&str]| {
        let run = ["run", "--quiet", "--package", "foretell", "--bin", "foretell", "--"];
        cargo_output(&[&run[..], arguments, &["--help"]].concat())
    };
    let whole = help(&[])?;
    let mut page = format!(
        "# Commands\n\nWhat `--help` prints. `foretell man DIR` writes the same as man pages.\n\n```text\n{whole}```\n"
    );
    let listed =
        whole.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is indented further continues the description of the line before.
    let named = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    for command in named.filter_map(|line| line.split_whitespace().next()) {
        page.push_str(&format!("\n## foretell {command}\n\n```text\n{}```\n", help(&[command])?));
    }
    Ok(page)
}

/// The pages below a directory, relative to it.
fn pages(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let is_page = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "md");
    Ok(files(directory, directory)?.into_iter().filter(is_page).collect())
}

/// All files below a directory, relative to its top, sorted.
fn files(directory: &Path, top: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        match path.is_dir() {
            true => all.extend(files(&path, top)?),
            false => all.extend(path.strip_prefix(top).ok().map(Path::to_owned)),
        }
    }
    all.sort();
    Ok(all)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    for file in files(from, from)? {
        let copy = to.join(&file);
        let made = copy.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::copy(from.join(&file), &copy))
            .map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    Ok(())
}

/// A page with its links to files outside docs/ as links to the repository, and those of them that lead nowhere.
fn with_links_out(text: &str, page: &Path) -> (String, Vec<String>) {
    let (mut out, mut faults, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find("](") {
        let (before, link) = rest.split_at(at + 2);
        out.push_str(before);
        let end = link.find([')', '\n']).unwrap_or(link.len());
        let (target, after) = link.split_at(end);
        match outside(target, page) {
            Some(file) if !root().join(&file).exists() => {
                faults.push(format!("{}: no file {target}", page.display()));
            }
            Some(file) => {
                let heading = target.find('#').map_or("", |at| &target[at..]);
                out.push_str(&format!("{REPOSITORY}{}{heading}", file.display()));
            }
            // mdBook makes an index of it, and its table of contents alone knows.
            None if page.file_name().is_some_and(|name| name != "SUMMARY.md") && !target.contains("://") => {
                out.push_str(&target.replace("README.md", "index.md"));
            }
            None => out.push_str(target),
        }
        rest = after;
    }
    out.push_str(rest);
    (out, faults)
}

/// The file that a link of a page leads to, from the root of the repository, if it is not in docs/.
fn outside(link: &str, page: &Path) -> Option<PathBuf> {
    let file = link.split('#').next()?;
    if file.is_empty() || link.contains("://") {
        return None;
    }
    let path = resolved(&page.parent()?.join(file));
    (!path.starts_with("docs")).then_some(path)
}

/// A path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

/// Links within the built book that lead to no file, or to no element of it.
fn broken_links(book: &Path) -> Result<Vec<String>, String> {
    let all = files(book, book)?;
    let is_html = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "html");
    let mut texts = BTreeMap::new();
    for file in all.iter().filter(is_html) {
        texts.insert(file.clone(), read(&book.join(file))?);
    }
    let elements: BTreeMap<&PathBuf, BTreeSet<&str>> =
        texts.iter().map(|(file, text)| (file, attributes(text, "id=\"").collect())).collect();
    let mut faults = Vec::new();
    for (file, text) in &texts {
        // The page for missing pages is served for any path, and the one for printing is all the others in one.
        if file.ends_with("404.html") || file.ends_with("print.html") || file.ends_with("toc.html") {
            continue;
        }
        for link in attributes(text, " href=\"").chain(attributes(text, " src=\"")) {
            if link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:") {
                continue;
            }
            let (path, element) = link.split_once('#').map_or((link, None), |(path, id)| (path, Some(id)));
            let target = match path {
                "" => file.clone(),
                _ => resolved(&file.parent().unwrap_or(Path::new("")).join(path)),
            };
            let has_element = element.is_none_or(|id| {
                id.is_empty() || elements.get(&target).is_none_or(|elements| elements.contains(id))
            });
            if !book.join(&target).is_file() || !has_element {
                faults.push(format!("{}: the link {link} leads nowhere", file.display()));
            }
        }
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// The values of an attribute in HTML, up to their closing quote.
fn attributes<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(name).skip(1).filter_map(|rest| rest.split('"').next())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        let page = Path::new("docs/page.md");
        let (text, faults) = with_links_out("[a](../Cargo.toml), [b](other.md#x), [c](../none.md)", page);
        assert_eq!(text, format!("[a]({REPOSITORY}Cargo.toml), [b](other.md#x), [c]()"));
        assert_eq!(faults, ["docs/page.md: no file ../none.md"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let book = tempfile::tempdir().unwrap();
        let page = "<h1 id=\"top\"></h1><a href=\"#top\"><a href=\"b.html#end\"><a href=\"c.html\"><a href=\"#none\">";
        fs::write(book.path().join("a.html"), page).unwrap();
        fs::write(book.path().join("b.html"), "<p id=\"end\">").unwrap();
        let faults = broken_links(book.path()).unwrap();
        assert_eq!(faults, ["a.html: the link #none leads nowhere", "a.html: the link c.html leads nowhere"]);
    }
}
