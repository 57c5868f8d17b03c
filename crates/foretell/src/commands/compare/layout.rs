//! Tables as text, CSV and Markdown.

use clap::ValueEnum;
use papers::compare::Table;

/// How to lay out tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Columns for a terminal.
    Text,
    /// Comma-separated values.
    Csv,
    /// Markdown tables.
    Markdown,
}

/// The tables one after the other. With more than one, each has its title above it, but for CSV: an empty line is between those.
pub(super) fn laid_out(tables: &[Table], form: Form) -> String {
    let one = |table: &Table| {
        let title = table.title;
        let title = match form {
            Form::Text if tables.len() > 1 => format!("{title}:\n\n"),
            Form::Markdown if tables.len() > 1 => format!("## {title}\n\n"),
            _ => String::new(),
        };
        title + &cells(table, form)
    };
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn cells(table: &Table, form: Form) -> String {
    let rows = [std::slice::from_ref(&table.header), &table.rows].concat();
    match form {
        Form::Csv => {
            let line = |row: &Vec<String>| row.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",") + "\n";
            rows.iter().map(line).collect()
        }
        Form::Markdown => {
            let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
            let rule = format!("|{}\n", "---|".repeat(rows[0].len()));
            let body: String = rows[1..].iter().map(line).collect();
            format!("{}{rule}{body}", line(&rows[0]))
        }
        Form::Text => columns(&rows),
    }
}

/// A cell as CSV has it.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// The first column to the left, the others to the right.
fn columns(table: &[Vec<String>]) -> String {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| match index {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    table.iter().map(line).collect()
}
