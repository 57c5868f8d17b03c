//! Messages on standard error, in the style of rustc:
//!
//! ```text
//! error: unknown operation `lock`
//!  --> run.std:7:6
//!   |
//! 7 | T1|lock(m)|12
//!   |    ^^^^
//!   |
//!   = help: ...
//! ```
//!
//! Colours are for terminals only, and not for those who set NO_COLOR.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use pipeline::error::ErrorKind;
pub use pipeline::error::{Excerpt, SourcePosition};

use crate::exit::Exit;

/// A mistake in what the user asked or gave, or a warning about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic(Box<Content>);

/// Boxed, so that the results which carry it stay small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    title: String,
    place: Option<SourcePosition>,
    notes: Vec<String>,
    help: Vec<String>,
    /// It is nobody's mistake: the time or the memory ran out.
    out_of_bounds: bool,
}

impl Diagnostic {
    /// A mistake, told in half a sentence without a full stop.
    pub fn new(title: impl Into<String>) -> Self {
        Diagnostic(Box::new(Content { title: title.into(), ..Content::default() }))
    }

    /// What is wrong.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// In this file.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        self.at(SourcePosition { file: file.into(), ..SourcePosition::default() })
    }

    /// At this place.
    pub fn at(mut self, place: SourcePosition) -> Self {
        self.0.place = Some(place);
        self
    }

    /// A fact that explains it.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// What the user can do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help.push(help.into());
        self
    }

    /// What the process ends with.
    pub fn exit(&self) -> Exit {
        if self.0.out_of_bounds { Exit::Budget } else { Exit::Mistake }
    }

    /// Tells the user that the command failed.
    pub fn print_error(&self) {
        self.print(Level::ERROR);
    }

    /// Tells the user something to beware of.
    pub fn print_warning(&self) {
        self.print(Level::WARNING);
    }

    fn print(&self, level: Level<'static>) {
        let rendered = self.render(level, &Renderer::styled());
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(anstream::stderr(), "{rendered}");
    }

    fn render(&self, level: Level<'static>, renderer: &Renderer) -> String {
        let Content { title, place, notes, help, .. } = &*self.0;
        let title = printable(title);
        let mut group = Group::with_title(level.primary_title(title));
        match place {
            Some(SourcePosition { file, line: Some(line), excerpt: Some(excerpt) }) => {
                let span = span_within_text(excerpt);
                let annotation = AnnotationKind::Primary.span(span).label(printable(&excerpt.label));
                let snippet = Snippet::source(excerpt.text.as_str()).line_start(*line).path(file.as_str());
                group = group.element(snippet.annotation(annotation));
            }
            Some(SourcePosition { file, line, .. }) => {
                let origin = Origin::path(file.as_str());
                group = group.element(match line {
                    Some(line) => origin.line(*line),
                    None => origin,
                });
            }
            None => {}
        }
        for note in notes {
            group = group.element(Level::NOTE.message(printable(note)));
        }
        for help in help {
            group = group.element(Level::HELP.message(printable(help)));
        }
        renderer.render(&[group])
    }
}

/// Names come from files that may be hostile: hidden characters must not reach the terminal.
fn printable(text: &str) -> String {
    report::printable(text)
}

/// The span of an excerpt, pulled back into the text and onto character boundaries.
fn span_within_text(excerpt: &Excerpt) -> Range<usize> {
    let end = report::character_start(&excerpt.text, excerpt.span.end);
    let start = report::character_start(&excerpt.text, excerpt.span.start.min(end));
    start..end
}

impl From<pipeline::Error> for Diagnostic {
    fn from(error: pipeline::Error) -> Self {
        Diagnostic(Box::new(Content {
            title: error.to_string(),
            place: error.place().cloned(),
            notes: error.notes().to_vec(),
            help: error.advice().to_vec(),
            out_of_bounds: matches!(error.kind(), ErrorKind::OutOfBounds(_)),
        }))
    }
}

impl Diagnostic {
    /// A failure of the operating system, without its number: 'cannot read `x`: no such file'.
    pub fn from_io(doing: &str, file: &str, error: &io::Error) -> Self {
        let message = error.to_string();
        let reason = message.split(" (os error").next().unwrap_or_default();
        let mut lowered = reason.to_owned();
        if let Some(first) = lowered.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        Diagnostic::new(format!("cannot {doing} {file}: {lowered}"))
    }
}
