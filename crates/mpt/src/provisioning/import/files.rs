//! The settings that INI files make, with the defaults of the prototype.

use std::net::IpAddr;

use ipnet::IpNet;

use super::ini::Ini;
use super::original::{Connection, Interface, Network, Path, Warnings, address, network};

/// Most paths and networks of a connection there.
const MOST: u64 = 20;
/// Defaults of `remote_port` and `remote_cmd_port`.
const REMOTE_PORT: u16 = 65_000;
const REMOTE_COMMAND_PORT: u16 = 65_050;
/// Default of `cmdport_local`.
const COMMAND_PORT: u16 = 65_050;

/// `interface.conf`.
pub(super) fn interface(file: &str, text: &str, warnings: &mut Warnings) -> Interface {
    let mut ini = Ini::read(file, text, warnings);
    let devices = ini.number("general", "tunnel_num", warnings).unwrap_or(0);
    let accepts_creation = ini.number("general", "accept_remote", warnings).unwrap_or(0) != 0;
    let command_port = port(&mut ini, "general", "cmdport_local", warnings).unwrap_or(COMMAND_PORT);
    for unused in ["cmd_timeout", "interface_num"] {
        ini.text("general", unused);
    }
    if devices > 1 {
        let what =
            format!("tunnel_num = {devices}: mptsrv uses the last one only, and so is done here");
        warnings.add(ini.place("general"), what);
    }
    let section = format!("tun_{}", devices.saturating_sub(1));
    let section = if ini.has(&section) { section } else { "tun_0".to_owned() };
    let mut addresses = Vec::new();
    for key in ["ipv4_addr", "ipv6_addr"] {
        let Some((text, place)) = ini.text(&section, key) else { continue };
        match text.parse::<IpNet>() {
            // An address of length 0 means that there is none.
            Ok(net) if net.prefix_len() == 0 => {}
            Ok(net) => addresses.push(net),
            Err(_) => warnings
                .add(place, format!("{key} = \"{text}\" is no address with its length: ignored")),
        }
    }
    let interface = Interface {
        place: ini.place(&section),
        command_port: Some(command_port).filter(|&port| port != 0),
        accepts_creation,
        name: ini.text(&section, "name").map(|it| it.0),
        mtu: ini.number(&section, "mtu", warnings).and_then(|mtu| u16::try_from(mtu).ok()),
        addresses,
    };
    ini.finish(|name| name == "general" || numbered(name, "tun_").is_some(), warnings);
    interface
}

