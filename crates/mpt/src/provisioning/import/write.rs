//! The configuration of mptd that follows from the files of the prototype.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;
use mpt_config::DEFAULT_PORT;
use mpt_core::path::mtu;

use super::original::{Connection, Interface, Original, Path, Warnings};
use crate::command_line::args::quoted;

/// The value of `auth_key` where a file has none; it is public.
const BUILT_IN: &str = "default";
/// Default of `max_buffdelay_msec`.
const MAX_DELAY_MS: u64 = 100;
/// Longest `max_delay`, in milliseconds, and shortest.
const DELAY_RANGE_MS: (u64, u64) = (1, 10_000);
/// Largest window that the prototype has room for, in packets.
const LARGEST_WINDOW: u64 = 10_000;
/// Range of `keepalive`, in seconds: the prototype's field has 8 bits.
const KEEPALIVE_MOST: u64 = 255;
/// Longest `dead`, in seconds.
const DEAD_MOST: u64 = 3600;

/// The result of the conversion.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The configuration.
    pub(super) toml: String,
    /// Keys that it names files for: name of the file in the directory of keys, and its text.
    pub(super) keys: Vec<(String, String)>,
}

/// Writes the configuration; its key files are those of the directory `keys`.
pub(super) fn write(original: &Original, keys: &str, warnings: &mut Warnings) -> Written {
    let mut written = Written::default();
    written.toml.push_str("# Written by `mpt import` from the files of mptsrv.\n\n");
    let device = device(&original.interface, &mut written.toml, warnings);
    let mut seen = Seen::default();
    for connection in &original.connections {
        self::connection(
            connection,
            &original.interface,
            keys,
            &device,
            &mut seen,
            &mut written,
            warnings,
        );
    }
    written
}

/// Values that have to differ.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    remotes: BTreeSet<IpAddr>,
    networks: BTreeSet<IpNet>,
}

/// Gives its addresses.
fn device(interface: &Interface, toml: &mut String, warnings: &mut Warnings) -> Vec<IpAddr> {
    let name = interface.name.clone().unwrap_or_else(|| "tun0".to_owned());
    let name: String =
        name.chars().filter(|c| c.is_ascii_graphic() && *c != '/').take(15).collect();
    let addresses = strings(interface.addresses.iter());
    let _ = writeln!(toml, "[[device]]\nname = {}\naddresses = [{addresses}]", quoted(&name));
    if let Some(mtu) = interface.mtu {
        if mtu >= mtu::IPV4_MINIMUM {
            let _ = writeln!(toml, "mtu = {mtu}");
        } else {
            warnings.add(&interface.place, format!("mtu = {mtu} is too small: left out"));
        }
    }
    if interface.addresses.is_empty() {
        warnings
            .add(&interface.place, "there is no address of the tunnel: write one into addresses");
    }
    if interface.accepts_creation {
        let what = "accept_remote: nobody gets a connection here that is not in the file; see create and [[client]]";
        warnings.add(&interface.place, what);
    }
    interface.addresses.iter().map(IpNet::addr).collect()
}

