//! Where measured figures are kept: one line for each benchmark in bench/RESULTS.md, its report in bench/data/NAME.md, and
//! every table of the report in bench/data/NAME-1.csv and so on.
//!
//! Benchmarks write all of this; nothing of it is edited by hand. What a person adds (judgements, causes, limits) is in
//! bench/remarks/NAME.md and appended to the report.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::cargo::root;

const RESULTS: &str = "bench/RESULTS.md";
const BEGIN: &str = "<!-- begin results -->\n";
const END: &str = "<!-- end results -->";

/// Tables with more rows are only in their own files.
const MOST_ROWS_SHOWN: usize = 16;

/// The report of a benchmark, as it was stored.
pub fn report(name: &str) -> Result<String, String> {
    read(&data(&format!("{name}.md")))
}

/// Stores what a benchmark measured. `content` is its report: a title, when and on what it was measured (as
/// [`circumstances`](crate::machine::circumstances) says it), text and tables. `headline` is the sentence for bench/RESULTS.md.
pub fn store_report(name: &str, headline: &str, content: &str) -> Outcome {
    let Report { page, tables } = Report::of(name, content);
    let directory = data("");
    std::fs::create_dir_all(&directory).map_err(failed(&directory))?;
    for entry in std::fs::read_dir(&directory).map_err(failed(&directory))?.flatten() {
        if is_table_of(name, &entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path()).map_err(failed(&entry.path()))?;
        }
    }
    for (index, table) in tables.iter().enumerate() {
        write(&data(&table_name(name, index)), &table.csv())?;
    }
    let remarks = read(&root().join(format!("bench/remarks/{name}.md"))).unwrap_or_default();
    let remarks = if remarks.is_empty() {
        String::new()
    } else {
        format!("\n## Remarks, written by hand\n\n{remarks}")
    };
    write(
        &data(&format!("{name}.md")),
        &format!("{}{remarks}", page.trim_end_matches('\n').to_owned() + "\n"),
    )?;
    let results = root().join(RESULTS);
    let line = Line { name, title: title(content), headline, measured: measured(content) };
    write(&results, &line.put_into(&read(&results)?)?)?;
    eprintln!("stored bench/data/{name}.md and its line in {RESULTS}");
    Ok(())
}

/// The cells of every table row of a report that begins with this cell.
pub fn rows<'t>(content: &'t str, first: &str) -> Vec<Vec<&'t str>> {
    let rows = content.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.filter(|row| row.first() == Some(&first)).collect()
}

/// A cell of a report's tables, by the first cell of its row and its column from 0; the first such row counts.
pub fn cell<'t>(content: &'t str, first: &str, column: usize) -> &'t str {
    rows(content, first).first().and_then(|row| row.get(column).copied()).unwrap_or("?")
}

/// The cells of a line of a Markdown table.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

fn data(file: &str) -> PathBuf {
    root().join("bench/data").join(file)
}

fn table_name(name: &str, index: usize) -> String {
    format!("{name}-{}.csv", index + 1)
}

fn is_table_of(name: &str, file: &str) -> bool {
    let number = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".csv"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn title(content: &str) -> &str {
    content.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

/// When and on what, without the words around.
fn measured(content: &str) -> &str {
    let line = content.lines().find_map(|line| line.strip_prefix("Measured on "));
    line.unwrap_or("not measured").trim_end_matches('.')
}

/// A report as it is stored: its tables have files of their own.
struct Report {
    page: String,
    tables: Vec<Table>,
}

impl Report {
    fn of(name: &str, content: &str) -> Report {
        let mut report = Report { page: String::new(), tables: Vec::new() };
        let mut lines = content.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            if !line.starts_with('|') {
                // The title of a page is its only heading of the first level.
                let line = if index == 0 { line.replacen("## ", "# ", 1) } else { line.to_owned() };
                report.page.push_str(&format!("{line}\n"));
                continue;
            }
            let mut table = vec![line];
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with('|')) {
                table.push(line);
            }
            report.add(name, &table);
        }
        report
    }

    fn add(&mut self, name: &str, lines: &[&str]) {
        let table = Table::of(lines);
        let file = table_name(name, self.tables.len());
        if table.rows.len() <= MOST_ROWS_SHOWN {
            self.page.push_str(&format!("{}\n\n", lines.join("\n")));
        }
        self.page.push_str(&format!("As a file: [{file}]({file}), {} rows.\n", table.rows.len()));
        self.tables.push(table);
    }
}