/// A connection file.
pub(super) fn connection(file: &str, text: &str, warnings: &mut Warnings) -> Connection {
    let mut ini = Ini::read(file, text, warnings);
    const SECTION: &str = "connection";
    // Not consulted there, or replaced by what interface.conf says.
    for unused in ["status", "local_cmd_port"] {
        ini.text(SECTION, unused);
    }
    let counted = |ini: &mut Ini, key: &str, prefix: &str, warnings: &mut Warnings| {
        let count = ini.number(SECTION, key, warnings).unwrap_or(0);
        if count > MOST {
            let what = format!("{key} = {count} is more than the {MOST} that mptsrv has room for");
            warnings.add(ini.place(SECTION), what);
        }
        let there = (0..count.min(MOST)).filter(|index| ini.has(&format!("{prefix}{index}")));
        let there: Vec<u64> = there.collect();
        if there.len() as u64 != count {
            let what = format!(
                "{key} = {count}, but there are {} such sections: those are taken",
                there.len()
            );
            warnings.add(ini.place(SECTION), what);
        }
        if ini.has(&format!("{prefix}{count}")) {
            let what = format!(
                "{key} = {count}: [{prefix}{count}] and those behind it are not used: ignored"
            );
            warnings.add(ini.place(SECTION), what);
        }
        there
    };
    let paths = counted(&mut ini, "path_count", "path_", warnings);
    let networks = counted(&mut ini, "network_count", "net_", warnings);
    let connection = Connection {
        place: ini.place(SECTION),
        name: ini.text(SECTION, "name").map(|it| it.0),
        permission: ini.number(SECTION, "permission", warnings),
        version: ini.number(SECTION, "ip_ver", warnings).unwrap_or(6),
        local: read(&mut ini, SECTION, "ip_local", warnings),
        remote: read(&mut ini, SECTION, "ip_remote", warnings),
        local_port: port(&mut ini, SECTION, "local_port", warnings).unwrap_or(0),
        remote_port: port(&mut ini, SECTION, "remote_port", warnings).unwrap_or(REMOTE_PORT),
        remote_command_port: port(&mut ini, SECTION, "remote_cmd_port", warnings)
            .unwrap_or(REMOTE_COMMAND_PORT),
        window: Some(ini.number(SECTION, "reorder_window", warnings).unwrap_or(0)),
        max_delay: ini.number(SECTION, "max_buffdelay_msec", warnings),
        authentication: ini.number(SECTION, "auth_type", warnings).unwrap_or(0),
        key: ini.text(SECTION, "auth_key").map(|it| it.0),
        paths: paths.into_iter().map(|index| path(&mut ini, index, warnings)).collect(),
        networks: networks.into_iter().map(|index| net(&mut ini, index, warnings)).collect(),
    };
    let (path_count, net_count) = (connection.paths.len(), connection.networks.len());
    let used = |name: &str| {
        name == SECTION
            || numbered(name, "path_").is_some_and(|index| index < path_count)
            || numbered(name, "net_").is_some_and(|index| index < net_count)
    };
    ini.finish(used, warnings);
    connection
}

fn path(ini: &mut Ini, index: u64, warnings: &mut Warnings) -> Path {
    let section = format!("path_{index}");
    let section = section.as_str();
    for unused in ["ip_ver", "cmd_default", "window_size"] {
        ini.text(section, unused);
    }
    let private = read(ini, section, "private_ipaddr", warnings);
    let public = match ini.text(section, "public_ipaddr") {
        Some((word, _)) if word == "private_ipaddr" => private,
        _ => read(ini, section, "public_ipaddr", warnings),
    };
    let mut number = |key: &str| ini.number(section, key, warnings);
    let (keepalive, dead) = (number("keepalive_time").unwrap_or(0), number("dead_time"));
    let (weight_out, weight_in) =
        (number("weight_out").unwrap_or(1), number("weight_in").unwrap_or(1));
    let status = number("status").unwrap_or(0);
    Path {
        place: ini.place(section),
        interface: ini.text(section, "interface_name").map(|it| it.0),
        public,
        private,
        remote: read(ini, section, "remote_ipaddr", warnings),
        gateway: read(ini, section, "gw_ipaddr", warnings),
        keepalive,
        dead,
        weight_out,
        weight_in,
        status,
    }
}

fn net(ini: &mut Ini, index: u64, warnings: &mut Warnings) -> Network {
    let section = format!("net_{index}");
    ini.text(&section, "ip_ver");
    let mut side = |key: &str| {
        let (text, place) = ini.text(&section, key)?;
        network(&text).map_err(|what| warnings.add(place, what)).ok()
    };
    let (source, destination) = (side("src_addr"), side("dst_addr"));
    Network { place: ini.place(&section), source, destination }
}

fn read(ini: &mut Ini, section: &str, key: &str, warnings: &mut Warnings) -> Option<IpAddr> {
    let (text, place) = ini.text(section, key)?;
    address(&text).map_err(|what| warnings.add(place, format!("{key} = {what}"))).ok().flatten()
}

fn port(ini: &mut Ini, section: &str, key: &str, warnings: &mut Warnings) -> Option<u16> {
    let number = ini.number(section, key, warnings)?;
    let port = u16::try_from(number).ok();
    if port.is_none() {
        warnings.add(ini.place(section), format!("{key} = {number} is no port: ignored"));
    }
    port
}

/// The number in a section's name.
fn numbered(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.parse().ok()
}
