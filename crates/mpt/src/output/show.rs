//! A snapshot for people.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use mpt_api::snapshot::{
    Compat, Connection, Counters, DataState, DownReason, Liveness, MtuSource, Path, PathState,
    Session, SessionRole, SessionState, Traffic,
};
use mpt_api::{
    Direction, Ecn, Equalize, Estimate, Late, Mapping, Queue, Repairs, ShortFlows, Snapshot,
};
use mpt_text::quantity;
use mpt_text::table::{Column, Table};

use crate::monitoring::status::cap;

/// The whole snapshot as text.
pub(crate) struct Text<'a>(pub(crate) &'a Snapshot);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Snapshot { daemon, devices, connections } = self.0;
        let uptime = humantime::format_duration(Duration::from_secs(daemon.uptime_s));
        let used = quantity::memory(daemon.buffer_bytes);
        let limit = quantity::memory(daemon.buffer_limit);
        writeln!(
            f,
            "mptd {}, pid {}, up {uptime}, {used} of {limit} buffers in use",
            daemon.program, daemon.pid
        )?;
        if let Some(key) = &daemon.public_key {
            line(f, "key", key)?;
        }
        drops(f, &daemon.drops)?;
        counters(f, "control", &daemon.control)?;
        for device in devices {
            let addresses = listed(&device.addresses, "no address");
            writeln!(f, "\ndevice {}: {addresses}, MTU {}", device.name, device.mtu)?;
            line(f, "offloads", &listed(&device.offloads, "none"))?;
            drops(f, &device.drops)?;
        }
        for connection in connections {
            writeln!(f)?;
            self::connection(f, connection)?;
        }
        Ok(())
    }
}

