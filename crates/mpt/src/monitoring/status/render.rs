//! The screen of `mpt status`: a table where the terminal has room for one, else one fact per line.

use std::time::Duration;

use anstyle::Style;
use mpt_api::DataState;
use mpt_api::snapshot::{DownReason, MtuSource, PathState, SessionState};
use mpt_text::quantity;

use super::cap;
use super::screen::{BAD, FAINT, FAIR, GOOD, Line, PLAIN, STRONG, shortened, wrapped};
use super::state::State;
use super::summary::{Summary, Tunnel, Uplink};

/// The width for which the screen is made. A wider terminal gets longer names.
pub(crate) const WIDTH: usize = 80;

/// The narrowest terminal that gets a table.
pub(crate) const TABLE: usize = 79;

/// The width of the column of names on a terminal of [`TABLE`] columns.
const NAME: usize = 9;

/// The other columns of the table: heading and width.
const COLUMNS: [(&str, usize); 9] = [
    ("STATE", 8),
    ("OUT", 7),
    ("IN", 7),
    ("CAPACITY", 8),
    ("RTT", 6),
    ("JITTER", 6),
    ("LOSS", 6),
    ("QUEUE", 6),
    ("SHARE", 5),
];

/// Returns the lines of the screen.
pub(crate) fn screen(summary: &Summary, width: usize) -> Vec<Line> {
    let mut lines = heading(summary, width);
    problems(&mut lines, &summary.problems, width);
    for tunnel in &summary.connections {
        lines.push(Line::new());
        self::tunnel(&mut lines, tunnel, width);
    }
    lines
}

/// Returns state and rates of the whole, and the daemon's version and age, on the same line where there is room.
pub(crate) fn heading(summary: &Summary, width: usize) -> Vec<Line> {
    let state = Line::new()
        .with(STRONG, "mpt")
        .with(PLAIN, " ")
        .with(colour(summary.state), summary.state.to_string());
    let Some(daemon) = &summary.daemon else { return vec![state] };
    let age = humantime::format_duration(Duration::from_secs(daemon.uptime_s)).to_string();
    // Two units are as exact as anybody reads them.
    let age = age.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let age = format!("  mptd {} for {age}", daemon.program);
    let (sent, received) = summary.rates();
    let connections = match summary.connections.len() {
        0 => "no connection yet".into(),
        number => quantity::count(number, "connection"),
    };
    let (sent, received) = (quantity::rate(sent), quantity::rate(received));
    let line = state.with(PLAIN, format!("  {connections}, out {sent}, in {received}"));
    if line.length() + age.chars().count() <= width {
        vec![line.with(FAINT, age)]
    } else {
        vec![line, Line::new().with(FAINT, age)]
    }
}

fn tunnel(lines: &mut Vec<Line>, tunnel: &Tunnel, width: usize) {
    whole(lines, tunnel, width);
    if width >= TABLE {
        table(lines, &tunnel.paths, width);
    } else {
        for path in &tunnel.paths {
            card(lines, path, width);
        }
    }
    problems(lines, &tunnel.problems, width);
}

/// Adds what concerns a connection as a whole.
pub(crate) fn whole(lines: &mut Vec<Line>, tunnel: &Tunnel, width: usize) {
    let room = width.saturating_sub(12).max(4);
    let name = Line::new().with(STRONG, shortened(&tunnel.name, room)).with(PLAIN, " ");
    let name = name.with(colour(tunnel.state), tunnel.state.to_string());
    let mut facts = vec![
        format!("out {}", quantity::rate(tunnel.sent_bits_per_second)),
        format!("in {}", quantity::rate(tunnel.received_bits_per_second)),
    ];
    if let Some(packets) = tunnel.queue_packets.filter(|&packets| packets > 0) {
        facts.push(format!("{} waiting", quantity::count(packets, "packet")));
    }
    if width >= TABLE {
        lines.push(name.with(PLAIN, format!("  {}", facts.join(", "))));
    } else {
        lines.push(name);
        lines.extend(facts.iter().map(|fact| Line::new().with(PLAIN, format!("  {fact}"))));
    }
    let (style, seal) = seal(tunnel);
    let rest = format!("{} mapping, device {}", tunnel.mapping, tunnel.device);
    if width >= TABLE {
        lines
            .push(Line::new().with(PLAIN, "  ").with(style, seal).with(PLAIN, format!(", {rest}")));
    } else {
        fact(lines, style, seal, width);
        fact(lines, PLAIN, &rest, width);
    }
    fact(lines, PLAIN, &peer(tunnel), width);
}

