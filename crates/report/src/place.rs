//! Places in source text: what a location names, and the text it lies in.
//!
//! A trace holds locations as it got them. Those of the form `file:line` or `file:line:column` can be shown in the
//! source; any other is shown as it is.

use std::rc::Rc;

/// A line of a source file that a location names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourcePlace<'l> {
    /// The file as the trace names it.
    pub file: &'l str,
    /// The 1-based line.
    pub line: u32,
    /// The 1-based column, where it is known.
    pub column: Option<u32>,
}

impl<'l> SourcePlace<'l> {
    /// What the location names, if it is `file:line` or `file:line:column`.
    pub fn of(location: &'l str) -> Option<Self> {
        let numbered = |text: &'l str| -> Option<(&'l str, u32)> {
            let (before, digits) = text.rsplit_once(':')?;
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.parse().ok().filter(|&number| plain && number > 0)?;
            (!before.is_empty()).then_some((before, number))
        };
        let (before, last) = numbered(location)?;
        Some(match numbered(before) {
            Some((file, line)) => SourcePlace { file, line, column: Some(last) },
            None => SourcePlace { file: before, line: last, column: None },
        })
    }
}

/// Whether a location is in the code of the system, of the compiler or of the standard library, or in code without source.
pub fn is_of_the_system(location: &str) -> bool {
    match SourcePlace::of(location) {
        Some(SourcePlace { file, .. }) => trace::is_of_the_system(file),
        None => location.contains("+0x"),
    }
}

/// Where source text comes from. A file that is not there is no error: nothing is shown of it.
pub trait Sources {
    /// The whole text of a file that a location names.
    fn text(&self, file: &str) -> Option<Rc<str>>;
}

/// No source text at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _: &str) -> Option<Rc<str>> {
        None
    }
}

/// The bytes of a line that a person is to look at: the object's name where the line has it, and else all of it but the
/// space around. `None`: the line says nothing.
pub(crate) fn telling_span(line: &str, object: &str) -> Option<std::ops::Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let end = line.trim_end().len();
    if start >= end {
        return None;
    }
    let name = object.rsplit(['.', '>', '&', '*', ':']).next().unwrap_or(object);
    let name = name.split(['[', '+']).next().unwrap_or(name);
    // `Arc<Mutex<i32>> (bank.rs:2)` ends with the line of its allocation, which is no name.
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let whole = [object, name].into_iter().filter(is_name).find_map(|name| word(line, name));
    // What is asserted need not begin with a word.
    let is_expression = object.contains(|c: char| !c.is_alphanumeric() && c != '_');
    let whole = whole.or_else(|| line.find(object).filter(|_| is_expression).map(|at| at..at + object.len()));
    Some(whole.unwrap_or(start..end))
}

/// Where a name stands in a line as a word of its own.
fn word(line: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name)
        .map(|(at, _)| at..at + name.len())
        .find(|span| !line[..span.start].ends_with(part) && !line[span.end..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_with_a_file_and_a_line_are_places() {
        let place = |file, line, column| Some(SourcePlace { file, line, column });
        assert_eq!(SourcePlace::of("a.c:10"), place("a.c", 10, None));
        assert_eq!(SourcePlace::of("src/a.c:10:7"), place("src/a.c", 10, Some(7)));
        assert_eq!(SourcePlace::of("c:/a.c:10"), place("c:/a.c", 10, None));
        for other in ["17", "a.c", ":10", "a.c:", "a.c:0", "a.c:x", "prog+0x12", "a.c:-3", "a.c:99999999999"]
        {
            assert_eq!(SourcePlace::of(other), None, "{other}");
        }
    }

    #[test]
    fn the_code_of_the_system_is_known_by_where_it_is() {
        for system in [
            "/usr/include/c++/12/bits/std_thread.h:9",
            "/rustc/5980/library/std/src/lib.rs:3",
            "/rust/deps/hashbrown-0.16.1/src/raw/alloc.rs:19",
            "libstdc++.so.6+0x12",
        ] {
            assert!(is_of_the_system(system), "{system}");
        }
        for other in
            ["main.c:3", "17", "/home/u/.cargo/registry/src/index-19/rayon-1/src/lib.rs:3", "/usr/src/a.c:3"]
        {
            assert!(!is_of_the_system(other), "{other}");
        }
    }

    #[test]
    fn the_object_is_pointed_at_where_the_line_names_it() {
        let told = |line: &'static str, object| telling_span(line, object).map(|span| &line[span]);
        assert_eq!(told("  entry.size += 1;", "entry.size"), Some("entry.size"));
        assert_eq!(told("  e->size += size_of;", "entry.size"), Some("size"));
        assert_eq!(told("  table[i] = 0;", "table[8]"), Some("table"));
        assert_eq!(told("  sizes(); ", "size"), Some("sizes();"));
        assert_eq!(told("  é = 0; ", ""), Some("é = 0;"));
        assert_eq!(told("  assert(!left && !right);", "!left && !right"), Some("!left && !right"));
        assert_eq!(told("   ", "x"), None);
    }
}
