//! Tables a person likes to read: aligned columns under bold headings, thousands set apart, and
//! names cut in the middle where they would push the figures off the screen.

use std::fmt::Write as _;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();

/// How the cells of a column are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Align {
    Left,
    Right,
}

/// A table under construction. Every row has a cell for each column.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "a row must fill every column");
        self.rows.push(cells);
    }

    /// The table as text, each line indented by two, with terminal styles.
    pub fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(self.columns[column].0.chars().count())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((cell, (_, align)), &width) in cells.zip(&self.columns).zip(&widths) {
                match align {
                    Align::Left => write!(line, "  {cell:<width$}"),
                    Align::Right => write!(line, "  {cell:>width$}"),
                }
                .unwrap_or_else(|_| unreachable!("writing to a string cannot fail"));
            }
            line.trim_end().to_owned()
        };
        let headings = line(&mut self.columns.iter().map(|&(heading, _)| heading));
        let mut text = format!("{DIM}{headings}{DIM:#}\n");
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(String::as_str)));
            text.push('\n');
        }
        text
    }
}

/// The title above a table, after an empty line.
pub fn title(text: &str) -> String {
    format!("\n{BOLD}{text}{BOLD:#}\n")
}

/// A number with its thousands set apart: `1,234,567`.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts, in the plural where there is not exactly one: `1 lock`, `2 locks`.
pub fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", number(count)),
    }
}

/// A part of a whole in percent: `12.3 %`. What is more than nothing never shows as nothing.
pub fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "-".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        p if p < 0.05 => "<0.1 %".to_owned(),
        p if p > 99.95 && part < whole => ">99.9 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}

/// An amount of memory: `1.5 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return counted(bytes, "byte");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// A name from a trace, fit for one line: no control characters, cut in the middle when long.
pub fn name(name: &str) -> String {
    const LONGEST: usize = 48;
    let mut printable = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    let length = printable.chars().count();
    if length <= LONGEST {
        return printable;
    }
    let head: String = printable.chars().take(LONGEST / 2 - 1).collect();
    let tail: String = printable.chars().skip(length - LONGEST / 2).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_000), "1,000");
        assert_eq!(number(12_345_678), "12,345,678");
        assert_eq!(counted(1, "lock"), "1 lock");
        assert_eq!(counted(0, "lock"), "0 locks");
        assert_eq!(share(0, 10), "-");
        assert_eq!(share(1, 1_000_000), "<0.1 %");
        assert_eq!(share(999_999, 1_000_000), ">99.9 %");
        assert_eq!(share(10, 10), "100.0 %");
        assert_eq!(share(1, 8), "12.5 %");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
    }

    #[test]
    fn names_fit_one_line() {
        assert_eq!(name("x"), "x");
        assert_eq!(name("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
        let long = "é".repeat(300);
        assert_eq!(name(&long).chars().count(), 48);
    }
}
