//! The abilities of the kernel of this host.

use std::io::ErrorKind;
use std::path::Path;

use mpt_linux::confine::{Sandbox, User};
use mpt_linux::tun::{self, Driver, Tun, TunError};
use mpt_linux::udp;

use super::{Findings, Level};

/// The device that is made for a moment.
const PROBE: &str = "mpt-doctor";

/// Looks at the kernel; `user` is the name of the daemon's user.
pub(super) fn check(user: &str, found: &mut Findings) {
    tun(found);
    tun_node(user, found);
    match udp::offloads() {
        Ok(udp::Offloads { segmentation: true, coalescing: true }) => {
            found.ok("offloads", "UDP: super-packets are sent (GSO) and received (GRO)");
        }
        Ok(_) => found.add(
            Level::Note,
            "offloads",
            "UDP: no super-packets (GSO and GRO): every datagram takes its own way through the kernel",
            "a kernel from Linux 5.0 on is faster",
        ),
        Err(error) => {
            found.add(Level::Error, "offloads", format!("no UDP socket: {error}"), "see the log of the kernel");
        }
    }
    if Sandbox::is_possible() {
        found.ok("landlock", "mptd's access to files is confined");
    } else {
        found.add(
            Level::Note,
            "landlock",
            "the kernel has no landlock: mptd's access to files is not confined",
            "add landlock to the lsm= parameter of the kernel, from Linux 5.13 on",
        );
    }
}

/// A daemon that another user starts (the unit of systemd does so) opens the node as that user.
fn tun_node(user: &str, found: &mut Findings) {
    let Ok(Some(account)) = User::find(user) else { return };
    if Path::new(tun::NODE).exists() && !account.can_change(Path::new(tun::NODE)) {
        found.add(
            Level::Note,
            "tun",
            format!(
                "{} is not open to user {user}: a daemon that starts as this user makes no devices; one that root starts does",
                tun::NODE
            ),
            format!(
                "chgrp {user} {node} && chmod 0660 {node} at every boot, as the unit mptd.service does; or chmod 0666, as udev does",
                node = tun::NODE
            ),
        );
    }
}

fn tun(found: &mut Findings) {
    if let Err(error) = Driver::direct().open() {
        let message = format!("{}: {error}", tun::NODE);
        return found.add(Level::Error, "tun", message, tun::remedy(&error));
    }
    match Tun::create(PROBE) {
        Ok(tun) => {
            let offloads = tun.offloads();
            if offloads.tso && offloads.uso {
                found.ok("tun", "devices with segmentation offload for TCP and UDP");
            } else if offloads.tso {
                found.add(
                    Level::Note,
                    "tun",
                    "devices with segmentation offload for TCP, not for UDP",
                    "a kernel from Linux 6.2 on is faster for UDP",
                );
            } else {
                found.add(
                    Level::Note,
                    "tun",
                    "devices without segmentation offload: everything goes packet by packet",
                    "a newer kernel is faster",
                );
            }
        }
        Err(TunError::Create { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            let message = "no right to make devices, so their offloads are not known";
            found.add(Level::Note, "tun", message, "run this as root, or with CAP_NET_ADMIN");
        }
        Err(error) => {
            found.add(Level::Error, "tun", error.to_string(), "see the log of the kernel");
        }
    }
}
