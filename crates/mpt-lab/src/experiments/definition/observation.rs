//! The observations that a file asks for besides the traffic.

use std::time::Duration;

use anyhow::{Error, Result};

use super::file::{BesideFile, BesideKind, Body, StepKind};
use super::network::Network;
use super::syntax::source::{Source, Step as Place, Tree};
use crate::experiments::case::{Beside, Method, Observation, Over, Step, Target};

/// Shortest time between two messages: shorter ones would make them bulk of their own.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// Shortest interval at which the daemon is asked: more questions would keep it from its work.
const SHORTEST_WATCH: Duration = Duration::from_millis(50);
/// The word for the second connection in `over`.
const SECOND_CONNECTION: &str = "second-connection";

/// Returns what is observed of a row; `links` are the places of its links in the file.
pub(super) fn observation(
    source: &Source<'_>,
    tree: &Tree<'_>,
    body: &Body,
    network: &Network,
    links: &[usize],
    method: &Method,
) -> Result<Observation> {
    let file = &body.measure;
    let error = |key: &str, message: &str| {
        source.error_at(tree, &[Place::Key("measure"), Place::Key(key)], message)
    };
    let lead = file.lead.unwrap_or_default().0;
    let mut observation = Observation { lead, ..Observation::default() };
    if let Some(from) = file.from {
        observation.counts.0 = from.0;
    }
    if let Some(to) = file.to {
        observation.counts.1 = to.0;
    }
    let (from, to) = observation.counts;
    if to < from + Duration::from_secs(1) {
        return Err(error("to", "less than a second after \"from\"; write a later time"));
    }
    if let Some(watch) = file.watch {
        if watch.0 < SHORTEST_WATCH {
            return Err(error("watch", "too often; write at least \"50ms\""));
        }
        observation.watch = matches!(method, Method::Tunnel(_)).then_some(watch.0);
    }
    for reach in &file.reach {
        let step = match reach.step {
            StepKind::Down => Step::Down,
            StepKind::Up => Step::Up,
        };
        if reach.until.0 < reach.after.0 + Duration::from_secs(3) {
            return Err(error("reach", "a rate has to be held for 3 s; write a later \"until\""));
        }
        let rate = (reach.rate.0.bits_per_second() as f64 / body.network.scale).round() as u64;
        let (after, until) = (reach.after.0, reach.until.0);
        // The rate of all links is no target for a row that uses some of them.
        if links.len() == network.names().len() {
            observation.targets.push(Target { step, after, until, rate });
        }
    }
    for (index, beside) in body.beside.iter().enumerate() {
        let error = |key: &str, message: String| {
            let path = [Place::Key("beside"), Place::Index(index), Place::Key(key)];
            source.error_at(tree, &path, message)
        };
        observation.beside.extend(self::beside(beside, network, links, method, error)?);
    }
    Ok(observation)
}

/// Returns a companion of the traffic of a row; `None` where the row does not have what it needs.
fn beside(
    file: &BesideFile,
    network: &Network,
    links: &[usize],
    method: &Method,
    error: impl Fn(&str, String) -> Error,
) -> Result<Option<Beside>> {
    let given = [
        ("interval", file.interval.is_some()),
        ("pause", file.pause.is_some()),
        ("over", file.over.is_some()),
        ("after", file.after.is_some()),
        ("congestion", file.congestion.is_some()),
    ];
    let keys: &[&str] = match file.kind {
        BesideKind::None => return Ok(None),
        BesideKind::Ping | BesideKind::Echo => &["interval"],
        BesideKind::Page => &["pause"],
        BesideKind::Rival => &["over", "after", "congestion"],
    };
    if let Some((key, _)) = given.iter().find(|(key, set)| *set && !keys.contains(key)) {
        let message = format!("this kind has no {key}; it has {}", keys.join(", "));
        return Err(error(key, message));
    }
    let missing = |key: &str, example: &str| {
        error(key, format!("missing; write for example {key} = {example}"))
    };
    let interval = || match file.interval {
        Some(interval) if interval.0 >= SHORTEST_INTERVAL => Ok(interval.0),
        Some(_) => Err(error("interval", "too short; write at least \"10ms\"".into())),
        None => Err(missing("interval", "\"100ms\"")),
    };
    Ok(Some(match file.kind {
        BesideKind::None => return Ok(None),
        BesideKind::Ping => Beside::Ping { interval: interval()? },
        BesideKind::Echo => Beside::Echo { interval: interval()? },
        BesideKind::Page => Beside::Page { pause: file.pause.unwrap_or_default().0 },
        BesideKind::Rival => {
            let Some(over) = &file.over else { return Err(missing("over", "\"path1\"")) };
            let names = network.names();
            let over = if over == SECOND_CONNECTION {
                let has_it = matches!(method, Method::Tunnel(tunnel) if tunnel.second_connection);
                has_it.then_some(Over::SecondConnection)
            } else if let Some(of_file) = names.iter().position(|name| name == over) {
                links.iter().position(|&used| used == of_file).map(Over::Link)
            } else {
                let names = names.join(", ");
                let message = format!(
                    "there is no link \"{over}\"; write one of {names}, or \"{SECOND_CONNECTION}\""
                );
                return Err(error("over", message));
            };
            // A row without that link or connection has no rival.
            let Some(over) = over else { return Ok(None) };
            Beside::Rival {
                over,
                after: file.after.unwrap_or_default().0,
                congestion: file.congestion.clone().unwrap_or_else(|| "cubic".into()),
            }
        }
    }))
}
