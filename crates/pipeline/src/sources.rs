//! The source text that locations name.
//!
//! A file is looked for in the directory of the recorded run, then in that of the trace, then where the command runs. One that
//! is not there, too large or not text is no error: nothing of it is shown. A trace may be hostile and a report may be
//! sent to others, so only files that are called like source text are read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use report::Sources;

use crate::trace_file::TraceFile;

/// Files larger than this are not source that a person wrote.
const LARGEST: u64 = 8 << 20;

/// What source files are called.
const EXTENSIONS: &[&str] = &[
    "asm", "c", "c++", "cc", "cp", "cpp", "cu", "cxx", "d", "f", "f90", "go", "h", "h++", "hh", "hpp", "hxx",
    "inc", "inl", "ipp", "java", "kt", "m", "mm", "nim", "rs", "s", "scala", "swift", "tcc", "y", "zig",
];

/// Source files on disk, each read once.
#[derive(Debug)]
pub struct Files {
    directories: Vec<PathBuf>,
    read: RefCell<HashMap<String, Option<Rc<str>>>>,
}

impl Files {
    /// The files that a trace's locations name.
    pub fn of(opened: &TraceFile) -> Self {
        let recorded = Some(&opened.trace.metadata().directory).filter(|directory| !directory.is_empty());
        let trace_directory = opened.path().and_then(|path| Path::new(&path).parent().map(Path::to_owned));
        let directories =
            recorded.map(PathBuf::from).into_iter().chain(trace_directory).chain([PathBuf::new()]);
        Files { directories: directories.collect(), read: RefCell::default() }
    }

    fn find(&self, file: &str) -> Option<Rc<str>> {
        let extension = Path::new(file).extension()?.to_str()?.to_ascii_lowercase();
        if !EXTENSIONS.contains(&&*extension) {
            return None;
        }
        let found = self.directories.iter().map(|directory| directory.join(file));
        let found = found.filter(|path| path.metadata().is_ok_and(|m| m.is_file() && m.len() <= LARGEST));
        found.filter_map(|path| std::fs::read(path).ok()).find_map(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            (!text.contains('\0')).then(|| Rc::from(text))
        })
    }
}

impl Sources for Files {
    fn text(&self, file: &str) -> Option<Rc<str>> {
        if let Some(known) = self.read.borrow().get(file) {
            return known.clone();
        }
        let text = self.find(file);
        self.read.borrow_mut().insert(file.to_owned(), text.clone());
        text
    }
}