fn connection(
    it: &Connection,
    interface: &Interface,
    keys: &str,
    device: &[IpAddr],
    seen: &mut Seen,
    written: &mut Written,
    warnings: &mut Warnings,
) {
    let Some(remote) = it.remote else {
        warnings.add(&it.place, "no ip_remote: the connection is left out");
        return;
    };
    let name = name(it, &mut seen.names, warnings);
    if !seen.remotes.insert(remote) {
        let what = format!(
            "{remote} is the peer of a connection before it, which gets all packets: the connection is left out"
        );
        warnings.add(&it.place, what);
        return;
    }
    let paths = paths(it, warnings);
    if paths.is_empty() {
        warnings.add(&it.place, "no path can be used: the connection is left out");
        return;
    }
    oddities(it, device, warnings);
    let mut networks = networks(it, remote, warnings);
    networks.retain(|net| {
        let new = seen.networks.insert(*net);
        if !new {
            let what = format!(
                "{net} belongs to a connection before it, which gets all packets: left out"
            );
            warnings.add(&it.place, what);
        }
        new
    });
    let toml = &mut written.toml;
    let networks = strings(networks.iter());
    let _ = writeln!(
        toml,
        "\n[[connection]]\nname = {}\ncompat = \"mptsrv\"\nnetworks = [{networks}]",
        quoted(&name)
    );
    window(it, toml, warnings);
    let _ = writeln!(toml, "\n[connection.mptsrv]\nremote = {}", quoted(&remote.to_string()));
    let same = |address: &&IpAddr| address.is_ipv4() == remote.is_ipv4();
    if let Some(local) = it.local.filter(|local| device.contains(local))
        && device.iter().find(same) != Some(&local)
    {
        let _ = writeln!(toml, "local = {}", quoted(&local.to_string()));
    }
    let command_port = interface.command_port.unwrap_or_else(|| {
        warnings
            .add(&interface.place, "no command port: 60456 is taken, which the peer needs to know");
        60_456
    });
    let _ = writeln!(
        toml,
        "command_port = {command_port}\nremote_command_port = {}",
        it.remote_command_port
    );
    authentication(it, &name, keys, written, warnings);
    timing(it, &paths, &mut written.toml, warnings);
    for (index, path) in paths.iter().enumerate() {
        self::path(it, path, index, &mut written.toml, warnings);
    }
}

/// A name that mptd takes, and that no other connection has.
fn name(it: &Connection, names: &mut BTreeSet<String>, warnings: &mut Warnings) -> String {
    let given = it.name.clone().unwrap_or_else(|| "connection".to_owned());
    let allowed = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
        _ => '-',
    };
    let mut name: String = given.chars().map(allowed).take(mpt_api::MAX_NAME).collect();
    if !mpt_api::is_name(&name) {
        name = "connection".to_owned();
    }
    let plain = name.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        let suffix = format!("-{number}");
        let kept: String = plain.chars().take(mpt_api::MAX_NAME - suffix.len()).collect();
        name = kept + &suffix;
        number += 1;
    }
    if name != given {
        warnings.add(&it.place, format!("the name \"{given}\" becomes \"{name}\""));
    }
    name
}

/// Warns of settings that mptsrv ignores or misreads.
fn oddities(it: &Connection, device: &[IpAddr], warnings: &mut Warnings) {
    if !matches!(it.version, 4 | 6) {
        warnings.add(
            &it.place,
            format!("ip_ver = {} is 4 to mptsrv, and here that of ip_remote", it.version),
        );
    }
    if let Some(local) = it.local.filter(|local| !device.contains(local)) {
        let what = format!("ip_local = {local} is no address of the tunnel, whose own is taken");
        warnings.add(&it.place, what);
    }
    if let Some(permission) = it.permission.filter(|&permission| permission != 3) {
        let what = format!(
            "permission = {permission} has no effect in mptsrv, and packets travel both ways here, too; see direction"
        );
        warnings.add(&it.place, what);
    }
}

/// Paths that have what a path needs.
fn paths<'o>(it: &'o Connection, warnings: &mut Warnings) -> Vec<&'o Path> {
    let mut usable: Vec<&Path> = Vec::new();
    for path in &it.paths {
        let Some(remote) = path.remote else {
            warnings.add(&path.place, "no remote_ipaddr: the path is left out");
            continue;
        };
        let own = path.private.or(path.public);
        let Some(own) = own else {
            let what = "neither private_ipaddr nor public_ipaddr, which mptsrv asks strangers for: the path is left out";
            warnings.add(&path.place, what);
            continue;
        };
        if own.is_ipv4() != remote.is_ipv4() {
            let what =
                format!("{own} and {remote} are of different IP versions: the path is left out");
            warnings.add(&path.place, what);
            continue;
        }
        if usable.iter().any(|other| other.remote == Some(remote)) {
            let what = format!(
                "{remote} is the remote address of a path before it; mptsrv uses one of them only, mptd both"
            );
            warnings.add(&path.place, what);
        }
        usable.push(path);
    }
    usable
}

