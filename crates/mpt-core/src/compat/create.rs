//! Creation of a connection (0xA3): the client of a prototype describes its connection, the server answers with its own, both as the
//! text of a configuration file.
//!
//! Only connections that the configuration has already are created. A connection that answers
//! describes itself to a client as the file does, and refuses a client that wants something else. A
//! connection that asks has a prototype create its end, and reports where that end differs from the
//! file.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

use mpt_wire::compat::MAX_DATAGRAM_LEN;
use mpt_wire::compat::command::{DIGEST_LEN, HEADER_LEN};

use super::config::{Config, Create};
use super::{Authentication, Key};

/// The longest description that fits a message, in bytes.
const MAX_TEXT: usize = MAX_DATAGRAM_LEN - HEADER_LEN - 4 - DIGEST_LEN;
/// The most paths of which a description always fits.
pub const MAX_PATHS: usize = 3;
/// The largest window that does not make the reader crash, in packets.
const LARGEST_WINDOW: u16 = 10_000;
/// The text at the beginning, which is longer than what the reader skips.
const BANNER: &str = ";;;;;;; mpt\n";

/// Return codes of the prototype.
pub(super) mod code {
    /// Done.
    pub(in super::super) const OK: u8 = 0;
    /// The two ends would not authenticate each other's commands.
    pub(super) const AUTHENTICATION: u8 = 3;
    /// The request was not understood, or concerns another connection.
    pub(super) const UNKNOWN: u8 = 4;
    /// It exists already: just what was wanted.
    pub(in super::super) const EXISTS: u8 = 5;
}

/// The description of our end: whole lines, no longer than `most` bytes.
pub(super) fn describe<'p>(
    config: &Config,
    create: &Create,
    paths: impl Iterator<Item = (IpAddr, IpAddr)> + Clone + 'p,
    most: usize,
) -> Vec<u8> {
    let mut text = BANNER.to_owned();
    let mut line = |key: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{key:<16} = {value}");
    };
    let version = |address: IpAddr| if address.is_ipv4() { 4 } else { 6 };
    line("[connection]\nname", &config.name);
    line("ip_ver", &version(config.local));
    line("ip_local", &config.local);
    line("local_port", &create.data_port);
    line("local_cmd_port", &create.command_port);
    line("ip_remote", &config.remote);
    line("remote_port", &create.remote_data_port);
    line("remote_cmd_port", &config.command_port);
    line("path_count", &paths.clone().count());
    line("reorder_window", &create.window.min(LARGEST_WINDOW));
    line("max_buffdelay_msec", &create.max_delay.as_millis());
    line("auth_type", &number(&config.authentication));
    for (index, ((public, remote), weights)) in paths.zip(&create.weights).enumerate() {
        line(&format!("[path_{index}]\nip_ver"), &version(public));
        line("private_ipaddr", &public);
        line("public_ipaddr", &public);
        // With none its reader would go and look for one.
        line("gw_ipaddr", &public);
        line("remote_ipaddr", &remote);
        line("keepalive_time", &seconds(config.keepalive));
        line("dead_time", &seconds(config.dead));
        line("weight_in", &weights.1);
        line("weight_out", &weights.0);
    }
    let whole = text.as_bytes();
    let most = most.min(MAX_TEXT);
    let end = match whole.len() <= most {
        true => whole.len(),
        false => whole[..most].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1),
    };
    whole[..end].to_vec()
}

/// Returns what a client's description says against the connection that we have: a return code.
pub(super) fn judge(
    config: &Config,
    paths: impl Iterator<Item = IpAddr>,
    description: &[u8],
) -> u8 {
    let Ok(text) = std::str::from_utf8(description) else { return code::UNKNOWN };
    let address = |section: &str, key: &str| -> Option<IpAddr> {
        value(text, section, key)?.parse::<IpAddr>().ok().map(|address| address.to_canonical())
    };
    let ends = (address("connection", "ip_local"), address("connection", "ip_remote"));
    if ends != (Some(config.remote), Some(config.local)) {
        return code::UNKNOWN;
    }
    for (index, remote) in paths.enumerate() {
        if address(&format!("path_{index}"), "public_ipaddr") != Some(remote) {
            return code::UNKNOWN;
        }
    }
    let theirs = value(text, "connection", "auth_type").unwrap_or("0");
    let same = theirs == number(&config.authentication).to_string();
    // After a creation a prototype uses the built-in key, whatever it had before.
    let key = match &config.authentication {
        Authentication::Digest(key) => *key == Key::built_in(),
        _ => true,
    };
    if same && key { code::OK } else { code::AUTHENTICATION }
}