/// Returns the items, separated by commas, or `nothing` where there are none.
fn listed(items: &[impl fmt::Display], nothing: &str) -> String {
    if items.is_empty() {
        return nothing.to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn connection(f: &mut fmt::Formatter<'_>, connection: &Connection) -> fmt::Result {
    let mut facts = vec![connection.state.to_string(), format!("device {}", connection.device)];
    match connection.direction {
        Direction::Both => {}
        Direction::Send => facts.push("sends only".into()),
        Direction::Receive => facts.push("receives only".into()),
    }
    facts.push(
        match connection.mapping {
            Mapping::Packet => "packet mapping",
            Mapping::Adaptive => "adaptive mapping",
            Mapping::Flow => "flow mapping",
            Mapping::Duplicate => "duplicate mapping",
        }
        .into(),
    );
    facts.extend(connection.key.map(|key| format!("key {key}")));
    if !connection.sequence {
        facts.push("no sequence numbers".into());
    }
    if connection.checksum {
        facts.push("GRE checksum".into());
    }
    if connection.ecn == Ecn::Normal {
        facts.push("ECN".into());
    }
    facts.push(format!("MTU {}", connection.mtu));
    writeln!(f, "connection {}: {}", connection.name, facts.join(", "))?;
    line(f, "networks", &listed(&connection.networks, "none"))?;
    if let Some(session) = &connection.session {
        line(f, "session", &self::session(session))?;
    }
    if let Some(compat) = &connection.compat {
        line(f, &compat.protocol, &self::compat(compat))?;
        counters(f, "messages", &compat.counters)?;
    }
    line(f, "sent", &traffic(&connection.sent))?;
    line(f, "received", &traffic(&connection.received))?;
    if let Some(queue) = &connection.queue {
        line(f, "queue", &self::queue(queue))?;
    }
    if let Some(ShortFlows { path, bytes }) = &connection.short_flows {
        let up_to = quantity::memory(*bytes);
        line(f, "short", &format!("flows over {path} alone, up to {up_to}"))?;
    }
    reorder(f, connection)?;
    drops(f, &connection.drops)?;
    counters(f, "remarks", &connection.remarks)?;
    writeln!(f)?;
    paths(f, &connection.paths)
}

/// Returns the facts about a peer that is the papers' prototype.
fn compat(compat: &Compat) -> String {
    let heard = |(path, ms): (&String, &u64)| {
        let age = Duration::from_millis(*ms);
        format!("{path} heard {} ago", humantime::format_duration(age))
    };
    let mut facts = vec![format!("commands authenticated by {}", compat.authentication)];
    facts.extend(compat.heard_ms.iter().map(heard));
    if compat.telling {
        facts.push("the peer is being notified of a path".into());
    }
    facts.join(", ")
}

fn session(session: &Session) -> String {
    let seconds = |s: u64| humantime::format_duration(Duration::from_secs(s)).to_string();
    let state = match (session.state, session.established_s) {
        (SessionState::Established, Some(since)) => format!("established {} ago", seconds(since)),
        (SessionState::Established, None) => "established".into(),
        (SessionState::Connecting, _) => "connecting".into(),
        (SessionState::Creating, _) => "waiting for the peer to create the connection".into(),
        (SessionState::Refused, _) => "refused by the peer".into(),
        (SessionState::Unknown, _) => "unknown".into(),
    };
    let mut facts = vec![state, format!("with {}", session.peer)];
    facts.extend(session.client.as_ref().map(|client| format!("client {client}")));
    facts.push(
        match session.role {
            SessionRole::Initiator => "opened here",
            SessionRole::Responder => "opened by the peer",
            SessionRole::Unknown => "opened somewhere",
        }
        .into(),
    );
    facts.extend(session.rekeyed_s.map(|since| format!("keys agreed {} ago", seconds(since))));
    facts.extend(session.data.map(|data| data_state(data).into()));
    facts.push(match session.keepalive_us {
        0 => "no keepalives".into(),
        us => format!(
            "keepalive {}, idle {}",
            quantity::microseconds(us),
            quantity::microseconds(session.idle_keepalive_us)
        ),
    });
    facts.join(", ")
}

/// Returns how data is, in words.
fn data_state(data: DataState) -> &'static str {
    match data {
        DataState::Plain => "data not sealed",
        DataState::Waiting => "data waits for keys to seal it with",
        DataState::Aes256Gcm => "data sealed with AES-256-GCM",
        DataState::Chacha20Poly1305 => "data sealed with ChaCha20-Poly1305",
        DataState::PlainPeer => "data NOT sealed, because the peer does not seal",
        DataState::Refused => "no data, because the peer does not seal",
        DataState::Unknown => "data unknown",
    }
}

fn reorder(f: &mut fmt::Formatter<'_>, connection: &Connection) -> fmt::Result {
    let reorder = &connection.reorder;
    if reorder.window == 0 {
        line(f, "window", "off")?;
    } else {
        let mut facts = vec![
            format!("{} packets", reorder.window),
            format!("at most {}", quantity::microseconds(reorder.max_delay_us)),
        ];
        if !reorder.early_release {
            facts.push("no early release".into());
        }
        if reorder.late_policy == Late::Drop {
            facts.push("late packets dropped".into());
        }
        match reorder.equalize {
            Equalize::Tcp => {}
            Equalize::Off => facts.push("paths not equalized".into()),
            Equalize::All => facts.push("all packets equalized".into()),
        }
        facts.push(format!("{} waiting", reorder.waiting));
        line(f, "window", &facts.join(", "))?;
        let delays = &reorder.delays;
        let wait = format!(
            "median {}, 99 % {}, longest {}",
            quantity::microseconds(delays.p50_us),
            quantity::microseconds(delays.p99_us),
            quantity::microseconds(delays.max_us)
        );
        line(f, "wait", &wait)?;
    }
    if reorder.equalized > 0 {
        let shorter = connection.paths.iter().filter(|path| path.lead_us > 0);
        let leads =
            shorter.map(|it| format!(", {} by {}", it.name, quantity::microseconds(it.lead_us)));
        line(
            f,
            "held",
            &(quantity::count(reorder.equalized, "packet") + &leads.collect::<String>()),
        )?;
    }
    let mut order = format!(
        "{} in order, {} after gap, {} late, {} duplicate, {} overflow, {} stray",
        reorder.in_order,
        reorder.after_gap,
        reorder.late,
        reorder.duplicate,
        reorder.overflow,
        reorder.stray
    );
    if reorder.ahead > 0 {
        order += &format!(", {} ahead", reorder.ahead);
    }
    if reorder.early > 0 {
        order += &format!(", {} early", reorder.early);
    }
    line(f, "order", &order)
}

/// Returns what waits for room on the paths.
fn queue(queue: &Queue) -> String {
    let mut facts = vec![match queue.packets {
        0 => "nothing waits".to_owned(),
        packets => format!(
            "{} of {} waiting, {}",
            quantity::count(packets, "packet"),
            quantity::count(queue.flows, "flow"),
            quantity::memory(queue.bytes)
        ),
    }];
    let what = ["marked", "dropped", "dropped when full", "superseded"];
    let counts = [queue.marked, queue.dropped, queue.overflowed, queue.superseded];
    let counted = what.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    facts.extend(counted.map(|(what, count)| format!("{count} {what}")));
    facts.join(", ")
}

/// Returns what is learnt of a path.
fn estimate(estimate: &Estimate) -> String {
    let rate = quantity::rate(estimate.rate);
    let mut facts = vec![match estimate.bottleneck_seen {
        true => format!("{rate}, delivers {}", quantity::rate(estimate.delivered)),
        false => format!("no bottleneck seen up to {}", quantity::rate(estimate.delivered)),
    }];
    let recent = estimate.is_recent();
    facts.extend(recent.then(|| format!("queue {}", quantity::microseconds(estimate.queue_us))));
    facts.push(format!("jitter {}", quantity::microseconds(estimate.jitter_us)));
    let loss = || format!("loss {:.2} %", f64::from(estimate.lost_per_million) / 1e4);
    facts.extend(recent.then(loss));
    facts.join(", ")
}

/// The bounds of what is learnt of a path, if it has any: "rate from 5.00 to 20.0 Mbit/s".
pub(crate) fn bounds(max_rate: Option<u64>, min_rate: Option<u64>) -> Option<String> {
    let rate = quantity::rate;
    match (max_rate, min_rate) {
        (None, None) => None,
        (Some(most), None) => Some(format!("at most {}", rate(most))),
        (None, Some(least)) => Some(format!("at least {}", rate(least))),
        (Some(most), Some(least)) => Some(format!("{} to {}", rate(least), rate(most))),
    }
}

/// Returns what was lost on a path, and what it carried again.
fn repairs(repairs: &Repairs) -> String {
    let Repairs { lost, repaired, late, refused, sent, sent_bytes } = *repairs;
    let mut facts = vec![format!("{lost} lost"), format!("{repaired} of them repaired")];
    if late > 0 {
        facts.push(format!("{late} only late"));
    }
    if refused > 0 {
        facts.push(format!("{refused} refused"));
    }
    facts.push(format!("{sent} sent again here ({sent_bytes} bytes)"));
    facts.join(", ")
}

fn paths(f: &mut fmt::Formatter<'_>, paths: &[Path]) -> fmt::Result {
    let mut table = Table::indented([
        Column::word("PATH"),
        Column::word("STATE"),
        Column::word("LOCAL"),
        Column::word("REMOTE"),
        Column::number("WEIGHT"),
        Column::number("IN"),
        Column::number("TIER"),
        Column::number("MTU"),
        Column::number("SENDING"),
        Column::number("RECEIVING"),
        Column::number("SENT"),
        Column::number("RECEIVED"),
    ]);
    for path in paths {
        table.row([
            path.name.clone(),
            path_state(path.state, path.down),
            local(path.local, path.interface.as_deref()),
            remote(path),
            path.weight.to_string(),
            path.weight_in.to_string(),
            path.tier.to_string(),
            mtu(path),
            quantity::rate(path.sent.bits_per_second),
            quantity::rate(path.received.bits_per_second),
            format!("{} pkt", path.sent.packets),
            format!("{} pkt", path.received.packets),
        ]);
    }
    write!(f, "{table}")?;
    for path in paths {
        if let Some(liveness) = &path.liveness {
            line(f, "liveness", &format!("{}: {}", path.name, self::liveness(liveness)))?;
        }
    }
    for path in paths {
        if let Some(estimate) = &path.estimate {
            line(f, "learnt", &format!("{}: {}", path.name, self::estimate(estimate)))?;
        }
    }
    for path in paths {
        if let Some(bounds) = bounds(path.max_rate, path.min_rate) {
            line(f, "bounds", &format!("{}: {bounds}", path.name))?;
        }
    }
    for path in paths {
        if let Some(repairs) = path.repairs.filter(|it| it.lost > 0 || it.sent > 0) {
            line(f, "repairs", &format!("{}: {}", path.name, self::repairs(&repairs)))?;
        }
    }
    for path in paths {
        if let Some(cap) = &path.cap {
            let used = cap::used(cap, cap::resets_s(cap, mpt_api::now_ms()));
            line(f, "cap", &format!("{}: {used}", path.name))?;
        }
        let spared = [(path.metered, "metered"), (path.last_resort, "last resort")];
        let spared: Vec<_> = spared.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        if !spared.is_empty() {
            line(f, "spared", &format!("{}: {}", path.name, spared.join(", ")))?;
        }
    }
    for path in paths {
        let drops = counted(&path.drops);
        if !drops.is_empty() {
            line(f, "drops", &format!("{}: {drops}", path.name))?;
        }
    }
    Ok(())
}

/// The MTU of a path and where it is from.
fn mtu(path: &Path) -> String {
    let source = match (path.mtu_source, path.mtu_expires_ms) {
        (MtuSource::Configured, _) => "configured".to_owned(),
        (MtuSource::Interface, _) => "interface".to_owned(),
        (MtuSource::Probed, _) => "probed".to_owned(),
        (MtuSource::Reported, Some(left)) => {
            format!("reported by a router, for {} s more", left.div_ceil(1000))
        }
        (MtuSource::Reported, None) => "reported by a router".to_owned(),
        (MtuSource::Unknown, _) => "unknown source".to_owned(),
    };
    let ipv6 = if path.ipv6 { "" } else { ", no IPv6" };
    format!("{} ({source}{ipv6})", path.mtu)
}

/// Returns "down (interface)".
pub(crate) fn path_state(state: PathState, down: Option<DownReason>) -> String {
    match down {
        None => state.to_string(),
        Some(reason) => format!("{state} ({reason})"),
    }
}

fn liveness(liveness: &Liveness) -> String {
    let mut facts = Vec::new();
    if let (Some(rtt), Some(variation)) = (liveness.rtt_us, liveness.rtt_variation_us) {
        let (rtt, variation) = (quantity::microseconds(rtt), quantity::microseconds(variation));
        facts.push(format!("round trip {rtt} +- {variation}"));
    }
    facts.extend(liveness.rtt_minimum_us.map(|us| format!("least {}", quantity::microseconds(us))));
    if !liveness.hears_us {
        facts.push("the peer does not hear us".into());
    }
    if !liveness.we_hear {
        facts.push("we do not hear the peer".into());
    }
    facts.push(match liveness.dead_after_us {
        0 => "never dead".into(),
        us => format!("dead after {}", quantity::microseconds(us)),
    });
    facts.push(match liveness.flaps {
        1 => "died once".into(),
        flaps => format!("died {flaps} times"),
    });
    facts.join(", ")
}

fn local(address: Option<SocketAddr>, interface: Option<&str>) -> String {
    match (address, interface) {
        (Some(address), Some(interface)) => format!("{address} on {interface}"),
        (Some(address), None) => address.to_string(),
        (None, Some(interface)) => format!("{interface}, no address"),
        (None, None) => "-".into(),
    }
}

fn remote(path: &Path) -> String {
    match (path.remote, &path.remote_name) {
        (Some(remote), _) => remote.to_string(),
        (None, Some(name)) => format!("{name}, not resolved"),
        (None, None) => "not heard yet".into(),
    }
}

fn traffic(traffic: &Traffic) -> String {
    format!(
        "{}, {} packets/s; {}, {} packets in all",
        quantity::rate(traffic.bits_per_second),
        traffic.packets_per_second,
        quantity::bytes(traffic.bytes),
        traffic.packets
    )
}

fn drops(f: &mut fmt::Formatter<'_>, counters: &Counters) -> fmt::Result {
    self::counters(f, "drops", counters)
}

fn counters(f: &mut fmt::Formatter<'_>, name: &str, counters: &Counters) -> fmt::Result {
    let counted = counted(counters);
    if counted.is_empty() { Ok(()) } else { line(f, name, &counted) }
}

fn counted(counters: &Counters) -> String {
    let counted = counters.iter().filter(|&(_, &count)| count > 0);
    counted.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {name:<9} {text}")
}
