//! The listing printed in imareen2023, a rendition of the files in the paper that no version of the prototype reads: one value on each line,
//! in a fixed order, with `# what it is` behind it.

use std::collections::VecDeque;

use ipnet::IpNet;

use super::original::{Connection, Interface, Path, Warnings, address};

/// Most connections in a file, and paths of each: more than anybody wrote by hand.
const MOST: u64 = 100;

/// The values that are left, with their lines.
struct Values<'a> {
    file: &'a str,
    left: VecDeque<(usize, String)>,
    line: usize,
}

impl<'a> Values<'a> {
    fn new(file: &'a str, text: &str) -> Self {
        let value = |(index, line): (usize, &str)| {
            let line = line.trim();
            let value = line.split('#').next().unwrap_or_default().trim();
            (!line.starts_with(';') && !value.is_empty()).then(|| (index + 1, value.to_owned()))
        };
        Self { file, left: text.lines().enumerate().filter_map(value).collect(), line: 0 }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    fn text(&mut self) -> Option<String> {
        let (line, value) = self.left.pop_front()?;
        self.line = line;
        Some(value)
    }

    fn next(&self) -> Option<&str> {
        self.left.front().map(|(_, value)| value.as_str())
    }

    /// A number; 0 for what is none.
    fn number(&mut self, what: &str, warnings: &mut Warnings) -> u64 {
        let Some(text) = self.text() else {
            warnings.add(self.file, format!("ends before {what}: taken as 0"));
            return 0;
        };
        text.parse().unwrap_or_else(|_| {
            warnings.add(self.place(), format!("\"{text}\" is no {what}: taken as 0"));
            0
        })
    }

    fn port(&mut self, what: &str, warnings: &mut Warnings) -> u16 {
        let number = self.number(what, warnings);
        u16::try_from(number).unwrap_or_else(|_| {
            warnings.add(self.place(), format!("{number} is no {what}: ignored"));
            0
        })
    }

    fn address(&mut self, warnings: &mut Warnings) -> Option<std::net::IpAddr> {
        let text = self.text()?;
        address(&text).map_err(|what| warnings.add(self.place(), what)).ok().flatten()
    }
}

/// The general file: command port, interfaces, whether creation is accepted, a timeout, then the tunnel.
pub(super) fn interface(file: &str, text: &str, warnings: &mut Warnings) -> Interface {
    let mut values = Values::new(file, text);
    let command_port = values.port("command port", warnings);
    values.number("number of interfaces", warnings);
    let accepts_creation = values.number("switch for creation", warnings) != 0;
    values.number("timeout", warnings);
    let name = values.text();
    let place = values.place();
    let mtu = values.number("MTU", warnings);
    let mut addresses = Vec::new();
    while let Some(text) = values.text() {
        match text.parse::<IpNet>() {
            Ok(net) if net.prefix_len() == 0 => {}
            Ok(net) => addresses.push(net),
            Err(_) => warnings
                .add(values.place(), format!("\"{text}\" is no address with its length: ignored")),
        }
    }
    Interface {
        place,
        command_port: Some(command_port).filter(|&port| port != 0),
        accepts_creation,
        name,
        mtu: u16::try_from(mtu).ok().filter(|&mtu| mtu != 0),
        addresses,
    }
}

/// A connection file.
pub(super) fn connections(file: &str, text: &str, warnings: &mut Warnings) -> Vec<Connection> {
    let mut values = Values::new(file, text);
    let count = values.number("number of connections", warnings).min(MOST);
    let mut connections = Vec::new();
    while (connections.len() as u64) < count && values.next().is_some() {
        connections.push(connection(&mut values, warnings));
    }
    if connections.len() as u64 != count {
        warnings.add(file, format!("connections announced: {count}, found: {}", connections.len()));
    }
    if values.next().is_some() {
        values.text();
        warnings.add(values.place(), "there is more than was announced: ignored");
    }
    connections
}

fn connection(values: &mut Values<'_>, warnings: &mut Warnings) -> Connection {
    let name = values.text();
    let place = values.place();
    let permission = Some(values.number("permission", warnings));
    let version = values.number("IP version", warnings);
    let local = values.address(warnings);
    let local_port = values.port("port", warnings);
    let remote = values.address(warnings);
    let remote_port = values.port("port", warnings);
    let remote_command_port = values.port("port", warnings);
    let paths = values.number("number of paths", warnings).min(MOST);
    let networks = values.number("number of networks", warnings);
    // Those of the paths count.
    values.number("keepalive", warnings);
    values.number("dead timer", warnings);
    values.number("status", warnings);
    let authentication = values.number("type of authentication", warnings);
    let key = values.text().filter(|key| key != "0");
    let mut connection = Connection {
        place,
        name,
        permission,
        version,
        local,
        remote,
        local_port,
        remote_port,
        remote_command_port,
        window: None,
        max_delay: None,
        authentication,
        key,
        ..Connection::default()
    };
    while (connection.paths.len() as u64) < paths && values.next().is_some() {
        connection.paths.push(path(values, warnings));
    }
    if connection.paths.len() as u64 != paths {
        let what = format!("paths announced: {paths}, found: {}", connection.paths.len());
        warnings.add(&connection.place, what);
    }
    if networks > 0 {
        let what =
            "the paper does not say how networks are written: ignored, write them into networks";
        warnings.add(&connection.place, what);
    }
    connection
}

fn path(values: &mut Values<'_>, warnings: &mut Warnings) -> Path {
    let interface = values.text();
    let place = values.place();
    values.number("IP version", warnings);
    let public = values.address(warnings);
    let gateway = values.address(warnings);
    let remote = values.address(warnings);
    let keepalive = values.number("keepalive", warnings);
    let dead = Some(values.number("dead time", warnings));
    let weight_out = values.number("weight", warnings);
    let weight_in = values.number("weight", warnings);
    values.number("switch for commands", warnings);
    // The print leaves the status of a path out: then the name of the next interface follows.
    let status = match values.next() {
        Some(next) if next.parse::<u64>().is_ok() => values.number("status", warnings),
        _ => {
            warnings.add(&place, "the path has no status: taken as 0, up");
            0
        }
    };
    // There is one address of our own only.
    let private = public;
    Path {
        place,
        interface,
        public,
        private,
        remote,
        gateway,
        keepalive,
        dead,
        weight_out,
        weight_in,
        status,
    }
}
