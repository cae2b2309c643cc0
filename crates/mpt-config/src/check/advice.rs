//! Warnings about what is allowed but probably not meant.

use ipnet::IpNet;
use mpt_api::{AtCap, CapCounts, CapPeriod, Mapping};

use crate::compat::check as compat;
use crate::parse::draft::{ConnectionDraft, Draft};
use crate::syntax::reader::{Context, Located};
use crate::types::{Connection, Late, Path, PeerKind, USUAL_MTU};

/// The weights are said to waste capacity when the paths together carry less than this share of their rates.
const WASTE: f64 = 0.9;

/// Warns about a file without errors.
pub(crate) fn warn(context: &Context<'_>, draft: &Draft) {
    if draft.connections.is_empty() && draft.clients.is_empty() {
        context.warn(
            1,
            "connection",
            "there is none, so nothing is carried; write a [[connection]]",
        );
    }
    for connection in &draft.connections {
        warn_of(context, draft, connection);
    }
}

/// Warns about one connection.
pub(crate) fn warn_of(context: &Context<'_>, draft: &Draft, connection: &ConnectionDraft) {
    compat::warn(context, connection);
    useless_keys(context, connection);
    paths(context, connection);
    window(context, connection);
    useless_weights(context, connection);
    weights(context, connection);
    let device = draft.devices.iter().find(|d| d.value.name == connection.connection.device);
    if let Some(Located { value: device, lines }) = device {
        let inner = |p: &Located<Path>| {
            p.value.mtu.map(|mtu| mtu - connection.connection.overhead(&p.value))
        };
        let smallest = connection.paths.iter().filter_map(inner).min();
        if let (Some(mtu), Some(fits)) = (device.mtu, smallest)
            && mtu > fits
        {
            context.warn(
                        lines.of("mtu"),
                        "device.mtu",
                        format!(
                            "{mtu} is more than the {fits} bytes that fit the paths of connection \"{}\"; larger packets \
                             will be answered \"too big\"; write {fits}, or leave mtu out",
                            connection.connection.name
                        ),
                    );
        }
    }
}

fn useless_keys(context: &Context<'_>, draft: &ConnectionDraft) {
    let ConnectionDraft { connection, lines, selects, paths, .. } = draft;
    let warn = |key: &str, message: &str| {
        context.warn(lines.of(key), &format!("connection.{key}"), message);
    };
    if !connection.sequence && connection.mapping == Mapping::Packet && paths.len() > 1 {
        warn(
            "sequence",
            "false, so packets arrive in whatever order the paths deliver them, which TCP takes for loss; write true, or \
             mapping = \"flow\"",
        );
    }
    if connection.mapping == Mapping::Flow && lines.has("sequence") && connection.sequence {
        warn("sequence", "true has no effect with mapping = \"flow\"; leave it out");
    }
    if lines.has("fallback") && connection.routed_networks().next().is_none() {
        warn(
            "fallback",
            "has no effect, since the connection routes no network into its device; leave it out",
        );
    }
    if !connection.direction.sends()
        && let Some(select) = selects.iter().find(|select| select.value.late == Late::Wait)
    {
        context.warn(
            select.lines.header(),
            "connection.select",
            "has no effect with direction = \"receive\"; leave it out",
        );
    }
    for Located { value: select, lines } in selects {
        let Some(destination) = select.destination else { continue };
        if connection.direction.receives()
            && !connection.networks.iter().any(|network| network.contains(&destination))
        {
            context.warn(
                lines.of("destination"),
                "connection.select.destination",
                format!(
                    "{destination} is not within networks, so answers from there will be dropped; write it into \
                     networks, too"
                ),
            );
        }
    }
}

fn paths(context: &Context<'_>, draft: &ConnectionDraft) {
    let ConnectionDraft { connection, lines, paths, .. } = draft;
    if !paths.is_empty() && paths.iter().all(|path| !path.value.up) {
        context.warn(
            lines.header(),
            "connection.path",
            format!(
                "every path of connection \"{}\" starts down; write up = true",
                connection.name
            ),
        );
    }
    for path in paths {
        caps(context, connection, path);
    }
    for Located { value: path, lines } in paths {
        // A default route is kept from the paths' packets by rules.
        let Some(remote) = path.remote.address() else { continue };
        let around = |network: &&IpNet| network.prefix_len() > 0 && network.contains(&remote);
        let around = connection.networks.iter().find(around);
        if let (true, Some(network)) = (connection.routes, around) {
            context.warn(
                lines.of("remote"),
                "connection.path.remote",
                format!(
                    "{remote} lies within {network}, which is routed into the tunnel; make sure that a longer route leads to \
                     it outside, or write routes = false"
                ),
            );
        }
    }
}

