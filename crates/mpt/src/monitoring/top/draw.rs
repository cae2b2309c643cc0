//! Rows on a terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{RenderDirection, Sparkline};

use super::body::{Body, INDENT, LABEL, Row, body, footer};
use super::charts::Chart;
use super::view::View;
use crate::monitoring::status::screen::{FAINT, GOOD, Line};
use crate::monitoring::watched::Seen;

/// Draws everything.
pub(crate) fn frame(frame: &mut Frame<'_>, view: &View, seen: &Seen) {
    let area = frame.area();
    let width = usize::from(area.width);
    let footer = footer(view, seen, width);
    let height = u16::try_from(footer.len()).unwrap_or(u16::MAX);
    let [upper, lower] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
    let body = body(view, seen, width);
    let offset = offset(&body, usize::from(upper.height));
    for (row, place) in body.rows.iter().skip(offset).zip(upper.rows()) {
        match row {
            Row::Text(line) => frame.render_widget(text(line), place),
            Row::Charts(charts) => self::charts(frame, charts, place),
        }
    }
    for (line, place) in footer.iter().zip(lower.rows()) {
        frame.render_widget(text(line), place);
    }
}

/// Returns the number of rows above the screen: as few as let the selected path be seen.
fn offset(body: &Body, height: usize) -> usize {
    let Some((start, end)) = body.selected else { return 0 };
    end.saturating_sub(height).min(start)
}

fn charts(frame: &mut Frame<'_>, charts: &[Chart], place: Rect) {
    let shares = charts.iter().map(|_| Constraint::Fill(1));
    for (chart, place) in charts.iter().zip(Layout::horizontal(shares).split(place).iter()) {
        let label = u16::try_from(INDENT + LABEL).unwrap_or(u16::MAX);
        let [left, right] =
            Layout::horizontal([Constraint::Length(label), Constraint::Fill(1)]).areas(*place);
        let indent = " ".repeat(INDENT);
        let label = format!("{indent}{:<LABEL$}", chart.label);
        frame.render_widget(Span::styled(label, Style::from(FAINT)), left);
        // The latest value is at the right.
        let bars = Sparkline::default()
            .data(chart.values.iter().rev().copied())
            .direction(RenderDirection::RightToLeft)
            .max(chart.most)
            .style(Style::from(GOOD));
        frame.render_widget(bars, right);
    }
}

fn text(line: &Line) -> Text<'_> {
    line.pieces().map(|(style, text)| Span::styled(text, Style::from(style))).collect()
}
