//! Tables a person likes to read: aligned columns under bold headings, thousands set apart, and
//! names cut in the middle where they would push the figures off the screen.

use std::fmt::Write as _;

pub use report::{counted, number, shown as name};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(share(0, 10), "-");
        assert_eq!(share(1, 1_000_000), "<0.1 %");
        assert_eq!(share(999_999, 1_000_000), ">99.9 %");
        assert_eq!(share(10, 10), "100.0 %");
        assert_eq!(share(1, 8), "12.5 %");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
    }
}
