//! The connections of clients that another configuration leaves, and those that it ends.

use std::collections::BTreeSet;

use ipnet::IpNet;
use mpt_config::{self as config, Config};
use mpt_core::session::SessionId;

use super::addresses::Addresses;
use super::{Clients, Held, agreed};

/// The outcome of a review.
#[derive(Debug)]
pub(crate) struct Review {
    /// The connections that go on, in part with other networks, weights or windows than before.
    pub(crate) clients: Clients,
    /// The connections that end: the session of each, what it held, and the reason.
    pub(crate) ended: Vec<(SessionId, Held, Ending)>,
}

/// The reason why the connection of a client cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No client has its key, or the pre-shared key is another one.
    Revoked,
    /// The client may have a connection, but not as this one was made. The text says what has changed.
    Policy(String),
}

impl Clients {
    /// Judges everything that is held as if it were asked for now. Networks, weights, timers and windows are narrowed and widened in place.
    /// Reviews the connections of clients. One that cannot change in place ends, so that its client asks again. The oldest connections stay where there are too many.
    pub(crate) fn review(&self, config: &Config) -> Review {
        let mut oldest_first: Vec<_> = self.held.iter().collect();
        oldest_first.sort_by_key(|(_, held)| held.since);
        let kept = Clients { creations: self.creations.clone(), ..Clients::default() };
        let mut review = Review { clients: kept, ended: Vec::new() };
        let mut taken = Taken::new(config);
        for (&session, held) in oldest_first {
            match judge(config, &review.clients, &mut taken, held) {
                Ok(held) => review.clients.hold(session, held),
                Err(ending) => review.ended.push((session, held.clone(), ending)),
            }
        }
        review
    }
}

/// The keys and addresses that the configuration itself and the connections that were kept have taken.
struct Taken {
    keys: BTreeSet<u32>,
    networks: BTreeSet<(String, IpNet)>,
}

impl Taken {
    fn new(config: &Config) -> Self {
        let connections = config.connections.iter();
        let networks = connections.clone().flat_map(|it| {
            it.selectors.iter().map(|selector| (it.device.clone(), selector.destination))
        });
        Self {
            keys: connections.clone().filter_map(|it| it.key).collect(),
            networks: networks.collect(),
        }
    }
}

fn judge(config: &Config, kept: &Clients, taken: &mut Taken, held: &Held) -> Result<Held, Ending> {
    let policy = |why: String| Err(Ending::Policy(why));
    let client = config.clients.iter().find(|client| client.public_key == held.owner);
    let Some(client) = client.filter(|client| client.psk == held.psk) else {
        return Err(Ending::Revoked);
    };
    let shown = &held.connection.name;
    if client.name != held.name.client {
        return policy(format!("the client is named {} now", client.name));
    }
    if config.connection(shown).is_some() {
        return policy(format!("the configuration has a connection {shown}"));
    }
    if client.device != held.connection.device {
        return policy(format!("the client's device is {} now", client.device));
    }
    let of_owner = kept.held.values().filter(|it| it.owner == held.owner).count();
    if of_owner >= usize::from(client.max_connections) {
        return policy(format!("the client may have {} connections now", client.max_connections));
    }
    if kept.held.len() >= config.daemon.max_clients as usize {
        return policy(format!(
            "all clients may have {} connections now",
            config.daemon.max_clients
        ));
    }
    if let Some(key) = held.connection.key.filter(|key| taken.keys.contains(key)) {
        return policy(format!("GRE key {key} is that of a configured connection now"));
    }
    if !Addresses::new(config, BTreeSet::new()).allow(client, &held.addresses) {
        return policy("its addresses are not among those of the client any more".into());
    }
    let networks = remaining_networks(client, held);
    let connection = agreed(config, client, held, networks)
        .map_err(|failure| Ending::Policy(failure.message))?;
    let places = || connection.networks.iter().map(|net| (connection.device.clone(), *net));
    if let Some((_, net)) = places().find(|place| taken.networks.contains(place)) {
        return policy(format!("{net} belongs to another connection now"));
    }
    taken.networks.extend(places());
    Ok(Held { connection, max_weight: client.max_weight, ..held.clone() })
}

