//! Registers the key of this host at the server, over the first uplink that leads there.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use mpt_api::session::Joined;
use mpt_client::{NotJoined, Target};
use mpt_core::session::{JoinToken, PrivateKey};

use super::line::Line;
use crate::client;
use crate::provisioning::setup::host::uplinks::Uplink;

/// The longest time that an uplink may take to lead to the server.
const WITHIN: Duration = Duration::from_secs(5);

/// The reason why the host is not registered.
pub(super) enum Failed {
    /// The host has certainly not become a client.
    Nothing(client::Failed),
    /// The host may have become a client: only the answer is missing.
    Perhaps(client::Failed),
}

impl<E: Into<client::Failed>> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::Nothing(error.into())
    }
}

/// Registers.
pub(super) fn register(
    line: &Line,
    identity: &PrivateKey,
    uplinks: &[Uplink],
    out: &mut impl Write,
) -> Result<Joined, Failed> {
    let file = |why: String| client::Failed::File(why);
    let addresses: Vec<SocketAddr> = (line.host.as_str(), line.port)
        .to_socket_addrs()
        .map_err(|error| {
            file(format!(
                "{}: {error}; the name of the server has to be resolved before it is reached",
                line.host
            ))
        })?
        .collect();
    let token = JoinToken::from_secret(&line.secret);
    let host = nix::unistd::gethostname().unwrap_or_default();
    let mut silent = Vec::new();
    for uplink in uplinks {
        let leads = |it: &&SocketAddr| if it.is_ipv4() { uplink.ipv4 } else { uplink.ipv6 };
        let Some(&address) = addresses.iter().find(leads) else {
            silent.push(format!(
                "{}: has no default route for the address of {}",
                uplink.name, line.host
            ));
            continue;
        };
        let target = Target {
            address,
            peer: line.key(),
            identity: identity.clone(),
            psk: Some(token.psk().clone()),
            name: token.id().to_owned(),
        };
        writeln!(out, "registering at {address} over {}", uplink.name)?;
        out.flush()?;
        match mpt_client::join(&target, Some(&uplink.name), &host.to_string_lossy(), WITHIN) {
            Ok(joined) => return Ok(joined),
            Err(NotJoined::Silent(why)) => silent.push(format!("{}: {why}", uplink.name)),
            Err(refused @ NotJoined::Refused(_)) => return Err(file(refused.to_string()).into()),
            Err(NotJoined::Unknown(why)) => return Err(Failed::Perhaps(file(why))),
        }
    }
    Err(file(explain(line, &silent)).into())
}

/// Returns what may be wrong where the server is silent: it says nothing to who has no token, so that the causes cannot be told apart from here.
fn explain(line: &Line, silent: &[String]) -> String {
    let ways = silent.join("\n  ");
    let port = line.port;
    match line.ended_ago() {
        Some(ago) => {
            let ago = humantime::format_duration(Duration::from_secs(ago.as_secs()));
            format!(
                "the server {} does not answer, and the line ended {ago} ago by the clock of this host; have another one made there with \
                 mpt setup token\n  {ways}",
                line.host
            )
        }
        None => format!(
            "the server {} does not answer. Either mptd does not run there, or UDP port {port} is closed on the way, or mptd was started \
             again since the line was made or the line was taken back: then have another one made there with mpt setup token\n  {ways}",
            line.host
        ),
    }
}

#[cfg(test)]
mod tests {
    use mpt_core::session::{KEY_LEN, PublicKey};

    use super::*;

    fn line(left: Duration) -> Line {
        Line::new("vpn.example.org".into(), 4754, &PublicKey::from([5; KEY_LEN]), [7; 16], left)
    }

    #[test]
    fn a_line_that_is_too_old_is_said_to_be() {
        let silent = ["eth0: no answer within 5 s".to_owned()];
        let why = explain(&line(Duration::ZERO), &silent);
        assert!(why.contains("the line ended 0s ago by the clock of this host"), "{why}");
        assert!(why.contains("have another one made there with mpt setup token\n  eth0:"), "{why}");
        let why = explain(&line(Duration::from_secs(600)), &silent);
        assert!(why.contains("UDP port 4754 is closed on the way"), "{why}");
    }
}
