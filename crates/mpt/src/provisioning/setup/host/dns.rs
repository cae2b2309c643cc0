//! Names resolved through the tunnel: by systemd-resolved or resolvconf, whichever the host has.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::service::Service;
use crate::client::Failed;
use crate::provisioning::setup::purpose::DEVICE;
use crate::provisioning::setup::step::record::{Made, Record, Resolver};
use crate::provisioning::setup::step::{Step, run};

/// The directory in which systemd looks for additions to the unit of the daemon.
const DROP_IN: &str = "/etc/systemd/system/mptd.service.d";

/// The file by which the resolvconf of Debian sorts the name servers of interfaces; openresolv has no such file.
const ORDER: &str = "/etc/resolvconf/interface-order";

/// Options by which openresolv asks these name servers first and no others. The resolvconf of Debian ignores them.
const FIRST: &str = "-m 0 -x";

/// Name servers that are asked through the tunnel, and by whom.
#[derive(Clone, Debug)]
pub(crate) struct Dns {
    by: Resolver,
    servers: Vec<IpAddr>,
}

impl Dns {
    /// Finds out how names are resolved on this host.
    ///
    /// # Errors
    ///
    /// The host has neither systemd-resolved nor resolvconf.
    pub(crate) fn choose(servers: &[IpAddr]) -> Result<Option<Self>, Failed> {
        if servers.is_empty() {
            return Ok(None);
        }
        let by = if succeeds("resolvectl", &["status"]) {
            Resolver::Resolved
        } else if is_there("resolvconf") {
            Resolver::Resolvconf { entry: entry(Path::new(ORDER)) }
        } else {
            return Err(Failed::Usage(
                "neither systemd-resolved runs on this host nor is there resolvconf; leave --dns out, and write the name servers into \
                 /etc/resolv.conf by hand"
                    .into(),
            ));
        };
        Ok(Some(Self { by, servers: servers.to_vec() }))
    }

    /// One line that says what is done.
    pub(crate) fn describe(&self) -> String {
        let by = match self.by {
            Resolver::Resolved => "resolvectl",
            Resolver::Resolvconf { .. } => "resolvconf",
        };
        let servers: Vec<_> = self.servers.iter().map(ToString::to_string).collect();
        format!("have {} asked for names, through the tunnel ({by})", servers.join(", "))
    }

    /// Returns what makes it hold after the next start of the service, where systemd starts it.
    pub(crate) fn steps(&self, service: &Service) -> Vec<Step> {
        if !service.is_of_systemd() {
            return Vec::new();
        }
        let servers: Vec<_> = self.servers.iter().map(ToString::to_string).collect();
        let commands = match &self.by {
            Resolver::Resolved => format!(
                "ExecStartPost=-+/usr/bin/resolvectl dns {DEVICE} {}\n\
                 ExecStartPost=-+/usr/bin/resolvectl domain {DEVICE} ~.\n",
                servers.join(" ")
            ),
            Resolver::Resolvconf { entry } => format!(
                "ExecStartPost=-+/bin/sh -c 'printf \"{}\" | resolvconf -a {entry} {FIRST}'\n\
                 ExecStopPost=-+/bin/sh -c 'resolvconf -d {entry}'\n",
                servers.iter().map(|it| format!("nameserver {it}\\n")).collect::<String>()
            ),
        };
        let directory = PathBuf::from(DROP_IN);
        let text = format!("# Made by mpt join.\n[Service]\n{commands}");
        let mut steps = Vec::new();
        if !directory.is_dir() {
            steps.push(Step::Directory { path: directory.clone(), of_daemon: false });
        }
        steps.push(Step::File { path: directory.join("mpt-dns.conf"), text });
        steps
    }

    /// Does it, now that the device is there.
    pub(crate) fn apply(&self, record: &mut Record) -> Result<(), Failed> {
        record.note(Made::Names { by: self.by.clone() })?;
        match &self.by {
            Resolver::Resolved => {
                let servers: Vec<_> = self.servers.iter().map(ToString::to_string).collect();
                let mut arguments = vec!["dns", DEVICE];
                arguments.extend(servers.iter().map(String::as_str));
                run("resolvectl", &arguments)?;
                run("resolvectl", &["domain", DEVICE, "~."])
            }
            Resolver::Resolvconf { entry } => {
                let lines = self.servers.iter().map(|it| format!("nameserver {it}\n"));
                let mut arguments = vec!["-a", entry];
                arguments.extend(FIRST.split(' '));
                feed("resolvconf", &arguments, &lines.collect::<String>())
            }
        }
    }
}

/// Restores the name servers of before.
pub(crate) fn undo(by: &Resolver) -> Result<(), Failed> {
    match by {
        Resolver::Resolvconf { entry } => run("resolvconf", &["-d", entry]),
        // The settings of a link vanish with it.
        Resolver::Resolved if Path::new("/sys/class/net").join(DEVICE).exists() => {
            run("resolvectl", &["revert", DEVICE])
        }
        Resolver::Resolved => Ok(()),
    }
}

/// The name for which resolvconf gets the name servers. If `order` sorts them, the first kind of interfaces in it comes before all others, and the
/// device is given out as one of that kind.
fn entry(order: &Path) -> String {
    let text = std::fs::read_to_string(order).unwrap_or_default();
    let is_plain = |kind: &&str| {
        !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let kind = text.lines().filter_map(|line| line.trim().strip_suffix('*')).find(is_plain);
    kind.map_or_else(|| DEVICE.to_owned(), |kind| format!("{kind}.{DEVICE}"))
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Runs a program of the system with a text on its standard input.
fn feed(program: &str, arguments: &[&str], text: &str) -> Result<(), Failed> {
    let failed = |why: String| Failed::File(format!("{program} {}: {why}", arguments.join(" ")));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // A program may end without reading its input. Its exit code tells whether it succeeded.
        let _ = input.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_comes_before_all_other_interfaces() {
        let directory = tempfile::tempdir().unwrap();
        let order = directory.path().join("interface-order");
        assert_eq!(entry(&order), "mpt0", "there is no order");
        for (text, expected) in [
            ("# interface-order(5)\nlo.inet\nlo\ntun*\ntap*\n@(br|eth)*\n*\n", "tun.mpt0"),
            ("lo\n\n@(br|eth)*\n*\n", "mpt0"),
            ("", "mpt0"),
        ] {
            std::fs::write(&order, text).unwrap();
            assert_eq!(entry(&order), expected, "{text}");
        }
    }
}