/// A sentence below the name of a connection.
fn fact(lines: &mut Vec<Line>, style: Style, text: &str, width: usize) {
    for piece in wrapped(text, width.saturating_sub(2), 2) {
        lines.push(Line::new().with(PLAIN, "  ").with(style, piece));
    }
}

/// Returns the peer, with the state of the session.
fn peer(tunnel: &Tunnel) -> String {
    let Some(key) = &tunnel.peer else { return "peer without session: nothing confirms it".into() };
    let name = tunnel.client.as_ref().map_or_else(String::new, |client| format!("{client} "));
    let session = match (tunnel.session, tunnel.established_s) {
        (Some(SessionState::Established), Some(since)) => {
            let since = humantime::format_duration(Duration::from_secs(since));
            format!("established for {since}")
        }
        (Some(SessionState::Established), None) => "established".into(),
        (Some(SessionState::Connecting), _) => "connecting".into(),
        (Some(SessionState::Creating), _) => "waiting for the peer".into(),
        (Some(SessionState::Refused), _) => "refused".into(),
        (Some(SessionState::Unknown) | None, _) => "state unknown".into(),
    };
    format!("peer {name}{key}, {session}")
}

/// Returns the text about the protection of the data, with its style.
fn seal(tunnel: &Tunnel) -> (Style, &'static str) {
    match tunnel.data {
        Some(DataState::Aes256Gcm) => (GOOD, "sealed with AES-256-GCM"),
        Some(DataState::Chacha20Poly1305) => (GOOD, "sealed with ChaCha20-Poly1305"),
        Some(DataState::Waiting) => (FAIR, "will be sealed; no keys yet"),
        Some(DataState::Plain) | None => (FAIR, "not sealed: data is readable on the way"),
        Some(DataState::PlainPeer) => (BAD, "NOT sealed, because the peer does not seal"),
        Some(DataState::Refused) => (BAD, "no data, because the peer does not seal"),
        Some(DataState::Unknown) => (FAIR, "seal unknown to this mpt"),
    }
}

fn table(lines: &mut Vec<Line>, paths: &[Uplink], width: usize) {
    let names = width_of_names(paths, width);
    lines.push(headings(names));
    for path in paths {
        lines.push(row("  ", path, names));
        let indent = format!("  {:<names$} ", "");
        for fact in wrapped(&facts(path).join(", "), width_of_facts(names), 2) {
            lines.push(Line::new().with(FAINT, format!("{indent}{fact}")));
        }
    }
}

/// Returns the width of the column of names in a table.
pub(crate) fn width_of_names(paths: &[Uplink], width: usize) -> usize {
    let longest = paths.iter().map(|path| path.name.chars().count()).max().unwrap_or(0);
    longest.max("UPLINK".len()).min(NAME + width.saturating_sub(TABLE))
}

/// Returns the first line of a table.
pub(crate) fn headings(names: usize) -> Line {
    let mut heading = format!("  {:<names$}", "UPLINK");
    for (number, (name, width)) in COLUMNS.into_iter().enumerate() {
        heading.push(' ');
        heading.push_str(&if number == 0 {
            format!("{name:<width$}")
        } else {
            format!("{name:>width$}")
        });
    }
    Line::new().with(FAINT, heading)
}

/// Returns the line of a path in a table, behind two characters that mark it.
pub(crate) fn row(mark: &str, path: &Uplink, names: usize) -> Line {
    let (style, state) = state(path);
    let (_, width) = COLUMNS[0];
    let mut line = Line::new()
        .with(PLAIN, mark)
        .with(STRONG, format!("{:<names$}", shortened(&path.name, names)))
        .with(PLAIN, " ")
        .with(style, format!("{:<width$}", state.split(' ').next().unwrap_or("")));
    for ((_, value), (_, width)) in figures(path).into_iter().zip(&COLUMNS[1..]) {
        line = line.with(PLAIN, format!(" {value:>width$}"));
    }
    line
}

/// The room that the second line of a path has beside the column of names.
fn width_of_facts(names: usize) -> usize {
    COLUMNS.iter().map(|(_, width)| width + 1).sum::<usize>() + NAME - names.min(NAME) - 1
}

/// A path on a narrow terminal.
fn card(lines: &mut Vec<Line>, path: &Uplink, width: usize) {
    let (style, state) = state(path);
    let name = shortened(&path.name, width.saturating_sub(10).max(4));
    lines.push(Line::new().with(STRONG, format!("  {name} ")).with(style, state));
    let figures = figures(path).into_iter().filter(|(_, value)| value != "-");
    for (name, value) in figures {
        lines.push(Line::new().with(PLAIN, format!("    {name} {value}")));
    }
    for fact in facts(path) {
        for piece in wrapped(&fact, width.saturating_sub(4), 2) {
            lines.push(Line::new().with(FAINT, format!("    {piece}")));
        }
    }
}