/// The data port that a server's description gives its end.
pub(super) fn data_port(description: &[u8]) -> Option<u16> {
    value(std::str::from_utf8(description).ok()?, "connection", "local_port")?.parse().ok()
}

/// The value of a key in such a text: the last one counts.
fn value<'t>(text: &'t str, section: &str, key: &str) -> Option<&'t str> {
    let mut inside = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.split(']').next().is_some_and(|name| name.eq_ignore_ascii_case(section));
        } else if inside
            && !line.starts_with([';', '#'])
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = value.split([';', '#']).next().map(|value| value.trim().trim_matches('"'));
        }
    }
    found
}

/// Returns whole seconds, as far as the reader's 8 bits allow; 0 means none.
fn seconds(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000).min(255) as u64
}

fn number(authentication: &Authentication) -> u8 {
    match authentication {
        Authentication::None => 0,
        Authentication::Nonce => 1,
        Authentication::Digest(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(local: &str, remote: &str) -> Config {
        Config {
            name: "office".into(),
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            command_port: 60456,
            authentication: Authentication::None,
            keepalive: Duration::from_secs(5),
            dead: Duration::from_secs(15),
            create: None,
            paths: Vec::new(),
        }
    }

    fn create(paths: usize) -> Create {
        Create {
            authentication: Authentication::Digest(Key::built_in()),
            ask: true,
            data_port: 23456,
            remote_data_port: 23457,
            command_port: 60457,
            window: 65_535,
            max_delay: Duration::from_secs(10),
            weights: vec![(65_535, 65_535); paths],
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_one_end_says_the_other_understands() {
        let ours = config("10.0.0.2", "10.0.0.3");
        let paths = [(address("10.1.1.2"), address("10.1.1.3"))];
        let text = describe(&ours, &create(1), paths.into_iter(), usize::MAX);
        assert!(text.starts_with(b";;;;;;;") && text.ends_with(b"\n"));
        assert_eq!(data_port(&text), Some(23456));
        let theirs = config("10.0.0.3", "10.0.0.2");
        let answer = |config: &Config, remote: &str, text: &[u8]| {
            judge(config, std::iter::once(address(remote)), text)
        };
        assert_eq!(answer(&theirs, "10.1.1.2", &text), code::OK);
        assert_eq!(answer(&theirs, "10.1.1.9", &text), code::UNKNOWN);
        assert_eq!(answer(&ours, "10.1.1.2", &text), code::UNKNOWN);
        assert_eq!(answer(&theirs, "10.1.1.2", &[0xff; 40]), code::UNKNOWN);
        let nonce = Config { authentication: Authentication::Nonce, ..theirs.clone() };
        assert_eq!(answer(&nonce, "10.1.1.2", &text), code::AUTHENTICATION);

        // Digests of a key of their own would not be understood after the creation.
        for (key, expected) in
            [(Key::built_in(), code::OK), (Key::from_text("own").unwrap(), code::AUTHENTICATION)]
        {
            let with = |config: &Config| Config {
                authentication: Authentication::Digest(key.clone()),
                ..config.clone()
            };
            let text = describe(&with(&ours), &create(1), paths.into_iter(), usize::MAX);
            assert_eq!(answer(&with(&theirs), "10.1.1.2", &text), expected);
        }
    }

    #[test]
    fn the_longest_description_fits_and_a_shorter_one_ends_with_a_line() {
        let long = address("fd00:1111:2222:3333:4444:5555:6666:7777");
        let name = "x".repeat(32);
        let ours = Config { name, local: long, remote: long, ..config("::1", "::1") };
        let paths = [(long, long); MAX_PATHS];
        let whole = describe(&ours, &create(MAX_PATHS), paths.iter().copied(), usize::MAX);
        let last = format!("[path_{}]", MAX_PATHS - 1);
        let text = String::from_utf8(whole.clone()).unwrap();
        assert!(
            text.contains(&last) && text.ends_with("weight_out       = 65535\n"),
            "{} bytes\n{text}",
            whole.len()
        );
        for most in [0, 7, 100, 500, whole.len() - 1] {
            let cut = describe(&ours, &create(MAX_PATHS), paths.iter().copied(), most);
            assert!(cut.len() <= most && whole.starts_with(&cut));
            assert!(cut.is_empty() || cut.ends_with(b"\n"));
        }
    }
}
