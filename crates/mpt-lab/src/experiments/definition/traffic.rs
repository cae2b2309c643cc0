//! Traffic and events of a file, as measurements have them.

use std::time::Duration;

use anyhow::{Error, Result};

use super::file::{ActionKind, Body, EventFile, TrafficFile, TrafficKind};
use super::network::Network;
use super::syntax::source::{Source, Step, Tree};
use crate::experiments::case::{Action, Event, Protocol, Traffic};

/// Payload of a datagram where the file does not set it: it fits every tunnel over Ethernet.
const USUAL_SIZE: u16 = 1200;
/// Sizes that fit a UDP datagram and the counters in it.
const SIZES: std::ops::RangeInclusive<u16> = 64..=1472;
/// Most flows of a measurement: more than any of the papers has (35), and than one host makes sense
/// of.
const MOST_FLOWS: u16 = 256;

/// The highest DSCP: it has six bits (RFC 2474 section 3).
const MOST_DSCP: u8 = 63;

/// The traffic of a file. Where the rates are scaled down, so is what is sent.
pub(super) fn traffic(source: &Source<'_>, tree: &Tree<'_>, body: &Body) -> Result<Traffic> {
    let file = &body.traffic;
    let scale = body.network.scale;
    let place = Place { source, tree };
    for (key, set) in given(file) {
        if set && !keys(file.kind).contains(&key) {
            let message =
                format!("this kind of traffic has no {key}; it has {}", keys(file.kind).join(", "));
            return Err(place.error(key, message));
        }
    }
    let congestion = file.congestion.clone().unwrap_or_else(|| "cubic".into());
    let scaled = |number: u64| ((number as f64 / scale).round() as u64).max(1);
    let rate = || {
        let rate = file.rate.ok_or_else(|| place.missing("rate", "\"10mbit\""))?;
        Ok::<_, Error>(scaled(rate.0.bits_per_second()))
    };
    let duration = || match file.duration {
        Some(duration) if duration.0 >= Duration::from_millis(500) => Ok(duration.0),
        Some(_) => Err(place.error("duration", "too short to measure; write at least \"500ms\"")),
        None => Err(place.missing("duration", "\"30s\"")),
    };
    let size = match file.size.unwrap_or(USUAL_SIZE) {
        size if SIZES.contains(&size) => size,
        other => {
            let range = format!("{} to {}", SIZES.start(), SIZES.end());
            return Err(
                place.error("size", format!("{other} is not a size of datagrams; write {range}"))
            );
        }
    };
    Ok(match file.kind {
        TrafficKind::Tcp | TrafficKind::Bulk => Traffic::Tcp {
            own: file.kind == TrafficKind::Bulk,
            flows: match file.flows.unwrap_or(1) {
                flows @ 1..=MOST_FLOWS => flows,
                _ => return Err(place.error("flows", format!("write 1 to {MOST_FLOWS}"))),
            },
            duration: duration()?,
            congestion,
        },
        TrafficKind::Udp => Traffic::Udp { rate: rate()?, duration: duration()?, size },
        TrafficKind::Rtp => {
            let both_ways = file.both_ways.unwrap_or(false);
            let dscp = file.dscp;
            if let Some(other) = dscp.filter(|&dscp| dscp > MOST_DSCP) {
                let message = format!("{other} is no DSCP; write 0 to {MOST_DSCP}");
                return Err(place.error("dscp", message));
            }
            Traffic::Rtp { rate: rate()?, size, duration: duration()?, both_ways, dscp }
        }
        TrafficKind::Ping => Traffic::Ping {
            count: match file.count {
                Some(0) => {
                    return Err(
                        place.error("count", "0 echo requests say nothing; write 1 or more")
                    );
                }
                Some(count) => count,
                None => return Err(place.missing("count", "20")),
            },
            interval: file.interval.ok_or_else(|| place.missing("interval", "\"200ms\""))?.0,
        },
        TrafficKind::Download => Traffic::Download {
            protocol: file.protocol.unwrap_or(Protocol::Ftp),
            bytes: scaled(file.file.ok_or_else(|| place.missing("file", "\"20MB\""))?.0),
            congestion,
            limit: file.limit.ok_or_else(|| place.missing("limit", "\"120s\""))?.0,
        },
    })
}

/// Returns what happens to the links of a row, by their places in it.
pub(super) fn events(
    source: &Source<'_>,
    tree: &Tree<'_>,
    body: &Body,
    network: &Network,
    links: &[usize],
    is_tunnel: bool,
) -> Result<Vec<Event>> {
    let names = network.names();
    let mut events = Vec::new();
    for (index, EventFile { after, action, link }) in body.event.iter().enumerate() {
        let Some(of_file) = names.iter().position(|name| name == link) else {
            let path = [Step::Key("event"), Step::Index(index), Step::Key("link")];
            let message = format!("there is no link \"{link}\"; write one of {}", names.join(", "));
            return Err(source.error_at(tree, &path, message));
        };
        let Some(link) = links.iter().position(|&used| used == of_file) else { continue };
        let action = match action {
            ActionKind::CarrierLost => Action::CarrierLost { link },
            ActionKind::CarrierBack => Action::CarrierBack { link },
            ActionKind::BlackHole => Action::BlackHole { link },
            ActionKind::BlackHoleEnds => Action::BlackHoleEnds { link },
            // Only a tunnel has an administrator.
            ActionKind::PathDown | ActionKind::PathUp if !is_tunnel => continue,
            ActionKind::PathDown => Action::PathDown { link },
            ActionKind::PathUp => Action::PathUp { link },
        };
        events.push(Event { after: after.0, action });
    }
    events.sort_by_key(|event| event.after);
    Ok(events)
}

struct Place<'a> {
    source: &'a Source<'a>,
    tree: &'a Tree<'a>,
}

impl Place<'_> {
    fn error(&self, key: &str, message: impl AsRef<str>) -> Error {
        self.source.error_at(self.tree, &[Step::Key("traffic"), Step::Key(key)], message)
    }

    fn missing(&self, key: &str, example: &str) -> Error {
        self.error(key, format!("missing; write for example {key} = {example}"))
    }
}

/// Returns the keys that a kind of traffic has.
fn keys(kind: TrafficKind) -> &'static [&'static str] {
    match kind {
        TrafficKind::Tcp | TrafficKind::Bulk => &["duration", "flows", "congestion", "ecn"],
        TrafficKind::Udp => &["rate", "duration", "size"],
        TrafficKind::Rtp => &["rate", "duration", "size", "both_ways", "dscp"],
        TrafficKind::Ping => &["count", "interval"],
        TrafficKind::Download => &["protocol", "file", "congestion", "limit"],
    }
}

/// Returns every key, and whether the file has it.
fn given(file: &TrafficFile) -> [(&'static str, bool); 13] {
    [
        ("duration", file.duration.is_some()),
        ("flows", file.flows.is_some()),
        ("congestion", file.congestion.is_some()),
        ("ecn", file.ecn.is_some()),
        ("rate", file.rate.is_some()),
        ("size", file.size.is_some()),
        ("both_ways", file.both_ways.is_some()),
        ("dscp", file.dscp.is_some()),
        ("count", file.count.is_some()),
        ("interval", file.interval.is_some()),
        ("protocol", file.protocol.is_some()),
        ("file", file.file.is_some()),
        ("limit", file.limit.is_some()),
    ]
}
