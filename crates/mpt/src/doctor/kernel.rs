//! What the kernel of this host can do.

use std::fs::File;
use std::io::ErrorKind;

use mpt_linux::confine::Files;
use mpt_linux::tun::{Tun, TunError};
use mpt_linux::udp;

use super::{Findings, Level};

const TUN: &str = "/dev/net/tun";
/// The device that is made for a moment.
const PROBE: &str = "mpt-doctor";

pub(super) fn check(found: &mut Findings) {
    tun(found);
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
    if Files::are_confinable() {
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

fn tun(found: &mut Findings) {
    if let Err(error) = File::options().read(true).write(true).open(TUN) {
        let advice = match error.kind() {
            ErrorKind::NotFound => "modprobe tun; in a container: give it the device /dev/net/tun",
            _ => "run this as root; in a container: give it the device /dev/net/tun",
        };
        return found.add(Level::Error, "tun", format!("{TUN}: {error}"), advice);
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
