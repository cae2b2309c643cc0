//! Counters of the hosts, daemons and links, before and after a measurement.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use mpt_api::{Snapshot, Traffic};

use crate::emulator;
use crate::experiments::case::network::Network;
use crate::experiments::case::{CaseSpec, metric};
use crate::machine::interfaces;
use crate::topology::{End, Host};

/// Counters by name, `host/thing/counter`.
pub(crate) type Counters = BTreeMap<String, u64>;

/// Returns what each counter has grown by. Those that have not are left out, so that a result holds what happened.
pub(crate) fn growth(before: &Counters, after: &Counters) -> Counters {
    let grown = |(name, &value): (&String, &u64)| {
        let growth = value.saturating_sub(before.get(name).copied().unwrap_or(0));
        (growth > 0).then(|| (name.clone(), growth))
    };
    after.iter().filter_map(grown).collect()
}

/// Reads the counters of a host's devices and sockets into `counters`.
pub(crate) fn of_host(host: &Host, end: End, counters: &mut Counters) -> Result<()> {
    let read = |name: &str| {
        // The file shows the namespace of the thread that reads it.
        let path = format!("/proc/thread-self/net/{name}");
        fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    };
    let (devices, [snmp, netstat, snmp6]) = host.run(|| {
        // Without IPv6 there is no such file.
        let tables = [read("snmp")?, read("netstat")?, read("snmp6").unwrap_or_default()];
        Ok::<_, anyhow::Error>((interfaces::here()?, tables))
    })??;
    for (device, status) in &devices {
        let [rx_dropped, tx_dropped] = interfaces::drops(status);
        for (name, value) in [
            ("rx_bytes", status.recv_bytes),
            ("rx_packets", status.recv_packets),
            ("rx_dropped", rx_dropped),
            ("tx_bytes", status.sent_bytes),
            ("tx_packets", status.sent_packets),
            ("tx_dropped", tx_dropped),
        ] {
            counters.insert(format!("{end}/device {device}/{name}"), value);
        }
    }
    for (table, protocols) in [(&snmp, &["Tcp", "Udp"][..]), (&netstat, &["TcpExt", "MPTcpExt"])] {
        sockets_of(table, protocols, end, counters);
    }
    for line in snmp6.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse))
            && name.starts_with("Udp6")
        {
            counters.insert(format!("{end}/udp6/{}", &name[4..]), value);
        }
    }
    Ok(())
}

/// Reads `/proc/net/snmp` and `/proc/net/netstat`: pairs of lines, names and values, each after the protocol and a colon. (`procfs` knows the first
/// of them only, and not by the kernel's names.)
fn sockets_of(table: &str, protocols: &[&str], end: End, counters: &mut Counters) {
    let lines: Vec<&str> = table.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((protocol, names)), Some((same, values))) =
            (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        if protocol != same || !protocols.contains(&protocol) {
            continue;
        }
        let names = names.split_ascii_whitespace();
        for (name, value) in names.zip(values.split_ascii_whitespace()) {
            // Some are limits, of which one is negative.
            if let Ok(value) = value.parse() {
                counters.insert(format!("{end}/{}/{name}", protocol.to_lowercase()), value);
            }
        }
    }
}

/// Reads the counters of the links into `counters`.
pub(crate) fn of_links(
    network: &Network,
    channels: &[String],
    counters: &mut Counters,
) -> Result<emulator::Counters> {
    let counted = network.counters()?;
    for (number, channel) in counted.channels.iter().enumerate() {
        let name = match channels.get(number) {
            Some(name) => format!("links/{number} {name}"),
            None => format!("links/{number}"),
        };
        for (kind, tally) in [
            ("offered", channel.offered),
            ("queue_full", channel.queue_full),
            ("lost", channel.lost),
            ("duplicated", channel.duplicated),
            ("marked", channel.marked),
        ] {
            counters.insert(format!("{name}/{kind}"), tally.packets);
            counters.insert(format!("{name}/{kind}_bytes"), tally.bytes);
        }
    }
    for (link, devices) in network.names().iter().zip(&counted.cables) {
        for (end, device) in [End::A, End::B].into_iter().zip(devices) {
            for (kind, frames) in [
                ("rx_dropped", device.rx_dropped),
                ("tx_dropped", device.tx_dropped),
                ("refused", device.refused),
                ("overflow", device.overflow),
                ("cut", device.cut),
            ] {
                counters.insert(format!("{end}/link {link}/{kind}"), frames);
            }
        }
    }
    Ok(counted)
}

