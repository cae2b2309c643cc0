//! Line charts as SVG.
//!
//! Drawn here and not by a plotting library, because colours, fonts and dark mode come from the page's style sheet by
//! class, points tell their value when pointed at, and gaps stand where a figure must not be shown.

use maud::{Markup, PreEscaped, html};

use crate::{STYLE, number};

/// Width and height of a chart that stands alone, in the units of its `viewBox`.
const ALONE: (f64, f64) = (760.0, 340.0);
/// Width and height of a chart among several, in the units of its `viewBox`.
const PANEL: (f64, f64) = (400.0, 250.0);
/// Room for labels around the plot: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (52.0, 14.0, 12.0, 44.0);
/// Width of a letter of a tick's label, roughly.
const LETTER: f64 = 6.0;
/// Number of points above which a line has no markers.
const MANY_POINTS: usize = 40;
/// Approximate number of ticks on an axis without given values.
const TICKS: f64 = 5.0;
/// Largest value of a point that is drawn: differences between larger ones would not be finite.
const LARGEST: f64 = 1e100;
/// Half the height of a marker.
const MARKER: f64 = 3.6;
/// Share of the distance of two positions that the bars there take.
const BARS: f64 = 0.8;
/// Height of a line of a legend, and room for its mark.
const LEGEND: f64 = 18.0;
const LEGEND_MARK: f64 = 22.0;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its title: the caption, and the text that is read out instead of the picture.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Positions on the horizontal axis, each with its label.
    pub ticks: Vec<(f64, String)>,
    /// The lines, or the bars.
    pub lines: Vec<Line>,
    /// The style of drawing.
    pub style: Style,
    /// True if it is one of several beside each other.
    pub panel: bool,
}

/// The style of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Lines through the points.
    #[default]
    Lines,
    /// A bar for every point; those of all lines at one position stand beside each other.
    Bars,
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// Class of the style sheet, which gives the colour.
    pub class: String,
    /// Its name in the legend.
    pub label: String,
    /// Published, not measured here.
    pub printed: bool,
    /// True if there is something between two points.
    pub joined: bool,
    /// The points; `None` is a gap.
    pub points: Vec<Option<Point>>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its position on the horizontal axis.
    pub x: f64,
    /// Its position on the vertical axis.
    pub y: f64,
    /// Smallest and largest value, where there are several.
    pub range: Option<(f64, f64)>,
}

impl Point {
    fn can_be_drawn(&self) -> bool {
        let (low, high) = self.range.unwrap_or_default();
        [self.x, self.y, low, high].iter().all(|value| value.abs() <= LARGEST)
    }
}

/// The mapping from figures to positions.
struct Frame {
    width: f64,
    height: f64,
    x: (f64, f64),
    /// Upper end of the vertical axis, which begins at 0 or at the smallest negative tick.
    y: (f64, f64),
}

impl Frame {
    fn left(&self, x: f64) -> f64 {
        let share = (x - self.x.0) / (self.x.1 - self.x.0);
        MARGIN.0 + share * (self.width - MARGIN.0 - MARGIN.1)
    }

    fn top(&self, y: f64) -> f64 {
        let share = (y - self.y.0) / (self.y.1 - self.y.0);
        self.height - MARGIN.3 - share * (self.height - MARGIN.2 - MARGIN.3)
    }
}

impl Chart {
    /// True if there is anything to see.
    pub fn is_empty(&self) -> bool {
        !self.lines.iter().any(|line| line.points.iter().any(Option::is_some))
    }

