//! Names of variables that live as long as the program: as the source has them, and no two the same.
//!
//! A variable that is static in a function is `function::name`; compilers call it `name.0` or `function.name`. Of variables with one name,
//! each has its file behind it, then its line, then what the symbol table calls it: `count (src/a.c)`.

use rustc_hash::FxHashMap;

use super::debug::Declaration;
use super::modules::{DataSymbol, without_detours};

/// Whether the symbol table alone does not do.
pub(super) fn needs_declarations(symbols: &[DataSymbol]) -> bool {
    let mut known = rustc_hash::FxHashSet::default();
    symbols.iter().any(|symbol| is_made_up(&symbol.name) || !known.insert(symbol.name.as_str()))
}

/// Whether a compiler has made a name of its own: `hits.0`, `work.hits`. Names of C++ and Rust have their functions.
fn is_made_up(name: &str) -> bool {
    name.contains('.') && !name.contains("::") && !name.starts_with('.')
}

/// What tells variables of one name apart, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    File,
    Line,
    Symbol,
    Address,
}

/// Gives each variable the name that the source has for it, and variables of one name something to tell them apart.
pub(super) fn name_apart(
    symbols: &mut [DataSymbol],
    directory: &str,
    declaration: impl Fn(&DataSymbol) -> Option<Declaration>,
) {
    let plain: Vec<String> = symbols
        .iter()
        .map(|symbol| {
            let own = || plain_name(&declaration(symbol)?);
            is_made_up(&symbol.name).then(own).flatten().unwrap_or_else(|| symbol.name.clone())
        })
        .collect();
    let mut names = plain.clone();
    for telling in [Telling::File, Telling::Line, Telling::Symbol, Telling::Address] {
        let mut counts: FxHashMap<String, usize> = FxHashMap::default();
        names.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
        for (index, symbol) in symbols.iter().enumerate() {
            if counts[&names[index]] > 1
                && let Some(told) = told(telling, symbol, directory, &declaration)
            {
                names[index] = format!("{} ({told})", plain[index]);
            }
        }
    }
    symbols.iter_mut().zip(names).for_each(|(symbol, name)| symbol.name = name);
}

fn told(
    telling: Telling,
    symbol: &DataSymbol,
    directory: &str,
    declaration: &impl Fn(&DataSymbol) -> Option<Declaration>,
) -> Option<String> {
    let file = |declared: &Declaration| {
        let file = without_detours(declared.file.as_deref()?).into_owned();
        Some(file.strip_prefix(directory).map_or_else(|| file.clone(), str::to_owned))
    };
    match telling {
        Telling::File => file(&declaration(symbol)?),
        Telling::Line => {
            let declared = declaration(symbol)?;
            Some(format!("{}:{}", file(&declared)?, declared.line?))
        }
        Telling::Symbol => is_made_up(&symbol.name).then(|| symbol.name.clone()),
        Telling::Address => Some(format!("at {:#x}", symbol.address)),
    }
}

/// The name of a variable with its function.
fn plain_name(declared: &Declaration) -> Option<String> {
    let name = declared.name.as_ref()?;
    Some(match &declared.function {
        Some(function) => format!("{function}::{name}"),
        None => name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A declaration: the name, the function, the file and the line.
    type Declared = (&'static str, &'static str, &'static str, u64);

    fn named(symbols: &[(&str, Option<Declared>)]) -> Vec<String> {
        let mut all: Vec<DataSymbol> = symbols
            .iter()
            .enumerate()
            .map(|(index, (name, _))| DataSymbol {
                name: (*name).to_owned(),
                address: index as u64 * 16,
                size: 4,
            })
            .collect();
        name_apart(&mut all, "/home/u/", |symbol| {
            let (name, function, file, line) = symbols[symbol.address as usize / 16].1?;
            let function = Some(function).filter(|function| !function.is_empty());
            Some(Declaration {
                name: Some(name.to_owned()),
                function: function.map(str::to_owned),
                file: Some(file.to_owned()),
                line: Some(line),
            })
        });
        all.into_iter().map(|symbol| symbol.name).collect()
    }

    #[test]
    fn variables_of_two_files_have_their_files() {
        let names = named(&[
            ("count", Some(("count", "", "/home/u/a.c", 3))),
            ("count", Some(("count", "", "/home/u/x/../b.c", 3))),
            ("total", Some(("total", "", "/home/u/a.c", 4))),
        ]);
        assert_eq!(names, ["count (a.c)", "count (b.c)", "total"]);
    }

    #[test]
    fn variables_of_functions_have_their_functions() {
        let names = named(&[
            ("hits.0", Some(("hits", "work", "/home/u/a.c", 3))),
            ("hits.1", Some(("hits", "rest", "/home/u/a.c", 9))),
            ("work.seen", Some(("seen", "work", "/home/u/a.c", 4))),
            ("odd.7", None),
        ]);
        assert_eq!(names, ["work::hits", "rest::hits", "work::seen", "odd.7"]);
        let names = named(&[
            ("hits.0", Some(("hits", "work", "/home/u/a.c", 3))),
            ("hits.1", Some(("hits", "work", "/home/u/a.c", 4))),
            ("hits.2", Some(("hits", "work", "/home/u/a.c", 4))),
        ]);
        assert_eq!(names, ["work::hits (a.c:3)", "work::hits (hits.1)", "work::hits (hits.2)"]);
    }

    #[test]
    fn without_declarations_addresses_tell_them_apart() {
        assert_eq!(named(&[("count", None), ("count", None)]), ["count (at 0x0)", "count (at 0x10)"]);
    }

    #[test]
    fn plain_tables_need_nothing_more() {
        let symbol = |name: &str| DataSymbol { name: name.to_owned(), address: 0, size: 1 };
        assert!(!needs_declarations(&[symbol("a"), symbol("b"), symbol("std::x.y")]));
        assert!(needs_declarations(&[symbol("a"), symbol("a")]));
        assert!(needs_declarations(&[symbol("a.0")]));
    }
}