/// The cells of a Markdown table, without its markup.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn of(lines: &[&str]) -> Table {
        let plain =
            |line: &&str| cells(line).iter().map(|cell| cell.replace('`', "")).collect::<Vec<String>>();
        let mut rows: Vec<Vec<String>> =
            lines.iter().filter(|line| !line.starts_with("|--")).map(plain).collect();
        let head = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        Table { head, rows }
    }

    fn csv(&self) -> String {
        let line =
            |row: &Vec<String>| row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

/// A cell as RFC 4180 has it.
fn quoted(cell: &str) -> String {
    let is_plain = !cell.contains([',', '"', '\n']);
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

/// A benchmark in bench/RESULTS.md.
struct Line<'a> {
    name: &'a str,
    title: &'a str,
    headline: &'a str,
    measured: &'a str,
}

impl Line<'_> {
    /// The results with this line in place of the one for the same benchmark, or as the last one.
    fn put_into(&self, results: &str) -> Result<String, String> {
        let Line { name, title, headline, measured } = self;
        let new = format!("| [{title}](data/{name}.md) | {} | {measured} |", headline.replace('|', "/"));
        let (before, rest) = results.split_once(BEGIN).ok_or(format!("{RESULTS} has no mark {BEGIN}"))?;
        let (table, after) = rest.split_once(END).ok_or(format!("{RESULTS} has no mark {END}"))?;
        let mut lines: Vec<&str> = table.lines().collect();
        let link = format!("](data/{name}.md)");
        match lines.iter_mut().find(|line| line.contains(&link)) {
            Some(line) => *line = &new,
            None => lines.push(&new),
        }
        Ok(format!("{before}{BEGIN}{}\n{END}{after}", lines.join("\n")))
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(failed(path))
}

fn write(path: &Path, content: &str) -> Outcome {
    std::fs::write(path, content).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &str = "## Recording\n\nMeasured on 2026-01-01, a processor, load 0.1 at the start.\n\n\
                           | what | `CPU`, s |\n|---|--:|\n| lu, large | 1.5 |\n\nEnd.\n";

    #[test]
    fn tables_of_a_report_become_files() {
        let report = Report::of("record", CONTENT);
        assert_eq!(report.tables[0].csv(), "what,\"CPU, s\"\n\"lu, large\",1.5\n");
        assert!(report.page.starts_with("# Recording\n"), "{}", report.page);
        assert!(report.page.contains("[record-1.csv](record-1.csv), 1 rows."), "{}", report.page);
    }

    #[test]
    fn long_tables_are_only_in_their_files() {
        let rows = "| a |\n".repeat(MOST_ROWS_SHOWN + 1);
        let report = Report::of("x", &format!("## X\n\n| b |\n|---|\n{rows}"));
        assert!(!report.page.contains("| a |"));
        assert_eq!(report.tables[0].rows.len(), MOST_ROWS_SHOWN + 1);
    }

    #[test]
    fn a_benchmark_has_one_line() {
        let line =
            |headline| Line { name: "record", title: title(CONTENT), headline, measured: measured(CONTENT) };
        let empty = format!("before\n{BEGIN}| h |\n|---|\n{END}\nafter\n");
        let once = line("0.5 times").put_into(&empty).unwrap();
        let twice = line("0.4 times").put_into(&once).unwrap();
        let expected =
            "| [Recording](data/record.md) | 0.4 times | 2026-01-01, a processor, load 0.1 at the start |\n";
        assert_eq!(twice, format!("before\n{BEGIN}| h |\n|---|\n{expected}{END}\nafter\n"));
    }

    #[test]
    fn cells_are_found_by_the_first_of_their_row() {
        assert_eq!(cell(CONTENT, "lu, large", 1), "1.5");
        assert_eq!(cell(CONTENT, "lu, large", 9), "?");
    }

    #[test]
    fn only_numbered_tables_belong_to_a_benchmark() {
        assert!(is_table_of("fuzz", "fuzz-2.csv"));
        assert!(!is_table_of("fuzz", "fuzz-engine-2.csv"));
    }
}