/// Returns the counters of packets lost where no link model lost them, from what [`growth`] returns. `cut` are the links whose carrier was taken
/// away, where devices may drop.
pub(crate) fn hidden(grown: &Counters, cut: &[&str]) -> Vec<(String, u64)> {
    let is_hidden = |name: &str| {
        let mut parts = name.split('/').skip(1);
        match parts.next().and_then(|thing| thing.strip_prefix("link ")) {
            Some(link) => !cut.contains(&link) && parts.next() != Some("cut"),
            None => parts.next() == Some("RcvbufErrors"),
        }
    };
    grown.iter().filter(|(name, _)| is_hidden(name)).map(|(name, &it)| (name.clone(), it)).collect()
}

/// Reads the counters of a daemon into `counters`.
pub(crate) fn of_daemon(snapshot: &Snapshot, end: End, counters: &mut Counters) {
    let mut insert = |thing: &str, name: &str, value: u64| {
        counters.insert(format!("{end}/{thing}/{name}"), value);
    };
    for (name, &value) in &snapshot.daemon.drops {
        insert("mptd", &format!("drop {name}"), value);
    }
    for (name, &value) in &snapshot.daemon.control {
        insert("mptd", &format!("control {name}"), value);
    }
    for device in &snapshot.devices {
        for (name, &value) in &device.drops {
            insert("tunnel", &format!("device drop {name}"), value);
        }
    }
    // A second connection is not counted: its names would be those of the first.
    for connection in snapshot.connections.iter().take(1) {
        traffic("tunnel", &connection.sent, "sent", &mut insert);
        traffic("tunnel", &connection.received, "received", &mut insert);
        for (name, &value) in &connection.drops {
            insert("tunnel", &format!("drop {name}"), value);
        }
        for (name, &value) in &connection.remarks {
            insert("tunnel", name, value);
        }
        if let Some(queue) = &connection.queue {
            for (name, value) in [
                ("queue left", queue.left),
                ("queue marked", queue.marked),
                ("queue dropped", queue.dropped),
                ("queue overflowed", queue.overflowed),
                ("queue superseded", queue.superseded),
            ] {
                insert("tunnel", name, value);
            }
        }
        let reorder = &connection.reorder;
        for (name, value) in [
            ("in_order", reorder.in_order),
            ("after_gap", reorder.after_gap),
            ("late", reorder.late),
            ("duplicate", reorder.duplicate),
            ("overflow", reorder.overflow),
            ("stray", reorder.stray),
            ("equalized", reorder.equalized),
        ] {
            insert("reorder", name, value);
        }
        for path in &connection.paths {
            let thing = format!("path {}", path.name);
            traffic(&thing, &path.sent, "sent", &mut insert);
            traffic(&thing, &path.received, "received", &mut insert);
            for (name, &value) in &path.drops {
                insert(&thing, &format!("drop {name}"), value);
            }
            if let Some(liveness) = &path.liveness {
                insert(&thing, "flaps", liveness.flaps);
            }
            if let Some(estimate) = &path.estimate {
                insert(&thing, "cuts", estimate.cuts);
            }
            if let Some(repairs) = &path.repairs {
                for (name, value) in [
                    ("repair lost", repairs.lost),
                    ("repair repaired", repairs.repaired),
                    ("repair late", repairs.late),
                    ("repair refused", repairs.refused),
                    ("repair sent", repairs.sent),
                    ("repair sent_bytes", repairs.sent_bytes),
                ] {
                    insert(&thing, name, value);
                }
            }
        }
    }
}

