//! What would fix a finding, verified: in a sentence, and as an edit of the source where that is certain.

use trace::{EventId, Op};

use crate::context::Context;
use crate::place::SourcePlace;
use crate::words::{listed, shown};
use findings::{Finding, FixPlace, LockFix, LockMistake, OrderChange};

/// Which lock to hold where: `Suggested fix: hold m at a.c:7, ..`.
pub fn fix_in_words(finding: &Finding) -> Option<String> {
    let LockFix { mistake, lock, instead_of, places, held, accesses, partial } = finding.fix.as_ref()?;
    let lock = shown(lock);
    let place = |FixPlace { from, to }: &FixPlace| match (mistake, from == to) {
        (LockMistake::Released, false) => {
            format!("from {} to {}, without releasing it in between", shown(from), shown(to))
        }
        (_, false) => format!("from {} to {}", shown(from), shown(to)),
        (LockMistake::Released, true) => {
            format!("for all of {}, without releasing it in between", shown(from))
        }
        (_, true) => format!("at {}", shown(from)),
    };
    let places = listed(places.iter().map(place));
    let how = match (mistake, instead_of) {
        (LockMistake::Other, Some(other)) => format!(" (which holds `{}`)", shown(other)),
        (LockMistake::Shared, _) => ", for writing instead of reading".to_owned(),
        _ => String::new(),
    };
    let others = match (*held, *accesses) {
        (0, _) => String::new(),
        (held, all) if held == all => ", as at all other accesses".to_owned(),
        (held, all) => format!(", as at {held} of {all} other accesses"),
    };
    let what = finding.kind.title();
    let own = match partial {
        true => format!(" at {}", own_places(finding)),
        false => String::new(),
    };
    let left = match partial {
        true => " The other places of this finding need more than that.",
        false => "",
    };
    Some(format!(
        "Suggested fix: hold `{lock}` {places}{how}{others}. Verified on this recording: the {what}{own} is then \
         infeasible, and no new deadlock is feasible.{left}"
    ))
}

/// The finding's own places, each once.
fn own_places(finding: &Finding) -> String {
    let mut places: Vec<String> = Vec::new();
    for location in &finding.locations {
        let place = shown(location).to_string();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    listed(places)
}

/// Why no lock was looked for: `No fix was looked for: the time for it ran out.`
pub fn no_fix_in_words(finding: &Finding) -> Option<String> {
    let reason = finding.no_fix.filter(|_| finding.fix.is_none())?;
    Some(format!("No fix was looked for: {}.", reason.in_words()))
}

/// Which memory orders are to blame: `with release in the atomic write of flag at a.c:7 ..`.
pub fn orders_in_words(finding: &Finding) -> Option<String> {
    let changes =
        finding.memory_orders.iter().map(|OrderChange { operation, location, from, to, .. }| {
            format!("`{to}` instead of `{from}` in the {} at {}", shown(operation), shown(location))
        });
    let changes: Vec<String> = changes.collect();
    let own = match finding.partial_orders {
        true => format!(" at {}", own_places(finding)),
        false => String::new(),
    };
    (!changes.is_empty()).then(|| {
        format!(
            "Because of a memory order: with {}, the race{own} is infeasible (verified).",
            listed(changes)
        )
    })
}

/// A change of one line: the bytes between two columns, counted from 1, become something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) columns: (u32, u32),
    pub(crate) text: String,
}

/// The edits that make a verified fix, if the source says for certain what they are; else none at all.
pub(crate) fn edits(context: &Context<'_>, finding: &Finding) -> Vec<Edit> {
    let orders = finding.memory_orders.iter().map(|change| order_edit(context, change));
    let mut edits: Vec<Edit> = orders.collect::<Option<_>>().unwrap_or_default();
    edits.dedup();
    if let Some(fix) = &finding.fix {
        edits.extend(lock_edits(context, fix).unwrap_or_default());
    }
    edits
}

/// A line of the source that has one column for each byte.
fn line_of(context: &Context<'_>, file: &str, line: u32) -> Option<String> {
    let source = context.source(file)?;
    let line = source.lines().nth(line.checked_sub(1)? as usize)?;
    line.is_ascii().then(|| line.to_owned())
}

/// The memory order as a word of C, C++ and Rust.
fn order_words(order: &str) -> [String; 2] {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    [format!("memory_order_{order}"), order.split('_').map(capital).collect()]
}

