//! Names for what has addresses. A trace's names are distinct; what a user sees is as plain as that allows.

use rustc_hash::FxHashMap;
use trace::native::Table;

use std::io;

use super::sink::Sink;

/// The names of one table, given out in the order of their numbers.
#[derive(Debug)]
pub(super) struct Names {
    table: Table,
    /// The number of each name.
    known: FxHashMap<String, u32>,
    /// How often a name was wanted for another thing.
    again: FxHashMap<String, u32>,
}

impl Names {
    pub(super) fn of(table: Table) -> Names {
        Names { table, known: FxHashMap::default(), again: FxHashMap::default() }
    }

    /// The number of this name, new or known: things with the same name are one thing.
    pub(super) fn same<S: Sink>(&mut self, name: &str, sink: &mut S) -> io::Result<u32> {
        match self.known.get(name) {
            Some(&number) => Ok(number),
            None => self.add(name.to_owned(), sink),
        }
    }

    /// The number of a new thing. If its name is taken it gets `#2`, `#3` and so on behind it.
    pub(super) fn new_one<S: Sink>(&mut self, name: String, sink: &mut S) -> io::Result<u32> {
        if !self.known.contains_key(&name) {
            return self.add(name, sink);
        }
        let mut count = self.again.get(&name).copied().unwrap_or(1);
        let distinct = loop {
            count += 1;
            let candidate = format!("{name}#{count}");
            if !self.known.contains_key(&candidate) {
                break candidate;
            }
        };
        self.again.insert(name, count);
        self.add(distinct, sink)
    }

    fn add<S: Sink>(&mut self, name: String, sink: &mut S) -> io::Result<u32> {
        let number = self.known.len() as u32;
        sink.name(self.table, &name)?;
        self.known.insert(name, number);
        Ok(number)
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// A pattern of the user's for functions and files: `*` stands for anything, and the pattern may lie anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

impl Pattern {
    /// The pattern written so.
    pub fn new(text: &str) -> Pattern {
        Pattern(text.split('*').filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    /// Whether its parts occur in the text, in their order.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text;
        self.0.iter().all(|part| match rest.find(part.as_str()) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut sink = crate::InMemory::default();
        let mut names = Names::of(Table::Locks);
        assert_eq!(names.new_one("m".into(), &mut sink).unwrap(), 0);
        assert_eq!(names.new_one("m#2".into(), &mut sink).unwrap(), 1);
        assert_eq!(names.new_one("m".into(), &mut sink).unwrap(), 2);
        assert_eq!(names.same("m", &mut sink).unwrap(), 0);
        let trace = sink.finish().unwrap();
        assert_eq!(trace.symbols().locks.iter().collect::<Vec<_>>(), ["m", "m#2", "m#3"]);
    }

    #[test]
    fn patterns_lie_anywhere() {
        assert!(Pattern::new("list.c").matches("src/list.c:12"));
        assert!(Pattern::new("src/*.c").matches("a/src/list.c:12"));
        assert!(!Pattern::new("b*a").matches("ab"));
        assert!(Pattern::new("").matches("anything"));
    }
}
