//! Hosts that are set up by `mpt setup` and `mpt join`: clients with two uplinks each, a server, and a router between them.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::command_line::program;
use crate::hosts::Host;

/// The addresses of the server and of the router beside it on the Internet.
pub(crate) const SERVER: &str = "203.0.113.10";
pub(crate) const ROUTER: &str = "203.0.113.1";

/// A host with directories of its own for configuration and state.
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) directory: PathBuf,
}

impl Machine {
    pub(crate) fn new(name: &str, directory: &Path) -> Self {
        let directory = directory.join(name);
        fs::create_dir(&directory).unwrap();
        Self { host: Host::new(name), directory }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.host.namespace.command(program()).unwrap();
        command.args(arguments).envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// The variables that tell `mpt` this machine's directories.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [("MPT_DIRECTORY", "etc"), ("MPT_STATE", "state"), ("MPT_SOCKET", "mptd.sock")]
            .map(|(variable, name)| (variable, self.directory.join(name)))
    }

    pub(crate) fn mpt(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that has to succeed, and returns its output.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.mpt(arguments);
        assert!(output.status.success(), "mpt {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that has to fail with this exit code, and returns its errors.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.mpt(arguments);
        assert_eq!(output.status.code(), Some(code), "mpt {arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Returns everything that mpt may have left here: files, devices, rules, settings.
    pub(crate) fn traces(&self) -> String {
        let files = fs::read_dir(&self.directory).unwrap().map(|it| it.unwrap().file_name());
        let forwarding =
            self.host.run(|| fs::read_to_string("/proc/sys/net/ipv4/ip_forward")).unwrap();
        let shown = [
            self.host.ip("-br link"),
            self.host.ip("rule"),
            self.host.ip("-4 route show table all"),
        ];
        let tables = self.host.program("nft", "list tables");
        format!("{:?} {forwarding} {tables} {shown:?}", files.collect::<Vec<_>>())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Also after a panic: the daemon runs in the background.
        let _ = self.mpt(&["setup", "undo"]);
    }
}

/// Clients with two uplinks each, a server, and a router between them.
pub(crate) struct Scene {
    pub(crate) clients: Vec<Machine>,
    pub(crate) server: Machine,
    pub(crate) router: Host,
    _directory: TempDir,
}

impl Scene {
    pub(crate) fn new(clients: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let router = Host::new("router");
        router.sysctl("net/ipv4/ip_forward", "1");
        let server = Machine::new("server", directory.path());
        let (own, gateway) = (format!("{SERVER}/24"), format!("{ROUTER}/24"));
        server.host.cable("eth0", &[&own], (&router, "server", &[&gateway]));
        server.host.ip(&format!("route add default via {ROUTER}"));
        let client = |number: usize| {
            let machine = Machine::new(&format!("client{number}"), directory.path());
            for uplink in 0..2 {
                let network = format!("198.51.{}", 100 + 2 * number + uplink);
                let (own, gateway) = (format!("{network}.10/24"), format!("{network}.1/24"));
                let (name, port) = (format!("uplink{uplink}"), format!("c{number}u{uplink}"));
                machine.host.cable(&name, &[&own], (&router, &port, &[&gateway]));
                machine.host.ip(&format!(
                    "route add default via {network}.1 dev {name} metric {}",
                    100 + uplink
                ));
            }
            machine
        };
        let clients = (0..clients).map(client).collect();
        Self { clients, server, router, _directory: directory }
    }

    /// Sets the server up, and returns the line.
    pub(crate) fn line(&self, arguments: &[&str]) -> String {
        line_of(&self.server.succeeds(&[&["setup", "server"], arguments].concat()))
    }
}

/// The line among what was printed.
pub(crate) fn line_of(printed: &str) -> String {
    let line = printed.split_whitespace().find(|word| word.starts_with("mpt1:"));
    line.unwrap_or_else(|| panic!("no line: {printed}")).to_owned()
}

/// Sends a megabyte by TCP, and returns the address from which it arrives.
pub(crate) fn carry(from: &Host, to: &Host, address: &str) -> IpAddr {
    let data: Vec<u8> = (0..1u32 << 18).flat_map(u32::to_be_bytes).collect();
    let listener = to.run(|| TcpListener::bind((address, 7000))).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            from.run(|| TcpStream::connect((address, 7000)).unwrap().write_all(&data).unwrap());
        });
        let (mut stream, peer) = listener.accept().unwrap();
        let mut arrived = Vec::new();
        stream.read_to_end(&mut arrived).unwrap();
        assert!(arrived == data, "{} of {} bytes", arrived.len(), data.len());
        peer.ip()
    })
}
