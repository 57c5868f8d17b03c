//! What RAPID is given of a trace.

use trace::{Kind, text};

use crate::{CANONICAL, read};

#[test]
fn rapid_gets_what_it_knows() {
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(CANONICAL), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let expected = "\
main|begin(main)|0
main|fork(T1)|1
T1|begin(T1)|2
T1|r(x)|3
T1|w(x)|4
T1|acq(l)|9
T1|acq(l)|10
T1|rel(l)|10
T1|rel(l)|11
T1|acq(l)|11
T1|rel(l)|12
T1|w(f(x)[%7C%25%0A%0D]%20y)|27
T1|end(T1)|28
main|join(T1)|29
%23odd|r(#x)|30
main|end(main)|31
";
    assert_eq!(text, expected);
    assert_eq!(dropped.total(), 39 - 16);
    let kinds: Vec<(Kind, u64)> = dropped.kinds().collect();
    assert!(kinds.contains(&(Kind::Post, 2)) && kinds.contains(&(Kind::Mark, 2)));
    assert!(!kinds.iter().any(|(kind, _)| *kind == Kind::Read));
}

#[test]
fn rapid_locations_that_are_numbers_keep_them() {
    let text =
        "T|r(x)|7\nT|r(x)|main.c:3\nT|r(x)|007\nT|r(x)|-1\nT|r(x)|2147483648\nT|r(x)|0\nT|r(x)|main.c:3\n";
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(text), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let locations: Vec<&str> = out.lines().filter_map(|line| line.rsplit('|').next()).collect();
    assert_eq!(locations, ["7", "8", "9", "10", "11", "0", "8"]);
    assert_eq!(dropped.total(), 0);
    let full = read("T|r(x)|2147483647\nT|r(x)|a\n");
    let error = text::write_rapid(&full, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "no number is left for a location: one is 2147483647 already");
}

#[test]
fn rapid_gets_its_transactions_back() {
    let text = "T|begin(T)|0\nT|end(T)|1\nT|begin(T)|2\nT|end(T)|3\n";
    let mut out = Vec::new();
    let dropped = text::write_rapid(&read(text), &mut out).unwrap();
    assert_eq!((String::from_utf8(out).unwrap().as_str(), dropped.total()), (text, 0));
}
