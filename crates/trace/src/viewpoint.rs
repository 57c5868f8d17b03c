//! Source files as they are seen from another directory.

use std::borrow::Cow;

/// Where locations were named, and where they are read: a test may run in a directory of its own.
#[derive(Clone, Debug)]
pub struct Viewpoint {
    /// The directory they are seen from, with a slash at its end; empty: names are left as they are.
    here: String,
    /// What relative names begin with when they are seen from here.
    prefix: String,
}

impl Viewpoint {
    /// Names given in the first directory, read in the second; both are absolute.
    pub fn new(given_in: &str, read_in: &str) -> Viewpoint {
        let with_slash = |directory: &str| match directory {
            "" => String::new(),
            directory => format!("{}/", directory.trim_end_matches('/')),
        };
        let (there, here) = (with_slash(given_in), with_slash(read_in));
        let prefix = there.strip_prefix(here.as_str()).filter(|_| !here.is_empty()).unwrap_or_default();
        Viewpoint { prefix: prefix.to_owned(), here }
    }

    /// The same, with relative names left as they are: a message that the program printed has them from its compiler.
    pub fn without_relative_names(self) -> Viewpoint {
        Viewpoint { prefix: String::new(), ..self }
    }

    /// A location as it is called from here.
    pub fn location<'l>(&self, location: &'l str) -> Cow<'l, str> {
        let is_place = || {
            location.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match location.strip_prefix(self.here.as_str()) {
            _ if self.here.is_empty() => Cow::Borrowed(location),
            Some(below) => Cow::Owned(below.to_owned()),
            None if !self.prefix.is_empty() && !location.starts_with('/') && is_place() => {
                Cow::Owned(format!("{}{location}", self.prefix))
            }
            None => Cow::Borrowed(location),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_compiler_are_left_as_they_are() {
        let viewpoint = Viewpoint::new("/p/tally", "/p").without_relative_names();
        assert_eq!(viewpoint.location("tally/src/lib.rs:3"), "tally/src/lib.rs:3");
        assert_eq!(viewpoint.location("/p/tally/src/lib.rs:3"), "tally/src/lib.rs:3");
    }

    #[test]
    fn files_are_named_as_seen_from_here() {
        let cases = [
            ("/p/build", "/p", "/p/src/a.c:3", "src/a.c:3"),
            ("/p/build", "/p", "t.c:3", "build/t.c:3"),
            ("/p/build", "/p", "/usr/include/x.h:3", "/usr/include/x.h:3"),
            ("/p/build", "/p", "libx.so+0x12", "libx.so+0x12"),
            ("/p", "/p", "src/a.c:3:1", "src/a.c:3:1"),
            ("/elsewhere", "/p", "a.c:3", "a.c:3"),
            ("/pq", "/p", "/pq/a.c:3", "/pq/a.c:3"),
            ("", "", "/p/a.c:3", "/p/a.c:3"),
            ("/", "/", "/p/a.c:3", "p/a.c:3"),
        ];
        for (given_in, read_in, location, expected) in cases {
            assert_eq!(
                Viewpoint::new(given_in, read_in).location(location),
                expected,
                "{given_in} {read_in}"
            );
        }
    }
}