/// Warns about settings of a cap where there is no cap, about settings without an effect, and about a cap whose peer is not told that it is reached.
fn caps(context: &Context<'_>, connection: &Connection, path: &Located<Path>) {
    let Located { value: path, lines } = path;
    let warn = |key: &str, message: &str| {
        context.warn(lines.of(key), &format!("connection.path.{key}"), message);
    };
    let Some(cap) = path.cap else {
        let said = [
            ("cap_day", path.cap_day != 1),
            ("cap_counts", path.cap_counts != CapCounts::default()),
            ("at_cap", path.at_cap != AtCap::default()),
        ];
        for (key, is_said) in said {
            if is_said {
                warn(
                    key,
                    "has no effect without cap; leave it out, or write cap = \"50 GB/month\"",
                );
            }
        }
        return;
    };
    if cap.period == CapPeriod::Day && path.cap_day != 1 {
        warn("cap_day", "has no effect on a cap for a day; leave it out");
    }
    if connection.peer_kind() == PeerKind::Plain
        && path.cap_counts != CapCounts::Sent
        && path.at_cap != AtCap::Warn
    {
        warn(
            "cap",
            "without [connection.peer] the peer is not told that the path has reached its cap, and goes on sending on it; write \
             cap_counts = \"sent\", or add a [connection.peer]",
        );
    }
}

/// imareen2025 section 2.2: the window must hold what arrives at the full rate of all paths within the maximum delay.
/// Counted in packets of the path MTU; with smaller ones it has to be larger still.
fn window(context: &Context<'_>, draft: &ConnectionDraft) {
    let ConnectionDraft { connection, lines, paths, .. } = draft;
    let reorder = connection.reorder;
    if reorder.window() == 0 || paths.len() < 2 || !connection.direction.receives() {
        return;
    }
    let bits = |path: &Path| u64::from(path.mtu.unwrap_or(USUAL_MTU)) * 8;
    let rates: Option<Vec<f64>> = (paths.iter())
        .map(|path| path.value.rate.map(|rate| rate as f64 / bits(&path.value) as f64))
        .collect();
    let Some(rates) = rates else { return };
    let per_second: f64 = rates.iter().sum();
    let needed = (per_second * reorder.max_delay().as_secs_f64()).ceil();
    if needed <= f64::from(reorder.window()) {
        return;
    }
    let fitting_ms = (f64::from(reorder.window()) / per_second * 1e3).floor();
    let remedy = match (needed <= f64::from(u16::MAX), fitting_ms >= 1.0) {
        (true, true) => format!("write window = {needed}, or max_delay = \"{fitting_ms} ms\""),
        (true, false) => format!("write window = {needed}"),
        (false, _) => {
            let largest_ms = (f64::from(u16::MAX) / per_second * 1e3).floor();
            format!("write window = 65535 and max_delay = \"{largest_ms} ms\"")
        }
    };
    context.warn(
        lines.of("window"),
        "connection.window",
        format!(
            "{} packets cannot hold the {needed} that arrive at full rate within max_delay = \"{} ms\", so packets will \
             be released early; {remedy}",
            reorder.window(),
            reorder.max_delay().as_millis()
        ),
    );
}

/// Adaptive mapping fills the paths by what they are measured to carry.
fn useless_weights(context: &Context<'_>, draft: &ConnectionDraft) {
    if draft.connection.mapping != Mapping::Adaptive {
        return;
    }
    for path in draft.paths.iter().filter(|path| path.lines.has("weight")) {
        context.warn(
            path.lines.of("weight"),
            "connection.path.weight",
            format!(
                "{} has no effect with mapping = \"adaptive\", which measures what each path carries; leave it out, or write \
                 mapping = \"packet\"",
                path.value.weight
            ),
        );
    }
}

/// almasi2017, equation 1: with per-packet mapping the tunnel is as fast as the first path to fill up allows, min over the
/// paths of (rate / weight) times the sum of the weights.
fn weights(context: &Context<'_>, draft: &ConnectionDraft) {
    if draft.connection.mapping != Mapping::Packet || !draft.connection.direction.sends() {
        return;
    }
    let mut tiers: Vec<u8> = draft.paths.iter().map(|path| path.value.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    for tier in tiers {
        let paths: Vec<_> = draft.paths.iter().filter(|path| path.value.tier == tier).collect();
        let rates: Option<Vec<u64>> = paths.iter().map(|path| path.value.rate).collect();
        let Some(rates) = rates else { continue };
        let weights = || paths.iter().map(|path| f64::from(path.value.weight));
        let first_full = (rates.iter().zip(weights()))
            .map(|(&rate, weight)| rate as f64 / weight)
            .fold(f64::INFINITY, f64::min);
        let carried = first_full * weights().sum::<f64>();
        let sum: f64 = rates.iter().map(|&rate| rate as f64).sum();
        if carried < sum * WASTE {
            let better: Vec<_> = (paths.iter().zip(proportion(&rates)))
                .map(|(path, weight)| format!("{weight} for \"{}\"", path.value.name))
                .collect();
            context.warn(
                paths[0].lines.of("weight"),
                "connection.path.weight",
                format!(
                    "with these weights the paths carry {} of their {} Mbit/s; write {}",
                    (carried / 1e6).round(),
                    (sum / 1e6).round(),
                    better.join(", ")
                ),
            );
        }
    }
}

/// Small weights in the proportion of the rates.
fn proportion(rates: &[u64]) -> Vec<u16> {
    mpt_core::advise::weights(rates, mpt_core::advise::LARGEST_WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_proposed_as_small_numbers() {
        assert_eq!(proportion(&[94_000_000, 121_000_000]), [94, 121]);
        assert_eq!(proportion(&[100_000_000, 10_000_000]), [10, 1]);
        assert_eq!(proportion(&[1_000_000_007, 500_000_003]), [1000, 500]);
        assert_eq!(proportion(&[10_000_000_001, 1]), [1000, 1]);
    }
}
