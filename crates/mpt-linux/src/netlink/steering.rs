//! Policy rules with a table of their own: what they have in common, whatever they steer.

use super::{Error, Internet, Netlink, PathRouting, Route, Rule, Uplink, Via, tolerate_gone};

/// Which packets are to take which way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Steering {
    Path(PathRouting),
    Uplink(Uplink),
    Internet(Internet),
}

/// Rules and a table in place.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) steering: Steering,
    pub(super) table: u32,
    rules: Vec<Rule>,
    /// Paths of different connections may have the same addresses.
    pub(super) users: usize,
}

impl Installed {
    pub(super) fn new(steering: Steering, mark: u32, table: u32) -> Self {
        let rules = match &steering {
            Steering::Path(path) => vec![Rule::between(path.local, path.remote, table)],
            Steering::Uplink(uplink) => uplink.rules(mark, table).to_vec(),
            Steering::Internet(internet) => internet.rules(mark, table).to_vec(),
        };
        Self { steering, table, rules, users: 1 }
    }

    /// Makes it. Gives why its packets go nowhere as yet, if there is no route for them.
    pub(super) async fn install(&self, netlink: &Netlink) -> Result<Option<Error>, Error> {
        // The rules come last, so that no packet looks into a table that is not ready.
        if let Some(fallback) = self.fallback() {
            netlink.replace_route(&fallback).await?;
        }
        let missing = match self.route(netlink).await {
            Ok(route) => netlink.replace_route(&route).await.map(|()| None)?,
            Err(error) if error.is_no_way() => Some(error),
            Err(error) => return Err(error),
        };
        for rule in &self.rules {
            netlink.add_rule(rule).await?;
        }
        Ok(missing)
    }

    /// Brings the route up to date: `present` are all routes of ours.
    pub(super) async fn refresh(&self, netlink: &Netlink, present: &[Route]) -> Result<(), Error> {
        let in_table = |route: &&Route| route.table == self.table;
        let present = present.iter().filter(in_table).find(|route| route.via != Via::Unreachable);
        match self.route(netlink).await {
            Ok(wanted) if present.is_some_and(|present| wanted.is_shown_as(present)) => Ok(()),
            Ok(wanted) => match netlink.replace_route(&wanted).await {
                // Its interface went down meanwhile; there will be another occasion.
                Err(error) if error.is_gone() || error.is_down() => Ok(()),
                result => result,
            },
            Err(error) if error.is_no_way() => match present {
                Some(present) => tolerate_gone(netlink.remove_route(present).await),
                None => Ok(()),
            },
            Err(error) => Err(error),
        }
    }

    /// Removes it; `present` are all routes of ours.
    pub(super) async fn remove(&self, netlink: &Netlink, present: &[Route]) -> Result<(), Error> {
        let mut result = Ok(());
        for rule in &self.rules {
            result = result.and(tolerate_gone(netlink.remove_rule(rule).await));
        }
        for route in present.iter().filter(|route| route.table == self.table) {
            result = result.and(tolerate_gone(netlink.remove_route(route).await));
        }
        result
    }

    async fn route(&self, netlink: &Netlink) -> Result<Route, Error> {
        match &self.steering {
            Steering::Path(path) => path.route(netlink, self.table).await,
            Steering::Uplink(uplink) => uplink.route(netlink, self.table).await,
            Steering::Internet(internet) => Ok(internet.route(self.table)),
        }
    }

    fn fallback(&self) -> Option<Route> {
        match &self.steering {
            Steering::Path(path) => Some(path.fallback(self.table)),
            Steering::Uplink(uplink) => Some(uplink.fallback(self.table)),
            // Without the tunnel, packets go as if it had never been.
            Steering::Internet(_) => None,
        }
    }
}
