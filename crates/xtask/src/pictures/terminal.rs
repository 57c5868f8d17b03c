//! A terminal as a picture: text with colours as SVG.

use std::fmt::Write as _;

use super::escaped;

/// The size of a character and the room around the text, in pixels.
const WIDTH: f64 = 7.8;
const HEIGHT: f64 = 17.0;
const MARGIN: f64 = 14.0;
const TEXT: &str = "#d8dee9";

/// How text is shown from here on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Style {
    bold: bool,
    colour: Option<&'static str>,
}

impl Style {
    /// The style after one of the terminal's codes, `1;31` for example. Unknown codes change nothing.
    fn after(mut self, codes: &str) -> Style {
        for code in codes.split(';') {
            match code.parse::<u32>().unwrap_or(0) {
                0 => self = Style::default(),
                1 => self.bold = true,
                22 => self.bold = false,
                39 => self.colour = None,
                code @ (30..=37 | 90..=97) => self.colour = Some(colour(code % 10)),
                _ => {}
            }
        }
        self
    }
}

fn colour(number: u32) -> &'static str {
    ["#4c566a", "#ff6c7a", "#8fd67f", "#ebcb6b", "#7aa8f0", "#d59fe0", "#6fcfd6", "#eceff4"][number as usize]
}

/// What a terminal with this number of columns shows.
pub(super) fn picture(text: &str, columns: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (width, height) = (columns as f64 * WIDTH + 2.0 * MARGIN, lines.len() as f64 * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
         aria-label=\"A hunt in the terminal\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#20242c\"/>\n\
         <g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"{TEXT}\" xml:space=\"preserve\">\n"
    );
    let mut style = Style::default();
    for (number, line) in lines.iter().enumerate() {
        let y = MARGIN + HEIGHT * (number as f64 + 0.75);
        let mut column = 0;
        for (text, of) in pieces(line, &mut style) {
            let x = MARGIN + WIDTH * column as f64;
            let length = text.chars().count();
            let fill = of.colour.map(|colour| format!(" fill=\"{colour}\"")).unwrap_or_default();
            let weight = if of.bold { " font-weight=\"bold\"" } else { "" };
            // The length is given, so that columns line up in every font.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{:.1}\"{fill}{weight}>{}</text>",
                WIDTH * length as f64,
                escaped(text)
            );
            column += length;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The pieces of a line that have one style each, without the terminal's codes. `style` is the one at its start, and then at its end.
fn pieces<'t>(line: &'t str, style: &mut Style) -> Vec<(&'t str, Style)> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (text, code) = rest.split_once("\u{1b}[").map_or((rest, None), |(text, code)| (text, Some(code)));
        if !text.is_empty() {
            pieces.push((text, *style));
        }
        let Some(code) = code else { break };
        let end = code.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(code.len());
        if code[end..].starts_with('m') {
            *style = style.after(&code[..end]);
        }
        rest = code.get(end + 1..).unwrap_or("");
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_styles() {
        let mut style = Style::default();
        let red = Style { bold: true, colour: Some(colour(1)) };
        assert_eq!(
            pieces("a \u{1b}[1;91mb\u{1b}[0m\u{1b}[2Kc", &mut style),
            [("a ", Style::default()), ("b", red), ("c", Style::default())]
        );
        assert!(picture("x < y", 10).contains(">x &lt; y</text>"));
    }
}
