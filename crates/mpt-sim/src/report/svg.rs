//! Figures as SVG.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Figure, Series, Style};

const SIZE: (u32, u32) = (760, 420);
/// Okabe and Ito's colours, which people who see colours differently can tell apart.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(80, 80, 80),
];
/// The axis goes beyond the highest value, to leave room for the legend.
const HEADROOM: f64 = 1.2;
/// Of the distance of two groups, what their bars take.
const BAR_SHARE: f64 = 0.8;

/// The figure as an SVG document.
///
/// # Errors
///
/// What cannot be drawn.
pub fn draw(figure: &Figure) -> Result<String, Box<dyn Error>> {
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, SIZE).into_drawing_area();
        fill(figure, &area).map_err(|error| error.to_string())?;
        area.present().map_err(|error| error.to_string())?;
    }
    Ok(document)
}

fn fill<B: DrawingBackend>(
    figure: &Figure,
    area: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let (horizontal, vertical) = (extent(figure, |point| point.0), extent(figure, |point| point.1));
    let horizontal = match figure.style {
        Style::Lines => horizontal.start..horizontal.end.max(horizontal.start + 1e-9),
        Style::Bars => -0.5..horizontal.end + 0.5,
    };
    let top = if vertical.end > 0.0 { HEADROOM * vertical.end } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(&figure.title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(horizontal, 0.0..top)?;
    let group = |x: &f64| {
        // Labels are sums of steps: whole numbers but for rounding.
        let whole = x.round();
        let is_group = whole >= 0.0 && (x - whole).abs() < 1e-6;
        let name = figure.groups.get(whole as usize).filter(|_| is_group);
        name.cloned().unwrap_or_default()
    };
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).x_desc(&figure.x).y_desc(&figure.y);
    if !figure.groups.is_empty() {
        // Every half, so that the whole ones are among them.
        mesh.x_labels(2 * figure.groups.len() + 1).x_label_formatter(&group).disable_x_mesh();
    }
    mesh.draw()?;
    for (index, Series { name, points }) in figure.series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let drawn = match figure.style {
            Style::Lines => chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?,
            Style::Bars => {
                let width = BAR_SHARE / figure.series.len() as f64;
                chart.draw_series(points.iter().map(|&(x, y)| {
                    let left = x - BAR_SHARE / 2.0 + index as f64 * width;
                    Rectangle::new([(left, 0.0), (left + width, y)], colour.filled())
                }))?
            }
        };
        drawn
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

fn extent(figure: &Figure, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
    let values = figure.series.iter().flat_map(|series| &series.points).map(of);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (least, most) = (least.min(value), most.max(value));
    }
    if least > most { 0.0..1.0 } else { least..most }
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
                let document = draw(&figure(style, points)).unwrap();
                assert!(document.starts_with("<svg") && document.contains("SF-0 &amp; SF-1"));
                assert_eq!(document.contains("NoPR"), style == Style::Bars);
            }
        }
    }
}