/// Returns the figures of a path, with the names that they have where there is no table; "-" where there is none.
pub(crate) fn figures(path: &Uplink) -> [(&'static str, String); 8] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let capacity = path.capacity_bits_per_second.map(|rate| match path.capacity_reached {
        true => short_rate(rate),
        false => format!(">{}", short_rate(rate)),
    });
    let jitter = path.jitter_us.map(|us| if us == 0 { "<1ms".into() } else { short_time(us) });
    let loss = path.lost_per_million.map(|lost| match lost {
        0 => "0%".into(),
        lost if lost >= 100_000 => format!("{:.0}%", f64::from(lost) / 1e4),
        lost => format!("{:.2}%", f64::from(lost) / 1e4),
    });
    [
        ("out", short_rate(path.sent_bits_per_second)),
        ("in", short_rate(path.received_bits_per_second)),
        ("capacity", or_none(capacity)),
        ("RTT", or_none(path.rtt_us.map(short_time))),
        ("jitter", or_none(jitter)),
        ("loss", or_none(loss)),
        ("queue", or_none(path.queue_us.map(short_time))),
        ("share", or_none(path.share_percent.map(|percent| format!("{percent}%")))),
    ]
}

/// Returns what else there is to say about a path.
pub(crate) fn facts(path: &Uplink) -> Vec<String> {
    let mut facts = vec![match (path.source, &path.interface) {
        (Some(source), Some(interface)) => format!("from {source} on {interface}"),
        (Some(source), None) => format!("from {source}"),
        (None, Some(interface)) => format!("no address on {interface}"),
        (None, None) => "no address".into(),
    }];
    facts.push(path.remote.map_or("peer not heard yet".into(), |remote| format!("to {remote}")));
    let source = match path.mtu_source {
        MtuSource::Configured => " as configured",
        MtuSource::Interface => " of the interface",
        MtuSource::Probed => " probed",
        MtuSource::Reported => " reported by a router",
        MtuSource::Unknown => "",
    };
    facts.push(format!("MTU {}{source}", path.mtu));
    if let (Some(cap), Some(resets_s)) = (&path.cap, path.cap_resets_s) {
        facts.push(format!("cap: {}", cap::used(cap, resets_s)));
    }
    if path.last_resort {
        facts.push("used only while no other path works".into());
    }
    if path.metered {
        facts.push("metered".into());
    }
    if let (Some(lost), Some(repaired)) = (path.lost, path.repaired) {
        facts.push(match lost {
            0 => "nothing to repair".into(),
            lost => format!("{repaired} of {lost} lost packets repaired"),
        });
    }
    facts
}

/// Adds what is wrong, a sentence each.
pub(crate) fn problems(lines: &mut Vec<Line>, problems: &[String], width: usize) {
    for problem in problems {
        for (number, piece) in wrapped(problem, width.saturating_sub(4), 0).iter().enumerate() {
            let mark = if number == 0 { "  ! " } else { "    " };
            lines.push(Line::new().with(BAD, mark).with(PLAIN, piece));
        }
    }
}

/// Returns the state of a path in a word, with its reason, and its colour.
pub(crate) fn state(path: &Uplink) -> (Style, String) {
    match (path.state, path.down) {
        // Somebody wanted it so.
        (PathState::Down, Some(reason @ DownReason::Administrative)) => {
            (FAIR, format!("down ({reason})"))
        }
        (PathState::Down, Some(reason)) => (BAD, format!("down ({reason})")),
        (PathState::Down, None) => (BAD, "down".into()),
        (PathState::Up, _) => (GOOD, "up".into()),
        (PathState::Probing, _) => (FAIR, "probing".into()),
        (PathState::Unknown, _) => (FAIR, "unknown".into()),
    }
}

fn colour(state: State) -> Style {
    match state {
        State::Up => GOOD,
        State::Degraded => FAIR,
        State::Down | State::Unreachable => BAD,
    }
}

/// "94.1M" for 94.1 Mbit/s.
fn short_rate(bits_per_second: u64) -> String {
    quantity::rate(bits_per_second).replace("bit/s", "").replace(' ', "")
}

/// "49.9ms".
fn short_time(us: u64) -> String {
    quantity::microseconds(us).replace(' ', "")
}
