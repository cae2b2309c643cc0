//! The screen as rows, before it is drawn.

use std::time::{Duration, SystemTime};

use super::charts::{self, Chart};
use super::view::{Mode, View, is_last};
use crate::monitoring::status::render::{self, TABLE};
use crate::monitoring::status::screen::{BAD, FAINT, Line, PLAIN, STRONG, shortened, wrapped};
use crate::monitoring::status::{Tunnel, Uplink};
use crate::monitoring::watched::{Happened, Seen};

/// The columns of the name of a chart, behind its indent.
pub(crate) const LABEL: usize = 6;
/// The columns before a chart.
pub(crate) const INDENT: usize = 4;

/// The purpose of each key.
const KEYS: [(&str, &str); 7] = [
    ("up, down, k, j", "select a path"),
    ("left, right, p, n", "select a connection"),
    ("d", "take the path out of service"),
    ("u", "take the path into service"),
    ("?", "this list"),
    ("q, Esc, Ctrl-C", "quit"),
    ("y", "confirm; every other key does not"),
];

/// One row of the screen.
#[derive(Debug)]
pub(crate) enum Row {
    Text(Line),
    /// Charts side by side, each behind its name.
    Charts(Vec<Chart>),
}

impl From<Line> for Row {
    fn from(line: Line) -> Row {
        Row::Text(line)
    }
}

/// The rows that there are, of which a screen may show some only.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) rows: Vec<Row>,
    /// The first row of the selected path, and the first one after it.
    pub(crate) selected: Option<(usize, usize)>,
}

impl Body {
    fn extend(&mut self, lines: Vec<Line>) {
        self.rows.extend(lines.into_iter().map(Row::from));
    }
}

/// Returns everything but the last lines, for a terminal of this width.
pub(crate) fn body(view: &View, seen: &Seen, width: usize) -> Body {
    let mut body = Body::default();
    if *view.mode() == Mode::Help {
        body.extend(help(width));
        return body;
    }
    let mut lines = render::heading(&seen.now, width);
    render::problems(&mut lines, &seen.now.problems, width);
    if let Some(answered) = seen.answered_ms.filter(|_| seen.now.daemon.is_none()) {
        let since = format!("Everything below is as of {} UTC.", time_of_day(answered));
        lines.extend(wrapped(&since, width, 0).iter().map(|it| Line::new().with(BAD, it)));
    }
    lines.push(Line::new());
    match (view.index(seen), view.connection()) {
        (Some(index), _) => {
            let many = seen.last.connections.len();
            if many > 1 {
                let which = format!("connection {} of {many}", index + 1);
                lines.push(Line::new().with(FAINT, which));
            }
            let tunnel = &seen.last.connections[index];
            render::whole(&mut lines, tunnel, width);
            body.extend(lines);
            self::tunnel(&mut body, tunnel, view, seen, width);
        }
        (None, Some(name)) => {
            let missing = format!("There is no connection {name}.");
            lines.extend(wrapped(&missing, width, 0).iter().map(|it| Line::new().with(BAD, it)));
            body.extend(lines);
        }
        (None, None) => body.extend(lines),
    }
    body.extend(events(&seen.events, width));
    body
}

/// Adds the paths of a connection, with details of the selected one.
fn tunnel(body: &mut Body, tunnel: &Tunnel, view: &View, seen: &Seen, width: usize) {
    let names = render::width_of_names(&tunnel.paths, width);
    if width >= TABLE {
        body.rows.push(render::headings(names).into());
    }
    let now = seen.answered_ms.unwrap_or_default() / 1_000;
    for path in &tunnel.paths {
        let selected = view.path() == Some(&path.name);
        let start = body.rows.len();
        let mark = if selected { "> " } else { "  " };
        body.rows.push(match width >= TABLE {
            true => render::row(mark, path, names).into(),
            false => short(mark, path, width).into(),
        });
        let whole = width.saturating_sub(INDENT + LABEL);
        if width >= TABLE {
            // One column more than there is room for, since what is odd is shared.
            let half = (width / 2).saturating_sub(INDENT + LABEL) + 1;
            let rates = charts::rates(tunnel, path, &seen.drawn, half, now);
            body.rows.push(Row::Charts(rates.into()));
        } else {
            let rates = charts::rates(tunnel, path, &seen.drawn, whole, now);
            body.rows.extend(rates.into_iter().map(|it| Row::Charts(vec![it])));
        }
        if selected {
            let details = charts::details(tunnel, path, &seen.drawn, whole, now);
            body.rows.extend(details.into_iter().map(|it| Row::Charts(vec![it])));
            body.extend(facts(path, width));
            body.selected = Some((start, body.rows.len()));
        }
    }
    let mut lines = Vec::new();
    render::problems(&mut lines, &tunnel.problems, width);
    body.extend(lines);
}

