//! Tokens with which hosts join as clients: which host has used each, and for how long it is good.
//!
//! Only decisions are made here; the daemon puts them into effect. Tokens are in memory only: a daemon that is started again has none.

use std::time::{Duration, Instant};

use ipnet::IpNet;
use mpt_api::session::{Join, Joined, SessionCode, SessionFailure};
use mpt_config::{Addresses, Client, Config, Pool};
use mpt_core::session::{JoinToken, PublicKey};

/// Tokens that there may be at a time.
const MAX_TOKENS: usize = 64;
/// Characters of the name that a host gives itself which become part of that of its `[[client]]`.
const MAX_HOST: usize = 32;

/// The settings of the client that a token makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the `[[client]]`; `None`: as the host calls itself.
    pub client: Option<String>,
    /// Name of the `[[pool]]`; `None`: the only one there is.
    pub pool: Option<String>,
    /// Networks that the client routes into the tunnel. Empty: those of the pool.
    pub networks: Vec<IpNet>,
    /// Networks behind the client.
    pub behind: Vec<IpNet>,
    /// The time for which the token is good.
    pub lifetime: Duration,
}

/// A token and what its owner gets.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) token: JoinToken,
    pub(crate) client: Option<String>,
    pub(crate) pool: String,
    pub(crate) networks: Vec<IpNet>,
    pub(crate) behind: Vec<IpNet>,
    expires: Instant,
    used: Option<(PublicKey, Joined)>,
}

impl Held {
    /// Returns how long it is still good.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.expires.saturating_duration_since(now)
    }

    /// The host that has used it.
    pub(crate) fn used_by(&self) -> Option<&PublicKey> {
        self.used.as_ref().map(|(key, _)| key)
    }
}

/// The tokens.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    held: Vec<Held>,
}

/// The verdict on a request to join.
#[derive(Debug)]
pub(crate) enum Judgement {
    /// The host has joined with this token already, and is told so again.
    Already(Joined),
    /// The host becomes this client.
    New(Box<Client>, Joined),
}

impl Tokens {
    /// Returns those that are good, and those that were used and whose time is not over.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Holds a token.
    ///
    /// # Errors
    ///
    /// A sentence that says what keeps its owner from becoming a client, or that there are too many.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        config: &Config,
        token: JoinToken,
        wanted: Wanted,
    ) -> Result<&Held, String> {
        self.expire(now);
        if self.held.len() >= MAX_TOKENS {
            return Err(format!(
                "there are {MAX_TOKENS} tokens already; wait until one is used or over, or revoke one"
            ));
        }
        if let Some(client) = &wanted.client {
            if !mpt_api::is_name(client) || client.contains('.') {
                return Err(format!(
                    "\"{client}\" is not the name of a client; use letters, digits, \"_\" and \"-\""
                ));
            }
            if config.clients.iter().any(|it| it.name == *client) {
                return Err(format!("there is a client \"{client}\" already"));
            }
        }
        let pool = find_pool(config, wanted.pool.as_deref())?;
        if free_addresses(config, pool) == 0 {
            return Err(no_address(pool));
        }
        let networks = match wanted.networks.is_empty() {
            true => pool.networks.clone(),
            false => wanted.networks,
        };
        self.held.push(Held {
            token,
            client: wanted.client,
            pool: pool.name.clone(),
            networks,
            behind: wanted.behind,
            expires: now + wanted.lifetime,
            used: None,
        });
        Ok(&self.held[self.held.len() - 1])
    }

    /// Forgets tokens whose time is over. Returns whether there were any.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let before = self.held.len();
        self.held.retain(|held| now < held.expires);
        before != self.held.len()
    }

    /// Forgets a token. Returns whether there was one of this name.
    pub(crate) fn revoke(&mut self, id: &str) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.token.id() != id);
        before != self.held.len()
    }

    /// Judges the request of a host to join. Nothing changes: [`Self::spend`] has to follow when the client is in the configuration.
    ///
    /// # Errors
    ///
    /// Returns the reason why the host does not become a client.
    pub(crate) fn judge(
        &self,
        now: Instant,
        config: &Config,
        id: &str,
        key: PublicKey,
        join: &Join,
    ) -> Result<Judgement, SessionFailure> {
        let denied = |message: String| SessionFailure::new(SessionCode::Denied, message);
        let over = || denied("the token is no longer good; ask for a new line".into());
        let held = self.held.iter().find(|held| held.token.id() == id).ok_or_else(over)?;
        if now >= held.expires {
            return Err(over());
        }
        match &held.used {
            Some((by, joined)) if *by == key => return Ok(Judgement::Already(joined.clone())),
            Some((_, joined)) => {
                return Err(denied(format!(
                    "the token was used by another host, which is client \"{}\" now; ask for a new line, and if that host is none of yours, \
                     have its [[client]] removed",
                    joined.client
                )));
            }
            None => {}
        }
        if let Some(client) = config.clients.iter().find(|it| it.public_key == key) {
            return Err(denied(format!(
                "this key is that of client \"{}\" already; configure this host by hand, or remove its key file and join anew",
                client.name
            )));
        }
        let busy = |message: String| SessionFailure::new(SessionCode::Busy, message);
        let pool = find_pool(config, Some(&held.pool)).map_err(denied)?;
        if free_addresses(config, pool) == 0 {
            return Err(busy(no_address(pool)));
        }
        let wanted = held.client.clone().unwrap_or_else(|| name_of(&join.host));
        let name = free_name(config, &wanted);
        let joined = Joined { client: name.clone(), networks: held.networks.clone() };
        let mut client = Client::of_pool(name, key, device_of(config, pool), pool.name.clone());
        client.networks.clone_from(&held.behind);
        client.seal = mpt_api::Seal::Require;
        Ok(Judgement::New(Box::new(client), joined))
    }

    /// The host with this key has become a client: nobody else does by this token.
    pub(crate) fn spend(&mut self, id: &str, key: PublicKey, joined: Joined) {
        if let Some(held) = self.held.iter_mut().find(|held| held.token.id() == id) {
            held.used = Some((key, joined));
        }
    }
}