/// The networks that the client asked for, as far as it may still have them.
fn remaining_networks(client: &config::Client, held: &Held) -> Vec<IpNet> {
    let asked = &held.request.networks;
    if asked.is_empty() {
        return client.networks.clone();
    }
    let allowed = |net: &IpNet| client.networks.iter().any(|allowed| allowed.contains(net));
    asked.iter().map(IpNet::trunc).filter(allowed).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mpt_api::session::{Create, PathSpec};
    use mpt_core::Shard;
    use mpt_core::session::{PrivateKey, PublicKey};

    use super::*;

    const FILE: &str = r#"
        [daemon]
        listen = ["192.0.2.1"]
        [[device]]
        name = "mpt0"
        addresses = ["10.8.0.1/24"]
        [[device]]
        name = "mpt1"
        addresses = ["10.9.0.1/24"]
        [[pool]]
        name = "inside"
        networks = ["10.8.0.0/24"]
        [[client]]
        name = "anna"
        public_key = "ANNA"
        device = "mpt0"
        pool = "inside"
        networks = ["192.168.7.0/24", "192.168.8.0/24"]
        [[client]]
        name = "bob"
        public_key = "BOB"
        device = "mpt0"
        pool = "inside"
        max_connections = 2
    "#;

    fn public(client: u8) -> PublicKey {
        PrivateKey::from_seed([client; 32]).public()
    }

    fn config(text: &str) -> Config {
        let mut text = text.to_owned();
        for (word, client) in [("ANNA", 1), ("BOB", 2), ("CARL", 3)] {
            text = text.replace(word, &public(client).to_string());
        }
        let key = |_: &std::path::Path| Ok(PrivateKey::from_seed([7; 32]).to_base64());
        let checked = config::check_text_with("mpt.toml", &text, &key);
        checked.unwrap_or_else(|errors| panic!("{errors}\n{text}")).config
    }

    /// Anna has a connection with two paths in session 1, bob has two with one path in sessions 2 and 3.
    fn clients() -> Clients {
        let (config, mut clients, start) = (config(FILE), Clients::default(), Instant::now());
        for (session, client, name, paths) in
            [(1, 1, "office", 2), (2, 2, "one", 1), (3, 2, "two", 1)]
        {
            let path = |id: u16| PathSpec {
                id,
                name: format!("line{id}"),
                weight_in: 800,
                ..PathSpec::default()
            };
            let paths = (1..=paths).map(path).collect();
            let create =
                Create { name: name.into(), key: Some(session), paths, ..Create::default() };
            let now = start + Duration::from_secs(session.into());
            let id = SessionId { shard: Shard::FIRST, number: session };
            clients.create(now, &config, id, &public(client), &create).unwrap();
        }
        clients
    }

    /// Returns what a file with `good` replaced by `bad` leaves: the sessions that go on, and why the others do not.
    fn outcome(good: &str, bad: &str) -> (Vec<u32>, Vec<String>) {
        assert_eq!(FILE.matches(good).count(), 1, "{good} stands exactly once");
        let review = clients().review(&config(&FILE.replace(good, bad)));
        let why = |ending: Ending| match ending {
            Ending::Revoked => "revoked".to_owned(),
            Ending::Policy(why) => why,
        };
        let kept = review.clients.iter().map(|(session, _)| session.number).collect();
        (kept, review.ended.into_iter().map(|(.., ending)| why(ending)).collect())
    }

    #[test]
    fn what_goes_on_and_what_ends() {
        let ends = |text: &str| vec![text.to_owned()];
        for (good, bad, kept, ended) in [
            ("\"anna\"", "\"anna\"\nsilent = \"60 s\"", vec![1, 2, 3], vec![]),
            ("ANNA", "CARL", vec![2, 3], ends("revoked")),
            ("\"anna\"", "\"anna\"\npsk_file = \"/psk\"", vec![2, 3], ends("revoked")),
            ("\"anna\"", "\"carl\"", vec![2, 3], ends("the client is named carl now")),
            (
                "\"ANNA\"\n        device = \"mpt0\"",
                "\"ANNA\"\n        device = \"mpt1\"",
                vec![2, 3],
                ends("the client's device is mpt1 now"),
            ),
            (
                "\"anna\"",
                "\"anna\"\nmax_paths = 1",
                vec![2, 3],
                ends("max_paths of this client is 1"),
            ),
            (
                "\"anna\"",
                "\"anna\"\nmappings = [\"flow\"]",
                vec![2, 3],
                ends("the mapping packet is not allowed"),
            ),
            (
                "max_connections = 2",
                "max_connections = 1",
                vec![1, 2],
                ends("the client may have 1 connections now"),
            ),
            (
                "[daemon]",
                "[daemon]\nmax_clients = 2",
                vec![1, 2],
                ends("all clients may have 2 connections now"),
            ),
            (
                "[[pool]]",
                "[[connection]]\nname = \"static\"\ndevice = \"mpt0\"\nkey = 2\nnetworks = [\"10.8.0.2/32\"]\n\
                 [[connection.path]]\nname = \"line\"\nlocal = \"192.0.2.1\"\nremote = \"192.0.2.2\"\n[[pool]]",
                vec![3],
                vec![
                    "10.8.0.2/32 belongs to another connection now".to_owned(),
                    "GRE key 2 is that of a configured connection now".to_owned(),
                ],
            ),
        ] {
            assert_eq!(outcome(good, bad), (kept, ended), "{good} -> {bad}");
        }
    }

    #[test]
    fn all_end_that_have_an_address_of_another_pool() {
        let (kept, ended) = outcome("[\"10.8.0.0/24\"]", "[\"10.8.0.128/25\"]");
        assert_eq!((kept.len(), ended.len()), (0, 3), "{ended:?}");
    }

    #[test]
    fn networks_and_weights_are_narrowed_in_place() {
        let file = FILE.replace(", \"192.168.8.0/24\"]", "]\nmax_weight = 5");
        let review = clients().review(&config(&file));
        assert!(review.ended.is_empty(), "{:?}", review.ended);
        let held = review.clients.get(SessionId { shard: Shard::FIRST, number: 1 }).unwrap();
        let networks = ["10.8.0.2/32", "192.168.7.0/24"].map(|it| it.parse::<IpNet>().unwrap());
        assert_eq!(held.connection.networks, networks);
        assert_eq!(held.connection.selectors.len(), 2);
        assert!(held.connection.paths.iter().all(|path| path.weight == 5));
    }
}
