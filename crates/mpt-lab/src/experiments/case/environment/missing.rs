//! Needs of measurements that this machine lacks, found before anything is made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::experiments::case::method::Adapter;
use crate::experiments::case::traffic::PYTHON;
use crate::experiments::case::{CaseSpec, Laboratory, Method, Protocol, Traffic, network};

/// Directories in which programs are looked for besides `PATH`, which does not contain them for all
/// users.
const ALSO: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Returns everything that these measurements need and that is missing, each with how to get it.
pub(crate) fn missing<'a>(
    specs: impl IntoIterator<Item = &'a CaseSpec>,
    lab: &Laboratory,
) -> Vec<String> {
    // Ordered by program, so that each is named once.
    let mut programs = BTreeMap::from([("ip", "iproute2"), ("tc", "iproute2"), ("ss", "iproute2")]);
    programs.extend([("unshare", "util-linux"), ("ping", "iputils-ping")]);
    let mut adapters = BTreeMap::new();
    let (mut mptcp, mut tunnel, mut ftp) = (false, false, false);
    let mut obstacles = BTreeSet::new();
    for spec in specs {
        obstacles.extend(network::obstacle(spec));
        match &spec.method {
            Method::Plain => {}
            Method::Mptcp => {
                mptcp = true;
                // It has traffic of its own.
                continue;
            }
            Method::Tunnel(_) => tunnel = true,
            Method::Adapter { name } => {
                adapters
                    .entry(name)
                    .or_insert_with(|| Adapter::load(name, lab.adapters.as_deref()));
            }
        }
        match spec.traffic {
            Traffic::Tcp { own: false, .. } | Traffic::Udp { .. } => {
                programs.insert("iperf3", "iperf3");
            }
            Traffic::Tcp { own: true, .. } | Traffic::Ping { .. } | Traffic::Rtp { .. } => {}
            Traffic::Download { protocol, .. } => {
                programs.insert("curl", "curl");
                match protocol {
                    Protocol::Ftp => ftp = true,
                    Protocol::Http => {
                        programs.insert("busybox", "busybox");
                    }
                }
            }
        }
    }

    let mut missing = privileges();
    let absent = programs.iter().filter(|(program, _)| !exists(program));
    missing.extend(absent.map(|(program, package)| lacks(program, package)));
    if ftp && !python_has("pyftpdlib") {
        missing.push(lacks("an FTP server (pyftpdlib)", "python3-pyftpdlib"));
    }
    for (name, adapter) in adapters {
        match adapter {
            Ok(adapter) => {
                let absent = adapter.programs.iter().filter(|program| !exists(program));
                let packages = adapter.packages.join(" ");
                missing.extend(absent.map(|program| {
                    format!("{} (for the adapter {name})", lacks(program, &packages))
                }));
            }
            Err(error) => missing.push(format!("{error:#}")),
        }
    }
    missing
        .extend(obstacles.iter().map(|what| format!("the kernel cannot make the links: {what}")));
    if mptcp && !Path::new("/proc/sys/net/mptcp/enabled").exists() {
        missing.push("this kernel has no Multipath TCP: one with CONFIG_MPTCP is needed, or --only-row the others".into());
    }
    if tunnel && !lab.mptd.is_file() {
        missing.push(format!("there is no {}: cargo build --release -p mptd", lab.mptd.display()));
    }
    missing
}

fn lacks(program: &str, packages: &str) -> String {
    format!("{program} is missing: apt install {packages}")
}

fn privileges() -> Vec<String> {
    let mut missing = Vec::new();
    if !nix::unistd::geteuid().is_root() {
        missing.push("network namespaces need root, or user namespaces for ordinary users".into());
    }
    if let Err(error) = File::options().read(true).write(true).open("/dev/net/tun") {
        missing.push(format!(
            "/dev/net/tun cannot be opened ({error}): run as root, or chmod 0666 /dev/net/tun; where it is missing, modprobe tun"
        ));
    }
    missing
}

fn exists(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths)
        .chain(std::env::split_paths(ALSO))
        .any(|directory| directory.join(program).is_file())
}

fn python_has(module: &str) -> bool {
    let mut command = Command::new(PYTHON);
    command.args(["-c", &format!("import {module}")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_usual_places() {
        assert!(exists("sh") && exists("ip"));
        assert!(!exists("no-such-program"));
        assert!(!python_has("no_such_module"));
    }
}
