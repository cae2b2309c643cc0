//! Further checks of a connection to the prototype.

use std::net::IpAddr;

use ipnet::IpNet;
use mpt_api::{Ecn, Mapping};
use mpt_core::compat::{Authentication, Key, MAX_CREATE_PATHS};

use super::super::types::{Device, Path, SourcePort};
use super::{AuthKeyFile, Compat};
use crate::parse::draft::ConnectionDraft;
use crate::syntax::reader::{Context, Lines, Located};

/// Fills in the local address, and checks what the rest of the connection has to be.
pub(in super::super) fn check(
    context: &Context<'_>,
    draft: &mut ConnectionDraft,
    devices: &[Located<Device>],
) {
    let ConnectionDraft { connection, lines, compat: compat_lines, paths, peer, .. } = draft;
    let (Some(compat), Some(compat_lines)) = (&mut connection.compat, compat_lines) else {
        for Located { value: path, lines } in paths.iter() {
            let Some(public) = path.public else { continue };
            let message =
                format!("{public} has no effect without compat = \"mptsrv\"; leave it out");
            context.error(lines.of("public"), "connection.path.public", message);
        }
        return;
    };
    local(context, compat, compat_lines, devices, &connection.device);
    creation(context, compat, compat_lines, paths);
    let error = |key: &str, message: &str| {
        context.error(lines.of(key), &format!("connection.{key}"), message);
    };
    if peer.is_some() {
        error("peer", "the prototype knows no sessions; leave [connection.peer] or compat out");
    }
    if connection.key.is_some() {
        error("key", "the prototype takes a GRE key for data; leave it out");
    }
    if connection.checksum {
        error("checksum", "the prototype takes a GRE checksum for data; write false");
    }
    if connection.mapping == Mapping::Duplicate {
        error(
            "mapping",
            "\"duplicate\": the prototype delivers copies, or takes them for a restart; write \"packet\" or \"flow\"",
        );
    }
    if connection.mapping == Mapping::Adaptive {
        error(
            "mapping",
            "\"adaptive\": the prototype does not report what it receives; write \"packet\" or \"flow\"",
        );
    }
    if connection.ecn == Ecn::Normal && connection.mapping != Mapping::Adaptive {
        error(
            "ecn",
            "\"normal\": the prototype drops the marks of congested routers; write \"compatibility\"",
        );
    }
    for Located { value: path, lines } in paths.iter() {
        let error = |key: &str, message: String| {
            context.error(lines.of(key), &format!("connection.path.{key}"), message);
        };
        if path.remote.name().is_some() {
            error("remote", "is a name; with compat = \"mptsrv\" write the address".into());
        }
        match (path.public, path.local, path.remote.address()) {
            (None, None, _) => error(
                "local",
                "missing: the peer knows paths by their addresses; write local = \"...\", or public = \"...\"".into(),
            ),
            (Some(public), _, Some(remote)) if public.is_ipv4() != remote.is_ipv4() => error(
                "public",
                format!("{public} is not of the family of remote {remote}; write the address that the peer has as its remote_ipaddr"),
            ),
            _ => {}
        }
        if path.source_port == SourcePort::Entropy {
            error(
                "source_port",
                "\"entropy\": the prototype expects one port; leave it out".into(),
            );
        }
    }
}

/// Checks a connection that the peer creates, or that it is asked to create.
fn creation(context: &Context<'_>, compat: &Compat, lines: &Lines, paths: &[Located<Path>]) {
    if compat.create.is_none() {
        return;
    }
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.mptsrv.{key}"), message);
    };
    if paths.len() > MAX_CREATE_PATHS {
        error(
            "create",
            format!(
                "{} paths do not fit the message that describes the connection; leave create out, or write at most {MAX_CREATE_PATHS} paths",
                paths.len()
            ),
        );
    }
    let ports = |path: &Located<Path>| (path.value.local_port, path.value.remote_port);
    if paths.iter().any(|path| ports(path) != ports(&paths[0])) {
        error(
            "create",
            "the prototype has one data port for all paths; write the same local_port and remote_port in each".into(),
        );
    }
    // The prototype uses its built-in key after a creation, so another key would shut it out.
    if matches!(&compat.authentication, Authentication::Digest(key) if *key != Key::built_in()) {
        error(
            "auth_key_file",
            "after a creation the prototype authenticates by the key built into it; write \"default\", or leave create out".into(),
        );
    }
}

