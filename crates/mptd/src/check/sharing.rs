//! Sentences of `mptd --check`: which settings a connection learns from its paths, and which stay as the file says.

use std::time::Duration;

use mpt_api::{Equalize, Mapping, Repair};
use mpt_config::{Connection, Path};
use mpt_text::quantity;

use crate::convert;

/// Returns the lines about a connection. The first one says how it shares its packets out; the others are indented.
pub(crate) fn lines(connection: &Connection) -> Vec<String> {
    let mut lines = vec![format!("connection {}: {}", connection.name, headline(connection))];
    let sends = connection.direction.sends();
    let learns = connection.mapping == Mapping::Adaptive;
    if sends && learns {
        lines.push(format!("  rates: {}", rates(connection)));
        lines.push("  weights: not used, since shares follow the measured rates".into());
        lines.push(format!("  repair: {}", repair(connection)));
    }
    if connection.direction.receives() && learns {
        lines.push(format!("  hold: {}", hold(connection)));
    }
    let conditions: Vec<_> = connection.paths.iter().filter_map(condition).collect();
    if sends && !conditions.is_empty() {
        lines.push(format!("  as configured: {}", conditions.join(", ")));
    }
    lines
}

fn headline(connection: &Connection) -> String {
    let names = || listed(connection.paths.iter().map(|path| path.name.clone()));
    let weights = || {
        let weights = connection.paths.iter().map(|path| format!("{} {}", path.name, path.weight));
        let weights = weights.collect::<Vec<_>>().join(", ");
        let follows = connection.peer.as_ref().is_some_and(|peer| peer.follow_weights);
        match follows {
            true => format!("{weights} (until the peer asks for others)"),
            false => weights,
        }
    };
    if !connection.direction.sends() {
        return "receives only; the peer decides how packets are spread".into();
    }
    match connection.mapping {
        Mapping::Adaptive => format!(
            "learns the rates of {}, their shares of the packets, how long packets are held, and what repairs need",
            names()
        ),
        Mapping::Packet => {
            format!("spreads packets by weights, which stay as configured: {}", weights())
        }
        Mapping::Flow => {
            format!("spreads flows by weights, which stay as configured: {}", weights())
        }
        Mapping::Duplicate => {
            format!("sends a copy of each packet on {}; weights are not used", names())
        }
    }
}

/// The bounds of the rates of adaptive mapping.
fn rates(connection: &Connection) -> String {
    let bounded = |path: &Path| {
        let least = path.min_rate.map(|rate| format!("at least {}", quantity::rate(rate)));
        let most = path.max_rate.map(|rate| format!("at most {}", quantity::rate(rate)));
        let bounds: Vec<_> = least.into_iter().chain(most).collect();
        (!bounds.is_empty()).then(|| format!("{} {}", path.name, bounds.join(" and ")))
    };
    let bounded: Vec<_> = connection.paths.iter().filter_map(bounded).collect();
    if bounded.is_empty() {
        return "as measured, without bounds (max_rate and min_rate are not set)".into();
    }
    format!("as measured, within bounds (max_rate, min_rate): {}", bounded.join(", "))
}

/// Says how lost packets are treated with adaptive mapping.
fn repair(connection: &Connection) -> String {
    let said = match connection.repair {
        Repair::Off => "lost packets are not sent again (repair = \"off\")",
        Repair::Auto | Repair::All => {
            "lost packets are sent again, in the time and the number that the measured losses and delays need"
        }
    };
    said.into()
}

/// Says how long received packets are held, where the peer learns as well.
fn hold(connection: &Connection) -> String {
    let reorder = &connection.reorder;
    if reorder.window() == 0 || reorder.equalize == Equalize::Off {
        let why = if reorder.window() == 0 { "window = 0" } else { "equalize = \"off\"" };
        return format!("nothing is held to make the paths equally long ({why})");
    }
    let set = |delay: Duration| quantity::microseconds(delay.as_micros() as u64);
    let (most, longest) = convert::reorder(reorder).playout();
    // A bound of the file is named where it is the one that holds.
    let max_delay = reorder.max_delay.filter(|&it| it <= longest).map_or("", |_| " (max_delay)");
    let window = reorder.window.filter(|&it| it <= most).map_or("", |_| " (window)");
    format!(
        "as measured while the peer's mapping is adaptive, at most {}{max_delay} and {most} packets{window}; where nothing is held, packets wait for missing ones for at \
         most {} and within {} packets",
        set(longest),
        set(reorder.max_delay()),
        reorder.window()
    )
}

/// Says when a path takes part by the file, whatever is learnt.
fn condition(path: &Path) -> Option<String> {
    let mut said = Vec::new();
    if !path.up {
        said.push("starts down".to_owned());
    }
    if path.tier > 0 {
        said.push(format!(
            "carries data only while no path of a smaller tier works (tier {})",
            path.tier
        ));
    }
    if path.cap.is_some() {
        said.push("has a cap".to_owned());
    }
    (!said.is_empty()).then(|| format!("{} {}", path.name, said.join(" and ")))
}

/// Names as a sentence has them: "a", "a and b", "a, b and c".
fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.collect();
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}
