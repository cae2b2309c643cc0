//! Addresses of names, asked for by sockets with our mark.
//!
//! With a default route through the tunnel, the questions of the C library's resolver go into the tunnel as well, or nowhere while the tunnel is
//! down; but without the address of the peer it stays down. The C library's sockets cannot be marked, and rules for name servers and users would
//! open the way for other programs too, above all for systemd-resolved, which asks for everybody. So mptd asks by itself.
//!
//! `/etc/hosts` comes first, then DNS; what neither knows is left to the C library (mDNS, other sources of nsswitch.conf(5)).

mod files;
mod query;

use std::io;
use std::net::IpAddr;

use files::Resolution;
use query::Way;

/// The number of times each name server is asked.
const ROUNDS: usize = 2;

/// Returns the addresses of a name, those of IPv4 first where a name server says them. Questions carry `mark`. They leave as the routes say, or else by
/// one of these interfaces.
///
/// # Errors
///
/// Fails when nobody knows the name, or nobody answers.
pub(crate) async fn resolve(
    name: &str,
    mark: u32,
    interfaces: &[String],
) -> io::Result<Vec<IpAddr>> {
    let of_hosts = files::hosts(name);
    if !of_hosts.is_empty() {
        return Ok(of_hosts);
    }
    let resolution = Resolution::read();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no name server in /etc/resolv.conf");
    for candidate in resolution.candidates(name) {
        match ask(&resolution, &candidate, mark, interfaces).await {
            Ok(addresses) if !addresses.is_empty() => return Ok(addresses),
            Ok(_) => last = io::Error::new(io::ErrorKind::NotFound, "there is no such name"),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The addresses of a complete name; none: it has none.
async fn ask(
    resolution: &Resolution,
    name: &str,
    mark: u32,
    interfaces: &[String],
) -> io::Result<Vec<IpAddr>> {
    let mut ways = Vec::new();
    for &server in &resolution.servers {
        ways.push(Way { server, mark, interface: None });
        let by = interfaces.iter().map(|it| Way { server, mark, interface: Some(it.as_str()) });
        ways.extend(by);
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no name server in /etc/resolv.conf");
    for _ in 0..ROUNDS {
        for &way in &ways {
            let v6 = query::addresses(way, name, true);
            let v4 = query::addresses(way, name, false);
            match tokio::join!(v4, v6) {
                (Ok(v4), Ok(v6)) => return Ok([v4, v6].concat()),
                (Ok(some), Err(_)) | (Err(_), Ok(some)) if !some.is_empty() => return Ok(some),
                (Err(error), _) | (_, Err(error)) => last = error,
            }
        }
    }
    Err(last)
}
