//! Findings as one HTML file that needs nothing else: no network, no other files.
//!
//! The file is a page without content ([`html/page.html`](html/page.html)), its style and script, and the findings as JSON, from
//! which the script builds everything. Names come from hostile files: the script puts them into the page as text only, and the JSON
//! is written without `<`, `>` and `&`, so that it cannot end the element it stands in.

mod data;
mod places;
mod window;

use crate::context::Contexts;
use crate::words::is_hidden;
use findings::Predictions;

pub use data::{Lattice, RuledOut};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/style.css");
/// In this order: each uses what comes before it.
const SCRIPTS: [&str; 8] = [
    include_str!("html/elements.js"),
    include_str!("html/model.js"),
    include_str!("html/timeline.js"),
    include_str!("html/source.js"),
    include_str!("html/pictures.js"),
    include_str!("html/details.js"),
    include_str!("html/suite.js"),
    include_str!("html/main.js"),
];

/// What a page shows besides the findings.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Candidates that cannot happen, and why.
    pub ruled_out: Vec<RuledOut>,
    /// All global states, where they are few.
    pub lattice: Option<Lattice>,
    /// What was found but is not shown, as [`hidden_in_words`](crate::hidden_in_words) has it.
    pub hidden: String,
}

/// The whole file.
pub fn html(contexts: &Contexts<'_>, predictions: &Predictions, extras: Extras) -> String {
    let data = data::of(contexts, predictions, extras);
    // Strings, numbers and lists only: nothing here can fail.
    let json = inert(&serde_json::to_string(&data).unwrap_or_default());
    // Parts are put in from the last to the first, so that nothing is looked for in what was put in.
    let (before_style, rest) = PAGE.split_once("/*style*/").unwrap_or((PAGE, ""));
    let (before_data, rest) = rest.split_once("/*data*/").unwrap_or((rest, ""));
    let (before_script, after) = rest.split_once("/*script*/").unwrap_or((rest, ""));
    [before_style, STYLE, before_data, &json, before_script, &SCRIPTS.concat(), after].concat()
}

/// JSON that HTML cannot take for anything else.
fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' => text.push_str(&format!("\\u{:04x}", c as u32)),
            // Within a string: a backslash there is two.
            c if is_hidden(c) => text.push_str(&format!("\\{}", c.escape_unicode())),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_place_for_each_part() {
        for part in ["/*style*/", "/*data*/", "/*script*/"] {
            assert_eq!(PAGE.matches(part).count(), 1, "{part}");
        }
        assert!(!SCRIPTS.concat().contains("</script"), "the script would end early");
        assert!(!STYLE.contains("</style"), "the style would end early");
    }

    #[test]
    fn nothing_is_fetched() {
        // What points into the page itself is not fetched.
        let all = [PAGE, STYLE, &SCRIPTS.concat()].concat().replace("url(#", "");
        for fetched in [
            "src=",
            "@import",
            "url(",
            "fetch(",
            "XMLHttpRequest",
            "import(",
            "innerHTML",
            "outerHTML",
            "eval(",
        ] {
            assert!(!all.contains(fetched), "{fetched}");
        }
        let elsewhere = all.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:"));
    }

    #[test]
    fn json_cannot_end_its_element() {
        assert_eq!(inert("\"</script><!--&\""), "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    }

    #[test]
    fn names_cannot_hide_anything() {
        for hidden in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}', '\u{feff}', '\u{e0041}'] {
            let json = serde_json::to_string(&format!("a{hidden}b")).unwrap();
            let shown: String = serde_json::from_str(&inert(&json)).unwrap();
            assert_eq!(shown, format!("a\\u{{{:x}}}b", hidden as u32));
        }
    }
}