/// Returns the networks behind the peer.
fn networks(it: &Connection, remote: IpAddr, warnings: &mut Warnings) -> Vec<IpNet> {
    let mut networks = vec![IpNet::from(remote)];
    for network in &it.networks {
        let Some(destination) = network.destination else {
            warnings.add(&network.place, "no dst_addr, which is everything to mptsrv: ignored, write 0.0.0.0/0 if it is meant");
            continue;
        };
        let plain = destination.trunc();
        if plain != destination {
            warnings.add(&network.place, format!("{destination} has host bits: {plain} is taken"));
        }
        if networks.contains(&plain) {
            warnings.add(&network.place, format!("{plain} is there already"));
            continue;
        }
        if network.source.is_some_and(|source| source.prefix_len() > 0) {
            let what = format!(
                "src_addr is not taken over: every packet to {plain} takes the connection; see [[connection.select]]"
            );
            warnings.add(&network.place, what);
        }
        networks.push(plain);
    }
    networks
}

fn window(it: &Connection, toml: &mut String, warnings: &mut Warnings) {
    match it.window {
        // A listing has no place for it; numbers do no harm.
        None => warnings.add(&it.place, "the reorder window is not said: mptd's own is taken"),
        Some(0) => toml.push_str("sequence = false\nwindow = 0\n"),
        Some(window) => {
            if window > LARGEST_WINDOW {
                let what = format!(
                    "reorder_window = {window} makes mptsrv crash; up to {LARGEST_WINDOW} are good"
                );
                warnings.add(&it.place, what);
            }
            let _ = writeln!(toml, "window = {}", window.min(65_535));
        }
    }
    if it.window.is_some_and(|window| window > 0) {
        let given = it.max_delay.filter(|&delay| delay > 0).unwrap_or(MAX_DELAY_MS);
        let delay = given.clamp(DELAY_RANGE_MS.0, DELAY_RANGE_MS.1);
        if delay != given {
            warnings.add(&it.place, format!("max_buffdelay_msec = {given} is cut to {delay}"));
        }
        let _ = writeln!(toml, "max_delay = \"{delay} ms\"");
    }
}

fn authentication(
    it: &Connection,
    name: &str,
    keys: &str,
    written: &mut Written,
    warnings: &mut Warnings,
) {
    let toml = &mut written.toml;
    match it.authentication {
        0 => {}
        1 => toml.push_str("authentication = \"nonce\"\n"),
        2 => {
            toml.push_str("authentication = \"sha256\"\n");
            let good = |key: &&String| mpt_core::compat::Key::from_text(key).is_some();
            let key = it.key.as_ref().filter(good);
            if key.is_none() && it.key.is_some() {
                warnings.add(&it.place, "auth_key is not printable: the built-in key is taken");
            }
            match key {
                Some(key) => {
                    let file = format!("{name}.auth");
                    let _ = writeln!(toml, "auth_key_file = {}", quoted(&format!("{keys}/{file}")));
                    written.keys.push((file, key.clone()));
                }
                None => {
                    let what = "no auth_key: mptsrv takes the key built into it, which is known to everybody, and so is done here";
                    warnings.add(&it.place, what);
                    let _ = writeln!(toml, "auth_key_file = {}", quoted(BUILT_IN));
                }
            }
        }
        other => {
            let what =
                format!("auth_type = {other} lets everybody command mptsrv: taken as 0, none");
            warnings.add(&it.place, what);
        }
    }
}