/// Fills in the address of this host in the tunnel.
fn local(
    context: &Context<'_>,
    compat: &mut Compat,
    lines: &Lines,
    devices: &[Located<Device>],
    device: &str,
) {
    let Some(device) = devices.iter().find(|it| it.value.name == device) else { return };
    let mut addresses = device.value.addresses.iter().map(IpNet::addr);
    let family = |address: IpAddr| address.is_ipv4() == compat.remote.is_ipv4();
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.mptsrv.{key}"), message);
    };
    if compat.local.is_unspecified() {
        match addresses.find(|&address| family(address)) {
            Some(address) => compat.local = address,
            None => error(
                "remote",
                format!(
                    "device \"{}\" has no address of the family of {}; write one into its addresses",
                    device.value.name, compat.remote
                ),
            ),
        }
    } else if !family(compat.local) {
        error(
            "local",
            format!(
                "{} and remote {} are of different families; write two of one",
                compat.local, compat.remote
            ),
        );
    } else if !addresses.any(|address| address == compat.local) {
        error(
            "local",
            format!(
                "{} is not an address of device \"{}\"; write one that is, or leave it out",
                compat.local, device.value.name
            ),
        );
    }
}

/// Two connections that a command could be about, and command ports that are also data ports.
pub(in super::super) fn conflicts(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    for (index, draft) in drafts.iter().enumerate() {
        let (Some(compat), Some(lines)) = (&draft.connection.compat, &draft.compat) else {
            continue;
        };
        let ends = |compat: &Compat| (compat.local, compat.remote);
        let same = drafts[..index].iter().find(|other| {
            other.connection.compat.as_ref().is_some_and(|other| ends(other) == ends(compat))
        });
        if let Some(other) = same {
            context.error(
                lines.of("remote"),
                "connection.mptsrv.remote",
                format!(
                    "connection \"{}\" has the same two ends, by which commands are told apart; write another address",
                    other.connection.name
                ),
            );
        }
        let mut paths = drafts.iter().flat_map(|it| &it.paths);
        if paths.any(|path| path.value.local_port == compat.command_port) {
            context.error(
                lines.of("command_port"),
                "connection.mptsrv.command_port",
                format!("{} is the port of a path; write another", compat.command_port),
            );
        }
    }
}

/// Warns of a key that keeps nobody out, and of paths that the peer cannot tell apart.
pub(in super::super) fn warn(context: &Context<'_>, draft: &ConnectionDraft) {
    let (Some(compat), Some(lines)) = (&draft.connection.compat, &draft.compat) else { return };
    if compat.auth_key_file == Some(AuthKeyFile::BuiltIn) {
        context.warn(
            lines.of("auth_key_file"),
            "connection.mptsrv.auth_key_file",
            "\"default\" is known to everybody and keeps nobody out; give both hosts a key of their own",
        );
    }
    for (index, Located { value: path, lines }) in draft.paths.iter().enumerate() {
        let public = |path: &Path| path.public.or(path.local);
        let same = draft.paths[..index].iter().find(|other| public(&other.value) == public(path));
        if let Some(other) = same {
            context.warn(
                lines.header(),
                "connection.path",
                format!(
                    "paths \"{}\" and \"{}\" have one address at this host; the prototype routes by the address of its \
                     peer and would use one path only; write another local",
                    other.value.name, path.name
                ),
            );
        }
    }
}