fn order_edit(context: &Context<'_>, change: &OrderChange) -> Option<Edit> {
    let place = SourcePlace::of(&change.location)?;
    let line = line_of(context, place.file, place.line)?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    order_words(&change.from).iter().zip(order_words(&change.to)).find_map(|(from, to)| {
        let mut found = line
            .match_indices(from.as_str())
            .map(|(at, _)| at)
            .filter(|&at| !line[..at].ends_with(is_part) && !line[at + from.len()..].starts_with(is_part));
        // Of several nobody knows which is meant.
        let (Some(at), None) = (found.next(), found.next()) else { return None };
        let columns = (at as u32 + 1, (at + from.len()) as u32 + 1);
        Some(Edit { file: place.file.to_owned(), line: place.line, columns, text: to })
    })
}

/// A mutex of C around statements that are lines of their own.
fn lock_edits(context: &Context<'_>, fix: &LockFix) -> Option<Vec<Edit>> {
    if !matches!(fix.mistake, LockMistake::Missing) {
        return None;
    }
    let mut edits = Vec::new();
    for place in &fix.places {
        let (from, to) = (SourcePlace::of(&place.from)?, SourcePlace::of(&place.to)?);
        if from != to {
            return None;
        }
        let line = line_of(context, from.file, from.line)?;
        let before = line_of(context, from.file, from.line.checked_sub(1)?)?;
        if !is_statement(&line) || !before.trim_end().ends_with([';', '{', '}']) {
            return None;
        }
        let argument = mutex_argument(context, &fix.lock, from.file)?;
        let indent = &line[..line.len() - line.trim_start().len()];
        let file = from.file.to_owned();
        let end = line.len() as u32 + 1;
        edits.push(Edit {
            file: file.clone(),
            line: from.line,
            columns: (1, 1),
            text: format!("{indent}pthread_mutex_lock({argument});\n"),
        });
        edits.push(Edit {
            file,
            line: from.line,
            columns: (end, end),
            text: format!("\n{indent}pthread_mutex_unlock({argument});"),
        });
    }
    Some(edits)
}

/// Whether a line is one statement that goes on with the next line.
fn is_statement(line: &str) -> bool {
    const ELSEWHERE: [&str; 11] =
        ["return", "if", "else", "for", "while", "do", "switch", "case", "default", "goto", "break"];
    let line = line.trim();
    let first: String = line.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    line.ends_with(';')
        && line.matches(';').count() == 1
        && !line.contains(['{', '}', '"'])
        && !line.contains("//")
        && !ELSEWHERE.contains(&first.as_str())
}

/// How a mutex is named where it is locked and unlocked in the same file: always the same.
fn mutex_argument(context: &Context<'_>, lock: &str, file: &str) -> Option<String> {
    let trace = context.trace;
    let mut argument: Option<String> = None;
    for (event, _, op) in trace.events() {
        let call = match op {
            Op::Acquire(of) if trace.symbols().lock(of) == lock => "pthread_mutex_lock(",
            Op::Release(of) if trace.symbols().lock(of) == lock => "pthread_mutex_unlock(",
            _ => continue,
        };
        let Some(here) = called(context, event, call, file) else { continue };
        // A name that means the same everywhere in the file.
        if here != format!("&{lock}") || argument.as_ref().is_some_and(|known| *known != here) {
            return None;
        }
        argument = Some(here);
    }
    argument
}

/// The argument of a call that is all of a line.
fn called(context: &Context<'_>, event: EventId, call: &str, file: &str) -> Option<String> {
    let place = context.place(event).filter(|place| place.file == file)?;
    let line = line_of(context, place.file, place.line)?;
    let argument = line.trim().strip_prefix(call)?.strip_suffix(");")?;
    Some(argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_words_in_each_language() {
        assert_eq!(order_words("relaxed"), ["memory_order_relaxed", "Relaxed"]);
        assert_eq!(order_words("acq_rel"), ["memory_order_acq_rel", "AcqRel"]);
    }

    #[test]
    fn only_statements_are_put_between_calls() {
        assert!(is_statement("    session = NULL;"));
        assert!(is_statement("\tcount++;"));
        for other in
            ["return x;", "if (x) y = 1;", "for (;;) x++;", "x = 1; y = 2;", "f(", "x = 1; // ;", "}"]
        {
            assert!(!is_statement(other), "{other}");
        }
    }
}