fn find_pool<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a Pool, String> {
    let write = "write a [[pool]] into the configuration, or run mpt setup server";
    match (name, &config.pools[..]) {
        (_, []) => Err(format!("no pool has addresses for clients; {write}")),
        (None, [pool]) => Ok(pool),
        (None, pools) => {
            let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
            Err(format!("there are several pools; name one of {}", names.join(", ")))
        }
        (Some(name), pools) => pools
            .iter()
            .find(|pool| pool.name == *name)
            .ok_or_else(|| format!("there is no pool \"{name}\"; {write}")),
    }
}

fn no_address(pool: &Pool) -> String {
    let networks: Vec<_> = pool.networks.iter().map(ToString::to_string).collect();
    format!(
        "pool \"{}\" ({}) has no address left for another client; enlarge it, or remove a [[client]]",
        pool.name,
        networks.join(", ")
    )
}

/// Returns how many further clients a pool has addresses for, each with one of each network and one connection.
fn free_addresses(config: &Config, pool: &Pool) -> u128 {
    let fixed = config.clients.iter().filter_map(|client| match &client.addresses {
        Addresses::Fixed(addresses) => Some(addresses),
        Addresses::Pool(_) => None,
    });
    let taken: Vec<IpNet> = config
        .devices
        .iter()
        .flat_map(|device| &device.addresses)
        .chain(fixed.flatten())
        .copied()
        .collect();
    let of_pool = |client: &&Client| client.addresses == Addresses::Pool(pool.name.clone());
    let clients = config.clients.iter().filter(of_pool);
    let used: u128 = clients.map(|client| u128::from(client.max_connections)).sum();
    let free = |network: &IpNet| {
        let bits = u32::from(network.max_prefix_len() - network.prefix_len());
        let all = 1u128.checked_shl(bits).unwrap_or(u128::MAX);
        // Network and broadcast addresses; of IPv6 only the first one is not given.
        let reserved = match (bits, network) {
            (0 | 1, _) => 0,
            (_, IpNet::V4(_)) => 2,
            (_, IpNet::V6(_)) => 1,
        };
        let inside = taken.iter().filter(|it| network.contains(&it.addr())).count() as u128;
        all.saturating_sub(reserved).saturating_sub(inside).saturating_sub(used)
    };
    pool.networks.iter().map(free).min().unwrap_or(0)
}