/// The prototype has keepalives for each path; mptd has them for a connection.
fn timing(it: &Connection, paths: &[&Path], toml: &mut String, warnings: &mut Warnings) {
    let all: BTreeSet<u64> = paths.iter().map(|path| path.keepalive).collect();
    // None at all only if no path has any.
    let keepalive = all.iter().copied().find(|&seconds| seconds > 0).unwrap_or(0);
    if all.len() > 1 {
        let what = format!("keepalive_time differs between the paths: {keepalive} s for all");
        warnings.add(&it.place, what);
    }
    let dead_of = |path: &&Path| path.dead.unwrap_or(3 * path.keepalive);
    let all: BTreeSet<u64> = paths.iter().map(dead_of).collect();
    let dead = all.iter().copied().max().unwrap_or(0);
    if all.len() > 1 {
        warnings.add(&it.place, format!("dead_time differs between the paths: {dead} s for all"));
    }
    if dead > 0 && dead <= keepalive {
        let what = format!(
            "dead_time = {dead} s is not longer than keepalive_time = {keepalive} s: if the peer has the same, paths will go up and down"
        );
        warnings.add(&it.place, what);
    }
    let seconds = |seconds: u64| match seconds {
        0 => "0".to_owned(),
        seconds => format!("{seconds} s"),
    };
    let _ = writeln!(
        toml,
        "keepalive = \"{}\"\ndead = \"{}\"",
        seconds(keepalive.min(KEEPALIVE_MOST)),
        seconds(dead.min(DEAD_MOST))
    );
}

fn path(
    connection: &Connection,
    it: &Path,
    index: usize,
    toml: &mut String,
    warnings: &mut Warnings,
) {
    let Some(remote) = it.remote else { return };
    let _ = writeln!(toml, "\n[[connection.path]]\nname = \"path{index}\"");
    match (it.private, it.public) {
        (Some(private), public) => {
            let _ = writeln!(toml, "local = {}", quoted(&private.to_string()));
            if let Some(public) = public.filter(|&public| public != private) {
                let _ = writeln!(toml, "public = {}", quoted(&public.to_string()));
                // A NAT changes the addresses of the packets that arrive.
                toml.push_str("nat = true\n");
            }
        }
        (None, Some(public)) => {
            let _ = writeln!(toml, "local = {}", quoted(&public.to_string()));
            let what = format!(
                "no private_ipaddr: public_ipaddr {public} is taken for the address of this host"
            );
            warnings.add(&it.place, what);
        }
        (None, None) => return,
    }
    let _ = writeln!(toml, "remote = {}", quoted(&remote.to_string()));
    let remote_port = connection.remote_port;
    if connection.local_port == 0 {
        warnings.add(&it.place, format!("no local_port, so the kernel chooses one that nobody knows: {DEFAULT_PORT} is taken, which the peer needs to know"));
    } else {
        let _ = writeln!(toml, "local_port = {}", connection.local_port);
    }
    let _ = writeln!(toml, "remote_port = {remote_port}");
    for (key, name, weight) in
        [("weight", "weight_out", it.weight_out), ("weight_in", "weight_in", it.weight_in)]
    {
        let good = weight.clamp(1, 65_535);
        if good != weight {
            warnings.add(&it.place, format!("{name} = {weight} makes no sense: {good} is taken"));
        }
        let _ = writeln!(toml, "{key} = {good}");
    }
    if it.status != 0 {
        toml.push_str("up = false\n");
    }
    let own = [it.private, it.public];
    if let Some(gateway) =
        it.gateway.filter(|&gateway| !own.contains(&Some(gateway)) && Some(gateway) != it.remote)
    {
        let interface = it.interface.as_deref().unwrap_or("its interface");
        let what = format!(
            "gw_ipaddr = {gateway}: mptsrv makes a route to {remote} through it; mptd needs a default route on {interface}, \
             or such a route of yours"
        );
        warnings.add(&it.place, what);
    }
}

fn strings(all: impl Iterator<Item = impl ToString>) -> String {
    all.map(|it| quoted(&it.to_string())).collect::<Vec<_>>().join(", ")
}