    /// The picture, as an element of a page.
    pub fn svg(&self) -> Markup {
        let frame = self.frame();
        let (width, height) = (frame.width, frame.height);
        html! {
            svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.spoken()) {
                (self.content(&frame))
            }
        }
    }

    /// The picture as a file of its own, with a legend above it.
    pub fn file(&self) -> String {
        let frame = self.frame();
        let (width, height) = (frame.width, frame.height);
        let rows = self.lines.len() as f64;
        let top = LEGEND * (rows + 1.0);
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {}", height + top))
                role="img" aria-label=(self.spoken()) {
                style { (PreEscaped(STYLE)) }
                rect width=(width) height=(height + top) fill="var(--card)" {}
                text.title x=(MARGIN.0) y=(LEGEND * 0.75) fill="var(--ink)" { (self.title) }
                @for (row, line) in self.lines.iter().enumerate() {
                    @let y = LEGEND * (row as f64 + 1.5);
                    g class=(line.classes()) { path.line d=(format!("M{} {y}h{}", MARGIN.0, LEGEND_MARK * 0.8)) {} }
                    text.label x=(MARGIN.0 + LEGEND_MARK) y=(y) dy="0.32em" { (line.label) }
                }
                g transform=(format!("translate(0 {top})")) { (self.content(&frame)) }
            }
        };
        svg.into_string()
    }

    fn content(&self, frame: &Frame) -> Markup {
        let (width, height) = (frame.width, frame.height);
        let (left, right) = (MARGIN.0, width - MARGIN.1);
        let bottom = height - MARGIN.3;
        let ticks = ticks(frame.y.0, frame.y.1);
        html! {
                @for tick in &ticks {
                    @let y = rounded(frame.top(*tick));
                    line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text.tick x=(left - 8.0) y=(y) dy="0.32em" text-anchor="end" { (number_of_tick(*tick)) }
                }
                line.axis x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
                @for (x, label) in self.shown_ticks(frame) {
                    @let x = rounded(frame.left(x));
                    line.axis x1=(x) x2=(x) y1=(bottom) y2=(bottom + 4.0) {}
                    text.tick x=(x) y=(bottom + 17.0) text-anchor="middle" { (label) }
                }
                text.label x=((left + right) / 2.0) y=(height - 6.0) text-anchor="middle" { (self.x_label) }
                text.label transform=(format!("translate(12 {}) rotate(-90)", (MARGIN.2 + bottom) / 2.0))
                    text-anchor="middle" { (self.y_label) }
                @if self.style == Style::Bars {
                    @for (number, line) in self.lines.iter().enumerate() {
                        (line.bars(frame, number, self.lines.len()))
                    }
                } @else {
                    @for line in &self.lines { (line.svg(frame)) }
                }
        }
    }

    fn frame(&self) -> Frame {
        let (width, height) = if self.panel { PANEL } else { ALONE };
        let points = || self.lines.iter().flat_map(|line| line.points.iter().flatten());
        let xs = points().map(|point| point.x).chain(self.ticks.iter().map(|tick| tick.0));
        let ys = points().flat_map(|point| {
            let (low, high) = point.range.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        let (x_min, x_max) = bounds(xs).unwrap_or((0.0, 1.0));
        let (y_min, y_max) = bounds(ys).unwrap_or((0.0, 1.0));
        let (y_min, y_max) = (y_min.min(0.0), y_max.max(0.0));
        let step = step(y_min, y_max);
        let y = ((y_min / step).floor() * step, (y_max / step).ceil() * step);
        // A single position stands in the middle.
        let x = if x_min < x_max { (x_min, x_max) } else { (x_min - 1.0, x_max + 1.0) };
        let y = if y.0 < y.1 { y } else { (0.0, 1.0) };
        // Markers and bars at the ends stay clear of the frame.
        let room = match self.style {
            Style::Bars => 0.5,
            Style::Lines if self.lines.iter().any(Line::has_markers) => 0.04 * (x.1 - x.0),
            Style::Lines => 0.0,
        };
        Frame { width, height, x: (x.0 - room, x.1 + room), y }
    }

    /// The ticks whose labels do not run into each other.
    fn shown_ticks(&self, frame: &Frame) -> Vec<(f64, &str)> {
        let mut shown = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        for (x, label) in &self.ticks {
            let half = label.chars().count() as f64 * LETTER / 2.0;
            let middle = frame.left(*x);
            if middle - half >= free_from {
                shown.push((*x, label.as_str()));
                free_from = middle + half + LETTER / 2.0;
            }
        }
        shown
    }

    /// Returns the text for readers who do not see the picture.
    fn spoken(&self) -> String {
        let labels = self.lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>();
        let (y, x) = (&self.y_label, &self.x_label);
        format!(
            "{}: line chart of {y} over {x}: {}. The table has the figures.",
            self.title,
            labels.join(", ")
        )
    }
}

impl Line {
    fn has_markers(&self) -> bool {
        self.points.len() <= MANY_POINTS
    }

    fn svg(&self, frame: &Frame) -> Markup {
        html! {
            g class=(self.classes()) {
                @if self.joined { path.line d=(self.way(frame)) {} }
                @if self.has_markers() {
                    @for point in self.points.iter().flatten().filter(|point| point.can_be_drawn()) {
                        @let (x, y) = (rounded(frame.left(point.x)), rounded(frame.top(point.y)));
                        @if let Some((low, high)) = point.range {
                            line.range x1=(x) x2=(x) y1=(rounded(frame.top(low))) y2=(rounded(frame.top(high))) {}
                        }
                        @if self.printed {
                            rect.marker x=(x - MARKER) y=(y - MARKER) width=(2.0 * MARKER) height=(2.0 * MARKER)
                                transform=(format!("rotate(45 {x} {y})")) { title { (self.told(point)) } }
                        } @else {
                            circle.marker cx=(x) cy=(y) r=(MARKER) { title { (self.told(point)) } }
                        }
                    }
                }
            }
        }
    }

    /// Its points as bars, which are one of `count` beside each other.
    fn bars(&self, frame: &Frame, number: usize, count: usize) -> Markup {
        let width = BARS / count as f64;
        html! {
            g class=(self.classes()) {
                @for point in self.points.iter().flatten().filter(|point| point.can_be_drawn()) {
                    @let from = point.x - BARS / 2.0 + number as f64 * width;
                    @let (left, right) = (rounded(frame.left(from)), rounded(frame.left(from + width)));
                    @let (top, bottom) = (rounded(frame.top(point.y.max(0.0))), rounded(frame.top(point.y.min(0.0))));
                    rect.bar x=(left) y=(top) width=(rounded(right - left)) height=(rounded(bottom - top)) {
                        title { (self.told(point)) }
                    }
                }
            }
        }
    }

    /// Returns the classes of the group that it is drawn in.
    pub(crate) fn classes(&self) -> String {
        format!("{}{}", self.class, if self.printed { " printed" } else { "" })
    }

    fn told(&self, point: &Point) -> String {
        let range =
            point.range.map(|(low, high)| format!(" ({} to {})", number(low), number(high)));
        format!("{}: {}{}", self.label, number(point.y), range.unwrap_or_default())
    }

    fn way(&self, frame: &Frame) -> String {
        let mut way = String::new();
        let mut down = false;
        for point in &self.points {
            let Some(point) = point.filter(Point::can_be_drawn) else {
                down = false;
                continue;
            };
            let command = if down { 'L' } else { 'M' };
            let (x, y) = (rounded(frame.left(point.x)), rounded(frame.top(point.y)));
            way += &format!("{command}{x} {y}");
            down = true;
        }
        way
    }
}

/// Round positions for an axis from 0 to `last`, such as seconds.
pub fn round_ticks(last: f64) -> Vec<(f64, String)> {
    ticks(0.0, last).into_iter().map(|tick| (tick, number_of_tick(tick))).collect()
}

fn ticks(from: f64, to: f64) -> Vec<f64> {
    let step = step(from, to);
    let count = ((to - from) / step + 1e-6).floor().clamp(0.0, 4.0 * TICKS) as usize;
    (0..=count).map(|number| from + number as f64 * step).collect()
}

/// 1, 2, 2.5 or 5 times a power of ten.
fn step(from: f64, to: f64) -> f64 {
    let rough = (to - from) / TICKS;
    if !(rough.is_finite() && rough > f64::MIN_POSITIVE) {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

fn number_of_tick(tick: f64) -> String {
    let shown = number(tick);
    if shown.contains('.') && !shown.contains('e') {
        shown.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        shown
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.abs() <= LARGEST).fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// A tenth of a unit is less than anybody sees.
fn rounded(position: f64) -> f64 {
    (position * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[Option<f64>]) -> Chart {
        let points = values
            .iter()
            .enumerate()
            .map(|(x, y)| y.map(|y| Point { x: x as f64, y, range: Some((y - 1.0, y + 1.0)) }));
        let points = points.collect();
        let (class, label) = ("ours".to_owned(), "<ours>".to_owned());
        let line = Line { class, label, printed: false, joined: true, points };
        Chart {
            title: "Goodput & delay".into(),
            x_label: "delay".into(),
            y_label: "Mbit/s".into(),
            ticks: vec![(0.0, "0".into()), (1.0, "10".into())],
            lines: vec![line],
            style: Style::Lines,
            panel: true,
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 120.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(0.0, 1.0).len(), 6);
        assert_eq!(number_of_tick(0.2), "0.2");
        assert_eq!(number_of_tick(1500.0), "1,500");
    }

    #[test]
    fn a_gap_breaks_the_line_and_text_is_escaped() {
        let svg = chart(&[Some(50.0), None, Some(100.0)]).svg().into_string();
        assert!(svg.contains(r#"d="M64.4 128.4M373.6 50.8""#), "{svg}");
        assert!(
            svg.contains("&lt;ours&gt;: 50.00 (49.00 to 51.00)") && !svg.contains("<ours>"),
            "{svg}"
        );
        assert!(svg.contains(r#"role="img""#) && svg.contains("Goodput &amp; delay"), "{svg}");
    }

    #[test]
    fn bars_stand_beside_each_other() {
        let mut bars = Chart { style: Style::Bars, ..chart(&[Some(50.0), Some(100.0)]) };
        bars.lines.push(bars.lines[0].clone());
        let svg = bars.svg().into_string();
        assert_eq!(svg.matches("class=\"bar\"").count(), 4);
        let lefts: Vec<&str> = svg.split("class=\"bar\" x=\"").skip(1).collect();
        let lefts =
            lefts.iter().map(|rest| rest.split('"').next().unwrap().parse::<f64>().unwrap());
        let lefts: Vec<f64> = lefts.collect();
        assert!(lefts[0] < lefts[2] && lefts[2] < lefts[1] && lefts[1] < lefts[3], "{lefts:?}");
    }

    #[test]
    fn a_file_has_its_style_and_its_legend() {
        let file = chart(&[Some(50.0), Some(100.0)]).file();
        assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(file.contains("<style>") && file.contains(">&lt;ours&gt;</text>"));
        assert!(file.contains(">Goodput &amp; delay</text>"));
    }

    #[test]
    fn whatever_the_figures_are_there_is_a_picture() {
        let odd = [f64::MAX, -f64::MAX, f64::INFINITY, f64::NAN, 0.0, f64::MIN_POSITIVE, 5e-324];
        for one in odd {
            for other in odd {
                for style in [Style::Lines, Style::Bars] {
                    let chart = Chart { style, ..chart(&[Some(one), Some(other)]) };
                    let svg = chart.svg().into_string();
                    assert!(svg.ends_with("</svg>"));
                    assert!(!svg.contains("NaN"), "{one} and {other}: {svg}");
                }
            }
        }
        assert!(chart(&[]).is_empty() && chart(&[None]).is_empty());
        chart(&[]).svg();
    }
}
