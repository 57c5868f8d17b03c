//! Curves as SVG: both axes logarithmic, one line a series, nothing to load, readable on light and dark.

use std::fmt::Write as _;

/// A line: its name and its points, both coordinates above zero.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A picture of curves.
pub(crate) struct Plot<'p> {
    pub(crate) title: &'p str,
    pub(crate) x: &'p str,
    pub(crate) y: &'p str,
    pub(crate) series: &'p [Series],
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Colour-blind readers can distinguish them as well.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Where the powers of ten of one axis lie.
#[derive(Clone, Copy)]
struct Axis {
    low: i32,
    high: i32,
    start: f64,
    length: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, start: f64, length: f64) -> Axis {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let high = values.fold(0.0, f64::max).log10().ceil() as i32;
        Axis { low, high: high.max(low + 1), start, length }
    }

    fn at(self, value: f64) -> f64 {
        self.start + self.length * (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn powers(self) -> impl Iterator<Item = (i32, f64)> {
        (self.low..=self.high).map(move |power| (power, self.at(10f64.powi(power))))
    }
}

impl Plot<'_> {
    /// `None`: there are no points.
    pub(crate) fn svg(&self) -> Option<String> {
        let points = self.series.iter().flat_map(|series| series.points.iter().copied());
        points.clone().next()?;
        let x = Axis::of(points.clone().map(|point| point.0), LEFT, WIDTH - LEFT - RIGHT);
        // Upwards on the page is downwards in its coordinates.
        let y = Axis::of(points.map(|point| point.1), HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#808080\">\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            self.title
        );
        self.grid(&mut svg, x, y);
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            line(&mut svg, series, colour, x, y);
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn grid(&self, svg: &mut String, x: Axis, y: Axis) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (power, at) in x.powers() {
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#808080\" stroke-opacity=\"0.3\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                ten_to(power)
            );
        }
        for (power, at) in y.powers() {
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#808080\" stroke-opacity=\"0.3\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                ten_to(power)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 12.0,
            self.x,
            (TOP + bottom) / 2.0,
            self.y
        );
    }
}

fn line(svg: &mut String, series: &Series, colour: &str, x: Axis, y: Axis) {
    let at = |&(across, up): &(f64, f64)| (x.at(across), y.at(up));
    let Some((end_x, end_y)) = series.points.last().map(at) else { return };
    let points = series.points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}"));
    let points: Vec<String> = points.collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        points.join(" ")
    );
    for (x, y) in series.points.iter().map(at) {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
        end_x + 8.0,
        end_y + 4.0,
        series.name
    );
}

/// Small powers as plain numbers.
fn ten_to(power: i32) -> String {
    match power {
        -3..=3 => format!("{}", 10f64.powi(power)),
        _ => format!("10<tspan dy=\"-5\" font-size=\"9\">{power}</tspan>"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Plot, Series};

    #[test]
    fn a_power_of_ten_lies_on_its_line_and_nothing_lies_outside() {
        let series =
            [Series { name: "linear".to_owned(), points: vec![(10.0, 0.1), (100.0, 1.0), (1000.0, 10.0)] }];
        let svg = Plot { title: "t", x: "events", y: "seconds", series: &series }.svg().expect("points");
        assert!(svg.contains("points=\"70.0,370.0 320.0,205.0 570.0,40.0\""), "{svg}");
        assert!(Plot { title: "t", x: "", y: "", series: &[] }.svg().is_none());
    }
}
