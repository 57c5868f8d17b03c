//! Tables that must be whole.

use crate::page;

#[test]
fn every_row_of_the_page_about_threadsanitizer_says_what_corresponds() {
    let page = page("docs/from-tsan.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 80, "{} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 2 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
    }
}
