//! Two ends with two paths between them, in virtual time, over a network that may lose things.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use mpt_core::compat::{
    Authentication, Compat, Config, Counters, Destination, Event, Outcome, PathConfig, PathEvent,
    Transmit,
};
use mpt_core::{PathId, SocketId};

pub(crate) const COMMAND_PORT: u16 = 60456;
pub(crate) const FIRST: PathId = PathId::first(0);
pub(crate) const SECOND: PathId = PathId::first(1);
const DELAY: Duration = Duration::from_millis(10);

#[expect(clippy::disallowed_methods, reason = "virtual time needs an instant to start from")]
pub(crate) fn start() -> Instant {
    Instant::now()
}

/// Address of an end (2 or 3) on a path (0 or 1).
pub(crate) fn address(end: u8, path: PathId) -> IpAddr {
    format!("10.{}.1.{end}", path.index()).parse().unwrap()
}

/// Returns the configuration of an end (2 or 3).
pub(crate) fn config(end: u8, authentication: &Authentication) -> Config {
    let other = 5 - end;
    let path = |id| PathConfig {
        id,
        name: format!("p{}", id.index()),
        public: address(end, id),
        remote: address(other, id),
        usable: true,
    };
    Config {
        name: "office".into(),
        local: format!("10.0.0.{end}").parse().unwrap(),
        remote: format!("10.0.0.{other}").parse().unwrap(),
        command_port: COMMAND_PORT,
        authentication: authentication.clone(),
        keepalive: Duration::from_secs(1),
        dead: Duration::from_secs(3),
        create: None,
        paths: vec![path(FIRST), path(SECOND)],
    }
}

/// One end.
pub(crate) struct End {
    pub(crate) compat: Compat,
    /// Paths as the last events say: silent, told down.
    pub(crate) paths: BTreeMap<PathId, (bool, bool)>,
    /// The commands to the peer and their outcomes.
    pub(crate) told: Vec<(String, bool, Outcome)>,
    /// Creations: whether we asked, what came of it, and the data port of the other end.
    pub(crate) created: Vec<(bool, Outcome, Option<u16>)>,
}

impl End {
    pub(crate) fn new(now: Instant, config: Config) -> Self {
        let mut compat = Compat::new([config.local.is_ipv4().into(); 32]);
        compat.set_connections(now, vec![config]);
        Self { compat, paths: BTreeMap::new(), told: Vec::new(), created: Vec::new() }
    }

    pub(crate) fn is_up(&self, path: PathId) -> bool {
        self.paths.get(&path).is_none_or(|&state| state == (false, false))
    }

    pub(crate) fn counters(&self, now: Instant) -> Counters {
        self.compat.view(now, "office").unwrap().counters
    }

    pub(crate) fn take(&mut self) -> Vec<Transmit> {
        while let Some(PathEvent { path, silent, told_down }) = self.compat.poll_path_event() {
            self.paths.insert(path, (silent, told_down));
        }
        while let Some(event) = self.compat.poll_event() {
            match event {
                Event::Told { path, up, outcome, .. } => self.told.push((path, up, outcome)),
                Event::Created { asked, outcome, data_port, .. } => {
                    self.created.push((asked, outcome, data_port));
                }
            }
        }
        std::iter::from_fn(|| self.compat.poll_transmit()).collect()
    }
}

/// Both ends. The paths of each direction that lose everything are in `broken`, by sender.
pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) broken: BTreeSet<(usize, PathId)>,
    /// Messages of these numbers (from 0, of both ends) get lost.
    pub(crate) lost: BTreeSet<usize>,
    /// The command messages: when each was sent, by which end, over which path, and its bytes.
    pub(crate) commands: Vec<(Duration, usize, PathId, Vec<u8>)>,
    began: Instant,
    flying: Vec<(Instant, usize, PathId, bool, Vec<u8>)>,
}

impl Network {
    pub(crate) fn new(authentication: &Authentication) -> Self {
        Self::of(|end| config(end, authentication))
    }

    /// Ends (2 and 3) with this configuration.
    pub(crate) fn of(config: impl Fn(u8) -> Config) -> Self {
        let now = start();
        let end = |number| End::new(now, config(number));
        Self {
            now,
            ends: [end(2), end(3)],
            broken: BTreeSet::new(),
            lost: BTreeSet::new(),
            commands: Vec::new(),
            began: now,
            flying: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, duration: Duration) {
        let until = self.now + duration;
        loop {
            self.collect();
            let timers = self.ends.iter().filter_map(|end| end.compat.next_timeout());
            let next = self.flying.iter().map(|it| it.0).chain(timers).min();
            let Some(next) = next.filter(|&next| next <= until) else { break };
            self.now = self.now.max(next);
            for end in &mut self.ends {
                end.compat.handle_timeout(self.now);
            }
            let (due, flying) = std::mem::take(&mut self.flying)
                .into_iter()
                .partition::<Vec<_>, _>(|it| it.0 <= self.now);
            self.flying = flying;
            due.into_iter().for_each(|it| self.arrive(it.1, it.2, it.3, &it.4));
        }
        self.now = until;
    }

    fn collect(&mut self) {
        for from in 0..2 {
            for Transmit { destination, bytes } in self.ends[from].take() {
                let path_to = |remote: SocketAddr| match remote.ip() {
                    IpAddr::V4(v4) => PathId::first(v4.octets()[1].into()),
                    IpAddr::V6(_) => unreachable!("all paths are IPv4"),
                };
                let (path, data) = match destination {
                    Destination::Data(path) => (path, true),
                    Destination::Command { path, remote } => {
                        assert_eq!((path_to(remote), remote.port()), (path, COMMAND_PORT));
                        (path, false)
                    }
                    Destination::Answer { remote, .. } => {
                        assert_eq!(remote.port(), COMMAND_PORT);
                        (path_to(remote), false)
                    }
                };
                let mut lost = self.broken.contains(&(from, path));
                if !data {
                    lost |= self.lost.contains(&self.commands.len());
                    self.commands.push((self.now - self.began, from, path, bytes.clone()));
                }
                if !lost {
                    self.flying.push((self.now + DELAY, 1 - from, path, data, bytes));
                }
            }
        }
    }

    fn arrive(&mut self, to: usize, path: PathId, data: bool, bytes: &[u8]) {
        let compat = &mut self.ends[to].compat;
        if data {
            // Behind the GRE header.
            compat.handle_data(self.now, path, &bytes[4..]);
        } else {
            let source = SocketAddr::new(address([3, 2][to], path), COMMAND_PORT);
            compat.handle_command(self.now, SocketId(path.index() as u32), source, bytes);
        }
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