/// A path on a narrow terminal.
fn short(mark: &str, path: &Uplink, width: usize) -> Line {
    let (style, state) = render::state(path);
    let name = shortened(&path.name, width.saturating_sub(10).max(4));
    Line::new().with(PLAIN, mark).with(STRONG, name).with(PLAIN, " ").with(style, state)
}

/// Returns what else there is to say about the selected path. A narrow terminal has no table, so its figures are here.
fn facts(path: &Uplink, width: usize) -> Vec<Line> {
    let mut facts = Vec::new();
    if width < TABLE {
        let figures = render::figures(path).into_iter().filter(|(_, value)| value != "-");
        facts.extend(figures.map(|(name, value)| format!("{name} {value}")));
    }
    facts.extend(render::facts(path));
    let indent = " ".repeat(INDENT);
    let pieces = wrapped(&facts.join(", "), width.saturating_sub(INDENT), 0);
    pieces.iter().map(|it| Line::new().with(FAINT, format!("{indent}{it}"))).collect()
}

/// The last events, the latest first.
fn events(events: &[Happened], width: usize) -> Vec<Line> {
    /// Most events that are shown: more than a screen has rows for beside everything else.
    const MOST: usize = 50;
    let mut lines = vec![Line::new(), Line::new().with(FAINT, "EVENTS, UTC")];
    if events.is_empty() {
        lines.push(Line::new().with(FAINT, "none since mpt top was started"));
    }
    for event in events.iter().rev().take(MOST) {
        let text = format!("{} {}", time_of_day(event.time_ms), event.text);
        let pieces = wrapped(&text, width, 2);
        lines.extend(pieces.iter().map(|it| Line::new().with(PLAIN, it)));
    }
    lines
}

/// "12:34:56" of a moment in milliseconds since 1970.
fn time_of_day(time_ms: u64) -> String {
    // The date is not shown, so it may be another one.
    let day = Duration::from_millis(time_ms % (24 * 3_600 * 1_000));
    let text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + day).to_string();
    text.get(11..19).unwrap_or_default().to_owned()
}

fn help(width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new().with(STRONG, "Keys of mpt top"), Line::new()];
    for (keys, what) in KEYS {
        if width >= 60 {
            let line = Line::new().with(STRONG, format!("  {keys:<19}")).with(PLAIN, what);
            lines.push(line);
        } else {
            lines.push(Line::new().with(STRONG, keys));
            let pieces = wrapped(what, width.saturating_sub(2), 0);
            lines.extend(pieces.iter().map(|it| Line::new().with(PLAIN, format!("  {it}"))));
        }
    }
    lines
}

/// Returns the last lines of the screen: a question, what came of an order, or the keys.
pub(crate) fn footer(view: &View, seen: &Seen, width: usize) -> Vec<Line> {
    let (style, text) = match (view.mode(), view.message()) {
        (Mode::Asking(order), _) => {
            let verb = if order.is_down() { "out of" } else { "into" };
            let last = match order.is_down() && is_last(order, seen) {
                true => " Nothing else carries its packets.",
                false => "",
            };
            let question = format!(
                "Take path {} of connection {} {verb} service?{last} y: yes, any other key: no",
                order.path, order.connection
            );
            (STRONG, question)
        }
        (Mode::Help, _) => (FAINT, "any key: back".to_owned()),
        (Mode::Looking, Some(message)) => (STRONG, message.to_owned()),
        (Mode::Looking, None) if width >= TABLE => (
            FAINT,
            "up, down: path; left, right: connection; d, u: path down, up; ?: help; q: quit"
                .to_owned(),
        ),
        (Mode::Looking, None) => (FAINT, "?: help; q: quit".to_owned()),
    };
    wrapped(&text, width, 0).iter().map(|it| Line::new().with(style, it)).collect()
}
