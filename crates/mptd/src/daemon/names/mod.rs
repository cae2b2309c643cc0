//! The names of peers' addresses, which are resolved beside everything else: at the start, when a path is dead, and when the network changes.
//!
//! Without a default route through the tunnel the C library is asked. With one, [`crate::resolver`] is, whose questions stay outside.

pub(super) mod look_ups;
pub(super) mod unknown;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use mpt_config::{Config, Path, Remote};

use super::Daemon;
use look_ups::{Found, Outside};
use unknown::is_unknown;

/// The time for which a name is not asked for again.
const AGAIN: Duration = Duration::from_secs(10);
/// Time after which a name is asked for again after a change of the network, which may have brought a resolver.
const AGAIN_AFTER_CHANGE: Duration = Duration::from_secs(1);

impl Daemon {
    /// Returns how names are to be asked for.
    fn outside(&self) -> Option<Outside> {
        let taken = [false, true].iter().any(|&ipv6| self.running.takes_internet(ipv6));
        let mark = self.system.current_mark().filter(|_| taken)?;
        let paths = self.running.connections.iter().flat_map(|it| &it.paths);
        let mut interfaces: Vec<_> = paths.filter_map(|path| path.interface.clone()).collect();
        interfaces.sort();
        interfaces.dedup();
        Some(Outside { mark, interfaces })
    }

    /// Asks for the names that lead nowhere as yet and those of dead paths. To be called now and then; nothing waits for the answers.
    pub(super) async fn resolve_names(&mut self) {
        let changed = std::mem::take(&mut self.names.changed);
        let mut named = Vec::new();
        for connection in &self.running.connections {
            for path in &connection.paths {
                if let Remote::Name { name, address } = &path.remote {
                    let unknown = address.is_none();
                    named.push((connection.name.clone(), path.name.clone(), name.clone(), unknown));
                }
            }
        }
        if named.is_empty() {
            return;
        }
        let wanting = self.shards.split(
            named,
            |(connection, ..)| connection,
            move |data, mut named| {
                named.retain(|(connection, path, _, unknown)| {
                    *unknown || changed || data.is_unconfirmed(connection, path)
                });
                named
            },
        );
        // It is told elsewhere when the data thread has ended.
        let Ok(wanting) = wanting.await else { return };
        let pause = if changed { AGAIN_AFTER_CHANGE } else { AGAIN };
        let names: HashSet<String> = wanting.flatten().map(|(_, _, name, _)| name).collect();
        let outside = self.outside();
        for name in names {
            // A name that cannot be asked for yet is asked for later.
            self.names.changed |= !self.names.ask(&name, pause, outside.as_ref()) && changed;
        }
    }

    /// A name has been resolved, or not: paths to it go where it leads.
    pub(super) async fn name_found(&mut self, (name, found): Found) {
        self.names.waiting.remove(&name);
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(error) => {
                if self.names.unknown.insert(name.clone()) {
                    tracing::warn!(
                        %error,
                        name,
                        "the name of the peer cannot be resolved, so its paths are down; check the spelling in remote and getent ahosts \
                         NAME: the resolver has to be reachable without the tunnel. mptd goes on asking"
                    );
                }
                return;
            }
        };
        self.names.unknown.remove(&name);
        let mut next = self.running.clone();
        let mut moved = Vec::new();
        for connection in &mut next.connections {
            for path in &mut connection.paths {
                if path.remote.name() == Some(&name)
                    && let Some(remote) = choose(path, &addresses)
                    && path.remote.address() != Some(remote)
                {
                    tracing::info!(connection = connection.name, path = path.name, name, %remote, "resolved");
                    path.remote = Remote::Name { name: name.clone(), address: Some(remote) };
                    moved.push((connection.name.clone(), path.name.clone()));
                }
            }
        }
        if moved.is_empty() {
            return;
        }
        match self.put_into_effect(next).await {
            Ok(()) => self.tell_paths(moved).await,
            Err(error) => tracing::error!(%error, name, "paths do not go where the name leads"),
        }
    }
}

/// Returns the address of a name that a path has already, or else the first that it could use: they come in the order of preference (RFC 6724).
fn choose(path: &Path, addresses: &[IpAddr]) -> Option<IpAddr> {
    let usable = |address: &IpAddr| {
        !address.is_unspecified()
            && !address.is_multicast()
            && path
                .local
                .is_none_or(|local| local.is_ipv4() == address.is_ipv4() && local != *address)
    };
    let mut usable = addresses.iter().copied().filter(usable);
    let present = path.remote.address().filter(|present| addresses.contains(present));
    present.or_else(|| usable.next())
}

/// Gives paths that lead nowhere as yet something that tells them apart: nothing is sent there, since they are down.
pub(super) fn fill_in(config: &Config) -> Config {
    let mut filled = config.clone();
    let paths = filled.connections.iter_mut().flat_map(|it| &mut it.paths);
    for (number, path) in (1..).zip(paths.filter(|path| is_unknown(path))) {
        // "This network" (RFC 1122 section 3.2.1.3) and the discard-only prefix (RFC 6666).
        let apart = if path.is_ipv6() {
            Ipv6Addr::from_bits((0x0100 << 112) | u128::from(number)).into()
        } else {
            Ipv4Addr::from_bits(number).into()
        };
        if let Remote::Name { address, .. } = &mut path.remote {
            *address = Some(apart);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let text = r#"
            [[device]]
            name = "mpt0"
            addresses = ["10.9.0.1/30"]
            [[connection]]
            name = "office"
            networks = ["10.9.0.2"]
            [[connection.path]]
            name = "four"
            local = "192.0.2.1"
            remote = "vpn.example.com"
            [[connection.path]]
            name = "other"
            local = "192.0.2.2"
            remote = "vpn.example.com"
            [[connection.path]]
            name = "six"
            local = "2001:db8::1"
            remote = "vpn.example.com"
        "#;
        mpt_config::check_text("test", text).unwrap().config
    }

    #[test]
    fn a_path_takes_the_first_address_it_can_use_and_keeps_it() {
        let mut paths = config().connections.remove(0).paths;
        let addresses =
            ["2001:db8::9", "198.51.100.1", "198.51.100.2"].map(|it| it.parse().unwrap());
        assert_eq!(choose(&paths[0], &addresses), Some(addresses[1]));
        assert_eq!(choose(&paths[2], &addresses), Some(addresses[0]));
        paths[0].remote =
            Remote::Name { name: "vpn.example.com".into(), address: Some(addresses[2]) };
        assert_eq!(choose(&paths[0], &addresses), Some(addresses[2]));
        assert_eq!(choose(&paths[0], &addresses[..1]), None);
        assert_eq!(choose(&paths[0], &["0.0.0.0".parse().unwrap()]), None);
    }

    #[test]
    fn unknown_ends_differ_from_one_another() {
        let filled = fill_in(&config());
        let remotes: HashSet<_> =
            filled.connections[0].paths.iter().map(|it| it.remote.address()).collect();
        assert_eq!(remotes.len(), 3);
        assert!(remotes.iter().all(|it| it.is_some_and(|it| !it.is_unspecified())));
    }
}
