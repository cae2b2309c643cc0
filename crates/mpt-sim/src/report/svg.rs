//! Figures as charts.

use mpt_report::{Chart, Line, Point, Style as Drawn, round_ticks};

use super::{Figure, Series, Style};

/// Colours that the style sheet has for series.
const COLOURS: usize = 7;

impl Figure {
    /// Returns the figure as an SVG file.
    pub fn file(&self) -> String {
        self.chart().file()
    }

    /// Returns the figure for a page.
    pub fn chart(&self) -> Chart {
        let ends = self.series.iter().flat_map(|series| &series.points).map(|&(x, _)| x);
        let last = ends.filter(|x| x.is_finite()).fold(0.0, f64::max);
        let ticks = match self.style {
            Style::Bars if !self.groups.is_empty() => {
                self.groups.iter().enumerate().map(|(x, name)| (x as f64, name.clone())).collect()
            }
            _ => round_ticks(last),
        };
        let style = match self.style {
            Style::Lines => Drawn::Lines,
            Style::Bars => Drawn::Bars,
        };
        Chart {
            title: self.title.clone(),
            x_label: self.x.clone(),
            y_label: self.y.clone(),
            ticks,
            lines: self.series.iter().enumerate().map(line).collect(),
            style,
            panel: false,
        }
    }
}

fn line((number, Series { name, points }): (usize, &Series)) -> Line {
    let point = |&(x, y): &(f64, f64)| y.is_finite().then_some(Point { x, y, range: None });
    Line {
        class: format!("series-{}", number % COLOURS),
        label: name.clone(),
        printed: false,
        joined: true,
        points: points.iter().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(style: Style, points: Vec<(f64, f64)>) -> Figure {
        let text = str::to_owned;
        let series = vec![Series { name: text("SF-0 & SF-1"), points }];
        let (x, y) = (text("seconds"), text("packets"));
        let groups = if style == Style::Bars { vec![text("NoPR"), text("Eifel")] } else { vec![] };
        Figure { name: text("cwnd"), title: text("windows"), x, y, series, style, groups }
    }

    #[test]
    fn both_styles_are_drawn_and_nothing_breaks_them() {
        for style in [Style::Lines, Style::Bars] {
            for points in [vec![], vec![(0.0, 0.0)], vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)]]
            {
                let document = figure(style, points).file();
                assert!(document.starts_with("<svg") && document.contains("SF-0 &amp; SF-1"));
                assert_eq!(document.contains("NoPR"), style == Style::Bars);
            }
        }
    }
}