/// Calls `figure` with the figures that follow from the growth of the counters during a measurement of `seconds`.
pub(crate) fn figures(
    spec: &CaseSpec,
    grown: &Counters,
    seconds: f64,
    mut figure: impl FnMut(&str, f64),
) {
    let value = |name: &str| grown.get(name).copied().unwrap_or(0) as f64;
    let sum = |prefix: &str, suffix: &str| -> f64 {
        let wanted = |name: &str| name.starts_with(prefix) && name.ends_with(suffix);
        grown.iter().filter(|(name, _)| wanted(name)).map(|(_, &value)| value as f64).sum()
    };
    let links = spec.network.links.iter();
    let bytes: f64 = links.map(|link| value(&format!("a/device {}/tx_bytes", link.name))).sum();
    figure(metric::LINKS, bytes * 8.0 / 1e6 / seconds.max(f64::MIN_POSITIVE));
    let segments = value("a/tcp/OutSegs");
    if segments > 0.0 {
        let own = value("a/tunnel/queue dropped") + value("a/tunnel/queue overflowed");
        let again = (value("a/tcp/RetransSegs") - own).max(0.0);
        figure(metric::RETRANSMITTED, 100.0 * again / segments);
    }
    let sent = sum("a/path ", "/sent_bytes") - sum("a/path ", "/repair sent_bytes");
    if sent > 0.0 {
        // These are the links' own frames; those of the paths are their payload, so this is slightly too much.
        let lost =
            sum("links/", " forward/lost_bytes") + sum("links/", " forward/queue_full_bytes");
        let repaired = sum("a/path ", "/repair sent_bytes");
        figure(metric::REPAIR_EXCESS, 100.0 * (repaired - 1.3 * lost).max(0.0) / sent);
        let packets = sum("a/path ", "/sent_packets");
        figure(metric::REPAIR_SPURIOUS, 100.0 * sum("a/path ", "/repair late") / packets.max(1.0));
    }
}

fn traffic(thing: &str, traffic: &Traffic, name: &str, insert: &mut impl FnMut(&str, &str, u64)) {
    insert(thing, &format!("{name}_packets"), traffic.packets);
    insert(thing, &format!("{name}_bytes"), traffic.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grew_is_told() {
        let counters = |values: &[(&str, u64)]| -> Counters {
            values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
        };
        let before = counters(&[("a", 1), ("b", 2), ("c", 5)]);
        let after = counters(&[("a", 1), ("b", 5), ("c", 4), ("d", 1)]);
        assert_eq!(growth(&before, &after), counters(&[("b", 3), ("d", 1)]));
    }

    #[test]
    fn counters_of_sockets_are_read() {
        let mut counters = Counters::new();
        let snmp = "Tcp: MaxConn RetransSegs\nTcp: -1 17\nUdp: InErrors RcvbufErrors\nUdp: 1 2\nIcmp: X\nIcmp: 9\n";
        sockets_of(snmp, &["Tcp", "Udp"], End::B, &mut counters);
        assert_eq!(counters["b/tcp/RetransSegs"], 17);
        assert_eq!(counters["b/udp/RcvbufErrors"], 2);
        assert!(!counters.contains_key("b/tcp/MaxConn") && !counters.contains_key("b/icmp/X"));
    }

    #[test]
    fn losses_at_devices_and_sockets_are_hidden_ones() {
        let grown: Counters = [
            "a/link dsl/tx_dropped",
            "b/link dsl/cut",
            "b/udp/RcvbufErrors",
            "a/device mpt0/tx_dropped",
            "links/0 dsl/lost",
        ]
        .into_iter()
        .map(|name| (name.to_owned(), 1))
        .collect();
        let hidden: Vec<String> = hidden(&grown, &[]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(hidden, ["a/link dsl/tx_dropped", "b/udp/RcvbufErrors"]);
        assert_eq!(super::hidden(&grown, &["dsl"]).len(), 1);
    }
}