/// The device in whose network a pool lies, else the first one.
fn device_of(config: &Config, pool: &Pool) -> String {
    let holds = |it: &&mpt_config::Device| {
        it.addresses.iter().any(|own| pool.networks.iter().any(|net| own.contains(&net.addr())))
    };
    let device = config.devices.iter().find(holds).or(config.devices.first());
    device.map(|device| device.name.clone()).unwrap_or_default()
}

/// The name of a client for a host that calls itself like this.
fn name_of(host: &str) -> String {
    let host = host.split('.').next().unwrap_or_default();
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = host.chars().take(MAX_HOST).map(kept).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "client".into() } else { name.to_owned() }
}

/// The name, with a number behind it where a client has it already.
fn free_name(config: &Config, wanted: &str) -> String {
    let taken = |name: &str| config.clients.iter().any(|client| client.name == *name);
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let numbered = (2u32..).map(|number| format!("{wanted}-{number}"));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn config(pool: &str) -> Config {
        let key = mpt_core::session::PrivateKey::from_seed([9; 32]).to_base64();
        let text = format!(
            "[daemon]\nlisten = [\"192.0.2.1\"]\nprivate_key_file = \"/key\"\n\
             [[device]]\nname = \"mpt0\"\naddresses = [\"10.77.0.1/24\"]\n\
             [[pool]]\nname = \"clients\"\nnetworks = [\"{pool}\"]\n"
        );
        let read = move |_: &std::path::Path| Ok(key.clone());
        mpt_config::check_text_with("mpt.toml", &text, &read).unwrap().config
    }

    fn token(byte: u8) -> JoinToken {
        JoinToken::from_secret(&[byte; 16])
    }

    fn key(byte: u8) -> PublicKey {
        PublicKey::from([byte; 32])
    }

    fn tokens(now: Instant, config: &Config) -> Tokens {
        let mut tokens = Tokens::default();
        let wanted = Wanted { lifetime: HOUR, ..Wanted::default() };
        tokens.add(now, config, token(1), wanted).unwrap();
        tokens
    }

    fn host(name: &str) -> Join {
        Join { host: name.into() }
    }

    /// Judges, and does what has to follow.
    fn join(
        tokens: &mut Tokens,
        now: Instant,
        config: &mut Config,
        of: u8,
    ) -> Result<String, String> {
        let id = token(1).id().to_owned();
        match tokens.judge(now, config, &id, key(of), &host("Büro.example.org")) {
            Ok(Judgement::New(client, joined)) => {
                config.clients.push(*client);
                tokens.spend(&id, key(of), joined.clone());
                Ok(joined.client)
            }
            Ok(Judgement::Already(joined)) => Ok(joined.client),
            Err(failure) => Err(failure.message),
        }
    }

    #[test]
    fn one_host_joins_and_is_told_so_as_often_as_it_asks() {
        let (now, mut config) = (Instant::now(), config("10.77.0.0/24"));
        let mut tokens = tokens(now, &config);
        assert_eq!(join(&mut tokens, now, &mut config, 7), Ok("B-ro".into()));
        assert_eq!(join(&mut tokens, now, &mut config, 7), Ok("B-ro".into()));
        assert_eq!(config.clients.len(), 1);
        assert_eq!(config.clients[0].device, "mpt0");
        let other = join(&mut tokens, now, &mut config, 8).unwrap_err();
        assert!(other.starts_with("the token was used by another host"), "{other}");
        assert_eq!(config.clients.len(), 1);
    }

    #[test]
    fn a_token_is_good_until_its_time_is_over_or_it_is_taken_back() {
        let (now, mut config) = (Instant::now(), config("10.77.0.0/24"));
        let mut tokens = tokens(now, &config);
        let late = join(&mut tokens, now + HOUR, &mut config, 7).unwrap_err();
        assert!(late.starts_with("the token is no longer good"), "{late}");
        assert!(!tokens.expire(now + HOUR - Duration::from_secs(1)));
        assert!(tokens.revoke(token(1).id()) && !tokens.revoke(token(1).id()));
        assert!(join(&mut tokens, now, &mut config, 7).is_err());
        assert!(config.clients.is_empty());
    }

    #[test]
    fn a_pool_without_room_is_named() {
        let now = Instant::now();
        // Its one other address is that of the device.
        let mut config = config("10.77.0.0/30");
        let mut tokens = tokens(now, &config);
        assert!(join(&mut tokens, now, &mut config, 7).is_ok());
        let wanted = Wanted { lifetime: HOUR, ..Wanted::default() };
        let refused = tokens.add(now, &config, token(2), wanted).unwrap_err();
        assert!(
            refused.contains("pool \"clients\" (10.77.0.0/30) has no address left"),
            "{refused}"
        );
    }

    /// A host becomes one client with a legal name whatever it asks and however it calls itself, and the rest of the file stays as it is.
    #[test]
    fn fuzz_join_request() {
        const TEXT: &str = "[daemon]\nlisten = [\"192.0.2.1\"]\nprivate_key_file = \"/key\"\n\
            [[device]]\nname = \"mpt0\"\naddresses = [\"10.77.0.1/24\"]\n\
            [[pool]]\nname = \"clients\"\nnetworks = [\"10.77.0.0/24\"]\n";
        let own = mpt_core::session::PrivateKey::from_seed([9; 32]).to_base64();
        let keys = move |_: &std::path::Path| Ok(own.clone());
        let before = mpt_config::check_text_with("mpt.toml", TEXT, &keys).unwrap().config;
        let now = Instant::now();
        let tokens = tokens(now, &before);
        let peer = mpt_core::session::PrivateKey::from_seed([7; 32]).public();
        let keys = std::panic::AssertUnwindSafe((keys, before, tokens));
        bolero::check!().with_iterations(300).with_type::<(bool, Vec<u8>)>().for_each(
            |(raw, bytes)| {
                let (keys, before, tokens) = &*keys;
                let host = String::from_utf8_lossy(bytes);
                let body = match raw {
                    true => bytes.clone(),
                    false => serde_json::to_vec(&serde_json::json!({ "join": { "host": host } }))
                        .unwrap(),
                };
                let request = mpt_api::session::SessionRequest::parse(&body);
                let Ok(mpt_api::session::SessionRequest::Join(join)) = request else {
                    assert!(*raw, "it is a request to join");
                    return;
                };
                let judged = tokens.judge(now, before, token(1).id(), peer, &join).unwrap();
                let Judgement::New(client, joined) = judged else { panic!("nobody has joined") };
                assert!(mpt_api::is_name(&client.name) && !client.name.contains('.'), "{joined:?}");
                let (text, after) =
                    mpt_config::add_client("mpt.toml", TEXT, &client, keys).unwrap();
                assert!(text.starts_with(TEXT), "{text}");
                assert_eq!(after.clients, [*client]);
                assert_eq!(Config { clients: Vec::new(), ..after }, before.clone());
            },
        );
    }

    #[test]
    fn there_are_only_so_many() {
        let (now, config) = (Instant::now(), config("10.77.0.0/24"));
        let mut tokens = Tokens::default();
        let wanted = Wanted { lifetime: HOUR, ..Wanted::default() };
        for byte in 0..MAX_TOKENS {
            tokens.add(now, &config, token(byte as u8), wanted.clone()).unwrap();
        }
        assert!(tokens.add(now, &config, token(99), wanted.clone()).is_err());
        assert!(tokens.add(now + HOUR, &config, token(99), wanted).is_ok());
    }

    #[test]
    fn names_of_clients_differ() {
        let mut config = config("10.77.0.0/24");
        let pool = config.pools[0].name.clone();
        for (name, expected) in [("pi", "pi"), ("pi", "pi-2"), ("pi", "pi-3"), ("...", "client")] {
            let name = free_name(&config, &name_of(name));
            assert_eq!(name, expected);
            config.clients.push(Client::of_pool(name, key(1), "mpt0".into(), pool.clone()));
        }
    }
}
